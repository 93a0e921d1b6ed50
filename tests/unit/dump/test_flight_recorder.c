/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * PyTorch's Flight Recorder as its headers lay it out, in this process: what each version records, and what is no
 * recorder.  The structs follow FlightRecorder.hpp of the wheels of 2.7.1, 2.8.0, 2.9.1 and 2.10.0 to 2.15.0.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "dump/process/flight_recorder.h"

#define REGION (64u << 10)
#define RING 8

struct string {
	char *data;
	size_t length;
	char local[16];
};

struct vector {
	void *begin, *end, *limit;
};

struct small_4 {
	int64_t *begin;
	uint32_t count, capacity;
	int64_t own[4];
};

struct small_8 {
	int64_t *begin;
	uint32_t count, capacity;
	int64_t own[8];
};

#define ENTRY(name, epoch, thread)                                                                                     \
	struct name {                                                                                                  \
		size_t id;                                                                                             \
		epoch size_t group_id;                                                                                 \
		struct string description, group;                                                                      \
		size_t collective, p2p, op;                                                                            \
		struct string profiling_name;                                                                          \
		void *traceback[2], *start, *end;                                                                      \
		int64_t created, timeout;                                                                              \
		bool is_p2p;                                                                                           \
		struct {                                                                                               \
			float value;                                                                                   \
			bool has;                                                                                      \
		} duration;                                                                                            \
		struct {                                                                                               \
			int64_t value;                                                                                 \
			bool has;                                                                                      \
		} started, completed;                                                                                  \
		struct small_4 input_dims;                                                                             \
		struct vector input_types;                                                                             \
		struct small_4 output_dims;                                                                            \
		struct vector output_types;                                                                            \
		struct small_8 sizes;                                                                                  \
		thread bool retired;                                                                                   \
	}

ENTRY(entry_2_7, , );
ENTRY(entry_2_8, , size_t thread_id; struct string thread_name;);
ENTRY(entry_2_10, size_t epoch;, size_t thread_id; struct string thread_name;);

struct node {
	size_t colour;
	struct node *parent, *left, *right;
	struct string description, group;
	struct vector ranks;
};

struct map {
	size_t compares;
	struct node header; /* its members up to `right` */
};

#define RECORDER(name, epoch)                                                                                          \
	struct name {                                                                                                  \
		bool enabled, cpp_stack;                                                                               \
		pthread_mutex_t mutex;                                                                                 \
		struct vector entries;                                                                                 \
		size_t most, next, id;                                                                                 \
		epoch size_t status_map[6];                                                                            \
		struct map ranks;                                                                                      \
	}

RECORDER(recorder_2_7, );
RECORDER(recorder_2_10, size_t epoch; char epoch_starts[56];);

/* The memory of a library, and of the heap. */
struct memory {
	char *data, *heap, *top;
	struct arena *arena;
	struct dump_process process;
	struct looker looker;
};

static void *take_bytes(struct memory *memory, size_t bytes)
{
	void *taken = memory->top;

	memory->top += (bytes + 15) & ~15ul;
	return taken;
}

static void set_string(struct memory *memory, struct string *string, const char *text)
{
	string->length = strlen(text);
	string->data = string->length < sizeof(string->local) ? string->local : take_bytes(memory, string->length + 1);
	if (string->data != string->local)
		memcpy(string->local, &string->length, sizeof(string->length)); /* the capacity */
	memcpy(string->data, text, string->length + 1);
}

static struct memory *make_memory(const char *library)
{
	struct memory *memory = xcalloc(1, sizeof(*memory));
	struct mapping mapping = {.inode = 7, .writable = true, .path = library};

