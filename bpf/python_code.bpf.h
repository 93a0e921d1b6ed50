/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Describes code objects while they are alive: names, file, first line, line table, copied out of the process the first
 * time the object is in a stack. Runs only for new stacks.
 */
#pragma once

#include "common.bpf.h"
#include "loop.bpf.h"
#include "slot.bpf.h"

#ifndef GPT_USER_SPACE

#define CODE_MARKS_AGE GPT_CODE_MARKS_AGE

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GPT_MAX_CODES);
	__type(key, struct code_key);
	__type(value, __u8);
} codes SEC(".maps") __attribute__((weak));

/* Values of `codes`: how often the object may still be read again, 0: it was sent as well as could be. */
#define CODE_TRIES 20

static __always_inline bool code_is_known(const struct code_key *key)
{
	const __u8 *tries = bpf_map_lookup_elem(&codes, key);

	return tries && !*tries;
}

static __always_inline void code_remember(const struct code_key *key)
{
	__u8 tries = 0;

	bpf_map_update_elem(&codes, key, &tries, BPF_ANY);
}

/*
 * For an object that could not be read: a page that the kernel is just moving is absent for a moment.  False: it counts
 * as described.
 */
static __always_inline bool code_read_again(const struct code_key *key)
{
	const __u8 *left = bpf_map_lookup_elem(&codes, key);
	__u8 tries = left ? *left : CODE_TRIES;

	if (!tries)
		return false;
	if (!--tries)
		count_one(GPT_COUNTER_CODE_UNREAD);
	bpf_map_update_elem(&codes, key, &tries, BPF_ANY);
	return tries != 0;
}

static __always_inline void code_forget(const struct code_key *key)
{
	bpf_map_delete_elem(&codes, key);
}

#endif

/*
 * Marks show whether a dying code object was ever described, however long ago; `codes` is an LRU map and forgets. Each
 * slot holds the age of the last description of a code object that hashed to it. Two objects may share a slot: the
 * death of an object that was never described then costs a generation, which does no harm. To keep the table from
 * filling up with marks, code_age grows with every GPT_CODE_MARKS_AGE descriptions. It is part of each stack's id and
 * of each key in `codes`, so everything is described again.
 */
#ifndef GPT_USER_SPACE

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GPT_CODE_MARKS);
	__type(key, __u32);
	__type(value, __u32);
} code_marks SEC(".maps") __attribute__((weak));

static __always_inline __u32 *code_mark(__u64 code, __u64 program)
{
	__u32 index = (code ^ program) * 0x9e3779b97f4a7c15ULL >> 32 & (GPT_CODE_MARKS - 1);

	return bpf_map_lookup_elem(&code_marks, &index);
}

#endif

/* Called before the object is described, so that its death cannot be missed. */
static __always_inline void code_mark_set(__u64 code, __u64 program, __u32 age)
{
	__u32 *mark = code_mark(code, program), before;

	if (!mark)
		return;
	before = *(volatile __u32 *)mark;
	if ((__s32)(age - before) <= 0)
		return;
#ifndef GPT_OLD_KERNEL
	/* A program that ran in between has set at least the age before this one, which code_was_marked accepts too. */
	__sync_val_compare_and_swap(mark, before, age);
#else
	*(volatile __u32 *)mark = age; /* not preempted here (slot.bpf.h) */
#endif
}

/* Accepts the previous age too: the age may have changed while a program worked with it. */
static __always_inline bool code_was_marked(__u64 code, __u64 program)
{
	const __u32 *mark = code_mark(code, program);

	return mark && *mark && code_age - *mark <= 1;
}

/* Called after a description. Two programs may count as one, or end an age twice: neither matters. */
static __always_inline void code_age_count(void)
{
	if (++code_descriptions < CODE_MARKS_AGE)
		return;
	code_descriptions = 0;
	__sync_fetch_and_add(&code_age, 1);
}

/*
 * Returns the address of a string's characters and sets how many bytes they take; 0 when it is not a compact string, or
 * cannot be read.
 */
static __always_inline __u64 string_data(const struct gpt_pylayout *layout, __u64 string, __u8 *kind, __u64 *bytes,
					 __u16 *flags)
{
	__u64 length = 0;
	__u32 state = 0;

	*kind = 0;
	*bytes = 0;
	if (!string)
		return 0;
	if (bpf_probe_read_user(&length, 8, (void *)(string + layout->str_length)) ||
	    bpf_probe_read_user(&state, 4, (void *)(string + layout->str_state))) {
		*flags |= GPT_CODE_UNREAD;
		return 0;
	}
	if (!(state >> (layout->str_compact_shift & 31) & 1))
		return 0;
	__u8 width = state >> (layout->str_kind_shift & 31) & layout->str_kind_mask;

	if (width != 1 && width != 2 && width != 4)
		return 0;
	if (length > 1 << 20)
		length = 1 << 20;
	*kind = width;
	*bytes = length * width;
	if (state >> (layout->str_ascii_shift & 31) & 1)
		return string + layout->str_ascii_data;
	return string + layout->str_compact_data;
}

