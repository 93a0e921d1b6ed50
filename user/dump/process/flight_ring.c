/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/process/flight_ring.h"

#include <stdlib.h>
#include <string.h>

#include "dump/process/memory.h"

#define RING_MAX (1u << 24)   /* entries of a ring */
#define ENTRIES_READ_MAX 8192 /* the newest entries, ... */
#define ENTRIES_READ_LESS 8   /* divided by this at each further try, ... */
#define TRIES_MAX 3
#define GROUPS_MAX 1024
#define RANKS_MAX 65536 /* of a group */
#define TREE_DEPTH_MAX 64
#define FRAMES_MAX 64 /* of a stack */
#define STACKS_MAX 64 /* of works that have not finished */
#define NAME_CHARS 128
#define SIZES_CHARS 256
#define TENSORS_MAX 16
#define DIMS_MAX 16

/* c10::SmallVector<int64_t, N> (c10/util/SmallVector.h) */
struct small_vector {
	uint64_t begin;
	uint32_t count, capacity;
};

/* A node of std::map<std::tuple<std::string, std::string>, std::vector<uint64_t>>; a tuple stores its last member
 * first.
 */
struct ranks_node {
	uint64_t colour, parent, left, right;
	struct cpp_string description, name;
	struct cpp_vector ranks;
};

/* Entry from pg_id_ to input_dims_. */
struct entry {
	uint64_t group_id;
	struct cpp_string description, group;
	uint64_t collective, p2p, op;
	struct cpp_string name;
	uint64_t traceback, traceback_owner;
	uint64_t start_event, end_event;
	int64_t created_ns, timeout_ms;
	uint8_t is_p2p;
	float duration;
	uint8_t has_duration;
	int64_t started_ns;
	uint8_t has_started;
	int64_t completed_ns;
	uint8_t has_completed;
	struct small_vector input_dims;
};

/* CapturedTraceback::frames_ follows the vtable pointer (torch/csrc/profiler/combined_traceback.h); PyFrame. */
#define TRACEBACK_FRAMES_AT 8

struct traceback_frame {
	uint64_t code;
	int32_t lasti;
};

/* Offsets in an entry and in the recorder that differ between versions, by the headers of their wheels. */
struct layout {
	unsigned bytes;	  /* size of an entry */
	unsigned members; /* pg_id_ */
	unsigned sizes, retired;
	unsigned ranks; /* the header node of pg_name_to_ranks_, in the recorder */
};

static const struct layout layouts[] = {
	{512, 16, 384, 504, 216}, /* 2.10 to 2.15 */
	{504, 8, 376, 496, 152},  /* 2.8, 2.9 */
	{464, 8, 376, 456, 152},  /* 2.7 */
};

static const struct entry *entry_at(const struct ring *ring, unsigned index)
{
	return (const void *)(ring->entries + (size_t)index * ring->layout->bytes + ring->layout->members);
}

static uint64_t id_at(const struct ring *ring, unsigned index)
{
	return *(const uint64_t *)(const void *)(ring->entries + (size_t)index * ring->layout->bytes);
}

static bool is_retired(const struct ring *ring, unsigned index)
{
	return ring->entries[(size_t)index * ring->layout->bytes + ring->layout->retired] != 0;
}

/* The address in the process of an entry's member, given its address in the copy. */
static uint64_t place_of(const struct ring *ring, unsigned index, const void *member)
{
	return ring->places[index] + (uint64_t)((const uint8_t *)member - ring->entries) -
	       (uint64_t)index * ring->layout->bytes;
}

/* ---- recognising it --------------------------------------------------------------------------------------------- */

static uint64_t recorder_bytes(const struct recorder *recorder)
{
	return recorder->entries.end - recorder->entries.begin;
}

bool is_recorder_like(const struct recorder *recorder)
{
	return recorder->enabled == 1 && recorder->cpp_stack <= 1 && recorder->mutex_lock <= 2 &&
	       !recorder->mutex_count && !recorder->mutex_kind && recorder->entries.begin &&
	       recorder->entries.begin % 16 == 0 && recorder->entries.begin < recorder->entries.end &&
	       recorder->entries.end <= recorder->entries.limit && recorder->most && recorder->most <= RING_MAX &&
	       recorder->next < recorder->most;
}

