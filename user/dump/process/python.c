/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Walks thread states and frames as bpf/python_frames.bpf.h does, but from outside, which keeps each frame's address
 * for the search for locks.  All data may change during the read, or lie.
 */
#include "dump/process/python.h"

#include <string.h>

#include "dump/process/memory.h"

#define STEPS_MAX 4096 /* frames: a longer list is not an interpreter's */
#define STATES_MORE 64 /* thread states beyond twice the number of threads: the list has no end */
#define INTERPRETERS_MAX 64
#define READ_TWICE_MOST 3    /* tries: a stack that differs each time belongs to a thread that runs */
#define PAGE_BYTES 4096	     /* of x86-64, all of which can be read if a part can */
#define PTHREAD_TID 720	     /* struct pthread.tid, glibc 2.3 to 2.42 on x86-64 (nptl/descr.h) */
#define PTHREAD_TID_MAX 2304 /* end of the search for it */

int python_look_begin(struct python_look *look, pid_t pid, const struct mappings *mappings, struct arena *arena,
		      char *why, size_t why_size)
{
	int error;

	memset(look, 0, sizeof(*look));
	look->pid = process_thread(pid);
	memory_begin(look->pid);
	look->arena = arena;
	look->text_left = arena->bytes / 4;
	error = python_find(pid, mappings, &look->info, why, why_size);
	for (size_t i = 0; i < mappings->list.count && error; i++) { /* an interpreter in another file */
		const struct mapping *mapping = &mappings->list.items[i];

		if (mapping->inode && mappings_of_file(mappings, mapping->device, mapping->inode) == mapping)
			error = python_find_in(pid, mappings, mapping, error, &look->info, why, why_size);
	}
	return error;
}

void python_look_end(struct python_look *look)
{
	for (size_t i = 0; i < look->codes.count; i++) {
		array_free(&look->codes.items[i].lines);
		free(look->codes.items[i].exceptions);
	}
	array_free(&look->codes);
	lookup_free(&look->code_places);
	lookup_free(&look->by_tid);
	free(look->stacks);
	look->stacks = NULL;
	python_info_free(&look->info);
}

/* ---- frames -------------------------------------------------------------------------------------------------- */

static uint64_t word_at(const uint8_t *bytes, unsigned at)
{
	uint64_t word;

	memcpy(&word, bytes + at, sizeof(word));
	return word;
}

static void keep_frame(struct raw_stack *stack, struct raw_frame frame)
{
	enum { FIRST = DUMP_FRAMES_MAX - DUMP_FRAMES_OUTER };
	unsigned at = stack->depth < DUMP_FRAMES_MAX ? stack->depth : DUMP_FRAMES_MAX - 1;

	if (stack->depth >= DUMP_FRAMES_MAX) /* the outermost frames so far move up */
		memmove(&stack->frames[FIRST], &stack->frames[FIRST + 1],
			(DUMP_FRAMES_OUTER - 1) * sizeof(struct raw_frame));
	stack->frames[at] = frame;
	stack->depth++;
	stack->count = at + 1;
	stack->hash = (stack->hash ^ frame.frame ^ frame.code << 1 ^ (uint64_t)(uint32_t)frame.lasti << 40) *
		      0x9e3779b97f4a7c15ULL;
	stack->hash ^= stack->hash >> 29;
}

/* The innermost frame of a thread state; bytes: a copy of the state. */
static uint64_t first_frame(const struct python_look *look, const uint8_t *bytes)
{
	const struct gpt_pylayout *layout = &look->info.walk.layout;
	uint64_t word = word_at(bytes, layout->ts_frame);

	return layout->walk == GPT_PY_WALK_CFRAME && word ? memory_word(look->pid, word + layout->cframe_current_frame)
							  : word;
}

static size_t frame_bytes(const struct gpt_pylayout *layout)
{
	return layout->walk == GPT_PY_WALK_OBJECTS ? layout->frame_instr + 4u : layout->frame_localsplus;
}

static void take_frame(const struct gpt_pylayout *layout, uint64_t address, const uint8_t *copy, struct raw_frame *out)
{
	*out = (struct raw_frame){.frame = address};
	out->code = word_at(copy, layout->frame_code) & ~7ULL; /* tags of a _PyStackRef, 3.14 and later */
	if (layout->walk == GPT_PY_WALK_OBJECTS) {
		memcpy(&out->lasti, copy + layout->frame_instr, 4);
		out->lasti = out->lasti > 0 ? out->lasti * layout->lasti_scale : out->lasti;
	} else {
		out->lasti = (int32_t)(word_at(copy, layout->frame_instr) - out->code) - layout->code_instructions;
	}
}

