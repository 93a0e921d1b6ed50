/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A recorder has no symbol: a function keeps the only pointer to it in a static variable; since 2.15 another function
 * keeps a map of recorders (FlightRecorder::get, getFlightRecorder, torch/csrc/distributed/c10d/FlightRecorder.hpp). So
 * each word of the library's data that points to the heap is followed.  An object there is a recorder if it has the
 * form of one: bounds of the ring, numbers of the entries, and in each entry strings that point into themselves.  The
 * program runs meanwhile: if the oldest entries are overwritten during the read, the next try reads fewer.
 */
#include "dump/process/flight_recorder.h"

#include <fcntl.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/path.h"
#include "dump/process/memory.h"

#define PAGE 4096u
#define WORDS (PAGE / sizeof(uint64_t))
#define PAGE_IN_USE (3ull << 62) /* in memory or swapped out (Documentation/admin-guide/mm/pagemap.rst) */
#define PAGES_MAX 16384		 /* of a library's data */
#define BATCH 256		 /* objects per read */

#define RECORDERS_MAX 16
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

/* ---- layout in memory: 64 bits, libstdc++ with the ABI of C++11 (PyTorch's wheels since 2.7) --------------------- */

struct cpp_string {
	uint64_t data, length;
	union {
		char local[16];
		uint64_t capacity;
	};
};

struct cpp_vector {
	uint64_t begin, end, limit;
};

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

/* A node of std::unordered_map<std::string, FlightRecorder<c10::Event>*>, up to the hash (getFlightRecorder). */
struct registry_node {
	uint64_t next;
	struct cpp_string name;
	uint64_t recorder;
};

