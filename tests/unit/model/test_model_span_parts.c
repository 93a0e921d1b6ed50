/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Python functions and NVTX ranges of a source that is read twice: the parts of pass 2 have the spans of the whole,
 * wherever the parts are cut.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "model/join/tables.h"
#include "sanitizers.h"

#define PID 100
#define PIDS 2
#define TIDS 3
#define START 1000

enum what {
	ENTER,
	LEAVE,
	MARK,
	PUSH,
	POP,
	RANGE_START,
	RANGE_END,
	LOSE,
	CALL,
	RETURN,
	EXEC,
	EXIT,
	KINDS,
};

struct event {
	enum what what;
	uint64_t time_ns, frame, id;
	uint32_t pid, tid;
};

#define EVENTS_MAX 2000

struct events {
	struct event list[EVENTS_MAX];
	size_t count;
	uint64_t end_ns;
};

/* ---- events ------------------------------------------------------------------------------------------------------ */

static struct new_range range_of(const struct event *event)
{
	static char name[8], domain[2] = "d";

	snprintf(name, sizeof(name), "%llu", (unsigned long long)event->id % 7);
	return (struct new_range){.time_ns = event->time_ns,
				  .what = event->what - MARK + GPT_AGENT_RANGE_MARK,
				  .id = event->id,
				  .tid = event->tid,
				  .domain = event->frame % 2,
				  .name = {name, strlen(name)},
				  .domain_name = {domain, event->frame % 2}};
}

static void feed_call(struct builder *builder, const struct event *event)
{
	struct gpt_call call = {
		.time_ns = event->time_ns, .pid = event->pid, .tid = event->tid + 50, .corr = (uint32_t)event->id};

	builder_add_call(builder, NULL, &call);
}

static void feed_return(struct builder *builder, const struct event *event)
{
	struct gpt_agent_api back = {.end_ns = event->time_ns, .corr = (uint32_t)event->id, .tid = event->tid};
	struct sender sender = {.program = builder_process_image(builder, event->pid)};

	builder_add_agent_api(builder, &sender, &back);
}

static void feed_event(struct builder *builder, const struct event *event)
{
	struct python_moment at = {
		.time_ns = event->time_ns, .frame = event->frame, .pid = event->pid, .tid = event->tid};
	struct new_range range = range_of(event);
	struct gpt_process_event process = {.time_ns = event->time_ns, .pid = event->pid, .comm = "x"};

	switch (event->what) {
	case ENTER:
		builder_enter_function(builder, &at, event->id);
		break;
	case LEAVE:
		builder_leave_function(builder, &at);
		break;
	case MARK:
	case PUSH:
	case POP:
	case RANGE_START:
	case RANGE_END:
		builder_add_range(builder, builder_process_image(builder, event->pid), &range);
		break;
	case LOSE:
		builder_lose_ranges(builder, builder_process_image(builder, event->pid), 1,
				    event->time_ns > 200 ? event->time_ns - 200 : 0, event->time_ns);
		break;
	case CALL:
		feed_call(builder, event);
		break;
	case RETURN:
		feed_return(builder, event);
		break;
	case EXEC:
		builder_add_exec(builder, NULL, &process);
		break;
	default:
		builder_add_exit(builder, NULL, &process);
		break;
	}
}

static void feed_begin(struct builder *builder, const struct events *events)
{
	struct new_end end = {.time_ns = events->end_ns};

	builder_set_start(builder, START, 0);
	builder_set_end(builder, &end);
}

/* The probability of each kind of event, of 256: also of losses and of the end of a process. */
struct mix {
	uint8_t of[KINDS];
};

static enum what some_kind(const struct mix *mix)
{
	int at = rand() % 256;

	for (int what = 0; what < KINDS; what++)
		if ((at -= mix->of[what]) < 0)
			return (enum what)what;
	return ENTER;
}

