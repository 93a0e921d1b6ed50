/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which earlier descriptions are repeated for a chunk of records, so that it can be read alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <gputrace/walk.h>

#include "log/descriptions_state.h"
#include "log_builder.h"

/* The descriptions, and the next chunk. */
struct fixture {
	struct descriptions *descriptions;
	struct log_builder chunk;
	struct descriptions_repeated repeated;
	uint8_t *front; /* the repeated records of the last chunk */
};

/* A record at offset 0 means none to the builder. */
#define CHUNK_HEAD 8

static void begin_chunk(struct fixture *f)
{
	static const uint8_t head[CHUNK_HEAD];

	log_free(&f->chunk);
	memset(&f->chunk, 0, sizeof(f->chunk));
	log_raw(&f->chunk, head, sizeof(head));
}

static void begin_fixture(struct fixture *f, size_t bytes_max, size_t repeated_max)
{
	memset(f, 0, sizeof(*f));
	f->descriptions = descriptions_new(bytes_max, repeated_max);
	begin_chunk(f);
}

static void end_fixture(struct fixture *f)
{
	descriptions_free(f->descriptions);
	log_free(&f->chunk);
	free(f->front);
}

/* Ends the chunk. */
static void end_chunk(struct fixture *f)
{
	log_batch_end(&f->chunk);
	descriptions_look(f->descriptions, f->chunk.data + CHUNK_HEAD, f->chunk.size - CHUNK_HEAD, &f->repeated);
	free(f->front);
	f->front = malloc(f->repeated.bytes + 1);
	descriptions_write(f->descriptions, f->front);
	begin_chunk(f);
}

static const struct gpt_record *front_record(const struct fixture *f, unsigned index)
{
	const struct gpt_record *record = NULL;
	size_t at = 0;

	for (unsigned i = 0; i <= index; i++)
		record = record_at(f->front, f->repeated.bytes, &at);
	return record;
}

/* The type of a repeated record; for a batch, that of the record in it. 0: there are no more. */
static uint16_t front_type(const struct fixture *f, unsigned index)
{
	const struct gpt_record *record = front_record(f, index);

	if (!record || record->type != GPT_AGENT_BATCH)
		return record ? record->type : 0;
	return ((const struct gpt_record *)((const struct gpt_agent_batch *)record)->data)->type;
}

static void expect_types(const struct fixture *f, const uint16_t *types)
{
	unsigned count = 0;

	for (; types[count]; count++)
		assert_int_equal(front_type(f, count), types[count]);
	assert_int_equal(front_type(f, count), 0);
	assert_int_equal(f->repeated.records, count);
}

#define EXPECT_TYPES(f, ...) expect_types(f, (const uint16_t[]){__VA_ARGS__ __VA_OPT__(, ) 0})

static void stack_of(struct fixture *f, uint32_t pid, uint64_t id, uint64_t code)
{
	log_stack(&f->chunk, pid, id, 1, (struct gpt_pyframe[]){{.code = code}});
}

static const char *name_of_code(const struct gpt_record *record)
{
	return (const char *)((const struct gpt_code *)record)->data;
}

static void begin_python_with(struct fixture *f, size_t bytes_max)
{
	begin_fixture(f, bytes_max, 1 << 20);
	log_process(&f->chunk, 7, 1, 10, 5, 0x30c, "python", "/usr/bin/python", "python x.py", "");
	log_thread(&f->chunk, 7, 8, 20, "worker");
	log_function(&f->chunk, 7, 0xa0, "train", "/x.py", 10);
	log_function(&f->chunk, 7, 0xb0, "other", "/x.py", 90);
	stack_of(f, 7, 1, 0xa0);
	stack_of(f, 7, 2, 0xb0);
	log_launch(&f->chunk, 7, 8, 100, 1, 1);
}

static void begin_python(struct fixture *f)
{
	begin_python_with(f, 1 << 20);
}

