/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Garbage collections and imports: where they start and end, by the interpreter's own USDT probes or by its functions.
 * Only entries and plain instructions are probed, no returns: a return probe would change the program's stack.
 */
#include "common.bpf.h"
#include "cost.bpf.h"
#include "python_code.bpf.h"
#include "python_site.bpf.h"
#include "thread.bpf.h"

/*
 * Open imports that went through the function by which all methods are called: only its returns from these are ends of
 * imports.
 */
struct import_key {
	__u64 frame;
	__u32 tid;
	__u32 pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct import_key);
	__type(value, __u8);
} imports SEC(".maps");

struct event_head {
	__u64 now, frame;
	__u32 pid, tid;
	__s64 value;
	__u8 kind, ends;
};

static __always_inline void event_fill(struct gpt_pyevent *record, const struct event_head *head)
{
	record_begin(&record->hdr, sizeof(*record), GPT_PYEVENT);
	record->time_ns = head->now;
	record->pid = head->pid;
	record->tid = head->tid;
	record->frame = head->frame;
	record->value = head->value;
	record->kind = head->kind;
	record->ends = head->ends;
	record->name_kind = 0;
	record->pad = 0;
	record->name_bytes = 0;
}

static __always_inline void event_send(const struct event_head *head)
{
	struct gpt_pyevent *record = RING_RESERVE(sizeof(*record));

	if (!record) {
		count_one(GPT_COUNTER_PYEVENT_LOST);
		return;
	}
	event_fill(record, head);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* The ring buffer takes constant sizes only: the record says how much of it is used. */
static __always_inline struct gpt_pyevent *event_reserve_named(const struct event_head *head)
{
	struct gpt_pyevent *record = RING_RESERVE(sizeof(*record) + GPT_PYEVENT_NAME_MAX);

	if (record)
		event_fill(record, head);
	else
		count_one(GPT_COUNTER_PYEVENT_LOST);
	return record;
}

static __always_inline void event_submit_named(struct gpt_pyevent *record, __u32 bytes, __u8 name_kind)
{
	record->name_bytes = bytes;
	record->name_kind = name_kind;
	record->hdr.size = sizeof(*record) + ((bytes + 7) & ~7u);
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* Reads an argument of a USDT probe from where the compiler had it; -1 if it cannot be read. */
static __always_inline __s64 read_argument(struct pt_regs *ctx, const struct gpt_py_arg *arg)
{
	__u64 value = 0;
	__u32 unused;

	if (arg->kind == GPT_PY_ARG_NONE)
		return -1;
	if (arg->kind == GPT_PY_ARG_CONSTANT)
		return arg->displacement;
	if (bpf_probe_read_kernel(&value, 8, (void *)ctx + arg->regs_at))
		return -1;
	if (arg->kind == GPT_PY_ARG_MEMORY && bpf_probe_read_user(&value, 8, (void *)(value + arg->displacement)))
		return -1;
	unused = (64 - 8 * (arg->bytes < 0 ? -arg->bytes : arg->bytes)) & 63;
	if (arg->bytes < 0)
		return (__s64)(value << unused) >> unused;
	return value << unused >> unused;
}

static __always_inline void import_begins_text(struct event_head *head, __u64 text)
{
	struct gpt_pyevent *record = event_reserve_named(head);
	long bytes;

	if (!record)
		return;
	bytes = bpf_probe_read_user_str(record->name, GPT_PYEVENT_NAME_MAX, (void *)text);
	if (bytes == GPT_PYEVENT_NAME_MAX)
		record->hdr.flags = GPT_PYEVENT_TRUNCATED;
	event_submit_named(record, bytes > 1 && bytes <= GPT_PYEVENT_NAME_MAX ? bytes - 1 : 0, 0);
}

static __always_inline void import_begins_str(const struct gpt_pylayout *layout, struct event_head *head, __u64 string)
{
	struct gpt_pyevent *record = event_reserve_named(head);
	__u64 bytes = 0, data;
	__u16 unread = 0;
	__u8 kind = 0;

	if (!record)
		return;
	data = string_data(layout, string, &kind, &bytes, &unread);
	if (bytes > GPT_PYEVENT_NAME_MAX) {
		bytes = GPT_PYEVENT_NAME_MAX;
		record->hdr.flags = GPT_PYEVENT_TRUNCATED;
	}
	BOUND(bytes, 0x1ff);
	if (!data || bytes > GPT_PYEVENT_NAME_MAX || bpf_probe_read_user(record->name, bytes, (void *)data))
		bytes = 0;
	event_submit_named(record, bytes, bytes ? kind : 0);
}

/* 1 for "start", 2 for "stop", else 0: which argument it is depends on how the compiler changed the function. */
static __always_inline int phase_of(__u64 text)
{
	char phase[6] = {};

	if (bpf_probe_read_user_str(phase, sizeof(phase), (void *)text) < 5 || phase[0] != 's' || phase[1] != 't')
		return 0;
	if (phase[2] == 'a' && phase[3] == 'r' && phase[4] == 't')
		return 1;
	return phase[2] == 'o' && phase[3] == 'p' && !phase[4] ? 2 : 0;
}

static __always_inline void gc_callback(struct pt_regs *ctx, struct event_head *head)
{
	__u64 args[4] = {PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx), PT_REGS_PARM4(ctx)};
	int phase = 0;

	head->value = -1;
#pragma unroll
	for (int i = 0; i < 3; i++)
		if (!phase && args[i] > 4096) {
			phase = phase_of(args[i]);
			if (phase)
				head->value = (__s32)args[i + 1];
		}
	if (!phase)
		return;
	head->ends = phase == 2;
	event_send(head);
}

/*
 * Whether the called method is importlib's _find_and_load. Its name is passed as a _Py_Identifier up to 3.10
 * (cpython/object.h: `next` goes before `string` up to 3.9), as a str from 3.11 on.
 */
static __always_inline bool is_find_and_load(const struct gpt_pylayout *layout, __u64 name)
{
	char text[16] = {};
	__u64 data = 0;

	if (layout->version >= 0x030b)
		data = name + layout->str_ascii_data;
	else if (bpf_probe_read_user(&data, 8, (void *)(name + (layout->version < 0x030a ? 8 : 0))))
		return false;
	if (bpf_probe_read_user_str(text, sizeof(text), (void *)data) != 15)
		return false;
	return *(__u64 *)text == 0x6e615f646e69665fULL /* "_find_an" */ &&
	       (*(__u64 *)(text + 8) & 0xffffffffffffffULL) == 0x0064616f6c5f64ULL /* "d_load" */;
}

static __always_inline void import_call(struct pt_regs *ctx, const struct gpt_process_state *process,
					struct event_head *head)
{
	struct import_key key = {.frame = head->frame, .tid = head->tid};
	__u8 one = 1;

	if (!is_find_and_load(&process->python.layout, PT_REGS_PARM2(ctx)))
		return;
	bpf_map_update_elem(&imports, &key, &one, BPF_ANY);
	import_begins_str(&process->python.layout, head, PT_REGS_PARM3(ctx));
}

static __always_inline void import_returned(struct event_head *head)
{
	struct import_key key = {.frame = head->frame, .tid = head->tid};

	if (!bpf_map_lookup_elem(&imports, &key))
		return;
	bpf_map_delete_elem(&imports, &key);
	head->ends = 1;
	event_send(head);
}

COUNTED_PROGRAM("uprobe", python_event)
{
	__u64 pid_tid = bpf_get_current_pid_tgid();
	struct event_head head = {.pid = pid_tid >> 32, .tid = pid_tid, .value = -1};
	struct gpt_process_state *process = python_process(head.pid);
	struct gpt_py_site *site;

	if (!process) {
		keep_own_stack(ctx);
		return GPT_PART_IDLE;
	}
	site = python_site(ctx, process);
	if (!site || !thread_get(process, head.tid, head.pid))
		return GPT_PART_IDLE;
	head.now = run->start_ns;
	head.frame = PT_REGS_SP(ctx) + site->sp_adjust;
	head.kind = site->kind <= GPT_PY_GC_CALLBACK ? GPT_PYEVENT_GC : GPT_PYEVENT_IMPORT;
	switch (site->kind) {
	case GPT_PY_GC_BEGIN:
		head.value = read_argument(ctx, &site->arg);
		event_send(&head);
		break;
	case GPT_PY_GC_END:
	case GPT_PY_IMPORT_END:
		head.ends = 1;
		event_send(&head);
		break;
	case GPT_PY_GC_CALLBACK:
		gc_callback(ctx, &head);
		break;
	case GPT_PY_IMPORT_BEGIN:
		import_begins_text(&head, read_argument(ctx, &site->arg));
		break;
	case GPT_PY_IMPORT_CALL:
		import_call(ctx, process, &head);
		break;
	case GPT_PY_IMPORT_RETURNED:
		import_returned(&head);
		break;
	}
	return GPT_PART_PYTHON;
}

char LICENSE[] SEC("license") = "GPL";
