/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * NCCL calls: operation and communicator. They are few compared with CUDA calls: one or a few for each kernel, which
 * takes at least some ten microseconds.
 */
#include "common.bpf.h"
#include "cost.bpf.h"
#include "nccl.bpf.h"
#include "site.bpf.h"
#include "thread.bpf.h"

#include <gputrace/nccl.h>

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, GPT_MAX_NCCL_COMMS);
	__type(key, struct gpt_nccl_comm_key);
	__type(value, struct gpt_nccl_comm);
} nccl_comms SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, GPT_MAX_NCCL_FILES);
	__type(key, __u32);
	__type(value, struct gpt_nccl_file);
} nccl_files SEC(".maps");

static const struct gpt_nccl_thread no_calls; /* a program's stack has no room for it */

static __always_inline struct gpt_nccl_thread *nccl_thread(const struct gpt_thread_state *thread, __u32 tid)
{
	struct gpt_nccl_thread *nccl = bpf_map_lookup_elem(&nccl_threads, &tid);

	if (nccl && nccl->program == thread->program)
		return nccl;
	if (bpf_map_update_elem(&nccl_threads, &tid, &no_calls, BPF_ANY))
		return 0;
	nccl = bpf_map_lookup_elem(&nccl_threads, &tid);
	if (nccl)
		nccl->program = thread->program;
	return nccl;
}

/* ---- communicators -------------------------------------------------------------------------------------------- */

static __always_inline struct gpt_nccl_comm_key comm_key(const struct gpt_thread_state *thread, __u64 comm)
{
	return (struct gpt_nccl_comm_key){.comm = comm, .program = thread->program, .pid = thread->pid};
}

/* A hash of the unique id: only the ranks of one communicator have the same. 0: it cannot be read. */
static __noinline __u64 hash_id(__u64 address)
{
	__u64 words[GPT_NCCL_ID_BYTES / 8], hash = 0xcbf29ce484222325ull;

	if (bpf_probe_read_user(words, sizeof(words), (void *)address))
		return 0;
	for (int i = 0; i < GPT_NCCL_ID_BYTES / 8; i++) {
		hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ull;
		hash ^= hash >> 32;
	}
	return hash;
}

static __always_inline __s32 read_number(__u64 address)
{
	__s32 value = -1;

	return bpf_probe_read_user(&value, sizeof(value), (void *)address) ? -1 : value;
}

/* Reads rank and number of ranks from where libnccl itself reads them. */
static __always_inline void read_ranks(struct gpt_nccl_group *call, __u32 file)
{
	const struct gpt_nccl_file *known = bpf_map_lookup_elem(&nccl_files, &file);

	call->rank = -1;
	call->ranks = 0;
	if (!known || !known->ranks)
		return;
	call->ranks = read_number(call->comm + known->ranks);
	call->rank = read_number(call->comm + known->rank);
	if (call->ranks < 1 || call->ranks > GPT_NCCL_RANKS_MAX || call->rank < 0 || call->rank >= call->ranks) {
		call->rank = -1;
		call->ranks = 0;
	}
}

/* ---- calls ------------------------------------------------------------------------------------------------------ */

/* Returns the stream. */
static __always_inline __u64 read_call(struct gpt_nccl_group *call, struct pt_regs *ctx, __u32 args, __u64 sp)
{
	__u64 a2 = PT_REGS_PARM2(ctx), a3 = PT_REGS_PARM3(ctx), a4 = PT_REGS_PARM4(ctx), a5 = PT_REGS_PARM5(ctx),
	      a6 = ctx->r9, on_stack[2] = {}, stream = a6;

	call->calls = 1;
	call->count = a3;
	call->dtype = a4;
	switch (args) {
	case GPT_NCCL_ARGS_REDUCE:
		bpf_probe_read_user(on_stack, sizeof(on_stack), (void *)(sp + 8));
		call->comm = on_stack[0];
		stream = on_stack[1];
		break;
	case GPT_NCCL_ARGS_ONE_BUFFER:
		call->count = a2;
		call->dtype = a3;
		call->comm = a5;
		break;
	case GPT_NCCL_ARGS_TWO_BUFFERS:
		call->comm = a5;
		break;
	default:
		bpf_probe_read_user(on_stack, sizeof(on_stack[0]), (void *)(sp + 8));
		call->comm = a6;
		stream = on_stack[0];
		break;
	}
	if (call->dtype < 0 || call->dtype >= GPT_NCCL_DTYPES)
		call->dtype = -1;
	return stream;
}

