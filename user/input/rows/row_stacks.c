/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Open functions by thread; see row_stacks.h. */
#include "input/rows/row_stacks.h"

#include <stdlib.h>
#include <string.h>

#include "input/rows/foreign_file.h"
#include "input/rows/python_name.h"

/* A moment's frame is this minus the function's depth: a deeper function has a lower frame. */
#define OUTERMOST (1ull << 32)
#define OPEN_MAX 65536u

struct open_function {
	uint64_t end_ns;
	uint32_t text;
	uint32_t called_from;
	bool is_frame, is_backward;
};

struct row_thread {
	uint32_t pid, tid;
	ARRAY(struct open_function) open;
	uint64_t key;	    /* of the stack, 0: out of date, as functions came or went */
	uint32_t backwards; /* open calls of PyTorch's engine */
};

struct row_stacks {
	const struct foreign_file *file;
	struct lookup thread_lookup; /* (pid + 1, tid) to thread */
	ARRAY(struct row_thread) threads;
	ARRAY(uint32_t) callers; /* threads with open calls of the engine */
	struct lookup codes;	 /* (pid + 1, text) already passed on */
	struct lookup stacks;	 /* (pid + 1, key) already passed on */
};

void row_stacks_begin(struct row_stacks *stacks)
{
	for (size_t i = 0; i < stacks->threads.count; i++)
		array_free(&stacks->threads.items[i].open);
	array_free(&stacks->threads);
	array_free(&stacks->callers);
	lookup_free(&stacks->thread_lookup);
	lookup_free(&stacks->codes);
	lookup_free(&stacks->stacks);
}

struct row_stacks *row_stacks_new(const struct foreign_file *file)
{
	struct row_stacks *stacks = xcalloc(1, sizeof(*stacks));

	stacks->file = file;
	return stacks;
}

void row_stacks_free(struct row_stacks *stacks)
{
	row_stacks_begin(stacks);
	free(stacks);
}

static struct row_thread *find_thread(struct row_stacks *stacks, const struct row *row, bool make)
{
	uint32_t *index = make ? lookup_put(&stacks->thread_lookup, foreign_epoch(row->pid), row->tid, NONE)
			       : lookup_get(&stacks->thread_lookup, foreign_epoch(row->pid), row->tid);

	if (!index)
		return NULL;
	if (*index == NONE) {
		*index = (uint32_t)stacks->threads.count;
		array_push(&stacks->threads, ((struct row_thread){.pid = row->pid, .tid = row->tid}));
	}
	return &stacks->threads.items[*index];
}

/* ---- code -------------------------------------------------------------------------------------------------------- */

static struct python_text python_text(struct text text)
{
	return (struct python_text){.bytes = text.bytes, .size = (uint32_t)text.size, .kind = 1};
}

static uint64_t code_key(uint32_t text)
{
	return (uint64_t)text + 1;
}

static void feed_code(struct row_stacks *stacks, struct builder *builder, uint32_t pid, uint32_t text)
{
	const struct rows *rows = &stacks->file->rows;
	uint32_t *was_given = lookup_put(&stacks->codes, foreign_epoch(pid), text, 0);
	struct python_name named;
	struct new_code code;

	if (*was_given)
		return;
	*was_given = 1;
	builder_wait(builder);
	named = python_name_read(text < rows->texts.count ? rows->texts.items[text] : (struct text){"?", 1});
	code = (struct new_code){.key = code_key(text),
				 .first_line = named.line,
				 .is_named = true,
				 .name = python_text(named.function),
				 .file = python_text(named.file)};
	builder_add_code(builder, pid, &code);
}

/* ---- open functions ---------------------------------------------------------------------------------------------- */

static struct python_moment moment_of(const struct row_thread *thread, size_t depth, uint64_t time_ns)
{
	return (struct python_moment){
		.time_ns = time_ns, .frame = OUTERMOST - depth, .pid = thread->pid, .tid = thread->tid};
}

static void remove_caller(struct row_stacks *stacks, const struct row_thread *thread)
{
	uint32_t *callers = stacks->callers.items;
	uint32_t index = (uint32_t)(thread - stacks->threads.items);

	for (size_t i = 0; i < stacks->callers.count; i++)
		if (callers[i] == index)
			callers[i--] = callers[--stacks->callers.count];
}