/* Copies up to `most` bytes of the string at `pointer_at` to buffer + *used, padded; returns bytes kept. */
static __always_inline __u32 string_copy(const struct gpt_pylayout *layout, __u64 pointer_at, __u8 *buffer, __u64 *used,
					 __u32 most, __u8 *kind, __u16 *flags)
{
	__u64 string = 0, bytes = 0, at = *used, data;

	*kind = 0;
	if (bpf_probe_read_user(&string, 8, (void *)pointer_at)) {
		*flags |= GPT_CODE_UNREAD;
		return 0;
	}
	data = string_data(layout, string, kind, &bytes, flags);
	if (!data)
		return 0;
	if (bytes > most) {
		bytes = most;
		*flags |= GPT_CODE_TRUNCATED;
	}
	BOUND(bytes, 0x1fff);
	BOUND(at, 0x7ff);
	if (bytes > most) /* for the verifier, which has lost the bound above */
		return 0;
	if (bpf_probe_read_user(buffer + at, bytes, (void *)data)) {
		*flags |= GPT_CODE_UNREAD;
		*kind = 0;
		return 0;
	}
	*used = at + ((bytes + 7) & ~7ULL);
	return bytes;
}

/*
 * Sends the next piece of a line table in a record of one of two sizes, as the ring buffer takes constant sizes only.
 * -1: no room; 1: the table cannot be read.
 */
#define LINES_PIECE(name, room)                                                                                        \
	static __always_inline long name(const struct walk_slot *slot, __u32 bytes)                                    \
	{                                                                                                              \
		struct gpt_code_lines *record = RING_RESERVE(sizeof(*record) + (room));                                \
		__u32 done = slot->send.done;                                                                          \
                                                                                                                       \
		if (!record)                                                                                           \
			return -1;                                                                                     \
		record_begin(&record->hdr, sizeof(*record) + ((bytes + 7) & ~7), GPT_CODE_LINES);                      \
		record->code = slot->send.code;                                                                        \
		record->pid = slot->pid;                                                                               \
		record->offset = done;                                                                                 \
		record->bytes = bytes;                                                                                 \
		record->pad = 0;                                                                                       \
		if (bytes > (room) || bpf_probe_read_user(record->data, bytes, (void *)(slot->send.table + done))) {   \
			bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);                                                 \
			return 1;                                                                                      \
		}                                                                                                      \
		bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);                                                          \
		return 0;                                                                                              \
	}

#define LINES_SMALL 512
LINES_PIECE(lines_send_small, LINES_SMALL)
LINES_PIECE(lines_send_large, GPT_CODE_LINES_CHUNK)

static __always_inline long lines_send_piece(struct walk *walk)
{
	struct walk_slot *slot = walk->slot;
	__u32 left = slot->send.bytes - slot->send.done;
	long failed;

	if (slot->send.done >= slot->send.bytes)
		return 1;
	if (left > GPT_CODE_LINES_CHUNK)
		left = GPT_CODE_LINES_CHUNK;
	failed = left <= LINES_SMALL ? lines_send_small(slot, left) : lines_send_large(slot, left);
	if (failed) {
		slot->send.failed = failed;
		return 1;
	}
	slot->send.done += left;
	return 0;
}
LOOP_STEP(lines_send_piece)

/* As a piece: -1: no room; 1: it cannot be read to its end, which is shorter than its object says. */
static __always_inline long lines_send(struct walk *walk, __u64 table, __u64 code, __u32 bytes)
{
	struct send_progress *send = &walk->slot->send;

	send->table = table + walk->layout->bytes_data;
	send->code = code;
	send->bytes = bytes;
	send->done = send->failed = 0;
	LOOP(GPT_CODE_LINES_MAX / GPT_CODE_LINES_CHUNK, lines_send_piece, walk);
	return send->failed;
}

/*
 * CPython 3.12 and later create an instance under an extra frame, which checks what __init__ returns (_Py_InitCleanup,
 * Python/specialize.c: one static object without lines, whose name and file are the same string).
 */
static __always_inline void note_shim(struct walk *walk, __u64 code)
{
	__u64 name = 0, file = 0;

	if (walk->layout->owner_skip && !bpf_probe_read_user(&name, 8, (void *)(code + walk->layout->code_name)) &&
	    !bpf_probe_read_user(&file, 8, (void *)(code + walk->layout->code_filename)) && name == file)
		walk->process->shim_code = code;
}

/*
 * Sends the description of one code object, without what cannot be read of it.  -1: no room; 1: something could not be
 * read.
 */