/* Functions at random depths, so that starts and ends are missing; ids are reused. */
static void make_events(struct events *events, const struct mix *mix, unsigned seed)
{
	uint64_t time_ns = START - 20, call = 1000;

	srand(seed);
	events->count = 50 + (size_t)rand() % (EVENTS_MAX - 50);
	for (size_t i = 0; i < events->count; i++, time_ns += (uint64_t)rand() % 4)
		events->list[i] = (struct event){.what = some_kind(mix),
						 .time_ns = time_ns,
						 .frame = 64 - (uint64_t)rand() % (seed % 2 ? 8 : 3),
						 .id = 1 + (uint64_t)rand() % 40,
						 .pid = PID + (uint32_t)rand() % PIDS,
						 .tid = 1 + (uint32_t)rand() % TIDS};
	for (size_t i = 0; i < events->count; i++)
		if (events->list[i].what == CALL)
			events->list[i].id = call = 1000 + i;
		else if (events->list[i].what == RETURN)
			events->list[i].id = call;
	/* agents' records come a little late */
	for (size_t i = 1; i < events->count; i++)
		if (events->list[i].what > LEAVE && events->list[i].what < EXEC && rand() % 4 == 0)
			events->list[i].time_ns -= (uint64_t)rand() % 10;
	events->end_ns = time_ns + 10;
}

/* ---- whole and parts --------------------------------------------------------------------------------------------- */

static struct model *read_whole(const struct events *events)
{
	struct builder *builder = builder_new();

	feed_begin(builder, events);
	for (size_t i = 0; i < events->count; i++)
		feed_event(builder, &events->list[i]);
	return builder_finish(builder);
}

static struct builder *read_first(const struct events *events)
{
	struct builder *first = builder_new_first();

	feed_begin(first, events);
	for (size_t i = 0; i < events->count; i++)
		feed_event(first, &events->list[i]);
	builder_finish_first(first);
	assert_int_equal(first->functions.list.count, 0);
	assert_int_equal(first->ranges.spans.list.count, 0);
	return first;
}

/* The state of the spans of one kind. */
struct seen {
	const struct model *whole;
	const struct model_span *expected; /* in the order of the list */
	uint32_t count;
	uint32_t *by_number;
	uint8_t *states; /* 0: not seen, 1: open, 2: over */
	bool ranges, any_lost;
};

static struct seen seen_begin(const struct model *whole, const struct model_span *expected, uint32_t count)
{
	struct seen seen = {.whole = whole, .expected = expected, .count = count};

	seen.by_number = xcalloc(count + 1, sizeof(*seen.by_number));
	seen.states = xcalloc(count + 1, 1);
	memset(seen.by_number, 0xff, count * sizeof(*seen.by_number));
	for (uint32_t i = 0; i < count; i++) {
		assert_true(expected[i].number < count);
		assert_int_equal(seen.by_number[expected[i].number], NONE);
		seen.by_number[expected[i].number] = i;
	}
	return seen;
}

static void seen_end(struct seen *seen)
{
	for (uint32_t i = 0; i < seen->count; i++)
		assert_int_equal(seen->states[i], 2);
	free(seen->by_number);
	free(seen->states);
}

static void assert_same_text(const struct model *whole, uint32_t a, const struct builder *second, uint32_t b)
{
	assert_int_equal(a == NONE, b == NONE);
	if (a != NONE)
		assert_string_equal(whole->strings[a], second->strings.strings.items[b]);
}

static void assert_span(struct seen *seen, const struct builder *second, const struct model_span *span,
			uint64_t until_ns, bool last)
{
	const struct model_span *expected;
	uint32_t index;

	assert_true(span->number < seen->count);
	index = seen->by_number[span->number];
	expected = &seen->expected[index];
	assert_int_equal(span->start_ns, expected->start_ns);
	assert_int_equal(span->thread, expected->thread);
	assert_int_equal(span->kind, expected->kind);
	assert_int_equal(span->continued, seen->states[index] == 1);
	assert_int_not_equal(seen->states[index], 2);
	assert_true(last || span->start_ns < until_ns);
	assert_int_equal(span->open, !last && expected->end_ns >= until_ns);
	assert_int_equal(span->end_ns, span->open ? UINT64_MAX : expected->end_ns);
	assert_int_equal(span->truncated, !span->open && expected->truncated);
	assert_same_text(seen->whole, expected->name, second, span->name);
	if (span->kind == MODEL_SPAN_FUNCTION)
		assert_string_equal(seen->whole->codes[expected->code].name, second->codes.list.items[span->code].name);
	else
		assert_same_text(seen->whole, expected->domain, second, span->domain);
	seen->states[index] = span->open ? 1 : 2;
}

