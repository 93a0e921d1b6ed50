/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Clients of CUPTI's activity API: CUPTI has one registration of buffers for the whole process and informs no client
 * when another takes it. These calls are rare: a session of torch.profiler makes some twenty of them.
 */
#include "common.bpf.h"
#include "cost.bpf.h"
#include "site.bpf.h"
#include "thread.bpf.h"

#include <gputrace/agent.h>

static __always_inline bool lies_in(const struct gpt_text_segment *text, __u64 address)
{
	return address - text->start < text->bytes;
}

/*
 * An agent that works for another trace may have reported its state before this one's probes were in place: attach/
 * finds out whose code it is.
 */
static __always_inline __u8 cupti_caller_of(__u32 pid, __u64 address)
{
	const struct gpt_text_segment *agent = bpf_map_lookup_elem(&agent_texts, &pid);

	if (!agent)
		return GPT_CUPTI_CALLER_UNKNOWN;
	return lies_in(agent, address) ? GPT_CUPTI_CALLER_AGENT : GPT_CUPTI_CALLER_OTHER;
}

/*
 * The return address identifies the caller. CUPTI's own functions call each other, as cuptiActivityEnableAndDump does
 * cuptiActivityEnable (11.8 to 13.5): such a call belongs to the outer one, and the outer functions are probed too.
 */
static __always_inline __u32 cupti_use(struct pt_regs *ctx, __u8 what)
{
	__u64 pid_tid = bpf_get_current_pid_tgid(), address = 0;
	__u32 pid = pid_tid >> 32;
	struct gpt_cupti_use *record;
	struct gpt_text_segment cupti;
	__u8 caller;

	if (!traced_process(pid))
		return GPT_PART_IDLE;
	if (!bpf_probe_read_user(&address, sizeof(address), (void *)PT_REGS_SP(ctx)))
		address = true_return_address(PT_REGS_SP(ctx), address);
	if (site_text(ctx, &cupti) && lies_in(&cupti, address))
		return GPT_PART_CUPTI;
	caller = cupti_caller_of(pid, address);
	/* Of the agent's calls only the start of its session is sent: it flushes ten times a second. */
	if (caller == GPT_CUPTI_CALLER_AGENT && what != GPT_CUPTI_REGISTER)
		return GPT_PART_CUPTI;
	record = RING_RESERVE(sizeof(*record));
	if (!record) {
		count_one(GPT_COUNTER_OTHER_LOST);
		keep_own_stack(ctx);
		return GPT_PART_CUPTI;
	}
	record_begin(&record->hdr, sizeof(*record), GPT_CUPTI_USE);
	record->time_ns = bpf_ktime_get_ns();
	record->pid = pid;
	record->tid = pid_tid;
	record->value = PT_REGS_PARM1(ctx);
	record->what = what;
	record->own = caller;
	record->pad = 0;
	record->caller = caller == GPT_CUPTI_CALLER_UNKNOWN ? address : 0;
	/* The agent must be informed soon. */
	bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
	return GPT_PART_CUPTI;
}

#define CUPTI_USE(name, what)                                                                                          \
	COUNTED_PROGRAM("uprobe", name)                                                                                \
	{                                                                                                              \
		return cupti_use(ctx, what);                                                                           \
	}

CUPTI_USE(cupti_register, GPT_CUPTI_REGISTER)
CUPTI_USE(cupti_enable, GPT_CUPTI_ENABLE)
CUPTI_USE(cupti_disable, GPT_CUPTI_DISABLE)
CUPTI_USE(cupti_flush, GPT_CUPTI_FLUSH)
CUPTI_USE(cupti_attribute, GPT_CUPTI_ATTRIBUTE)

/* The ring buffer takes constant sizes only: one function for each. */
#define DONE_COPY(name, room)                                                                                          \
	static __always_inline bool name(struct gpt_cupti_done *head)                                                  \
	{                                                                                                              \
		struct gpt_cupti_done *record = RING_RESERVE(sizeof(*record) + (room));                                \
		__u64 bytes = head->bytes;                                                                             \
                                                                                                                       \
		if (!record)                                                                                           \
			return false;                                                                                  \
		head->hdr.size = sizeof(*head) + ((bytes + 7) & ~7u);                                                  \
		head->copied = bytes;                                                                                  \
		__builtin_memcpy(record, head, sizeof(*record));                                                       \
		if (bytes > (room) || bpf_probe_read_user(record->data, bytes, (void *)head->address)) {               \
			bpf_ringbuf_discard(record, BPF_RB_NO_WAKEUP);                                                 \
			return false;                                                                                  \
		}                                                                                                      \
		bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);                                                       \
		return true;                                                                                           \
	}

DONE_COPY(done_copy_small, GPT_CUPTI_DONE_SMALL)
DONE_COPY(done_copy_large, GPT_CUPTI_DONE_LARGE)

/* Sends the record without a copy of the buffer: the collector must read it soon. */
static __always_inline bool done_send(struct gpt_cupti_done *head)
{
	head->hdr.size = sizeof(*head);
	head->copied = 0;
	return !RING_OUTPUT(head, sizeof(*head), BPF_RB_FORCE_WAKEUP);
}

/*
 * libkineto::CuptiActivityApi::bufferCompleted(CUcontext, unsigned stream, unsigned char *buffer, size_t size,
 * size_t valid), a member function.
 */
COUNTED_PROGRAM("uprobe", cupti_done)
{
	__u64 pid_tid = bpf_get_current_pid_tgid();
	struct gpt_cupti_done head = {.address = PT_REGS_PARM4(ctx), .bytes = ctx->r9, .tid = pid_tid};
	bool sent = false;

	head.pid = pid_tid >> 32;
	if (!head.bytes || !traced_process(head.pid))
		return GPT_PART_IDLE;
	record_begin(&head.hdr, sizeof(head), GPT_CUPTI_DONE);
	head.time_ns = bpf_ktime_get_ns();
	/* A failed read leaves zeros, with which no record begins. */
	bpf_probe_read_user(head.head, sizeof(head.head), (void *)head.address);
	if (head.bytes <= GPT_CUPTI_DONE_SMALL)
		sent = done_copy_small(&head);
	else if (head.bytes <= GPT_CUPTI_DONE_LARGE)
		sent = done_copy_large(&head);
	if (!sent && !done_send(&head)) {
		count_one(GPT_COUNTER_OTHER_LOST);
		keep_own_stack(ctx);
	}
	return GPT_PART_CUPTI;
}

/*
 * A session that began before gputrace came is found by the correlation ids that PyTorch pushes around every op during
 * a session. The probe is hot, so it is only attached until that is settled.
 */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);   /* thread group id */
	__type(value, __u64); /* CLOCK_MONOTONIC ns of the latest push */
} cupti_pushes SEC(".maps");

SEC("uprobe")
int cupti_push(struct pt_regs *ctx)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	__u64 now = bpf_ktime_get_ns();

	if (bpf_map_lookup_elem(&processes, &pid))
		bpf_map_update_elem(&cupti_pushes, &pid, &now, BPF_ANY);
	else
		keep_own_stack(ctx);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