static __noinline long code_send(struct walk *walk, __u64 code)
{
	const struct gpt_pylayout *layout = walk->layout;
	struct walk_slot *slot = walk->slot;
	struct gpt_code *record = (struct gpt_code *)slot->code;
	__u8 *data = slot->code + sizeof(*record);
	__u64 used = 0, table = 0, type = 0, bytes = 0;

	record_begin(&record->hdr, 0, GPT_CODE);
	record->code = code;
	record->pid = slot->pid;
	record->first_line = 0;
	record->name_bytes = record->qualname_bytes = record->filename_bytes = 0;
	record->name_kind = record->qualname_kind = record->filename_kind = 0;
	record->linetable = layout->linetable;
	record->linetable_bytes = record->first_traceable = 0;
	if (bpf_probe_read_user(&type, 8, (void *)(code + layout->object_type)))
		record->hdr.flags |= GPT_CODE_UNREAD;
	if (type && (!walk->process->python.code_type || type == walk->process->python.code_type)) {
		if (bpf_probe_read_user(&record->first_line, 4, (void *)(code + layout->code_first_line)))
			record->hdr.flags |= GPT_CODE_UNREAD;
		record->name_bytes = string_copy(layout, code + layout->code_name, data, &used, GPT_CODE_NAME_MAX,
						 &record->name_kind, &record->hdr.flags);
		if (layout->code_qualname != GPT_PY_ABSENT)
			record->qualname_bytes =
				string_copy(layout, code + layout->code_qualname, data, &used, GPT_CODE_NAME_MAX,
					    &record->qualname_kind, &record->hdr.flags);
		record->filename_bytes = string_copy(layout, code + layout->code_filename, data, &used,
						     GPT_CODE_FILE_MAX, &record->filename_kind, &record->hdr.flags);
		if (layout->code_first_traceable != GPT_PY_ABSENT) {
			bpf_probe_read_user(&record->first_traceable, 4, (void *)(code + layout->code_first_traceable));
			record->first_traceable *= 2; /* from code units */
		}
		if (bpf_probe_read_user(&table, 8, (void *)(code + layout->code_linetable)) ||
		    (table && bpf_probe_read_user(&bytes, 8, (void *)(table + layout->var_size))))
			record->hdr.flags |= GPT_CODE_UNREAD;
		record->linetable_bytes = bytes < 0xffffffff ? bytes : 0xffffffff;
		if (bytes > GPT_CODE_LINES_MAX) {
			bytes = 0; /* of which nothing is sent: a reader knows no line */
			record->hdr.flags |= GPT_CODE_TRUNCATED;
		}
	}
	if (!record->first_line && record->name_kind)
		note_shim(walk, code);
	BOUND(used, 0x1fff);
	used += sizeof(*record);
	if (used > sizeof(slot->code))
		return -1;
	record->hdr.size = used;
	if (RING_OUTPUT(record, used, BPF_RB_NO_WAKEUP))
		return -1;
	if (bytes) {
		long failed = lines_send(walk, table, code, bytes);

		if (failed)
			return failed;
	}
	return record->hdr.flags & GPT_CODE_UNREAD ? 1 : 0;
}

/* Puts the module that this frame is a call of behind the stack's frames. */
static __always_inline void module_append(struct walk_slot *slot, __u32 index)
{
	__u64 module = slot->selves[index & (GPT_PYSTACK_MAX_FRAMES - 1)], at;
	struct gpt_stack_module *entry;

	if (!module)
		return;
	at = slot->send.depth + slot->send.modules;
	BOUND(at, SLOT_FRAMES - 1);
	entry = (struct gpt_stack_module *)&slot->frames[at];
	entry->module = module;
	entry->frame = index;
	entry->generation = slot->progress.module_generation;
	slot->send.modules++;
}

static __always_inline long codes_send_next(struct walk *walk)
{
	struct walk_slot *slot = walk->slot;
	struct code_key key = {.program = walk->process->program, .pid = slot->pid, .age = slot->send.age};
	__u32 index = slot->send.next++;
	struct gpt_pyframe *frame;
	long failed;

	if (index >= slot->send.depth || index >= GPT_PYSTACK_MAX_FRAMES)
		return 1;
	frame = &slot->frames[index & (GPT_PYSTACK_MAX_FRAMES - 1)];
	if (!frame->code)
		return 0;
	module_append(slot, index);
	if (walk->layout->code_instructions != GPT_PY_ABSENT)
		frame->lasti -= walk->layout->code_instructions;
	key.code = frame->code;
	if (!walk->process->unsure && code_is_known(&key))
		return 0;
	code_mark_set(key.code, key.program, key.age);
	failed = code_send(walk, key.code);
	if (failed < 0) {
		count_one(GPT_COUNTER_CODE_LOST);
		slot->send.incomplete = 1;
		return 0;
	}
	if (failed && code_read_again(&key)) {
		slot->send.unread = 1;
		return 0;
	}
	code_remember(&key);
	code_age_count();
	return 0;
}
LOOP_STEP(codes_send_next)

/*
 * Prepares the slot's stack for sending: describes each code object that was not described yet at this age, and puts
 * its modules behind its frames. False if there was no room for one: the last description of its address may be of a
 * dead object.
 */
static __always_inline bool codes_send(struct gpt_process_state *process, struct walk_slot *slot, __u32 depth,
				       __u32 age)
{
	struct walk walk = {.slot = slot, .process = process, .layout = &process->python.layout};

	slot->send.next = 0;
	slot->send.depth = depth;
	slot->send.age = age;
	slot->send.incomplete = slot->send.unread = slot->send.modules = 0;
	LOOP(GPT_PYSTACK_MAX_FRAMES, codes_send_next, &walk);
	return !slot->send.incomplete;
}