static bool may_have_layout(const struct recorder *recorder, const struct layout *layout)
{
	uint64_t count = recorder_bytes(recorder) / layout->bytes;

	/* until the ring is full, `next` is the number of entries, or (before 2.10) 0 */
	return recorder_bytes(recorder) % layout->bytes == 0 && count <= recorder->most &&
	       (count == recorder->most || count == recorder->next || !recorder->next);
}

static bool is_string(const struct ring *ring, unsigned index, const struct cpp_string *string)
{
	if (string->data == place_of(ring, index, string->local))
		return string->length < sizeof(string->local);
	return string->data && string->length <= string->capacity && string->capacity < 1u << 20;
}

static bool is_entry(const struct ring *ring, unsigned index)
{
	const struct entry *entry = entry_at(ring, index);

	return is_string(ring, index, &entry->description) && is_string(ring, index, &entry->group) &&
	       is_string(ring, index, &entry->name) && entry->is_p2p <= 1 && entry->created_ns > 0;
}

/* Ids grow by one, and start at 0 again after a reset of the recorder: older entries are dropped. */
static bool take_since_reset(struct ring *ring)
{
	unsigned first = 0;

	for (unsigned i = 1; i < ring->count; i++) {
		if (!id_at(ring, i))
			first = i;
		else if (id_at(ring, i) != id_at(ring, i - 1) + 1)
			return false;
	}
	ring->count -= first;
	memmove(ring->entries, ring->entries + (size_t)first * ring->layout->bytes,
		(size_t)ring->count * ring->layout->bytes);
	memmove(ring->places, ring->places + first, ring->count * sizeof(*ring->places));
	if (!ring->recorder.id)
		ring->count = 0;
	return !ring->count || id_at(ring, ring->count - 1) + 1 == ring->recorder.id;
}

/* Copies the newest entries, in two pieces if the ring has wrapped around. */
static bool copy_entries(struct ring *ring, unsigned most)
{
	const struct recorder *recorder = &ring->recorder;
	unsigned bytes = ring->layout->bytes;
	uint64_t all = recorder_bytes(recorder) / bytes, oldest = all == recorder->most ? recorder->next : 0, first,
		 whole;

	ring->count = (unsigned)(all < most ? all : most);
	first = (oldest + all - ring->count) % all;
	whole = all - first < ring->count ? all - first : ring->count;
	for (unsigned i = 0; i < ring->count; i++)
		ring->places[i] = recorder->entries.begin + (first + i) % all * bytes;
	return memory_read(ring->pid, ring->places[0], ring->entries, whole * bytes) &&
	       (whole == ring->count || memory_read(ring->pid, recorder->entries.begin, ring->entries + whole * bytes,
						    (ring->count - whole) * bytes));
}

static bool has_layout(struct ring *ring, const struct layout *layout, unsigned most)
{
	ring->layout = layout;
	if (!may_have_layout(&ring->recorder, layout) || !copy_entries(ring, most) || !take_since_reset(ring))
		return false;
	return every_of(ring->count, i, is_entry(ring, i));
}

bool ring_read(struct ring *ring)
{
	unsigned most = ENTRIES_READ_MAX;

	for (int try = 0; try < TRIES_MAX; try++, most /= ENTRIES_READ_LESS) {
		if (!memory_read(ring->pid, ring->at, &ring->recorder, sizeof(ring->recorder)) ||
		    !is_recorder_like(&ring->recorder))
			return false;
		for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++)
			if (has_layout(ring, &layouts[i], most))
				return true;
	}
	return false;
}

/* ---- its content ------------------------------------------------------------------------------------------------ */

static const char *read_text(const struct ring *ring, const struct cpp_string *string, bool is_local)
{
	uint64_t bytes = string->length < NAME_CHARS ? string->length : NAME_CHARS;
	char text[NAME_CHARS + 1] = "";

	if (is_local && bytes > sizeof(string->local))
		return "?";
	if (is_local)
		memcpy(text, string->local, bytes);
	else if (!memory_read(ring->pid, string->data, text, bytes))
		return "?";
	return arena_text(ring->looker->arena, "%.*s", (int)bytes, text);
}