static void what_a_chunk_describes_itself_is_not_repeated(void **state)
{
	struct fixture f;

	begin_python(&f);
	end_chunk(&f);
	EXPECT_TYPES(&f);
	assert_true(f.repeated.complete);
	end_fixture(&f);
}

static void a_call_brings_its_process_thread_stack_and_code_objects_and_nothing_else(void **state)
{
	struct fixture f;

	begin_python(&f);
	end_chunk(&f);
	log_launch(&f.chunk, 7, 8, 200, 1, 2);
	end_chunk(&f);
	EXPECT_TYPES(&f, GPT_PROCESS, GPT_THREAD, GPT_CODE, GPT_CODE_LINES, GPT_PYSTACK);
	assert_string_equal(name_of_code(front_record(&f, 2)), "train");
	assert_true(f.repeated.complete);
	end_fixture(&f);
}

static void a_chunk_is_given_each_description_once(void **state)
{
	struct fixture f;

	begin_python(&f);
	end_chunk(&f);
	for (uint32_t i = 0; i < 100; i++)
		log_launch(&f.chunk, 7, 8, 200 + i, 1 + i % 2, 2 + i);
	end_chunk(&f);
	EXPECT_TYPES(&f, GPT_PROCESS, GPT_THREAD, GPT_CODE, GPT_CODE_LINES, GPT_CODE, GPT_CODE_LINES, GPT_PYSTACK,
		     GPT_PYSTACK);
	end_fixture(&f);
}

static void every_chunk_has_the_session_and_the_last_two_clocks(void **state)
{
	struct fixture f;

	begin_fixture(&f, 1 << 20, 1 << 20);
	log_session(&f.chunk, "1", "host", "6.18", "pid 7", 2, 0, 0);
	for (uint64_t i = 1; i <= 5; i++)
		log_clock(&f.chunk, (struct gpt_clock){.mono_ns = i});
	end_chunk(&f);
	log_text(&f.chunk, GPT_NOTE, 0, "a note");
	end_chunk(&f);
	EXPECT_TYPES(&f, GPT_SESSION, GPT_CLOCK, GPT_CLOCK);
	assert_int_equal(((const struct gpt_clock *)front_record(&f, 1))->mono_ns, 4);
	assert_int_equal(((const struct gpt_clock *)front_record(&f, 2))->mono_ns, 5);
	end_fixture(&f);
}

static void a_stack_keeps_the_code_objects_that_its_addresses_had_when_it_was_described(void **state)
{
	struct fixture f;

	begin_python(&f);
	end_chunk(&f);
	log_function(&f.chunk, 7, 0xa0, "second", "/x.py", 20);
	stack_of(&f, 7, 3, 0xa0);
	end_chunk(&f);
	log_launch(&f.chunk, 7, 8, 300, 3, 3);
	log_launch(&f.chunk, 7, 8, 300, 1, 4);
	end_chunk(&f);
	EXPECT_TYPES(&f, GPT_PROCESS, GPT_THREAD, GPT_CODE, GPT_CODE_LINES, GPT_PYSTACK, GPT_CODE, GPT_CODE_LINES,
		     GPT_PYSTACK);
	assert_string_equal(name_of_code(front_record(&f, 2)), "train");
	assert_string_equal(name_of_code(front_record(&f, 5)), "second");
	end_fixture(&f);
}

static void a_code_object_that_is_replaced_in_a_chunk_is_repeated_for_what_came_before(void **state)
{
	struct fixture f;

	begin_python(&f);
	end_chunk(&f);
	stack_of(&f, 7, 4, 0xa0);
	log_function(&f.chunk, 7, 0xa0, "second", "/x.py", 20);
	stack_of(&f, 7, 5, 0xa0);
	end_chunk(&f);
	EXPECT_TYPES(&f, GPT_PROCESS, GPT_CODE, GPT_CODE_LINES);
	assert_string_equal(name_of_code(front_record(&f, 1)), "train");
	end_fixture(&f);
}

