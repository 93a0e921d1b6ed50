/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Evicting events: those that stay are complete, in order, and refer to what they referred to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "model/keep.h"

#define ROUNDS 3000
#define EVENTS_MAX 40

static uint64_t random_state;

static uint32_t random_below(uint32_t bound)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)(random_state >> 33) % bound;
}

static uint32_t one_of(uint32_t count)
{
	return count && random_below(4) ? random_below(count) : NONE;
}

/* A model whose events carry their identity in a field that nothing here uses. */
struct sample {
	struct model model;
	struct model_call calls[EVENTS_MAX];
	struct model_args args[EVENTS_MAX];
	struct model_gpu gpu[EVENTS_MAX];
	struct model_overhead overheads[EVENTS_MAX];
	struct model_jit jits[EVENTS_MAX];
	struct model_sync syncs[EVENTS_MAX];
	struct model_memory memories[EVENTS_MAX];
	struct model_sample samples[EVENTS_MAX];
	struct model_wait waits[EVENTS_MAX];
};

static void link_operation(struct sample *sample, uint32_t tails[], uint32_t op)
{
	struct model_call *call;

	if (sample->gpu[op].call == NONE)
		return;
	call = &sample->calls[sample->gpu[op].call];
	if (call->gpu_count++)
		sample->gpu[tails[sample->gpu[op].call]].next = op;
	else
		call->first_gpu = op;
	tails[sample->gpu[op].call] = op;
}

static void pair_memories(struct sample *sample)
{
	uint32_t count = sample->model.memory_count;

	for (uint32_t i = 0; i < count; i++) {
		uint32_t release = i + 1 + random_below(5);

		if (sample->memories[i].released || release >= count || sample->memories[release].other != NONE ||
		    !sample->memories[release].released || !random_below(3))
			continue;
		sample->memories[i].other = release;
		sample->memories[release].other = i;
	}
}

static void make_sample(struct sample *sample)
{
	struct model *model = &sample->model;
	uint32_t tails[EVENTS_MAX];

	memset(sample, 0, sizeof(*sample));
	*model = (struct model){.calls = sample->calls,
				.args = sample->args,
				.gpu = sample->gpu,
				.overheads = sample->overheads,
				.jits = sample->jits,
				.syncs = sample->syncs,
				.memories = sample->memories,
				.samples = sample->samples,
				.waits = sample->waits,
				.call_count = random_below(EVENTS_MAX),
				.gpu_count = random_below(EVENTS_MAX),
				.overhead_count = random_below(EVENTS_MAX),
				.jit_count = random_below(EVENTS_MAX),
				.sync_count = random_below(EVENTS_MAX),
				.memory_count = random_below(EVENTS_MAX),
				.sample_count = random_below(EVENTS_MAX),
				.wait_count = random_below(EVENTS_MAX)};
	for (uint32_t i = 0; i < model->call_count; i++) {
		sample->calls[i] =
			(struct model_call){.start_ns = i, .args = NONE, .enclosing = NONE, .first_gpu = NONE};
		if (!random_below(3))
			continue;
		sample->calls[i].args = model->args_count;
		sample->args[model->args_count++].function = i;
	}
	for (uint32_t i = 0; i < model->gpu_count; i++) {
		sample->gpu[i] = (struct model_gpu){.start_ns = i,
						    .next = NONE,
						    .call = one_of(model->call_count),
						    .captured_by = random_below(3) ? NONE : one_of(model->call_count)};
		link_operation(sample, tails, i);
	}
	for (uint32_t i = 0; i < model->overhead_count; i++)
		sample->overheads[i].start_ns = i;
	for (uint32_t i = 0; i < model->jit_count; i++)
		sample->jits[i] = (struct model_jit){.start_ns = i, .call = one_of(model->call_count)};
	for (uint32_t i = 0; i < model->sync_count; i++)
		sample->syncs[i] = (struct model_sync){
			.start_ns = i, .call = one_of(model->call_count), .recorded_by = one_of(model->call_count)};
	for (uint32_t i = 0; i < model->memory_count; i++)
		sample->memories[i] = (struct model_memory){
			.time_ns = i, .call = one_of(model->call_count), .other = NONE, .released = random_below(2)};
	pair_memories(sample);
	for (uint32_t i = 0; i < model->sample_count; i++)
		sample->samples[i].time_ns = i;
	for (uint32_t i = 0; i < model->wait_count; i++)
		sample->waits[i].end_ns = i;
}

