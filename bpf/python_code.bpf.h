/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Describes code objects while they are alive: names, file, first line, line table, copied out of the process
 * the first time one stands in a stack.  Runs only for stacks that were not seen before.
 */
#ifndef GPUTRACE_PYTHON_CODE_BPF_H
#define GPUTRACE_PYTHON_CODE_BPF_H

#include "common.bpf.h"
#include "loop.bpf.h"
#include "slot.bpf.h"

struct code_key {
	__u64 code;
	__u32 pid;
	__u32 epoch;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GPT_MAX_CODES);
	__type(key, struct code_key);
	__type(value, __u8);
} codes SEC(".maps") __attribute__((weak));

/* Where a string's characters are and how many bytes they take; 0 when it is not a compact string. */
static __always_inline __u64 string_data(const struct gpt_pylayout *layout, __u64 string, __u8 *kind, __u64 *bytes)
{
	__u64 length = 0;
	__u32 state = 0;

	*kind = 0;
	*bytes = 0;
	if (!string || bpf_probe_read_user(&length, 8, (void *)(string + layout->str_length)) ||
	    bpf_probe_read_user(&state, 4, (void *)(string + layout->str_state)))
		return 0;
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
	if (bpf_probe_read_user(&string, 8, (void *)pointer_at))
		return 0;
	data = string_data(layout, string, kind, &bytes);
	if (!data)
		return 0;
	if (bytes > most) {
		bytes = most;
		*flags |= GPT_CODE_CUT;
	}
	BOUND(bytes, 0x1fff);
	BOUND(at, 0x7ff);
	if (bytes > most) /* for the verifier, which has lost the bound above */
		return 0;
	if (bpf_probe_read_user(buffer + at, bytes, (void *)data)) {
		*kind = 0;
		return 0;
	}
	*used = at + ((bytes + 7) & ~7ULL);
	return bytes;
}

/* Sends the next piece in a record of one of two sizes; the ring buffer takes constant sizes only. */
#define LINES_PIECE(name, room)                                                                                        \
	static __always_inline long name(const struct walk_slot *slot, __u32 bytes)                                    \
	{                                                                                                              \
		struct gpt_code_lines *record = bpf_ringbuf_reserve(&ring, sizeof(*record) + (room), 0);               \
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
			return -1;                                                                                     \
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
		slot->send.lost = 1;
		return 1;
	}
	slot->send.done += left;
	return 0;
}
LOOP_STEP(lines_send_piece)

static __always_inline long lines_send(struct walk *walk, __u64 table, __u64 code, __u32 bytes)
{
	struct send_progress *send = &walk->slot->send;

	send->table = table + walk->layout->bytes_data;
	send->code = code;
	send->bytes = bytes;
	send->done = send->lost = 0;
	LOOP(GPT_CODE_LINES_MAX / GPT_CODE_LINES_CHUNK, lines_send_piece, walk);
	return send->lost || send->done < bytes ? -1 : 0;
}

/*
 * CPython 3.12 and later make an instance under a frame of its own, which checks what __init__ returns
 * (_Py_InitCleanup, Python/specialize.c: one static object of no line whose name and file are one string).
 */
static __always_inline void note_shim(struct walk *walk, __u64 code)
{
	__u64 name = 0, file = 0;

	if (walk->layout->owner_skip && !bpf_probe_read_user(&name, 8, (void *)(code + walk->layout->code_name)) &&
	    !bpf_probe_read_user(&file, 8, (void *)(code + walk->layout->code_filename)) && name == file)
		walk->process->shim_code = code;
}

/* Sends the description of one code object; one that cannot be read is sent as such. */
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
	bpf_probe_read_user(&type, 8, (void *)(code + layout->object_type));
	if (type && (!walk->process->python.code_type || type == walk->process->python.code_type)) {
		bpf_probe_read_user(&record->first_line, 4, (void *)(code + layout->code_first_line));
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
		if (!bpf_probe_read_user(&table, 8, (void *)(code + layout->code_linetable)) && table)
			bpf_probe_read_user(&bytes, 8, (void *)(table + layout->var_size));
		if (bytes > GPT_CODE_LINES_MAX) {
			bytes = 0;
			record->hdr.flags |= GPT_CODE_CUT;
		}
		record->linetable_bytes = bytes;
	}
	if (!record->first_line && record->name_kind)
		note_shim(walk, code);
	BOUND(used, 0x1fff);
	used += sizeof(*record);
	if (used > sizeof(slot->code))
		return -1;
	record->hdr.size = used;
	if (bpf_ringbuf_output(&ring, record, used, BPF_RB_NO_WAKEUP))
		return -1;
	return bytes ? lines_send(walk, table, code, bytes) : 0;
}

static __always_inline long codes_send_next(struct walk *walk)
{
	struct walk_slot *slot = walk->slot;
	struct code_key key = {.pid = slot->pid, .epoch = walk->process->epoch};
	__u32 index = slot->send.next++;
	struct gpt_pyframe *frame;
	__u8 known = 1;

	if (index >= slot->send.depth || index >= GPT_PYSTACK_MAX_FRAMES)
		return 1;
	frame = &slot->frames[index & (GPT_PYSTACK_MAX_FRAMES - 1)];
	if (!frame->code)
		return 0;
	if (walk->layout->code_instructions != GPT_PY_ABSENT)
		frame->lasti -= walk->layout->code_instructions;
	key.code = frame->code;
	if (bpf_map_lookup_elem(&codes, &key))
		return 0;
	if (code_send(walk, key.code)) {
		account(GPT_ACC_CODE_LOST);
		return 0;
	}
	bpf_map_update_elem(&codes, &key, &known, BPF_ANY);
	return 0;
}
LOOP_STEP(codes_send_next)

/* Makes the slot's stack ready to be sent: describes each code object that was not described yet. */
static __always_inline void codes_send(struct gpt_process_state *process, struct walk_slot *slot, __u32 depth)
{
	struct walk walk = {.slot = slot, .process = process, .layout = &process->python.layout};

	slot->send.next = 0;
	slot->send.depth = depth;
	LOOP(GPT_PYSTACK_MAX_FRAMES, codes_send_next, &walk);
}

#endif