static void a_dead_code_object_stays_dead_for_later_stacks(void **state)
{
	struct fixture f;

	begin_python(&f);
	end_chunk(&f);
	log_code_dead(&f.chunk, (struct gpt_code_dead){.code = 0xa0, .pid = 7, .time_ns = 150});
	stack_of(&f, 7, 3, 0xa0);
	end_chunk(&f);
	log_launch(&f.chunk, 7, 8, 300, 3, 3);
	log_launch(&f.chunk, 7, 8, 300, 1, 4);
	end_chunk(&f);
	EXPECT_TYPES(&f, GPT_PROCESS, GPT_THREAD, GPT_CODE, GPT_CODE_LINES, GPT_PYSTACK, GPT_CODE_DEAD, GPT_PYSTACK);
	end_fixture(&f);
}

static void lines_that_come_with_the_chunk_are_not_repeated(void **state)
{
	struct gpt_code_lines lines = {.code = 0xa0, .pid = 7, .offset = 128, .bytes = 4};
	struct fixture f;

	begin_python(&f);
	end_chunk(&f);
	log_put(&f.chunk, GPT_CODE_LINES, &lines, sizeof(lines), "abcd", 4);
	end_chunk(&f);
	EXPECT_TYPES(&f, GPT_PROCESS, GPT_CODE, GPT_CODE_LINES);
	stack_of(&f, 7, 3, 0xa0);
	end_chunk(&f);
	EXPECT_TYPES(&f, GPT_PROCESS, GPT_CODE, GPT_CODE_LINES, GPT_CODE_LINES);
	end_fixture(&f);
}

static void an_exec_restarts_all_numbers_and_is_repeated_itself(void **state)
{
	struct fixture f;

	begin_python(&f);
	end_chunk(&f);
	log_process_event(&f.chunk, GPT_EXEC, 7, 0, 400, "second");
	log_process(&f.chunk, 7, 1, 390, 5, 0, "before", "/b", "b", "");
	log_process(&f.chunk, 7, 1, 410, 5, 0, "after", "/a", "a", "");
	end_chunk(&f);
	log_launch(&f.chunk, 7, 8, 500, 1, 2);
	end_chunk(&f);
	EXPECT_TYPES(&f, GPT_EXEC, GPT_PROCESS);
	assert_string_equal(((const struct gpt_process *)front_record(&f, 1))->text, "after");
	end_fixture(&f);
}

static void what_came_before_an_exec_of_the_same_chunk_has_its_descriptions(void **state)
{
	struct fixture f;

	begin_python(&f);
	end_chunk(&f);
	log_launch(&f.chunk, 7, 8, 200, 1, 2);
	log_process_event(&f.chunk, GPT_EXEC, 7, 0, 400, "second");
	end_chunk(&f);
	EXPECT_TYPES(&f, GPT_PROCESS, GPT_THREAD, GPT_CODE, GPT_CODE_LINES, GPT_PYSTACK);
	end_fixture(&f);
}

static void a_pid_that_another_process_gets_means_that_one(void **state)
{
	struct fixture f;

	begin_python(&f);
	end_chunk(&f);
	log_process_event(&f.chunk, GPT_EXIT, 7, 0, 400, "python");
	log_process_event(&f.chunk, GPT_FORK, 7, 1, 900000000, "sh");
	end_chunk(&f);
	log_launch(&f.chunk, 7, 8, 1000000000, 1, 2);
	end_chunk(&f);
	EXPECT_TYPES(&f, GPT_FORK);
	end_fixture(&f);
}

static void a_process_that_has_ended_is_still_described(void **state)
{
	struct fixture f;

	begin_python(&f);
	log_process_event(&f.chunk, GPT_EXIT, 7, 0, 400, "python");
	end_chunk(&f);
	log_batch(&f.chunk, 7, 8, 500);
	end_chunk(&f);
	EXPECT_TYPES(&f, GPT_PROCESS);
	end_fixture(&f);
}