/* FlightRecorder<EventType>: the first members, equal in all versions. */
struct recorder {
	uint8_t enabled, cpp_stack, padding[6];
	uint32_t mutex_lock, mutex_count, mutex_owner, mutex_users, mutex_kind; /* struct __pthread_mutex_s */
	uint8_t mutex_rest[20];
	struct cpp_vector entries;
	uint64_t most, next, id;
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

/* The current recorder and a copy of its ring, the oldest entry first. */
struct ring {
	struct looker *looker;
	pid_t pid;
	uint64_t at; /* address of the recorder */
	uint64_t found[RECORDERS_MAX];
	unsigned found_count;
	bool has_events; /* each entry has an event for its end, until PyTorch has seen the end */
	const struct layout *layout;
	struct recorder recorder;
	uint8_t *entries;
	uint64_t *places; /* address of each entry in the process */
	unsigned count;
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

/* Whether an object of the heap may be a recorder; a recorder without entries does not count. */
static bool may_be_recorder(const struct recorder *recorder)
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
	for (unsigned i = 0; i < ring->count; i++)
		if (!is_entry(ring, i))
			return false;
	return true;
}

static bool read_ring(struct ring *ring)
{
	unsigned most = ENTRIES_READ_MAX;

	for (int try = 0; try < TRIES_MAX; try++, most /= ENTRIES_READ_LESS) {
		if (!memory_read(ring->pid, ring->at, &ring->recorder, sizeof(ring->recorder)) ||
		    !may_be_recorder(&ring->recorder))
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

static void take_groups(const struct ring *ring)
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

/* ---- finding it ------------------------------------------------------------------------------------------------- */

static bool is_heap(const struct mappings *mappings, uint64_t word)
{
	const struct mapping *mapping = word && word % 16 == 0 ? mappings_at(mappings, word) : NULL;

	return mapping && mapping->writable && !mapping->inode && word + sizeof(struct recorder) <= mapping->end;
}

/* Skips a recorder that was found before: several words may point to it. */
static bool take_recorder(struct ring *ring, uint64_t address)
{
	for (unsigned i = 0; i < ring->found_count; i++)
		if (ring->found[i] == address)
			return true;
	ring->at = address;
	if (ring->found_count == RECORDERS_MAX || !read_ring(ring))
		return false;
	ring->found[ring->found_count++] = address;
	take_groups(ring);
	return true;
}

/* Takes the recorders of backends with one of their own (2.15): a list of nodes, each with the backend's name. */
static void follow_registry(struct ring *ring, uint64_t address)
{
	struct registry_node node = {0};
	struct recorder recorder = {0};

	for (unsigned i = 0; i < RECORDERS_MAX; i++) {
		if (!is_heap(&ring->looker->mappings, address) ||
		    !memory_read(ring->pid, address, &node, sizeof(node)) ||
		    node.name.data != address + offsetof(struct registry_node, name.local) ||
		    node.name.length >= sizeof(node.name.local) || !is_heap(&ring->looker->mappings, node.recorder) ||
		    !memory_read(ring->pid, node.recorder, &recorder, sizeof(recorder)))
			return;
		if (may_be_recorder(&recorder))
			take_recorder(ring, node.recorder);
		address = node.next;
	}
}

/* Tries the objects to which words of the data point. */
static void try_objects(struct ring *ring, const uint64_t *addresses, unsigned count)
{
	union {
		struct recorder recorder;
		struct registry_node node;
	} objects[BATCH];
	struct iovec here[BATCH], there[BATCH];

	for (unsigned i = 0; i < count; i++) {
		here[i] = (struct iovec){&objects[i], sizeof(objects[i])};
		there[i] = (struct iovec){(void *)(uintptr_t)addresses[i], sizeof(objects[i])};
	}
	for (unsigned from = 0; from < count;) {
		ssize_t got = process_vm_readv(ring->pid, here + from, count - from, there + from, count - from, 0);
		unsigned whole = got > 0 ? (unsigned)((size_t)got / sizeof(objects[0])) : 0;

		for (unsigned i = from; i < from + whole; i++) {
			if (may_be_recorder(&objects[i].recorder))
				take_recorder(ring, addresses[i]);
			else if (objects[i].node.name.data == addresses[i] + offsetof(struct registry_node, name.local))
				follow_registry(ring, addresses[i]);
		}
		from += whole + 1; /* the call ends at an object that cannot be read */
	}
}

/* Pages that were never touched must not be read: reading would allocate them. */
static bool *pages_in_use(pid_t pid, uint64_t start, unsigned count)
{
	AUTO_FREE uint64_t *entries = xcalloc(count, sizeof(*entries));
	bool *used = xcalloc(count, sizeof(*used));
	char path[64];
	ssize_t got = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = pread(fd, entries, count * sizeof(*entries), (off_t)(start / PAGE * sizeof(*entries)));
		close(fd);
	}
	for (unsigned i = 0; i < count; i++)
		used[i] = got != (ssize_t)(count * sizeof(*entries)) || entries[i] & PAGE_IN_USE;
	return used;
}

static void search_range(struct ring *ring, uint64_t start, uint64_t end)
{
	unsigned pages = (unsigned)((end - start) / PAGE < PAGES_MAX ? (end - start) / PAGE : PAGES_MAX), count = 0;
	bool *used = pages_in_use(ring->pid, start, pages);
	uint64_t words[WORDS], addresses[BATCH];

	for (unsigned i = 0; i < pages; i++) {
		if (!used[i] || !memory_read(ring->pid, start + (uint64_t)i * PAGE, words, sizeof(words)))
			continue;
		for (unsigned k = 0; k < WORDS; k++) {
			if (!is_heap(&ring->looker->mappings, words[k]))
				continue;
			addresses[count++] = words[k];
			if (count == BATCH) {
				try_objects(ring, addresses, count);
				count = 0;
			}
		}
	}
	try_objects(ring, addresses, count);
	free(used);
}

/* The library's .bss follows its data from the file. */
static void search_library(struct ring *ring, const char *name)
{
	const struct mappings *mappings = &ring->looker->mappings;
	const struct mapping *before = NULL;

	for (size_t i = 0; i < mappings->list.count; i++) {
		const struct mapping *mapping = &mappings->list.items[i];
		bool of_file = mapping->inode && !strcmp(path_base(mapping->path), name);
		bool follows = before && !mapping->inode && !*mapping->path && mapping->start == before->end;

		before = of_file ? mapping : NULL;
		if ((of_file || follows) && mapping->writable)
			search_range(ring, mapping->start, mapping->end);
	}
}

static bool make_room(struct ring *ring)
{
	struct dump_process *process = ring->looker->process;

	if (!process->groups)
		process->groups = arena_take(ring->looker->arena, GROUPS_MAX * sizeof(*process->groups));
	ring->entries = malloc(ENTRIES_READ_MAX * (size_t)layouts[0].bytes);
	ring->places = calloc(ENTRIES_READ_MAX, sizeof(*ring->places));
	return process->groups && ring->entries && ring->places;
}

static bool has_library(const struct mappings *mappings, const char *name)
{
	for (size_t i = 0; i < mappings->list.count; i++)
		if (mappings->list.items[i].inode && !strcmp(path_base(mappings->list.items[i].path), name))
			return true;
	return false;
}

void flight_recorder_read(struct looker *looker)
{
	/* ProcessGroupNCCL's recorder; gloo's, and others' through hooks, which see the end by the work itself. */
	static const struct {
		const char *library;
		bool has_events;
	} places[] = {{"libtorch_cuda.so", true}, {"libtorch_cpu.so", false}};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	looker->process->groups_at_ns = now.tv_sec * 1000000000ll + now.tv_nsec;
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		struct ring ring = {.looker = looker, .pid = looker->process->pid, .has_events = places[i].has_events};

		if (!has_library(&looker->mappings, places[i].library))
			continue;
		looker->process->has_torch = true;
		if (make_room(&ring))
			search_library(&ring, places[i].library);
		free(ring.places);
		free(ring.entries);
	}
}