static __always_inline void look_up_comm(struct gpt_nccl_group *call, const struct gpt_thread_state *thread)
{
	struct gpt_nccl_comm_key key = comm_key(thread, call->comm);
	struct gpt_nccl_comm *comm = bpf_map_lookup_elem(&nccl_comms, &key);
	bool alone = call->function == GPT_NCCL_SEND || call->function == GPT_NCCL_RECV;

	call->comm_id = comm ? comm->id : 0;
	call->sequence = comm && !alone ? (__s64)comm->collectives++ : -1;
}

/* Adds a call to a group; keeps what the group's calls have in common. */
static __always_inline void add_to_group(struct gpt_nccl_group *group, const struct gpt_nccl_group *call)
{
	if (!group->calls) {
		*group = *call;
		return;
	}
	group->calls++;
	if (group->function != call->function)
		group->function = GPT_NCCL_SEVERAL;
	if (group->dtype != call->dtype)
		group->dtype = -1;
	if (group->comm != call->comm && group->comm_id && group->comm_id == call->comm_id) {
		/* other ranks of one communicator, on other GPUs: each has the number of the first, and its elements */
		group->rank = -1;
		return;
	}
	if (group->comm != call->comm) {
		group->comm = group->comm_id = 0;
		group->rank = group->sequence = -1;
	}
	if (group->ranks != call->ranks)
		group->ranks = 0;
	if (group->count < 0 || !group->comm || group->dtype < 0)
		group->count = -1;
	else
		group->count += call->count;
}

/* Adds a send or receive with the rank `other`. */
static __always_inline void add_pair(struct gpt_nccl_pairs *pairs, bool is_first, __u32 other, __s32 function)
{
	__u64 bit = other < 64 ? 1ull << other : 0;

	if (is_first)
		*pairs = (struct gpt_nccl_pairs){};
	if (function != GPT_NCCL_SEND && function != GPT_NCCL_RECV)
		return;
	pairs->pairs++;
	pairs->more_pairs += !bit;
	if (function == GPT_NCCL_SEND)
		pairs->sends |= bit;
	else
		pairs->receives |= bit;
}

static __always_inline void forget_group(struct gpt_nccl_thread *nccl)
{
	nccl->group.calls = 0;
	nccl->part_count = 0;
}

/* Adds a call to its communicator's part of the group.  A communicator with several streams cannot be told apart. */
static __noinline int add_to_part(struct gpt_nccl_thread *nccl, const struct gpt_nccl_group *call, __u64 stream,
				  __u32 other)
{
	struct gpt_nccl_part *part = 0;

	if (!nccl || !call)
		return 0;
#pragma unroll
	for (__u32 i = 0; i < GPT_NCCL_PARTS; i++)
		if (!part && (i >= nccl->part_count || nccl->parts[i].group.comm == call->comm)) {
			part = &nccl->parts[i];
			if (i >= nccl->part_count) {
				nccl->part_count = i + 1;
				part->group.calls = 0;
				part->stream = stream;
			}
		}
	if (!part || part->stream != stream) {
		nccl->part_count = GPT_NCCL_PARTS + 1;
		return 0;
	}
	add_pair(&part->pairs, !part->group.calls, other, call->function);
	add_to_group(&part->group, call);
	return 0;
}

/* Until the function returns, the thread's launches belong to the group. */
static __always_inline void enter_group(struct gpt_thread_state *thread, __u64 sp)
{
	__u64 word = 0;

	thread->nccl_sp = bpf_probe_read_user(&word, 8, (void *)sp) ? 0 : sp;
	thread->nccl_return = true_return_address(sp, word);
}

static __always_inline void group_ends(struct gpt_thread_state *thread, struct gpt_nccl_thread *nccl, __u64 sp)
{
	if (!nccl->depth) /* the group began before the trace: not all of it was seen */
		forget_group(nccl);
	else if (!--nccl->depth)
		enter_group(thread, sp);
}

static __always_inline void nccl_operation(struct pt_regs *ctx, struct gpt_thread_state *thread,
					   struct gpt_nccl_thread *nccl, __u64 cookie, __u64 sp)
{
	struct gpt_nccl_group call = {.function = GPT_COOKIE_API(cookie)};
	__u64 stream = read_call(&call, ctx, GPT_COOKIE_ARGS(cookie), sp);
	__u32 other = PT_REGS_PARM4(ctx); /* the other rank of a send or receive (nccl.h) */

	read_ranks(&call, GPT_COOKIE_FILE(cookie));
	look_up_comm(&call, thread);
	if (!nccl->depth)
		forget_group(nccl);
	enter_group(thread, sp); /* also in a group, to recognize the NCCL functions that this one calls */
	if (nccl->depth)
		add_to_part(nccl, &call, stream, other);
	add_pair(&nccl->pairs, !nccl->group.calls, other, call.function);
	add_to_group(&nccl->group, &call);
}