/* Returns how many spans the part should have; *elsewhere: other parts have some, too. */
static uint32_t expected_in_part(const struct seen *seen, uint32_t thread, uint64_t until_ns, bool last,
				 bool *elsewhere)
{
	uint32_t count = 0;

	*elsewhere = false;
	for (uint32_t i = 0; i < seen->count; i++) {
		const struct model_span *span = &seen->expected[i];
		bool in = seen->states[i] != 2 && (last || span->start_ns < until_ns);

		if (span->thread != thread)
			continue;
		count += in;
		*elsewhere |= !in || seen->states[i] == 1 || (!last && span->end_ns >= until_ns);
	}
	return count;
}

static bool is_in_order(bool ranges, const struct model_span *a, const struct model_span *b)
{
	if (!ranges)
		return a->number < b->number;
	return a->start_ns < b->start_ns || (a->start_ns == b->start_ns && a->end_ns >= b->end_ns);
}

static void assert_part(struct seen *seen, const struct builder *second, const struct model_span *spans, uint32_t count,
			uint64_t until_ns, bool last)
{
	bool ranges = seen->ranges;
	const struct model *model = second->model;
	uint32_t next = 0;

	for (uint32_t i = 0; i < model->thread_count; i++) {
		const struct model_thread *thread = &model->threads[i];
		uint32_t first = ranges ? thread->first_range : thread->first_pycall;
		uint32_t of_thread = ranges ? thread->ranges : thread->pycalls;
		bool elsewhere, said = ranges ? thread->ranges_elsewhere : thread->pycalls_elsewhere;

		assert_int_equal(of_thread, expected_in_part(seen, i, until_ns, last, &elsewhere));
		assert_true(said || !elsewhere);
		assert_true(!said || elsewhere || seen->any_lost);
		assert_int_equal(first, next);
		for (next = first; next < first + of_thread; next++) {
			if (next > first)
				assert_true(is_in_order(ranges, &spans[next - 1], &spans[next]));
			assert_int_equal(spans[next].thread, i);
			assert_span(seen, second, &spans[next], until_ns, last);
		}
	}
	assert_int_equal(next, count);
}

static bool has_kind(const struct events *events, enum what what)
{
	bool has = false;

	for (size_t i = 0; i < events->count && !has; i++)
		has = events->list[i].what == what;
	return has;
}

/* begins[i]: no event from i on is earlier than this. */
static void find_begins(const struct events *events, uint64_t *begins)
{
	begins[events->count] = UINT64_MAX;
	for (size_t i = events->count; i-- > 0;)
		begins[i] = events->list[i].time_ns < begins[i + 1] ? events->list[i].time_ns : begins[i + 1];
}

static void assert_same_in_parts(const struct events *events, const struct model *whole, struct builder *first,
				 size_t each)
{
	struct builder *second = builder_new_second(first);
	struct seen functions = seen_begin(whole, whole->pycalls, whole->pycall_count);
	struct seen ranges = seen_begin(whole, whole->ranges, whole->range_count);
	uint64_t begins[EVENTS_MAX + 1];

	ranges.ranges = true;
	ranges.any_lost = has_kind(events, LOSE);
	find_begins(events, begins);
	feed_begin(second, events);
	for (size_t i = 0; i < events->count; i++) {
		bool last = i + 1 == events->count;

		feed_event(second, &events->list[i]);
		if ((i + 1) % each && !last)
			continue;
		hand_over_spans(second, begins[i + 1], last);
		assert_part(&functions, second, second->model->pycalls, second->model->pycall_count, begins[i + 1],
			    last);
		assert_part(&ranges, second, second->model->ranges, second->model->range_count, begins[i + 1], last);
	}
	assert_int_equal(second->functions.list.count, 0);
	assert_int_equal(second->ranges.spans.list.count, 0);
	seen_end(&functions);
	seen_end(&ranges);
	builder_discard(second);
}