static const char *text_of(const struct ring *ring, unsigned index, const struct cpp_string *string)
{
	return read_text(ring, string, string->data == place_of(ring, index, string->local));
}

/* The sizes of the inputs: "[4, 8], []". */
static const char *sizes_of(const struct ring *ring, unsigned index)
{
	const struct entry *entry = entry_at(ring, index);
	struct small_vector sizes;
	int64_t dims[TENSORS_MAX], size[DIMS_MAX];
	unsigned tensors = entry->input_dims.count;
	char text[SIZES_CHARS];
	size_t used = 0, at = 0;

	memcpy(&sizes, ring->entries + (size_t)index * ring->layout->bytes + ring->layout->sizes, sizeof(sizes));
	if (!tensors || tensors > TENSORS_MAX ||
	    !memory_read(ring->pid, entry->input_dims.begin, dims, tensors * sizeof(*dims)))
		return NULL;
	for (unsigned i = 0; i < tensors; i++) {
		if (dims[i] < 0 || dims[i] > DIMS_MAX || at + (size_t)dims[i] > sizes.count ||
		    !memory_read(ring->pid, sizes.begin + at * sizeof(*size), size, (size_t)dims[i] * sizeof(*size)))
			return NULL;
		at += (size_t)dims[i];
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s[", i ? ", " : "");
		for (int64_t k = 0; k < dims[i] && used < sizeof(text); k++)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%lld", k ? ", " : "",
						 (long long)size[k]);
		if (used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, "]");
		if (used >= sizeof(text))
			return arena_text(ring->looker->arena, "%.*s...", SIZES_CHARS - 4, text);
	}
	return arena_text(ring->looker->arena, "%s", text);
}

static void read_stack(const struct ring *ring, unsigned index, struct dump_work *work)
{
	struct python_look *python = &ring->looker->python;
	struct traceback_frame frames[FRAMES_MAX];
	struct cpp_vector list = {0};
	uint64_t count;

	if (!ring->looker->has_python || !entry_at(ring, index)->traceback ||
	    !memory_read(ring->pid, entry_at(ring, index)->traceback + TRACEBACK_FRAMES_AT, &list, sizeof(list)) ||
	    list.end <= list.begin || (list.end - list.begin) % sizeof(*frames))
		return;
	count = (list.end - list.begin) / sizeof(*frames);
	count = count < FRAMES_MAX ? count : FRAMES_MAX;
	if (!memory_read(ring->pid, list.begin, frames, count * sizeof(*frames)))
		return;
	work->frames = arena_take(ring->looker->arena, count * sizeof(*work->frames));
	for (uint64_t i = 0; work->frames && i < count; i++) {
		const struct python_code *code = python_code(python, frames[i].code);

		work->frames[work->frame_count++] = (struct dump_frame){
			.function = code->function ? code->function : "?",
			.file = code->file,
			.line = python_line(python, code, frames[i].lasti),
		};
	}
}

static enum work_state state_of(const struct ring *ring, unsigned index)
{
	const struct entry *entry = entry_at(ring, index);

	if (entry->has_completed)
		return WORK_COMPLETED;
	if (is_retired(ring, index))
		return ring->has_events ? WORK_GIVEN_UP : WORK_COMPLETED;
	if (ring->has_events && !entry->end_event)
		return WORK_UNKNOWN; /* in a group of operations, only the last entry has the event */
	return entry->has_started ? WORK_STARTED : WORK_SCHEDULED;
}

static void add_work(const struct ring *ring, unsigned index, struct dump_group *group, unsigned *stacks)
{
	const struct entry *entry = entry_at(ring, index);
	struct dump_work *work = &group->works[group->work_count++];

	*work = (struct dump_work){
		.name = text_of(ring, index, &entry->name),
		.number = entry->is_p2p ? entry->p2p : entry->collective,
		.is_p2p = entry->is_p2p,
		.state = state_of(ring, index),
		.since_ns = entry->created_ns,
	};
	if (work_is_over(work))
		return;
	work->sizes = sizes_of(ring, index);
	if (++*stacks <= STACKS_MAX)
		read_stack(ring, index, work);
}

