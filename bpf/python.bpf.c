/* SPDX-License-Identifier: GPL-2.0-only */
/* What changes under the walker: code objects that die, interpreters that are made. */
#include "common.bpf.h"
#include "python.bpf.h"

/* Entry of PyCode_Type.tp_dealloc(code): what its address means afterwards is another function. */
SEC("uprobe")
int code_dealloc(struct pt_regs *ctx)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct gpt_process_state *process = bpf_map_lookup_elem(&processes, &pid);
	struct code_key key = {.code = PT_REGS_PARM1(ctx), .pid = pid};
	struct gpt_code_dead *record;

	if (!process)
		return 0;
	key.epoch = process->epoch;
	if (!bpf_map_lookup_elem(&codes, &key))
		return 0;
	bpf_map_delete_elem(&codes, &key);
	__sync_fetch_and_add(&process->generation, 1);
	record = bpf_ringbuf_reserve(&ring, sizeof(*record), 0);
	if (!record) {
		account(GPT_ACC_OTHER_LOST);
		keep_own_stack(ctx);
		return 0;
	}
	record_begin(&record->hdr, sizeof(*record), GPT_CODE_DEAD);
	record->code = key.code;
	record->time_ns = bpf_ktime_get_ns();
	record->pid = pid;
	record->pad = 0;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}

/* Entry of Py_NewInterpreter and its like: from here on a thread may have several thread states. */
SEC("uprobe")
int interpreter_new(struct pt_regs *ctx)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	if (bpf_map_lookup_elem(&processes, &pid))
		several_interpreters_note(pid);
	keep_own_stack(ctx);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