static void native_frames_have_their_symbols_also_those_that_came_later(void **state)
{
	struct fixture f;

	begin_python(&f);
	log_native_stack(&f.chunk, 7, 9, 2, (uint64_t[]){0x1000, 0x2000});
	log_native_sym(&f.chunk, 7, 0x3000, "elsewhere", "libx");
	end_chunk(&f);
	log_native_sym(&f.chunk, 7, 0x2000, "main", "a.out");
	end_chunk(&f);
	log_call(&f.chunk, (struct gpt_call){.pid = 7, .tid = 8, .native_id = 9});
	end_chunk(&f);
	EXPECT_TYPES(&f, GPT_PROCESS, GPT_THREAD, GPT_NATIVE_STACK, GPT_NATIVE_SYM);
	assert_int_equal(((const struct gpt_native_sym *)front_record(&f, 3))->ip, 0x2000);
	end_fixture(&f);
}

static void gpu_work_brings_name_stream_context_and_device_each_in_a_batch(void **state)
{
	struct fixture f;

	begin_python(&f);
	log_batch(&f.chunk, 7, 9, 150);
	log_agent_ready(&f.chunk, "kernels");
	log_agent_device(&f.chunk, &(struct gpt_agent_device){.id = 2}, "H200");
	log_agent_context(&f.chunk, (struct gpt_agent_context){.context = 3, .device = 2});
	log_agent_stream(&f.chunk, (struct gpt_agent_stream){.context = 3, .stream = 4});
	log_agent_stream(&f.chunk, (struct gpt_agent_stream){.context = 3, .stream = 5});
	log_agent_name(&f.chunk, 1, "gemm");
	log_agent_name(&f.chunk, 2, "other");
	end_chunk(&f);
	log_batch(&f.chunk, 7, 9, 250);
	log_agent_kernel(&f.chunk, (struct gpt_agent_kernel){.device = 2, .context = 3, .stream = 5, .name = 1});
	end_chunk(&f);
	EXPECT_TYPES(&f, GPT_PROCESS, GPT_AGENT_HELLO, GPT_AGENT_DEVICE, GPT_AGENT_CONTEXT, GPT_AGENT_STREAM,
		     GPT_AGENT_NAME);
	for (unsigned i = 1; i < 6; i++) {
		const struct gpt_agent_batch *batch = (const struct gpt_agent_batch *)front_record(&f, i);

		assert_int_equal(batch->hdr.type, GPT_AGENT_BATCH);
		assert_int_equal(batch->pid, 7);
		assert_int_equal(batch->time_ns, 150);
		assert_int_equal(batch->hdr.size, sizeof(*batch) + batch->bytes);
	}
	end_fixture(&f);
}

static void numbers_of_a_collectors_batch_keep_its_flags(void **state)
{
	struct fixture f;

	begin_python(&f);
	log_batch_foreign(&f.chunk, 7, 150, GPT_BATCH_MONOTONIC, 77);
	log_agent_name(&f.chunk, 0x80000001, "gemm");
	end_chunk(&f);
	log_batch_foreign(&f.chunk, 7, 250, GPT_BATCH_MONOTONIC, 5);
	log_agent_kernel(&f.chunk, (struct gpt_agent_kernel){.name = 0x80000001});
	end_chunk(&f);
	EXPECT_TYPES(&f, GPT_PROCESS, GPT_AGENT_NAME);
	assert_int_equal(front_record(&f, 1)->flags, GPT_BATCH_FOREIGN | GPT_BATCH_MONOTONIC);
	assert_int_equal(((const struct gpt_agent_batch *)front_record(&f, 1))->error_ns, 77);
	end_fixture(&f);
}

