/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every entry into the interpreter's frame function and every exit from it, for --python-calls. Exits are probed at
 * instructions of the function itself, not by return probes: the kernel allows at most 64 open returns of a thread
 * (MAX_URETPROBE_DEPTH, linux/uprobes.h), and programs nest deeper.
 */
#include "common.bpf.h"
#include "cost.bpf.h"
#include "python_code.bpf.h"
#include "python_site.bpf.h"
#include "thread.bpf.h"

/* Describes the code object before the first entry that names it, as is done before a stack. */
static __always_inline void code_describe(struct gpt_process_state *process, __u64 code, __u32 pid)
{
	struct code_key key = {.code = code, .program = process->program, .pid = pid, .age = code_age};
	struct walk_slot *slot;

	if (likely(!process->unsure && code_is_known(&key)))
		return;
	slot = slot_acquire(pid);
	if (!slot) {
		count_one(GPT_COUNTER_CODE_LOST);
		return;
	}
	slot->frames[0].code = code;
	codes_send(process, slot, 1, key.age);
	slot_release(slot);
}

/* _PyEval_EvalFrameDefault(frame, throwflag) up to 3.8, (tstate, frame, throwflag) in 3.9 and 3.10. */
static __always_inline __u64 code_entered(struct pt_regs *ctx, const struct gpt_pylayout *layout)
{
	__u64 first = PT_REGS_PARM1(ctx), second = PT_REGS_PARM2(ctx), frame, code = 0;

	/* Keeps the two register reads apart: the verifier accepts no read at a variable offset of ctx. */
	asm volatile("" : "+r"(first), "+r"(second));
	frame = layout->version >= 0x0309 ? second : first;
	bpf_probe_read_user(&code, 8, (void *)(frame + layout->frame_code));
	return code;
}

COUNTED_PROGRAM("uprobe.later", python_call)
{
	__u64 pid_tid = bpf_get_current_pid_tgid(), now = run->start_ns, code = 0;
	__u32 pid = pid_tid >> 32, tid = pid_tid;
	struct gpt_process_state *process = python_process(pid);
	struct gpt_py_site *site;
	struct gpt_pycall *record;

	if (!process || process->python.layout.walk != GPT_PY_WALK_OBJECTS) {
		keep_own_stack(ctx);
		return GPT_PART_IDLE;
	}
	site = python_site(ctx, process);
	if (!site || !thread_get(process, tid, pid))
		return GPT_PART_IDLE;
	if (site->kind == GPT_PY_CALL_ENTER) {
		code = code_entered(ctx, &process->python.layout);
		if (!code)
			return GPT_PART_PYTHON;
		code_describe(process, code, pid);
	}
	record = ring_is_short() ? 0 : RING_RESERVE(sizeof(*record));
	if (unlikely(!record)) {
		count_one(GPT_COUNTER_PYCALLS_LOST);
		return GPT_PART_PYTHON;
	}
	record_begin(&record->hdr, sizeof(*record), GPT_PYCALL);
	record->time_ns = now;
	record->pid = pid;
	record->tid = tid;
	record->code = code;
	record->frame = PT_REGS_SP(ctx) + site->sp_adjust;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return GPT_PART_PYTHON;
}

char LICENSE[] SEC("license") = "GPL";
