/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples of running threads: a perf event on each CPU (PERF_COUNT_SW_CPU_CLOCK) interrupts the current thread. A
 * thread of a followed process is recorded with its stacks; for all others this is one look-up.
 */
#include "common.bpf.h"
#include "here.bpf.h"

/*
 * Offset of the code segment register in the context of a perf event program: bpf_user_pt_regs_t regs comes first
 * (include/uapi/linux/bpf_perf_event.h). Its lowest two bits are 3 in user space.
 */
#define CONTEXT_CS (17 * 8)

SEC("perf_event")
int sample_cpu(void *ctx)
{
	__u64 now = bpf_ktime_get_ns(), pid_tid = bpf_get_current_pid_tgid();
	__u32 pid = pid_tid >> 32, tid = pid_tid;
	struct gpt_process_state *process = bpf_map_lookup_elem(&processes, &pid);
	struct gpt_thread_state *thread;
	struct gpt_sample *record;
	struct here here;
	bool user = (*(__u64 *)(ctx + CONTEXT_CS) & 3) == 3;

	if (!process || detail_is_off(GPT_DETAIL_SAMPLES) || ring_is_short())
		return 0;
	thread = thread_get(process, tid, pid);
	record = thread && here_read(process, thread, &here) ? RING_RESERVE(sizeof(*record)) : 0;
	if (!record) {
		count_one(GPT_COUNTER_SAMPLES_LOST);
		return 0;
	}
	record_begin(&record->hdr, sizeof(*record), GPT_SAMPLE);
	record->time_ns = now;
	record->stack_id = here.stack_id;
	record->native_id = here.native_id;
	record->pid = pid;
	record->tid = tid;
	record->period_ns = activity.period_ns;
	record->stack_state = here.stack_state;
	record->place = user ? GPT_SAMPLE_USER : GPT_SAMPLE_KERNEL;
	record->pad[0] = record->pad[1] = 0;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	here_charge(thread, now, GPT_PART_SAMPLES, GPT_COST_SAMPLE_NS);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