bool python_frame_read(const struct python_look *look, uint64_t address, uint8_t *copy, struct raw_frame *out)
{
	const struct gpt_pylayout *layout = &look->info.walk.layout;
	size_t bytes = frame_bytes(layout);

	if (bytes > GPT_PY_FRAME_BYTES_MAX || !memory_read(look->pid, address, copy, bytes))
		return false;
	take_frame(layout, address, copy, out);
	return true;
}

/* The part of a page that was read last: most frames of a stack lie close to each other. */
struct page {
	uint64_t address; /* 0: none */
	uint8_t bytes[PAGE_BYTES];
};

static bool page_read(pid_t pid, struct page *page, uint64_t address, uint8_t *copy, size_t bytes)
{
	uint64_t start = address & ~(uint64_t)(PAGE_BYTES - 1);

	if (address - start + bytes > PAGE_BYTES) /* it crosses a boundary */
		return memory_read(pid, address, copy, bytes);
	if (start != page->address) {
		page->address = 0;
		if (!start || !memory_read(pid, start, page->bytes, PAGE_BYTES))
			return false;
		page->address = start;
	}
	memcpy(copy, page->bytes + (address - start), bytes);
	return true;
}

static void walk_stack(const struct python_look *look, uint64_t frame, uint64_t base, struct raw_stack *stack)
{
	const struct gpt_pylayout *layout = &look->info.walk.layout;
	size_t bytes = frame_bytes(layout);
	uint8_t copy[GPT_PY_FRAME_BYTES_MAX];
	unsigned steps = 0;
	struct page page;

	stack->count = stack->depth = 0;
	stack->hash = 0;
	stack->unreadable = false;
	page.address = 0;
	while (frame && frame != base && !stack->unreadable) {
		struct raw_frame raw;

		if (++steps > STEPS_MAX || bytes > sizeof(copy) || !page_read(look->pid, &page, frame, copy, bytes)) {
			stack->unreadable = true;
			return;
		}
		take_frame(layout, frame, copy, &raw);
		frame = word_at(copy, layout->frame_back);
		if (layout->owner_skip && copy[layout->frame_owner] >= layout->owner_skip)
			continue;
		keep_frame(stack, raw);
	}
}

/* ---- thread states ------------------------------------------------------------------------------------------- */

struct state {
	uint64_t address, interpreter;
	uint64_t pthread, native, frame;
};

typedef ARRAY(struct state) state_list;

static size_t state_bytes(const struct gpt_pylayout *layout)
{
	size_t bytes = layout->ts_frame > layout->ts_thread_id ? layout->ts_frame : layout->ts_thread_id;

	if (layout->ts_native_thread_id != GPT_PY_ABSENT && layout->ts_native_thread_id > bytes)
		bytes = layout->ts_native_thread_id;
	return bytes + 8;
}

static bool read_state(const struct python_look *look, uint64_t address, struct state *out, uint64_t *next)
{
	const struct gpt_pylayout *layout = &look->info.walk.layout;
	uint8_t copy[GPT_PY_THREAD_BYTES_MAX];
	size_t bytes = state_bytes(layout);

	if (bytes > sizeof(copy) || !memory_read(look->pid, address, copy, bytes))
		return false;
	*next = word_at(copy, layout->ts_next);
	*out = (struct state){
		.address = address,
		.interpreter = word_at(copy, layout->ts_interp),
		.pthread = word_at(copy, layout->ts_thread_id),
		.native = layout->ts_native_thread_id == GPT_PY_ABSENT ? 0 : word_at(copy, layout->ts_native_thread_id),
		.frame = first_frame(look, copy),
	};
	return true;
}