static void a_range_brings_the_thread_that_its_own_namespace_calls_so(void **state)
{
	struct gpt_agent_range range = {.tid = 44, .what = GPT_AGENT_RANGE_PUSHED};
	struct fixture f;

	begin_fixture(&f, 1 << 20, 1 << 20);
	log_thread_record(&f.chunk, (struct gpt_thread){.pid = 7, .tid = 8, .own_tid = 44, .comm = "inside"});
	log_thread_record(&f.chunk, (struct gpt_thread){.pid = 7, .tid = 9, .own_tid = 45, .comm = "beside"});
	end_chunk(&f);
	log_batch(&f.chunk, 7, 9, 250);
	log_agent_range(&f.chunk, &range, "step", "");
	end_chunk(&f);
	EXPECT_TYPES(&f, GPT_THREAD);
	assert_string_equal(((const struct gpt_thread *)front_record(&f, 0))->comm, "inside");
	end_fixture(&f);
}

static void of_many_hellos_the_first_and_the_last_are_kept(void **state)
{
	struct fixture f;
	uint32_t versions[8] = {1, 2, 3, 4, 97, 98, 99, 100};

	begin_fixture(&f, 1 << 20, 1 << 20);
	log_batch(&f.chunk, 7, 9, 150);
	for (uint32_t i = 1; i <= 100; i++)
		log_agent_hello(&f.chunk, GPT_AGENT_READY, GPT_AGENT_OK, i, "", "");
	end_chunk(&f);
	log_batch(&f.chunk, 7, 9, 250);
	end_chunk(&f);
	assert_int_equal(f.repeated.records, 8);
	for (unsigned i = 0; i < 8; i++) {
		const struct gpt_agent_batch *batch = (const struct gpt_agent_batch *)front_record(&f, i);

		assert_int_equal(((const struct gpt_agent_hello *)batch->data)->cupti_version, versions[i]);
	}
	end_fixture(&f);
}

static void every_segment_with_a_process_has_the_state_of_its_ops_and_its_schedule(void **state)
{
	struct gpt_agent_schedule schedule = {.active = 3};
	struct fixture f;

	(void)state;
	begin_fixture(&f, 1 << 20, 1 << 20);
	log_batch(&f.chunk, 7, 9, 150);
	log_agent_ops(&f.chunk, GPT_AGENT_OPS_OBSERVING, 0, "");
	log_batch(&f.chunk, 7, 9, 160);
	log_put(&f.chunk, GPT_AGENT_SCHEDULE, &schedule, sizeof(schedule), NULL, 0);
	end_chunk(&f);
	log_launch(&f.chunk, 7, 8, 200, 1, 2);
	end_chunk(&f);
	EXPECT_TYPES(&f, GPT_AGENT_OPS, GPT_AGENT_SCHEDULE);
	end_fixture(&f);
}

static void what_was_not_needed_for_longest_is_forgotten_and_that_is_said(void **state)
{
	struct fixture f;

	begin_fixture(&f, 256 << 10, 1 << 20);
	for (uint64_t i = 1; i <= 4000; i++) {
		log_launch(&f.chunk, 7, 8, i, 1, (uint32_t)i);
		stack_of(&f, 7, i, 0xa0);
		if (i % 10 == 0)
			end_chunk(&f);
	}
	assert_true(f.descriptions->store.forgotten > 1000);
	log_launch(&f.chunk, 7, 8, 5000, 1, 5000);
	log_launch(&f.chunk, 7, 8, 5000, 3990, 5001);
	end_chunk(&f);
	EXPECT_TYPES(&f, GPT_PYSTACK, GPT_PYSTACK);
	log_launch(&f.chunk, 7, 8, 5000, 2, 5000);
	end_chunk(&f);
	EXPECT_TYPES(&f);
	assert_false(f.repeated.complete);
	end_fixture(&f);
}

/* Each time a child that comes and goes, and new code, which dies. */
static void put_what_is_over_soon(struct fixture *f, uint32_t number)
{
	uint32_t child = 1000 + number;
	uint64_t code = 0x1000 + 16 * (number % 64), stack = 100 + number;

	log_process_event(&f->chunk, GPT_FORK, child, 7, 1000000000ull * number, "child");
	log_thread(&f->chunk, child, child, 0, "child");
	log_code(&f->chunk, child, 0xa0, "f", "f", "f.py", 1, GPT_LINES_310, "abcd", 4);
	stack_of(f, child, 1, 0xa0);
	log_launch(&f->chunk, child, child, 1, 1, number);
	log_process_event(&f->chunk, GPT_EXIT, child, 7, 1000000000ull * number + 5, "child");
	log_code(&f->chunk, 7, code, "g", "g", "g.py", 1, GPT_LINES_310, "abcd", 4);
	stack_of(f, 7, stack, code);
	log_launch(&f->chunk, 7, 8, 1, stack, number);
	log_code_dead(&f->chunk, (struct gpt_code_dead){.code = code, .pid = 7});
}

