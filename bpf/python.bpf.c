/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes that affect the walker: code objects that die, interpreters that are created. */
#include "common.bpf.h"
#include "cost.bpf.h"
#include "python.bpf.h"

/*
 * Entry of PyCode_Type.tp_dealloc(code): afterwards the address stands for another function. A reader may get the death
 * of an object that was never described to it.
 */
COUNTED_PROGRAM("uprobe", code_dealloc)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct gpt_process_state *process = bpf_map_lookup_elem(&processes, &pid);
	struct code_key key = {.code = PT_REGS_PARM1(ctx), .pid = pid, .age = code_age};
	struct gpt_code_dead *record;

	if (process && process->module_code == key.code)
		process->module_code = 0;
	if (!process || !code_was_marked(key.code, process->program))
		return GPT_PART_IDLE;
	key.program = process->program;
	code_forget(&key);
	if (process->shim_code == key.code)
		process->shim_code = 0;
	__sync_fetch_and_add(&process->generation, 1);
	record = RING_RESERVE(sizeof(*record));
	if (!record) {
		count_one(GPT_COUNTER_OTHER_LOST);
		keep_own_stack(ctx);
		return GPT_PART_PYTHON;
	}
	record_begin(&record->hdr, sizeof(*record), GPT_CODE_DEAD);
	record->code = key.code;
	record->time_ns = bpf_ktime_get_ns();
	record->pid = pid;
	record->pad = 0;
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return GPT_PART_PYTHON;
}

/* Entry of Py_NewInterpreter and similar functions: from here on a thread may have several thread states. */
SEC("uprobe")
int interpreter_new(struct pt_regs *ctx)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;
	struct gpt_process_state *process = bpf_map_lookup_elem(&processes, &pid);

	if (process)
		process->several = 1;
	keep_own_stack(ctx);
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gpt_python_found);
} python_found SEC(".maps");

/*
 * Never attached: attach/ runs it. If attach/ wrote the map itself, it would undo what programs change meanwhile, and
 * could write facts about a program that the process has left by an exec. Returns 1 if the process now executes another
 * program.
 */
SEC("raw_tp")
int python_record(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 zero = 0;
	struct gpt_python_found *found = bpf_map_lookup_elem(&python_found, &zero);
	struct gpt_process_state *process;
	__u32 pid;

	if (!found)
		return 1;
	pid = found->pid;
	process = bpf_map_lookup_elem(&processes, &pid);
	if (!process || process->program != found->program)
		return 1;
	/*
	 * Nothing reads `python` until python_state allows it; if it does already, this writes the same values for the
	 * same program.
	 */
	if (found->known)
		process->python = found->python;
	/* Stacks get new ids, and all code objects of the machine are described again; this is rare. */
	if (process->unsure && !found->unsure) {
		process->generation = bpf_ktime_get_ns();
		__sync_fetch_and_add(&code_age, 1);
	}
	process->unsure = found->unsure;
	if (found->several)
		process->several = 1;
	*(volatile __u32 *)&process->python_state = found->python_state;
	return 0;
}

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct gpt_modules_found);
} modules_found SEC(".maps");

/* As python_record, for what calls of modules are recognised by. */
SEC("raw_tp")
int modules_record(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 zero = 0;
	struct gpt_modules_found *found = bpf_map_lookup_elem(&modules_found, &zero);
	struct gpt_process_state *process;
	__u32 pid;

	if (!found)
		return 1;
	pid = found->pid;
	process = bpf_map_lookup_elem(&processes, &pid);
	if (!process || process->program != found->program)
		return 1;
	*(volatile __u32 *)&process->module_generation = found->generation;
	*(volatile __u64 *)&process->module_code = found->code;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
