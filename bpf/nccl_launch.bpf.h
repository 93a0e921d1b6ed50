/* SPDX-License-Identifier: GPL-2.0-only */
/* Launches that a thread makes inside NCCL; used by call.bpf.c. */
#pragma once

#include "nccl.bpf.h"

#include <gputrace/cuda_api.h>

#define NCCL_NO_STREAM (~0ull)

#define NCCL_IS(domain, cbid, twin_cbid)                                                                               \
	(api == GPT_API(GPT_DOMAIN_##domain, cbid) || (twin_cbid && api == GPT_API(GPT_DOMAIN_##domain, twin_cbid)))

static __always_inline bool is_launch(__u16 api)
{
#define NCCL_LAUNCH(domain, symbol, class, args, twin, cbid, twin_cbid)                                                \
	(GPT_CLASS_##class == GPT_CLASS_LAUNCH && NCCL_IS(domain, cbid, twin_cbid)) ||
	return GPT_CUDA_API_TABLE(NCCL_LAUNCH) false;
#undef NCCL_LAUNCH
}

static __always_inline __u64 read_stream(__u64 address)
{
	__u64 stream = NCCL_NO_STREAM;

	return bpf_probe_read_user(&stream, sizeof(stream), (void *)address) ? NCCL_NO_STREAM : stream;
}

/* cudaLaunchConfig_t and CUlaunchConfig have it at 32 */
static __always_inline __u64 read_config_stream(__u64 config)
{
	return read_stream(config + 32);
}

/* The stream of a launch by the registers and the stack at its entry.  layout: enum gpt_api_args. */
static __always_inline __u64 nccl_stream_at_entry(struct pt_regs *ctx, __u32 layout, const __u64 *on_stack)
{
	switch (layout) {
	case GPT_ARGS_RT_LAUNCH:
		return on_stack[1];
	case GPT_ARGS_DRV_LAUNCH:
		return on_stack[2];
	case GPT_ARGS_RT_LAUNCH_EX:
	case GPT_ARGS_DRV_LAUNCH_EX:
		return read_config_stream(PT_REGS_PARM1(ctx));
	}
	return NCCL_NO_STREAM;
}

/* The same by the structure of its parameters (generated_cuda_meta.h and generated_cuda_runtime_api_meta.h of CUDA). */
static __always_inline __u64 nccl_stream_of(__u16 api, __u64 params)
{
#define NCCL_LAYOUT(domain, symbol, class, args, twin, cbid, twin_cbid)                                                \
	GPT_CLASS_##class == GPT_CLASS_LAUNCH &&NCCL_IS(domain, cbid, twin_cbid) ? GPT_ARGS_##args:
	switch (GPT_CUDA_API_TABLE(NCCL_LAYOUT) GPT_ARGS_NONE) {
	case GPT_ARGS_RT_LAUNCH: /* function, grid and block of 12 bytes, arguments, shared memory */
		return read_stream(params + 48);
	case GPT_ARGS_DRV_LAUNCH: /* function, seven numbers of 4 bytes */
		return read_stream(params + 40);
	case GPT_ARGS_RT_LAUNCH_EX:
	case GPT_ARGS_DRV_LAUNCH_EX:
		return read_config_stream(read_stream(params));
	}
	return NCCL_NO_STREAM;
#undef NCCL_LAYOUT
}

/* The one communicator of a group that launches on that stream; 0: the group has one, or they cannot be told apart. */
static __always_inline const struct gpt_nccl_part *launching_part(const struct gpt_nccl_thread *nccl, __u64 stream)
{
	const struct gpt_nccl_part *found = 0;

	if (nccl->part_count < 2 || nccl->part_count > GPT_NCCL_PARTS)
		return 0;
#pragma unroll
	for (__u32 i = 0; i < GPT_NCCL_PARTS; i++) {
		if (i >= nccl->part_count || nccl->parts[i].stream != stream)
			continue;
		if (found)
			return 0;
		found = &nccl->parts[i];
	}
	return found;
}

/*
 * A thread that has entered NCCL makes a CUDA call, on that stream if it is a launch. Sends the GPT_NCCL record before
 * the record of that call.
 */
static __noinline int nccl_launch(struct gpt_thread_state *thread, __u64 sp, __u64 now, __u16 api, __u64 stream)
{
	__u64 pid_tid = bpf_get_current_pid_tgid();
	const struct gpt_nccl_thread *nccl;
	const struct gpt_nccl_group *group;
	const struct gpt_nccl_pairs *pairs;
	const struct gpt_nccl_part *part;
	__u32 tid = pid_tid;
	struct gpt_nccl *record;

	if (!thread)
		return 0;
	if (!nccl_lasts(thread, sp)) {
		thread->nccl_sp = 0;
		return 0;
	}
	nccl = bpf_map_lookup_elem(&nccl_threads, &tid);
	if (!nccl || nccl->program != thread->program || !nccl->group.calls || !is_launch(api))
		return 0;
	part = launching_part(nccl, stream);
	group = part ? &part->group : &nccl->group;
	pairs = part ? &part->pairs : &nccl->pairs;
	record = RING_RESERVE(sizeof(*record));
	if (!record) {
		count_one(GPT_COUNTER_OTHER_LOST);
		return 0;
	}
	record_begin(&record->hdr, sizeof(*record), GPT_NCCL);
	record->time_ns = now;
	record->comm = group->comm;
	record->comm_id = group->comm_id;
	record->count = group->count;
	record->sequence = group->sequence;
	record->pid = pid_tid >> 32;
	record->tid = tid;
	record->calls = group->calls;
	record->rank = group->rank;
	record->ranks = group->ranks;
	record->function = group->function;
	record->dtype = group->dtype;
	record->sends = pairs->sends;
	record->receives = pairs->receives;
	record->pairs = pairs->pairs;
	record->more_pairs = pairs->more_pairs;
	__builtin_memset(record->pad, 0, sizeof(record->pad));
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
	return 0;
}
