/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "capture/live_hangs.h"

#include <stddef.h>

#include <gputrace/agent.h>

#include "base/array.h"

#define PROBES 16u

/* Between two looks at all processes. */
#define LOOK_NS 500000000ull

static const struct followed_call {
	uint16_t api, twin; /* twin: that of a call without one is none */
	enum gpt_api_class class;
	const char *name;
} followed[] = {
#define CALL(domain, symbol, class, args, twin, cbid, twin_cbid)                                                       \
	{GPT_API(GPT_DOMAIN_##domain, cbid), GPT_API(GPT_DOMAIN_##domain, twin_cbid), GPT_CLASS_##class, #symbol},
	GPT_CUDA_API_TABLE(CALL)
#undef CALL
};

void live_hangs_init(struct live_hangs *hangs)
{
	*hangs = (struct live_hangs){0};
	for (size_t i = 0; i < sizeof(followed) / sizeof(followed[0]); i++) {
		hangs->classes[followed[i].api] = (uint8_t)followed[i].class;
		if (GPT_API_CBID(followed[i].twin))
			hangs->classes[followed[i].twin] = (uint8_t)followed[i].class;
	}
}

const char *live_call_name(uint16_t api)
{
	const struct followed_call *found = table_find(followed, call, call->api == api || call->twin == api);

	return found ? found->name : "a CUDA call";
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static unsigned first_place(uint32_t pid, uint32_t number)
{
	return (unsigned)((((uint64_t)pid << 32 | number) * 0x9e3779b97f4a7c15ull) >> 32) % LIVE_OPEN_CALLS;
}

static unsigned place_at(unsigned first, unsigned probe)
{
	return (first + probe) % LIVE_OPEN_CALLS;
}

static struct live_process *find_process(struct live_hangs *hangs, uint32_t pid)
{
	return table_find(hangs->processes, process, process->pid == pid);
}

/* In place of the one that has not moved for longest, if there are too many. */
static struct live_process *add_process(struct live_hangs *hangs, uint32_t pid)
{
	struct live_process *process = find_process(hangs, pid), *oldest = &hangs->processes[0];

	if (process)
		return process;
	for (unsigned i = 1; i < LIVE_PROCESSES; i++)
		oldest = hangs->processes[i].moved_ns < oldest->moved_ns ? &hangs->processes[i] : oldest;
	*oldest = (struct live_process){.pid = pid};
	return oldest;
}

/* The thread; in place of a free one, or else of the one whose latest call is oldest. */
static struct live_thread_call *find_thread(struct live_hangs *hangs, uint32_t pid, uint32_t tid)
{
	unsigned first = first_place(pid, tid);
	struct live_thread_call *oldest = &hangs->threads[first];

	for (unsigned i = 0; i < PROBES; i++) {
		struct live_thread_call *thread = &hangs->threads[place_at(first, i)];

		if (thread->pid == pid && thread->tid == tid)
			return thread;
		oldest = thread->since_ns < oldest->since_ns ? thread : oldest;
	}
	return oldest;
}

static struct live_open_call *find_call(struct live_hangs *hangs, uint32_t pid, uint32_t corr)
{
	unsigned first = first_place(pid, corr);

	for (unsigned i = 0; i < PROBES; i++) {
		struct live_open_call *call = &hangs->calls[place_at(first, i)];

		if (call->pid == pid && call->corr == corr)
			return call;
	}
	return NULL;
}

/* A free place of the table, or the first. */
static struct live_open_call *place_of_call(struct live_hangs *hangs, uint32_t pid, uint32_t corr)
{
	unsigned first = first_place(pid, corr);

	for (unsigned i = 0; i < PROBES; i++)
		if (!hangs->calls[place_at(first, i)].corr)
			return &hangs->calls[place_at(first, i)];
	return &hangs->calls[first];
}

static void end_call(struct live_hangs *hangs, uint32_t pid, uint32_t corr)
{
	struct live_open_call *call = find_call(hangs, pid, corr);
	struct live_thread_call *thread = call ? &hangs->threads[call->thread] : NULL;

	if (thread && thread->pid == pid && thread->corr == corr)
		thread->corr = 0;
	if (call)
		call->corr = 0;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static bool is_launch(const struct live_hangs *hangs, uint16_t api)
{
	switch (api < sizeof(hangs->classes) ? hangs->classes[api] : GPT_CLASS_NONE) {
	case GPT_CLASS_LAUNCH:
	case GPT_CLASS_GRAPH:
	case GPT_CLASS_MEMCPY:
	case GPT_CLASS_MEMSET:
		return true;
	}
	return false;
}

static void note_move(struct live_process *process, uint64_t now_ns)
{
	process->moved_ns = now_ns;
	process->is_reported = false;
}

static void begin_call(struct live_hangs *hangs, const struct gpt_call *call, uint64_t now_ns)
{
	struct live_thread_call *thread = find_thread(hangs, call->pid, call->tid);

	/* The one before has returned, also if that is not reported yet. */
	if (thread->pid && thread->corr)
		end_call(hangs, thread->pid, thread->corr);
	*thread = (struct live_thread_call){
		.pid = call->pid, .tid = call->tid, .corr = call->corr, .api = call->api, .since_ns = now_ns};
	*place_of_call(hangs, call->pid, call->corr) = (struct live_open_call){
		.pid = call->pid, .corr = call->corr, .thread = (uint32_t)(thread - hangs->threads)};
	if (is_launch(hangs, call->api))
		note_move(add_process(hangs, call->pid), now_ns);
}

/* Its threads end with it, and so do those of a program that another one replaces. */
static void end_process(struct live_hangs *hangs, uint32_t pid)
{
	struct live_process *process = find_process(hangs, pid);

	if (process)
		*process = (struct live_process){0};
	for (unsigned i = 0; i < LIVE_OPEN_CALLS; i++)
		if (hangs->threads[i].pid == pid)
			hangs->threads[i] = (struct live_thread_call){0};
	for (unsigned i = 0; i < LIVE_OPEN_CALLS; i++)
		if (hangs->calls[i].pid == pid)
			hangs->calls[i] = (struct live_open_call){0};
}

void live_hangs_see(struct live_hangs *hangs, const struct gpt_record *record, uint64_t now_ns)
{
	const struct gpt_call *call = (const struct gpt_call *)record;
	const struct gpt_process_event *event = (const struct gpt_process_event *)record;

	if (record->type == GPT_CALL && record->size >= sizeof(*call) && call->corr)
		begin_call(hangs, call, now_ns);
	else if ((record->type == GPT_EXIT || record->type == GPT_EXEC) && record->size >= sizeof(*event))
		end_process(hangs, event->pid);
}

void live_hangs_see_agent(struct live_hangs *hangs, uint32_t pid, const struct gpt_record *record, bool is_work,
			  uint64_t now_ns)
{
	const struct gpt_agent_api *call = (const struct gpt_agent_api *)record;
	struct live_process *process;

	if (record->type == GPT_AGENT_API && record->size >= sizeof(*call) && call->corr)
		end_call(hangs, pid, call->corr);
	if (!is_work)
		return;
	process = add_process(hangs, pid);
	process->has_work = true;
	note_move(process, now_ns);
}

/* ------------------------------------------------------------------------------------------------------------------ */

/* A call of the process that has not returned for that long; NULL: none. */
static const struct live_thread_call *open_call(const struct live_hangs *hangs, uint32_t pid, uint64_t longest_ns,
						uint64_t now_ns)
{
	return table_find(hangs->threads, thread,
			  thread->pid == pid && thread->corr && now_ns >= thread->since_ns + longest_ns);
}

bool live_hangs_take(struct live_hangs *hangs, uint64_t longest_ns, uint64_t now_ns, struct live_hang *hang)
{
	bool rests = now_ns < hangs->rests_until_ns;

	if (now_ns < hangs->next_ns)
		return false;
	hangs->next_ns = now_ns + LOOK_NS;
	for (unsigned i = 0; i < LIVE_PROCESSES; i++) {
		struct live_process *process = &hangs->processes[i];
		const struct live_thread_call *call;

		if (!process->pid || !process->has_work || process->is_reported ||
		    now_ns < process->moved_ns + longest_ns)
			continue;
		call = open_call(hangs, process->pid, longest_ns, now_ns);
		if (!call)
			continue;
		process->is_reported = true;
		if (rests)
			continue;
		hangs->rests_until_ns = now_ns + longest_ns;
		*hang = (struct live_hang){
			.pid = process->pid, .tid = call->tid, .api = call->api, .since_ns = process->moved_ns};
		return true;
	}
	return false;
}

unsigned live_hangs_processes(const struct live_hangs *hangs, uint32_t *pids, unsigned most)
{
	unsigned count = 0;

	for (unsigned i = 0; i < LIVE_PROCESSES && count < most; i++)
		if (hangs->processes[i].pid && hangs->processes[i].has_work)
			pids[count++] = hangs->processes[i].pid;
	return count;
}