static void what_is_over_takes_no_memory_and_what_lives_is_described_for_ever(void **state)
{
	size_t most = 0;
	struct fixture f;

	begin_python_with(&f, DESCRIPTIONS_BYTES_MAX);
	end_chunk(&f);
	for (uint32_t i = 1; i <= 20000; i++) {
		put_what_is_over_soon(&f, i);
		if (i % 20 == 0)
			end_chunk(&f);
		most = f.descriptions->store.bytes > most ? f.descriptions->store.bytes : most;
	}
	assert_in_range(most, 1, 8 << 20);
	assert_int_equal(f.descriptions->store.forgotten, 0);
	/* of a code object that lives, and was not needed all the time */
	stack_of(&f, 7, 9, 0xa0);
	log_launch(&f.chunk, 7, 8, 5000, 9, 5000);
	end_chunk(&f);
	EXPECT_TYPES(&f, GPT_PROCESS, GPT_THREAD, GPT_CODE, GPT_CODE_LINES);
	assert_true(f.repeated.complete);
	end_fixture(&f);
}

static void of_very_many_threads_those_that_were_not_needed_for_long_are_forgotten(void **state)
{
	struct fixture f;

	begin_python_with(&f, DESCRIPTIONS_BYTES_MAX);
	for (uint32_t i = 0; i < 200000; i++) {
		log_thread(&f.chunk, 7, 1000 + i, 0, "thread");
		if (i % 200 == 0)
			end_chunk(&f);
	}
	assert_in_range(f.descriptions->store.all.count, 1, 50000);
	log_launch(&f.chunk, 7, 1000, 5000, 0, 5000);
	end_chunk(&f);
	assert_false(f.repeated.complete);
	end_fixture(&f);
}

static void a_chunk_alone_may_not_take_more_memory_than_there_is(void **state)
{
	struct fixture f;

	begin_fixture(&f, 64 << 10, 1 << 20);
	for (uint64_t i = 1; i <= 4000; i++)
		stack_of(&f, 7, i, 0xa0);
	end_chunk(&f);
	assert_true(f.descriptions->store.forgotten > 3000);
	end_fixture(&f);
}

static void more_than_a_segment_holds_is_left_out_and_that_is_said(void **state)
{
	struct fixture f;

	begin_fixture(&f, 1 << 20, 4096);
	for (uint64_t i = 1; i <= 1000; i++)
		stack_of(&f, 7, i, 0xa0);
	end_chunk(&f);
	for (uint64_t i = 1; i <= 1000; i++)
		log_launch(&f.chunk, 7, 8, i, i, (uint32_t)i);
	end_chunk(&f);
	assert_true(f.repeated.bytes <= 4096 && f.repeated.bytes > 4000);
	assert_false(f.repeated.complete);
	end_fixture(&f);
}