static void read_states(const struct python_look *look, unsigned threads, state_list *out)
{
	const struct gpt_pylayout *layout = &look->info.walk.layout;
	uint64_t interpreter = memory_word(look->pid, look->info.walk.runtime + layout->runtime_interpreters_head);

	for (int i = 0; i < INTERPRETERS_MAX && interpreter; i++) {
		uint64_t next = memory_word(look->pid, interpreter + layout->interp_threads_head);
		struct state state;

		while (next && out->count < 2 * threads + STATES_MORE && read_state(look, next, &state, &next) &&
		       state.interpreter == interpreter)
			array_push(out, state);
		interpreter = memory_word(look->pid, interpreter + layout->interp_next);
	}
}

static void index_threads(struct python_look *look, const struct dump_process *process)
{
	lookup_empty(&look->by_tid);
	for (unsigned i = 0; i < process->thread_count; i++)
		lookup_put(&look->by_tid, 1, (uint64_t)process->threads[i].ns_tid, i);
}

/* The index of a thread, UINT32_MAX: it is none of this process. */
static unsigned thread_of(const struct python_look *look, uint64_t ns_tid)
{
	const uint32_t *place = lookup_get(&look->by_tid, 1, ns_tid);

	return place ? *place : UINT32_MAX;
}

/* Whether, for all thread states, the word at offset `at` from the pthread_t is a tid of this process. */
static bool are_tids_at(const struct python_look *look, const state_list *all, unsigned at)
{
	return every_of(all->count, i,
			thread_of(look, memory_int(look->pid, all->items[i].pthread + at)) != UINT32_MAX);
}

/*
 * The offset at which a struct pthread keeps its tid.  0: not found; then CPython's own native_thread_id is used, which
 * is wrong in a forked child (3.11).
 */
static unsigned find_tid_offset(const struct python_look *look, const state_list *all)
{
	if (are_tids_at(look, all, PTHREAD_TID))
		return PTHREAD_TID;
	if (all->items[0].native)
		return 0;
	for (unsigned at = 4; at < PTHREAD_TID_MAX; at += 4)
		if (are_tids_at(look, all, at))
			return at;
	return 0;
}

static void read_gil(struct python_look *look, uint64_t interpreter)
{
	const struct gpt_pylayout *layout = &look->info.walk.layout;
	uint64_t gil;

	look->gil = (struct python_gil){0};
	if (!layout->gil)
		return;
	gil = layout->gil_is_pointer ? memory_word(look->pid, interpreter + layout->gil)
				     : look->info.walk.runtime + layout->gil;
	if (!gil)
		return;
	look->gil.address = gil;
	if (memory_int(look->pid, gil + layout->gil_locked) == 1)
		look->gil.holder = memory_word(look->pid, gil + layout->gil_holder);
}

static void read_stack(struct python_look *look, struct dump_thread *thread, struct raw_stack *stack,
		       struct state *state)
{
	static struct raw_stack again;
	const struct gpt_pylayout *layout = &look->info.walk.layout;
	uint64_t base = layout->ts_base_frame ? state->address + layout->ts_base_frame : 0, next;

	walk_stack(look, state->frame, base, stack);
	thread->torn = true;
	for (int i = 0; i < READ_TWICE_MOST && thread->torn; i++) {
		if (!read_state(look, state->address, state, &next))
			break;
		walk_stack(look, state->frame, base, &again);
		thread->torn = again.hash != stack->hash || again.depth != stack->depth;
		*stack = again;
	}
	thread->tstate = state->address;
	thread->pthread = state->pthread;
	thread->stack_hash = stack->hash;
	thread->unreadable = stack->unreadable;
	thread->holds_gil = look->gil.holder == state->address;
}

void python_look_threads(struct python_look *look, struct dump_process *process)
{
	state_list all = {0};
	unsigned tid_at = 0;

	free(look->stacks);
	look->stacks = xcalloc(process->thread_count + 1, sizeof(*look->stacks));
	index_threads(look, process);
	read_states(look, process->thread_count, &all);
	if (all.count) {
		read_gil(look, all.items[all.count - 1].interpreter); /* of the first interpreter */
		tid_at = find_tid_offset(look, &all);
	}
	process->gil_holder = 0;
	array_each (state, &all) {
		unsigned index =
			thread_of(look, tid_at ? memory_int(look->pid, state->pthread + tid_at) : state->native);

		if (index == UINT32_MAX || (process->threads[index].tstate && !state->frame))
			continue;
		read_stack(look, &process->threads[index], &look->stacks[index], state);
		if (process->threads[index].holds_gil)
			process->gil_holder = process->threads[index].tid;
	}
	array_free(&all);
}