/* Leaves the functions that are over by then. */
static void leave_ended(struct row_stacks *stacks, struct row_thread *thread, struct builder *builder, uint64_t time_ns)
{
	while (thread->open.count && thread->open.items[thread->open.count - 1].end_ns <= time_ns) {
		struct python_moment at;

		thread->open.count--;
		if (thread->open.items[thread->open.count].is_backward && !--thread->backwards)
			remove_caller(stacks, thread);
		at = moment_of(thread, thread->open.count, thread->open.items[thread->open.count].end_ns);
		builder_wait(builder);
		builder_leave_function(builder, &at);
		thread->key = 0;
	}
}

void row_stacks_enter(struct row_stacks *stacks, struct builder *builder, const struct row_function *function)
{
	const struct row *row = &function->row;
	struct row_thread *thread = find_thread(stacks, row, true);
	struct open_function open = {.end_ns = row->end_ns,
				     .text = row->text,
				     .called_from = function->called_from,
				     .is_frame = function->is_frame,
				     .is_backward = function->is_backward};
	struct python_moment at;

	leave_ended(stacks, thread, builder, row->start_ns);
	if (thread->open.count >= OPEN_MAX) {
		builder_count_bad(builder, BAD_ROOM, 1);
		return;
	}
	/* a function that seems to outlast the enclosing one ends with it */
	if (thread->open.count && open.end_ns > thread->open.items[thread->open.count - 1].end_ns)
		open.end_ns = thread->open.items[thread->open.count - 1].end_ns;
	feed_code(stacks, builder, row->pid, row->text);
	at = moment_of(thread, thread->open.count, row->start_ns);
	builder_wait(builder);
	if (!builder_enter_function(builder, &at, code_key(row->text)))
		builder_count_bad(builder, BAD_VALUE, 1);
	if (open.is_backward && !thread->backwards++)
		array_push(&stacks->callers, (uint32_t)(thread - stacks->threads.items));
	array_push(&thread->open, open);
	thread->key = 0;
}

void row_stacks_leave(struct row_stacks *stacks, struct builder *builder, const struct row *row)
{
	struct row_thread *thread = find_thread(stacks, row, false);

	if (thread)
		leave_ended(stacks, thread, builder, row->start_ns);
}

void row_stacks_end(struct row_stacks *stacks, struct builder *builder, uint64_t end_ns)
{
	for (size_t i = 0; i < stacks->threads.count; i++)
		leave_ended(stacks, &stacks->threads.items[i], builder, end_ns);
}

/* ---- stacks ------------------------------------------------------------------------------------------------------ */

/*
 * Frames of the outermost `count` functions, innermost first; a frame's line is where the next inner function was
 * called.
 */
static uint32_t make_frames(const struct row_thread *thread, size_t count,
			    struct new_frame frames[GPT_PYSTACK_MAX_FRAMES], uint32_t *left_out)
{
	uint32_t depth = 0, line = count < thread->open.count ? thread->open.items[count].called_from : 0;

	*left_out = 0;
	for (size_t i = count; i-- > 0;) {
		const struct open_function *open = &thread->open.items[i];

		line = line <= INT32_MAX ? line : 0;
		if (open->is_frame && depth < GPT_PYSTACK_MAX_FRAMES)
			frames[depth++] = (struct new_frame){.code = code_key(open->text), .lasti = (int32_t)line};
		else if (open->is_frame)
			(*left_out)++;
		line = open->called_from;
	}
	return depth;
}

/* The stack key of the outermost `count` functions, 0: none of them is a frame. */
static uint64_t feed_stack(struct row_stacks *stacks, struct builder *builder, const struct row_thread *thread,
			   size_t count)
{
	struct new_frame frames[GPT_PYSTACK_MAX_FRAMES] = {{0}};
	struct new_stack stack = {.frames = frames};
	uint32_t *was_given;

	stack.depth = make_frames(thread, count, frames, &stack.missing);
	stack.gap = stack.depth;
	if (!stack.depth)
		return 0;
	stack.key = hash_bytes(hash_seed(), frames, stack.depth * sizeof(frames[0])) | 1;
	was_given = lookup_put(&stacks->stacks, foreign_epoch(thread->pid), stack.key, 0);
	if (!*was_given)
		builder_wait(builder);
	if (!*was_given)
		builder_add_stack(builder, thread->pid, &stack);
	*was_given = 1;
	return stack.key;
}

