/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds where in an interpreter a probe was hit; shared by the programs of python_events and python_calls. */
#pragma once

#include "common.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, GPT_MAX_PY_SITES);
	__type(key, struct gpt_py_site_key);
	__type(value, struct gpt_py_site);
} python_sites SEC(".maps") __attribute__((weak));

/* Returns the process if its interpreter is known. Other processes that map the same file are not traced. */
static __always_inline struct gpt_process_state *python_process(__u32 pid)
{
	struct gpt_process_state *process = bpf_map_lookup_elem(&processes, &pid);

	return process && process->python_state == GPT_STACK_OK ? process : 0;
}

static __always_inline struct gpt_py_site *python_site(struct pt_regs *ctx, const struct gpt_process_state *process)
{
	struct gpt_py_site_key key = {
		.from_runtime = PT_REGS_IP(ctx) - process->python.runtime,
		.version = process->python.layout.version,
	};

	return bpf_map_lookup_elem(&python_sites, &key);
}