static struct dump_group *group_of(const struct ring *ring, unsigned index, unsigned first)
{
	struct dump_process *process = ring->looker->process;
	const struct entry *entry = entry_at(ring, index);

	for (unsigned i = process->group_count; i > first; i--)
		if (process->groups[i - 1].id == entry->group_id)
			return &process->groups[i - 1];
	if (process->group_count == GROUPS_MAX)
		return NULL;
	process->groups[process->group_count] = (struct dump_group){
		.id = entry->group_id,
		.name = text_of(ring, index, &entry->group),
		.description = text_of(ring, index, &entry->description),
	};
	return &process->groups[process->group_count++];
}

static void read_ranks(const struct ring *ring, unsigned first, const struct ranks_node *node, uint64_t address)
{
	struct dump_process *process = ring->looker->process;
	uint64_t count = (node->ranks.end - node->ranks.begin) / sizeof(uint64_t);
	const char *name, *description;

	name = read_text(ring, &node->name, node->name.data == address + offsetof(struct ranks_node, name.local));
	description = read_text(ring, &node->description,
				node->description.data == address + offsetof(struct ranks_node, description.local));
	for (unsigned i = first; i < process->group_count; i++) {
		struct dump_group *group = &process->groups[i];
		uint64_t *ranks;

		if (!is_same_text(group->name, name) || !is_same_text(group->description, description) ||
		    count > RANKS_MAX)
			continue;
		ranks = arena_take(ring->looker->arena, count * sizeof(*ranks));
		if (!ranks || !memory_read(ring->pid, node->ranks.begin, ranks, count * sizeof(*ranks)))
			continue;
		group->ranks = ranks;
		group->rank_count = (unsigned)count;
	}
}

/* A binary tree, walked with a stack of the nodes still to be read. */
static void read_all_ranks(const struct ring *ring, unsigned first)
{
	uint64_t waiting[2 * TREE_DEPTH_MAX] = {memory_word(ring->pid, ring->at + ring->layout->ranks + 8)};
	unsigned depth = 1;

	for (unsigned i = 0; i < GROUPS_MAX && depth; i++) {
		uint64_t address = waiting[--depth];
		struct ranks_node node = {0};

		if (!address || !memory_read(ring->pid, address, &node, sizeof(node)))
			continue;
		read_ranks(ring, first, &node, address);
		if (depth + 2 <= 2 * TREE_DEPTH_MAX) {
			waiting[depth++] = node.right;
			waiting[depth++] = node.left;
		}
	}
}

void ring_take_groups(const struct ring *ring)
{
	struct dump_process *process = ring->looker->process;
	unsigned first = process->group_count, stacks = 0;
	struct dump_group *group;

	for (unsigned i = 0; i < ring->count; i++) {
		group = group_of(ring, i, first);
		if (group)
			group->work_count++;
	}
	for (unsigned i = first; i < process->group_count; i++) {
		group = &process->groups[i];
		group->works = arena_take(ring->looker->arena, group->work_count * sizeof(*group->works));
		group->work_count = 0;
		if (!group->works) {
			process->group_count = i;
			break;
		}
	}
	for (unsigned i = 0; i < ring->count; i++) {
		group = group_of(ring, i, first);
		if (group && group->works)
			add_work(ring, i, group, &stacks);
	}
	read_all_ranks(ring, first);
}

bool ring_make_room(struct ring *ring)
{
	struct dump_process *process = ring->looker->process;

	if (!process->groups)
		process->groups = arena_take(ring->looker->arena, GROUPS_MAX * sizeof(*process->groups));
	ring->entries = malloc(ENTRIES_READ_MAX * (size_t)layouts[0].bytes);
	ring->places = calloc(ENTRIES_READ_MAX, sizeof(*ring->places));
	return process->groups && ring->entries && ring->places;
}