/* Half the events go; the rest get marks in random order. */
static void mark_events(struct kept_events *events, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		events->marks[i] = random_below(2) ? KEEP_NOT : (uint8_t)random_below(KEEP_MARKS);
}

/* The sample as it was made, the sample after keep_apply, and the marks. */
struct trial {
	struct sample before, after;
	uint8_t calls[EVENTS_MAX], gpu[EVENTS_MAX], overheads[EVENTS_MAX], jits[EVENTS_MAX], syncs[EVENTS_MAX],
		memories[EVENTS_MAX], samples[EVENTS_MAX], waits[EVENTS_MAX];
	struct keep keep;
};

/* after.model points into after itself. */
static void copy_sample(struct trial *trial)
{
	struct model *model = &trial->after.model;

	trial->after = trial->before;
	model->calls = trial->after.calls;
	model->args = trial->after.args;
	model->gpu = trial->after.gpu;
	model->overheads = trial->after.overheads;
	model->jits = trial->after.jits;
	model->syncs = trial->after.syncs;
	model->memories = trial->after.memories;
	model->samples = trial->after.samples;
	model->waits = trial->after.waits;
}

static void make_trial(struct trial *trial)
{
	struct keep *keep = &trial->keep;

	make_sample(&trial->before);
	copy_sample(trial);
	keep_begin(keep, &trial->after.model);
	mark_events(&keep->calls, trial->before.model.call_count);
	mark_events(&keep->gpu, trial->before.model.gpu_count);
	mark_events(&keep->overheads, trial->before.model.overhead_count);
	mark_events(&keep->jits, trial->before.model.jit_count);
	mark_events(&keep->syncs, trial->before.model.sync_count);
	mark_events(&keep->memories, trial->before.model.memory_count);
	mark_events(&keep->samples, trial->before.model.sample_count);
	mark_events(&keep->waits, trial->before.model.wait_count);
	memcpy(trial->calls, keep->calls.marks, trial->before.model.call_count);
	memcpy(trial->gpu, keep->gpu.marks, trial->before.model.gpu_count);
	memcpy(trial->overheads, keep->overheads.marks, trial->before.model.overhead_count);
	memcpy(trial->jits, keep->jits.marks, trial->before.model.jit_count);
	memcpy(trial->syncs, keep->syncs.marks, trial->before.model.sync_count);
	memcpy(trial->memories, keep->memories.marks, trial->before.model.memory_count);
	memcpy(trial->samples, keep->samples.marks, trial->before.model.sample_count);
	memcpy(trial->waits, keep->waits.marks, trial->before.model.wait_count);
	keep_apply(keep, &trial->after.model);
}

/* Runs all trials, one after the other, with one struct keep. */
static void try_all(void (*check)(struct trial *trial))
{
	static struct trial trial;

	random_state = 88172645463325252ull;
	for (unsigned round = 0; round < ROUNDS; round++) {
		make_trial(&trial);
		check(&trial);
	}
	keep_free(&trial.keep);
}

/* ---- which events stay, and where ------------------------------------------------------------------------------- */

/* Each marked event is at the place that its mark and its order give; `serial` identifies the event at a place. */
static void check_places(const struct kept_events *events, const uint8_t *marks, uint32_t count,
			 const struct model_in_part *part, uint32_t left,
			 uint64_t (*serial)(const struct sample *, uint32_t), const struct sample *after)
{
	uint32_t stayed = 0, last[KEEP_MARKS], end = in_part_end(part, left);
	bool any[KEEP_MARKS] = {false};

	assert_true(part->from <= end && end <= left);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t place = events->places[i];
		uint8_t is = place == NONE	  ? KEEP_NOT
			     : place < part->from ? KEEP_REFERRED
			     : place < end	  ? KEEP_IN_PART
						  : KEEP_LATER;

		if (marks[i] != KEEP_NOT)
			assert_int_equal(is, marks[i]);
		else
			assert_true(is == KEEP_NOT || is == KEEP_REFERRED);
		if (is == KEEP_NOT)
			continue;
		stayed++;
		assert_true(place < left);
		assert_int_equal(serial(after, place), i);
		assert_true(!any[is] || place > last[is]);
		any[is] = true;
		last[is] = place;
	}
	assert_int_equal(stayed, left);
}