static void records_that_lie_of_their_lengths_are_taken_for_what_is_there(void **state)
{
	struct gpt_pystack stack = {.id = 1, .pid = 7, .depth = UINT32_MAX};
	struct gpt_native_stack native = {.id = 1, .pid = 7, .depth = UINT32_MAX};
	struct gpt_agent_batch batch = {.pid = 7, .bytes = UINT32_MAX};
	struct gpt_record inside = {.size = UINT32_MAX - 7, .type = GPT_AGENT_NAME};
	struct gpt_pyframe frame = {.code = 0xa0};
	uint64_t ip = 0x1000;
	struct fixture f;

	begin_fixture(&f, 1 << 20, 1 << 20);
	for (int i = 0; i < 2; i++) {
		log_put(&f.chunk, GPT_PYSTACK, &stack, sizeof(stack), &frame, sizeof(frame));
		log_put(&f.chunk, GPT_NATIVE_STACK, &native, sizeof(native), &ip, sizeof(ip));
		log_put(&f.chunk, GPT_AGENT_BATCH, &batch, sizeof(batch), &inside, sizeof(inside));
		for (uint16_t type = 1; type < 64; type++)
			log_put(&f.chunk, type, &(struct gpt_record){0}, sizeof(struct gpt_record), NULL, 0);
		end_chunk(&f);
	}
	assert_int_equal(f.repeated.records, 0);
	end_fixture(&f);
}

/* ---- any order of events: a chunk alone means what it means in the whole log ------------------------------------ */

#define PIDS 3
#define CODES 4
#define STACKS 8

/* A reader's knowledge, by pid. A code object is its first line, a thread the time at which it was named. */
struct reader {
	struct known {
		uint32_t codes[CODES];
		uint32_t stacks[STACKS][2]; /* the frames at the time when the stack was described */
		uint64_t named_ns;
	} pids[PIDS];
};

/* The meaning of a call. */
struct meaning {
	uint32_t frames[2];
	uint64_t named_ns;
};

static struct meaning read_record(struct reader *reader, const struct gpt_record *record)
{
	const struct gpt_code *code = (const struct gpt_code *)record;
	const struct gpt_code_dead *dead = (const struct gpt_code_dead *)record;
	const struct gpt_pystack *stack = (const struct gpt_pystack *)record;
	const struct gpt_thread *thread = (const struct gpt_thread *)record;
	const struct gpt_process_event *event = (const struct gpt_process_event *)record;
	const struct gpt_call *call = (const struct gpt_call *)record;
	struct meaning meaning = {0};
	struct known *known;

	switch (record->type) {
	case GPT_CODE:
		reader->pids[code->pid].codes[code->code - 1] = code->first_line;
		break;
	case GPT_CODE_DEAD:
		reader->pids[dead->pid].codes[dead->code - 1] = 0;
		break;
	case GPT_PYSTACK:
		known = &reader->pids[stack->pid];
		for (uint32_t i = 0; i < 2; i++)
			known->stacks[stack->id - 1][i] = known->codes[stack->frames[i].code - 1];
		break;
	case GPT_THREAD:
		reader->pids[thread->pid].named_ns = thread->time_ns;
		break;
	case GPT_FORK:
	case GPT_EXEC:
		reader->pids[event->pid] = (struct known){0};
		break;
	case GPT_CALL:
		known = &reader->pids[call->pid];
		memcpy(meaning.frames, known->stacks[call->stack_id - 1], sizeof(meaning.frames));
		meaning.named_ns = known->named_ns;
		break;
	default:
		break;
	}
	return meaning;
}

static void put_anything(struct log_builder *log, unsigned number)
{
	uint32_t pid = (uint32_t)rand() % PIDS;
	uint64_t time_ns = 1000000000ull * number;
	char name[16];

	snprintf(name, sizeof(name), "n%u", number % 10000);
	switch (rand() % 32) {
	case 0:
		log_process_event(log, GPT_FORK, pid, 99, time_ns, name);
		break;
	case 1:
		log_process_event(log, GPT_EXEC, pid, 0, time_ns, name);
		break;
	case 2:
	case 3:
	case 4:
		log_code(log, pid, 1 + (uint64_t)rand() % CODES, name, name, name, number, GPT_LINES_310, name, 4);
		break;
	case 5:
		log_code_dead(log, (struct gpt_code_dead){.code = 1 + (uint64_t)rand() % CODES, .pid = pid});
		break;
	case 6:
	case 7:
	case 8:
	case 9:
		log_stack(log, pid, 1 + (uint64_t)rand() % STACKS, 2,
			  (struct gpt_pyframe[]){{.code = 1 + (uint64_t)rand() % CODES},
						 {.code = 1 + (uint64_t)rand() % CODES}});
		break;
	case 10:
		log_thread(log, pid, 8, time_ns, name);
		break;
	default:
		log_launch(log, pid, 8, time_ns, 1 + (uint64_t)rand() % STACKS, number);
	}
}