static uint64_t stack_of(struct row_stacks *stacks, struct builder *builder, struct row_thread *thread)
{
	if (!thread->key)
		thread->key = feed_stack(stacks, builder, thread, thread->open.count);
	return thread->key;
}

uint64_t row_stacks_find(struct row_stacks *stacks, struct builder *builder, const struct row *row)
{
	struct row_thread *thread = find_thread(stacks, row, false);

	if (!thread)
		return 0;
	leave_ended(stacks, thread, builder, row->start_ns);
	return stack_of(stacks, builder, thread);
}

uint64_t row_stacks_around(struct row_stacks *stacks, struct builder *builder, const struct row *row)
{
	struct row_thread *thread = find_thread(stacks, row, false);
	size_t count;

	if (!thread)
		return 0;
	leave_ended(stacks, thread, builder, row->start_ns);
	for (count = thread->open.count; count && thread->open.items[count - 1].end_ns < row->end_ns; count--)
		;
	return count == thread->open.count ? stack_of(stacks, builder, thread)
					   : feed_stack(stacks, builder, thread, count);
}

uint64_t row_stacks_backward(struct row_stacks *stacks, struct builder *builder, const struct row *row)
{
	const struct foreign_file *file = stacks->file;
	const uint32_t *place = lookup_get(&file->thread_lookup, foreign_epoch(row->pid), row->tid);
	struct row_thread *caller = NULL;

	if (!place || !file->threads.items[*place].has_nodes)
		return 0;
	for (size_t i = stacks->callers.count; i-- > 0;)
		leave_ended(stacks, &stacks->threads.items[stacks->callers.items[i]], builder, row->start_ns);
	for (size_t i = 0; i < stacks->callers.count; i++) {
		struct row_thread *thread = &stacks->threads.items[stacks->callers.items[i]];

		if (thread->pid != row->pid)
			continue;
		if (caller)
			return 0;
		caller = thread;
	}
	return caller ? stack_of(stacks, builder, caller) : 0;
}

/* ---- stacks of the file ------------------------------------------------------------------------------------------ */

/* Keys that collide with no others: those of texts are below, those of open functions are odd. */
#define OWN_CODES (1ull << 33)

static uint64_t own_stack_key(uint32_t stack)
{
	return ((uint64_t)stack + 1) << 1;
}

static struct text text_of(const struct row_stacks *stacks, uint32_t text)
{
	const struct rows *rows = &stacks->file->rows;

	return text < rows->texts.count ? rows->texts.items[text] : (struct text){"?", 1};
}

static uint64_t feed_own_code(struct row_stacks *stacks, struct builder *builder, uint32_t pid, uint32_t index)
{
	const struct foreign_code *code = &stacks->file->codes.items[index];
	uint64_t key = OWN_CODES + index;
	uint32_t *was_given = lookup_put(&stacks->codes, foreign_epoch(pid), key, 0);

	if (!*was_given)
		builder_add_code(builder, pid,
				 &(struct new_code){.key = key,
						    .first_line = code->first_line,
						    .is_named = true,
						    .name = python_text(text_of(stacks, code->function)),
						    .file = python_text(text_of(stacks, code->file))});
	*was_given = 1;
	return key;
}

uint64_t row_stacks_own(struct row_stacks *stacks, struct builder *builder, uint32_t pid, uint32_t stack)
{
	const struct foreign_file *file = stacks->file;
	const struct foreign_stack *own = &file->stacks.items[stack];
	struct new_frame frames[GPT_PYSTACK_MAX_FRAMES] = {{0}};
	struct new_stack described = {.key = own_stack_key(stack), .frames = frames};
	uint32_t *was_given = lookup_put(&stacks->stacks, foreign_epoch(pid), described.key, 0);

	if (*was_given)
		return described.key;
	*was_given = 1;
	builder_wait(builder);
	described.depth = own->depth < GPT_PYSTACK_MAX_FRAMES ? own->depth : GPT_PYSTACK_MAX_FRAMES;
	described.gap = own->missing && own->gap < described.depth ? own->gap : described.depth;
	described.missing = own->missing ? own->missing : own->depth - described.depth;
	for (uint32_t i = 0; i < described.depth; i++) {
		const struct foreign_frame *frame = &file->frames.items[own->first + i];

		frames[i].code = feed_own_code(stacks, builder, pid, frame->code);
		frames[i].lasti = frame->line <= INT32_MAX ? (int32_t)frame->line : 0;
	}
	builder_add_stack(builder, pid, &described);
	return described.key;
}