/*
 * Another communicator may get that address. A function of its own, so that its variables are not on the stack: with
 * those of nccl_call it has to last for the record of a new thread.
 */
static __noinline void forget_comm(const struct gpt_thread_state *thread, __u64 comm)
{
	struct gpt_nccl_comm_key key = comm_key(thread, comm);

	bpf_map_delete_elem(&nccl_comms, &key);
}

/* A function of nccl.h is entered. */
COUNTED_PROGRAM("uprobe", nccl_call)
{
	__u64 pid_tid = bpf_get_current_pid_tgid(), cookie, sp;
	__u32 pid = pid_tid >> 32, tid = pid_tid;
	struct gpt_process_state *process = traced_process(pid);
	struct gpt_thread_state *thread;
	struct gpt_nccl_thread *nccl;

	if (!process || !site_cookie(ctx, &cookie))
		return GPT_PART_IDLE;
	thread = thread_get(process, tid, pid);
	nccl = thread ? nccl_thread(thread, tid) : 0;
	if (!nccl) {
		keep_own_stack(ctx);
		return GPT_PART_NCCL;
	}
	sp = PT_REGS_SP(ctx) + GPT_COOKIE_SP(cookie);
	if (nccl_lasts(thread, sp)) /* an NCCL function calls another one */
		return GPT_PART_NCCL;
	thread->nccl_sp = 0;
	switch (GPT_COOKIE_API(cookie)) {
	case GPT_NCCL_GROUP_START:
		if (!nccl->depth++)
			forget_group(nccl);
		break;
	case GPT_NCCL_GROUP_END:
		group_ends(thread, nccl, sp);
		break;
	case GPT_NCCL_GROUP_SIMULATE_END:
		nccl->depth -= nccl->depth != 0;
		forget_group(nccl);
		break;
	case GPT_NCCL_INIT:
	case GPT_NCCL_INIT_CONFIG:
	case GPT_NCCL_INIT_SCALABLE:
		nccl->init_sp = sp;
		nccl->init_to = PT_REGS_PARM1(ctx);
		nccl->init_id = hash_id(GPT_COOKIE_ARGS(cookie) == GPT_NCCL_ARGS_INIT ? sp + 8 : PT_REGS_PARM5(ctx));
		nccl->init_count = 1;
		break;
	case GPT_NCCL_INIT_ALL: /* its unique id is its own; no other process has ranks of it */
		nccl->init_sp = sp;
		nccl->init_to = PT_REGS_PARM1(ctx);
		nccl->init_id = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32() | 1;
		nccl->init_count = (__u32)PT_REGS_PARM2(ctx);
		break;
	case GPT_NCCL_DESTROY:
	case GPT_NCCL_ABORT:
		forget_comm(thread, PT_REGS_PARM1(ctx));
		break;
	default:
		nccl_operation(ctx, thread, nccl, cookie, sp);
	}
	return GPT_PART_NCCL;
}

/* A function of nccl.h is at its `ret`. */
COUNTED_PROGRAM("uprobe", nccl_left)
{
	__u64 pid_tid = bpf_get_current_pid_tgid(), sp = PT_REGS_SP(ctx);
	__u32 pid = pid_tid >> 32, tid = pid_tid;
	struct gpt_nccl_comm made = {};
	struct gpt_nccl_comm_key key;
	struct gpt_thread_state *thread;
	struct gpt_nccl_thread *nccl;

	thread = bpf_map_lookup_elem(&threads, &tid);
	nccl = bpf_map_lookup_elem(&nccl_threads, &tid);
	if (!thread || !nccl || thread->pid != pid || nccl->program != thread->program) {
		keep_own_stack(ctx);
		return GPT_PART_IDLE;
	}
	if (sp == thread->nccl_sp)
		thread->nccl_sp = 0;
	if (sp != nccl->init_sp)
		return GPT_PART_NCCL;
	nccl->init_sp = 0;
	made.id = nccl->init_id;
	key = comm_key(thread, 0);
	for (__u32 i = 0; i < GPT_NCCL_ALL_MAX && i < nccl->init_count && made.id; i++)
		if (!bpf_probe_read_user(&key.comm, 8, (void *)(nccl->init_to + 8 * i)) && key.comm)
			bpf_map_update_elem(&nccl_comms, &key, &made, BPF_ANY);
	return GPT_PART_NCCL;
}

char LICENSE[] SEC("license") = "GPL";