static void a_chunk_alone_means_what_it_means_in_the_whole_log(void **state)
{
	static struct reader whole, alone;
	unsigned calls = 0;
	struct fixture f;

	srand(4711);
	begin_fixture(&f, 1 << 20, 1 << 20);
	for (unsigned chunk = 0; chunk < 3000; chunk++) {
		struct log_builder copy = {0};
		size_t at = 0;

		for (unsigned i = 0; i < 20; i++)
			put_anything(&f.chunk, chunk * 20 + i);
		log_raw(&copy, f.chunk.data + CHUNK_HEAD, f.chunk.size - CHUNK_HEAD);
		end_chunk(&f);
		memset(&alone, 0, sizeof(alone));
		for (unsigned i = 0; i < f.repeated.records; i++)
			read_record(&alone, front_record(&f, i));
		while (at < copy.size) {
			const struct gpt_record *record = record_at(copy.data, copy.size, &at);

			struct meaning in_whole = read_record(&whole, record);
			struct meaning in_chunk = read_record(&alone, record);

			assert_memory_equal(&in_whole, &in_chunk, sizeof(in_whole));
			calls += record->type == GPT_CALL;
		}
		log_free(&copy);
	}
	assert_true(calls > 30000);
	end_fixture(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_chunk_describes_itself_is_not_repeated),
		cmocka_unit_test(a_call_brings_its_process_thread_stack_and_code_objects_and_nothing_else),
		cmocka_unit_test(a_chunk_is_given_each_description_once),
		cmocka_unit_test(every_chunk_has_the_session_and_the_last_two_clocks),
		cmocka_unit_test(a_stack_keeps_the_code_objects_that_its_addresses_had_when_it_was_described),
		cmocka_unit_test(a_code_object_that_is_replaced_in_a_chunk_is_repeated_for_what_came_before),
		cmocka_unit_test(a_dead_code_object_stays_dead_for_later_stacks),
		cmocka_unit_test(lines_that_come_with_the_chunk_are_not_repeated),
		cmocka_unit_test(an_exec_restarts_all_numbers_and_is_repeated_itself),
		cmocka_unit_test(what_came_before_an_exec_of_the_same_chunk_has_its_descriptions),
		cmocka_unit_test(a_pid_that_another_process_gets_means_that_one),
		cmocka_unit_test(a_process_that_has_ended_is_still_described),
		cmocka_unit_test(native_frames_have_their_symbols_also_those_that_came_later),
		cmocka_unit_test(gpu_work_brings_name_stream_context_and_device_each_in_a_batch),
		cmocka_unit_test(numbers_of_a_collectors_batch_keep_its_flags),
		cmocka_unit_test(a_range_brings_the_thread_that_its_own_namespace_calls_so),
		cmocka_unit_test(of_many_hellos_the_first_and_the_last_are_kept),
		cmocka_unit_test(every_segment_with_a_process_has_the_state_of_its_ops_and_its_schedule),
		cmocka_unit_test(what_was_not_needed_for_longest_is_forgotten_and_that_is_said),
		cmocka_unit_test(what_is_over_takes_no_memory_and_what_lives_is_described_for_ever),
		cmocka_unit_test(of_very_many_threads_those_that_were_not_needed_for_long_are_forgotten),
		cmocka_unit_test(a_chunk_alone_may_not_take_more_memory_than_there_is),
		cmocka_unit_test(more_than_a_segment_holds_is_left_out_and_that_is_said),
		cmocka_unit_test(records_that_lie_of_their_lengths_are_taken_for_what_is_there),
		cmocka_unit_test(a_chunk_alone_means_what_it_means_in_the_whole_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