static uint64_t serial_of_call(const struct sample *sample, uint32_t i)
{
	return sample->calls[i].start_ns;
}

static uint64_t serial_of_operation(const struct sample *sample, uint32_t i)
{
	return sample->gpu[i].start_ns;
}

static uint64_t serial_of_overhead(const struct sample *sample, uint32_t i)
{
	return sample->overheads[i].start_ns;
}

static uint64_t serial_of_jit(const struct sample *sample, uint32_t i)
{
	return sample->jits[i].start_ns;
}

static uint64_t serial_of_sync(const struct sample *sample, uint32_t i)
{
	return sample->syncs[i].start_ns;
}

static uint64_t serial_of_memory(const struct sample *sample, uint32_t i)
{
	return sample->memories[i].time_ns;
}

static uint64_t serial_of_sample(const struct sample *sample, uint32_t i)
{
	return sample->samples[i].time_ns;
}

static uint64_t serial_of_wait(const struct sample *sample, uint32_t i)
{
	return sample->waits[i].end_ns;
}

static void check_order(struct trial *trial)
{
	const struct model *before = &trial->before.model, *after = &trial->after.model;
	const struct keep *keep = &trial->keep;

	check_places(&keep->calls, trial->calls, before->call_count, &after->calls_in_part, after->call_count,
		     serial_of_call, &trial->after);
	check_places(&keep->gpu, trial->gpu, before->gpu_count, &after->gpu_in_part, after->gpu_count,
		     serial_of_operation, &trial->after);
	check_places(&keep->overheads, trial->overheads, before->overhead_count, &after->overheads_in_part,
		     after->overhead_count, serial_of_overhead, &trial->after);
	check_places(&keep->jits, trial->jits, before->jit_count, &after->jits_in_part, after->jit_count, serial_of_jit,
		     &trial->after);
	check_places(&keep->syncs, trial->syncs, before->sync_count, &after->syncs_in_part, after->sync_count,
		     serial_of_sync, &trial->after);
	check_places(&keep->memories, trial->memories, before->memory_count, &after->memories_in_part,
		     after->memory_count, serial_of_memory, &trial->after);
	check_places(&keep->samples, trial->samples, before->sample_count, &after->samples_in_part, after->sample_count,
		     serial_of_sample, &trial->after);
	check_places(&keep->waits, trial->waits, before->wait_count, &after->waits_in_part, after->wait_count,
		     serial_of_wait, &trial->after);
}

static void what_is_asked_for_stays_in_its_order(void **state)
{
	try_all(check_order);
}

/* ---- references ------------------------------------------------------------------------------------------------- */

/* Both are none, or the same event. */
static void check_same(const struct kept_events *events, uint32_t before, uint32_t after)
{
	if (before == NONE) {
		assert_int_equal(after, NONE);
		return;
	}
	assert_int_not_equal(after, NONE);
	assert_int_equal(after, events->places[before]);
}

static void check_calls(struct trial *trial)
{
	const struct model *after = &trial->after.model;

	for (uint32_t i = 0; i < after->call_count; i++) {
		const struct model_call *call = &after->calls[i], *was = &trial->before.calls[call->start_ns];
		uint32_t op = call->first_gpu, op_was = was->first_gpu;

		assert_int_equal(call->gpu_count, was->gpu_count);
		assert_true((call->args == NONE) == (was->args == NONE));
		if (call->args != NONE)
			assert_int_equal(after->args[call->args].function, call->start_ns);
		for (; op_was != NONE; op = after->gpu[op].next, op_was = trial->before.gpu[op_was].next) {
			check_same(&trial->keep.gpu, op_was, op);
			assert_int_equal(after->gpu[op].call, i);
		}
		assert_int_equal(op, NONE);
	}
}