static void assert_same_threads(const struct model *whole, const struct builder *first)
{
	assert_int_equal(first->processes.threads.count, whole->thread_count);
	for (uint32_t i = 0; i < whole->thread_count; i++) {
		assert_int_equal(first->processes.threads.items[i].tid, whole->threads[i].tid);
		assert_int_equal(first->processes.threads.items[i].process, whole->threads[i].process);
	}
}

/* Returns the number of spans in the traces. */
static uint64_t assert_mix(const struct mix *mix, unsigned traces)
{
	static struct events events;
	uint64_t spans = 0;

	for (unsigned seed = 0; seed < SOME_OF(traces); seed++) {
		struct model *whole;
		struct builder *first;

		make_events(&events, mix, seed);
		whole = read_whole(&events);
		first = read_first(&events);
		assert_same_threads(whole, first);
		assert_int_equal(first->functions.lost, model_source(whole)->receipt.python_unpaired);
		assert_int_equal(first->ranges.lost, model_source(whole)->receipt.ranges_lost);
		for (size_t each = 1; each < 3 * events.count; each = each * 3 + (size_t)rand() % 3)
			assert_same_in_parts(&events, whole, first, each);
		spans += whole->pycall_count + whole->range_count;
		model_free(whole);
		builder_discard(first);
	}
	return spans;
}

static void functions_are_the_same_in_parts(void **state)
{
	assert_true(assert_mix(&(struct mix){.of = {[ENTER] = 128, [LEAVE] = 127, [CALL] = 1}}, 60) > SOME_OF(5000));
}

static void functions_of_programs_that_end_are_the_same_in_parts(void **state)
{
	assert_mix(&(struct mix){.of = {[ENTER] = 140, [LEAVE] = 108, [EXEC] = 4, [EXIT] = 4}}, 60);
}

static void ranges_are_the_same_in_parts(void **state)
{
	const struct mix mix = {.of = {[MARK] = 20,
				       [PUSH] = 80,
				       [POP] = 70,
				       [RANGE_START] = 40,
				       [RANGE_END] = 40,
				       [CALL] = 3,
				       [RETURN] = 3}};

	assert_true(assert_mix(&mix, 60) > SOME_OF(10000));
}

static void ranges_of_programs_that_end_are_the_same_in_parts(void **state)
{
	const struct mix mix = {.of = {[MARK] = 20,
				       [PUSH] = 80,
				       [POP] = 76,
				       [RANGE_START] = 32,
				       [RANGE_END] = 40,
				       [EXEC] = 4,
				       [EXIT] = 4}};

	assert_mix(&mix, 60);
}

/* Some ranges have no room within an interval; the loss is reported at its end. */
static void where_ranges_were_lost_parts_leave_out_the_same(void **state)
{
	const struct mix mix = {.of = {[MARK] = 10,
				       [PUSH] = 80,
				       [POP] = 80,
				       [RANGE_START] = 42,
				       [RANGE_END] = 40,
				       [LOSE] = 1,
				       [EXEC] = 1,
				       [EXIT] = 2}};

	assert_mix(&mix, 120);
}

static void all_together_is_the_same_in_parts(void **state)
{
	struct mix mix;

	memset(mix.of, 256 / KINDS, sizeof(mix.of));
	mix.of[LOSE] = mix.of[EXEC] = mix.of[EXIT] = 2;
	assert_mix(&mix, 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_the_same_in_parts),
		cmocka_unit_test(functions_of_programs_that_end_are_the_same_in_parts),
		cmocka_unit_test(ranges_are_the_same_in_parts),
		cmocka_unit_test(ranges_of_programs_that_end_are_the_same_in_parts),
		cmocka_unit_test(where_ranges_were_lost_parts_leave_out_the_same),
		cmocka_unit_test(all_together_is_the_same_in_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