	memory->data = mmap(NULL, 2 * REGION, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memory->heap = memory->top = memory->data + REGION;
	mapping.start = (uint64_t)memory->data;
	mapping.end = mapping.start + REGION;
	array_push(&memory->looker.mappings.list, mapping);
	mapping = (struct mapping){
		.start = mapping.end + 4096, .end = mapping.end + REGION, .writable = true, .path = "[heap]"};
	memory->top += 4096;
	array_push(&memory->looker.mappings.list, mapping);
	assert_int_equal(arena_make(&memory->arena, 4 << 20), 0);
	memory->process.pid = getpid();
	memory->looker.process = &memory->process;
	memory->looker.arena = memory->arena;
	return memory;
}

static void free_memory(struct memory *memory)
{
	munmap(memory->data, 2 * REGION);
	array_free(&memory->looker.mappings.list);
	arena_free(memory->arena);
	free(memory);
}

/* Entry i is collective i + 1, of group 0 for even i, else of a second group; the last two are not finished. */
#define FILL(entry, i, count)                                                                                          \
	do {                                                                                                           \
		(entry)->id = (i);                                                                                     \
		(entry)->group_id = (i) % 2;                                                                           \
		set_string(memory, &(entry)->group, (i) % 2 ? "a group with a long name" : "0");                       \
		set_string(memory, &(entry)->description, (i) % 2 ? "" : "default_pg");                                \
		set_string(memory, &(entry)->profiling_name, "nccl:_all_gather_base");                                 \
		(entry)->collective = (i) + 1;                                                                         \
		(entry)->created = 1000 + (int64_t)(i);                                                                \
		(entry)->retired = (entry)->completed.has = (i) + 2 < (count);                                         \
		(entry)->end = (entry)->retired ? NULL : memory;                                                       \
		(entry)->input_dims = (struct small_4){.begin = (entry)->input_dims.own, 2, 4, {2, 1}};                \
		(entry)->sizes = (struct small_8){.begin = (entry)->sizes.own, 4, 8, {4, 8, 16, 99}};                  \
	} while (0)

/* As in FlightRecorder::record: before 2.10, `next` counts only once the ring is full. */
#define IS_2_10_2_7 0
#define IS_2_10_2_10 1

/* A recorder that got `count` entries for its ring of RING; the library's data hold its address. */
#define MAKE(version, recorder_version, count)                                                                         \
	do {                                                                                                           \
		struct recorder_##recorder_version *made = take_bytes(memory, sizeof(*made));                          \
		struct entry_##version *ring = take_bytes(memory, RING * sizeof(*ring));                               \
		struct node *node = take_bytes(memory, sizeof(*node));                                                 \
		uint64_t *ranks = take_bytes(memory, 3 * sizeof(*ranks));                                              \
                                                                                                                       \
		for (size_t i = 0; i < (count); i++)                                                                   \
			FILL(&ring[i % RING], i, count);                                                               \
		made->enabled = true;                                                                                  \
		made->entries.begin = ring;                                                                            \
		made->entries.end = ring + ((count) < RING ? (count) : RING);                                          \
		made->entries.limit = ring + RING;                                                                     \
		made->most = RING;                                                                                     \
		made->next = IS_2_10_##recorder_version || (count) >= RING ? (count) % RING : 0;                       \
		made->id = (count);                                                                                    \
		made->ranks.header.parent = node;                                                                      \
		set_string(memory, &node->group, "0");                                                                 \
		set_string(memory, &node->description, "default_pg");                                                  \
		ranks[0] = 3, ranks[1] = 4, ranks[2] = 5;                                                              \
		node->ranks = (struct vector){ranks, ranks + 3, ranks + 3};                                            \
		((void **)memory->data)[700] = made;                                                                   \
	} while (0)

static void must_have(struct memory *memory, unsigned count)
{
	const struct dump_process *process = &memory->process;
	unsigned kept = count < RING ? count : RING, in_first = 0;

	flight_recorder_read(&memory->looker);
	assert_int_equal(process->group_count, 2);
	for (unsigned g = 0; g < 2; g++) {
		const struct dump_group *group = &process->groups[g];
		bool second = group->id == 1;

		assert_string_equal(group->name, second ? "a group with a long name" : "0");
		assert_string_equal(group->description, second ? "" : "default_pg");
		assert_int_equal(group->rank_count, second ? 0 : 3);
		if (!second)
			assert_int_equal(group->ranks[2], 5);
		in_first += group->work_count;
		for (unsigned i = 0; i < group->work_count; i++) {
			const struct dump_work *work = &group->works[i];
			bool finished = work->number + 2 <= count;

			assert_string_equal(work->name, "nccl:_all_gather_base");
			assert_int_equal(work->number % 2, second ? 0 : 1);
			assert_true(work->number > count - kept && work->number <= count);
			assert_true(i == 0 || work->number == group->works[i - 1].number + 2);
			assert_int_equal(work->state, finished ? WORK_COMPLETED : WORK_SCHEDULED);
			assert_int_equal(work->since_ns, 999 + (int64_t)work->number);
			if (finished)
				assert_null(work->sizes);
			else
				assert_string_equal(work->sizes, "[4, 8], [16]");
		}
	}
	assert_int_equal(in_first, kept);
}

#define VERSION(version, recorder_version)                                                                             \
	static void ring_of_##version(void **state)                                                                    \
	{                                                                                                              \
		static const unsigned counts[] = {2, 5, RING - 1, RING, RING + 3, 5 * RING};                           \
                                                                                                                       \
		(void)state;                                                                                           \
		for (size_t k = 0; k < sizeof(counts) / sizeof(counts[0]); k++) {                                      \
			struct memory *memory = make_memory("/x/libtorch_cuda.so");                                    \
                                                                                                                       \
			MAKE(version, recorder_version, counts[k]);                                                    \
			must_have(memory, counts[k]);                                                                  \
			free_memory(memory);                                                                           \
		}                                                                                                      \
	}

VERSION(2_7, 2_7)
VERSION(2_8, 2_7)
VERSION(2_10, 2_10)

static struct recorder_2_10 *recorder_of(const struct memory *memory)
{
	return ((struct recorder_2_10 **)memory->data)[700];
}

static struct entry_2_10 *entries_of(const struct memory *memory)
{
	return recorder_of(memory)->entries.begin;
}

static void since_a_reset_older_entries_do_not_count(void **state)
{
	struct memory *memory = make_memory("/x/libtorch_cuda.so");

	(void)state;
	MAKE(2_10, 2_10, 6);
	for (size_t i = 4; i < 6; i++)
		entries_of(memory)[i].id = i - 4;
	recorder_of(memory)->id = 2;
	flight_recorder_read(&memory->looker);
	assert_int_equal(memory->process.group_count, 2);
	assert_int_equal(memory->process.groups[0].work_count, 1);
	assert_int_equal(memory->process.groups[0].works[0].number, 5);
	free_memory(memory);
}

static void how_each_ended_is_what_is_recorded(void **state)
{
	static const enum work_state with_events[] = {WORK_COMPLETED, WORK_GIVEN_UP, WORK_UNKNOWN, WORK_STARTED},
				     without[] = {WORK_COMPLETED, WORK_COMPLETED, WORK_SCHEDULED, WORK_STARTED};

	(void)state;
	for (int events = 0; events <= 1; events++) {
		struct memory *memory = make_memory(events ? "/x/libtorch_cuda.so" : "/x/libtorch_cpu.so");
		struct entry_2_10 *entries;

		MAKE(2_10, 2_10, 4);
		entries = entries_of(memory);
		for (size_t i = 0; i < 4; i++) {
			entries[i].group_id = entries[0].group_id;
			entries[i].retired = i == 1;
			entries[i].completed.has = i == 0;
			entries[i].started.has = i == 3;
			entries[i].end = i == 3 ? memory : NULL;
		}
		flight_recorder_read(&memory->looker);
		assert_int_equal(memory->process.group_count, 1);
		for (size_t i = 0; i < 4; i++)
			assert_int_equal(memory->process.groups[0].works[i].state, (events ? with_events : without)[i]);
		free_memory(memory);
	}
}

/* Damages one value.  The reader must follow what a program writes only as far as it is valid. */
static void damage_value(struct memory *memory, unsigned which)
{
	struct recorder_2_10 *recorder = recorder_of(memory);
	struct entry_2_10 *entry = &entries_of(memory)[2];
	void *nowhere = (void *)8;

	switch (which) {
	case 0:
		recorder->enabled = 0;
		break;
	case 1:
		recorder->entries.begin = nowhere;
		break;
	case 2:
		recorder->entries.end = recorder->entries.limit = (void *)~15ul;
		break;
	case 3:
		recorder->most = ~0ul;
		break;
	case 4:
		recorder->next = RING + 1;
		break;
	case 5:
		recorder->id = 99;
		break;
	case 6:
		entry->id = 7;
		break;
	case 7:
		entry->group.length = ~0ul;
		break;
	case 8:
		entry->profiling_name.data = NULL;
		break;
	case 9:
		entry->is_p2p = 7;
		break;
	}
}

static void what_has_not_its_form_is_no_recorder(void **state)
{
	(void)state;
	for (unsigned which = 0; which < 10; which++) {
		struct memory *memory = make_memory("/x/libtorch_cuda.so");

		MAKE(2_10, 2_10, 5);
		if (which == 9)
			memset(&entries_of(memory)[2].is_p2p, 7, 1);
		else
			damage_value(memory, which);
		flight_recorder_read(&memory->looker);
		assert_int_equal(memory->process.group_count, 0);
		free_memory(memory);
	}
}

static void what_leads_nowhere_is_left_out(void **state)
{
	struct memory *memory = make_memory("/x/libtorch_cuda.so");
	struct recorder_2_10 *recorder;
	struct entry_2_10 *entry;

	(void)state;
	MAKE(2_10, 2_10, 5);
	recorder = recorder_of(memory);
	entry = &entries_of(memory)[4];
	entry->profiling_name.data = (char *)64;
	entry->input_dims.own[0] = 1l << 62;
	entry->traceback[0] = (void *)64;
	recorder->ranks.header.parent->left = recorder->ranks.header.parent->right = recorder->ranks.header.parent;
	recorder->ranks.header.parent->ranks.end = (void *)~7ul;
	flight_recorder_read(&memory->looker);
	assert_int_equal(memory->process.group_count, 2);
	assert_string_equal(memory->process.groups[0].works[2].name, "?");
	assert_null(memory->process.groups[0].works[2].sizes);
	assert_int_equal(memory->process.groups[0].works[2].frame_count, 0);
	assert_null(memory->process.groups[0].ranks);
	free_memory(memory);
}

/* The length of a string that is in itself is the process's to say; what follows it is no part of it. */
static void a_string_in_itself_ends_with_itself(void **state)
{
	struct memory *memory = make_memory("/x/libtorch_cuda.so");
	char name[sizeof(((struct string *)0)->local) + sizeof(void *) + 1] = "0123456789abcdef";
	struct node *of;

	(void)state;
	MAKE(2_10, 2_10, 5);
	of = recorder_of(memory)->ranks.header.parent;
	memcpy(of->group.local, name, sizeof(of->group.local));
	memcpy(name + sizeof(of->group.local), &of->ranks.begin, sizeof(of->ranks.begin));
	of->group.length = strlen(name);
	set_string(memory, &of->description, "");
	for (unsigned i = 1; i < 5; i += 2)
		set_string(memory, &entries_of(memory)[i].group, name);
	flight_recorder_read(&memory->looker);
	assert_int_equal(memory->process.group_count, 2);
	assert_null(memory->process.groups[1].ranks);
	free_memory(memory);
}

static void in_another_library_none_is_looked_for(void **state)
{
	struct memory *memory = make_memory("/x/libother.so");

	(void)state;
	MAKE(2_10, 2_10, 5);
	flight_recorder_read(&memory->looker);
	assert_int_equal(memory->process.group_count, 0);
	assert_false(memory->process.has_torch);
	free_memory(memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring_of_2_7),
		cmocka_unit_test(ring_of_2_8),
		cmocka_unit_test(ring_of_2_10),
		cmocka_unit_test(since_a_reset_older_entries_do_not_count),
		cmocka_unit_test(how_each_ended_is_what_is_recorded),
		cmocka_unit_test(what_has_not_its_form_is_no_recorder),
		cmocka_unit_test(what_leads_nowhere_is_left_out),
		cmocka_unit_test(a_string_in_itself_ends_with_itself),
		cmocka_unit_test(in_another_library_none_is_looked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