static void a_call_has_its_arguments_and_all_its_operations(void **state)
{
	try_all(check_calls);
}

static void check_references(struct trial *trial)
{
	const struct kept_events *calls = &trial->keep.calls;
	const struct model *after = &trial->after.model;

	for (uint32_t i = 0; i < after->gpu_count; i++) {
		const struct model_gpu *was = &trial->before.gpu[after->gpu[i].start_ns];

		check_same(calls, was->call, after->gpu[i].call);
		check_same(calls, was->captured_by, after->gpu[i].captured_by);
	}
	for (uint32_t i = 0; i < after->sync_count; i++) {
		const struct model_sync *was = &trial->before.syncs[after->syncs[i].start_ns];

		check_same(calls, was->call, after->syncs[i].call);
		check_same(calls, was->recorded_by, after->syncs[i].recorded_by);
	}
	for (uint32_t i = 0; i < after->jit_count; i++)
		check_same(calls, trial->before.jits[after->jits[i].start_ns].call, after->jits[i].call);
}

static void whatever_refers_to_a_call_still_does(void **state)
{
	try_all(check_references);
}

static void check_memories(struct trial *trial)
{
	const struct model *after = &trial->after.model;

	for (uint32_t i = 0; i < after->memory_count; i++) {
		const struct model_memory *memory = &after->memories[i];
		const struct model_memory *was = &trial->before.memories[memory->time_ns];

		check_same(&trial->keep.calls, was->call, memory->call);
		if (was->released)
			check_same(&trial->keep.memories, was->other, memory->other);
		else if (was->other != NONE)
			assert_int_equal(memory->other, trial->keep.memories.places[was->other]);
	}
}

static void a_release_has_its_allocation_and_an_allocation_a_release_that_stays(void **state)
{
	try_all(check_memories);
}

/* ---- what is evicted -------------------------------------------------------------------------------------------- */

static void what_nothing_refers_to_goes(void **state)
{
	struct model_call calls[] = {{.first_gpu = NONE, .args = 0},
				     {.first_gpu = 0, .gpu_count = 1, .args = 1},
				     {.first_gpu = NONE, .args = NONE}};
	struct model_args args[] = {{.bytes = 10}, {.bytes = 11}};
	struct model_gpu gpu[] = {{.call = 1, .captured_by = NONE, .next = NONE},
				  {.call = NONE, .captured_by = NONE, .next = NONE}};
	struct model model = {
		.calls = calls, .call_count = 3, .args = args, .args_count = 2, .gpu = gpu, .gpu_count = 2};
	struct keep keep = {0};

	keep_begin(&keep, &model);
	keep.gpu.marks[0] = KEEP_IN_PART;
	keep_apply(&keep, &model);
	assert_int_equal(model.call_count, 1);
	assert_int_equal(model.calls_in_part.from, 1);
	assert_int_equal(model.args_count, 1);
	assert_int_equal(args[calls[0].args].bytes, 11);
	assert_int_equal(model.gpu_count, 1);
	assert_int_equal(model.gpu_in_part.from, 0);
	assert_int_equal(keep.calls.places[0], NONE);
	assert_int_equal(keep.calls.places[1], 0);
	assert_int_equal(keep.gpu.places[1], NONE);
	keep_free(&keep);
}

static void a_model_without_events_stays_as_it_is(void **state)
{
	struct keep keep = {0};
	struct model model = {0};

	keep_begin(&keep, &model);
	keep_apply(&keep, &model);
	assert_int_equal(model.call_count + model.gpu_count + model.memory_count, 0);
	keep_free(&keep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_asked_for_stays_in_its_order),
		cmocka_unit_test(a_call_has_its_arguments_and_all_its_operations),
		cmocka_unit_test(whatever_refers_to_a_call_still_does),
		cmocka_unit_test(a_release_has_its_allocation_and_an_allocation_a_release_that_stays),
		cmocka_unit_test(what_nothing_refers_to_goes),
		cmocka_unit_test(a_model_without_events_stays_as_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
