/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counters, and the end of a trace: first the agents stop, then every probe is detached. */
#include "attach/attach.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach/activity.h"
#include "attach/attach_state.h"
#include "attach/costs.h"
#include "attach/halts.h"
#include "base/monotonic.h"
#include "base/msg.h"

unsigned attach_live_processes(const struct attach *attach)
{
	return (unsigned)attach->processes.list.count;
}

pid_t attach_first_process(const struct attach *attach)
{
	return value_of_first(attach->processes.list.count, i, !process_is_over(attach->processes.list.items[i]),
			      attach->processes.list.items[i]->pid, 0);
}

size_t attach_torch_processes(const struct attach *attach, pid_t *pids, size_t most)
{
	size_t count = 0;

	for (size_t i = 0; i < attach->processes.list.count; i++) {
		const struct followed *process = attach->processes.list.items[i];

		if (process_is_over(process) || !followed_maps(process, LIBRARY_TORCH))
			continue;
		if (count < most)
			pids[count] = process->pid;
		count++;
	}
	return count;
}

pid_t attach_without_driver(const struct attach *attach)
{
	for (size_t i = 0; i < attach->processes.list.count && attach->shares; i++) {
		const struct followed *process = attach->processes.list.items[i];

		if (process->named && followed_maps(process, LIBRARY_CUDART) && !followed_maps(process, LIBRARY_CUDA))
			return process->pid;
	}
	return 0;
}

pid_t attach_unentered(const struct attach *attach, const char **why)
{
	*why = attach->processes.unentered_why;
	return attach->processes.unentered_named;
}

unsigned attach_site_count(const struct attach *attach)
{
	unsigned sites = 0;

	for (size_t i = 0; i < attach->files.list.count; i++) {
		const struct probed_file *file = attach->files.list.items[i];

		/* in a file that is not wanted, agents see the calls */
		if (attach->shares || links_are_attached(&file->call_links) || !file->wanted)
			sites += (unsigned)file->sites.list.count;
	}
	return sites;
}

int attach_python_calls(const struct attach *attach, char *why, size_t why_size)
{
	int answer = 0;

	for (size_t i = 0; i < attach->files.list.count; i++) {
		const struct probed_file *file = attach->files.list.items[i];

		if (file->python_calls > 0)
			return 1;
		if (file->python_calls < 0 && !answer) {
			answer = -ENOTSUP;
			snprintf(why, why_size, "%s", file->path);
		}
	}
	return answer;
}

bool attach_schedule_is_over(const struct attach *attach)
{
	for (size_t i = 0; i < attach->processes.list.count; i++) {
		const struct followed *process = attach->processes.list.items[i];

		if (process->makes_steps && !process->schedule_over)
			return false;
	}
	return attach->schedule_over;
}

uint32_t attach_cycles_over(const struct attach *attach)
{
	uint32_t least = UINT32_MAX;

	for (size_t i = 0; i < attach->processes.list.count; i++) {
		const struct followed *process = attach->processes.list.items[i];

		if (process->makes_steps && process->cycles_over < least)
			least = process->cycles_over;
	}
	return least == UINT32_MAX ? 0 : least;
}

static void add_bpf_counters(const struct attach *attach, uint64_t counters[GPT_COUNTER_COUNT])
{
	int map = bpf_map__fd(attach->programs.bpf->maps.counters), cpus = libbpf_num_possible_cpus();
	uint64_t *values = xcalloc((size_t)(cpus > 0 ? cpus : 1), sizeof(*values));

	for (uint32_t i = 0; i < GPT_COUNTER_COUNT; i++) {
		if (bpf_map_lookup_elem(map, &i, values))
			continue;
		for (int cpu = 0; cpu < cpus; cpu++)
			counters[i] += values[cpu];
	}
	free(values);
}

void attach_counters(const struct attach *attach, uint64_t counters[GPT_COUNTER_COUNT])
{
	memset(counters, 0, GPT_COUNTER_COUNT * sizeof(counters[0]));
	if (attach->shares)
		shares_add_counters(attach->shares, counters);
	else
		add_bpf_counters(attach, counters);
	counters[GPT_COUNTER_PROCESSES_FULL] += attach->processes.refused;
	counters[GPT_COUNTER_PROCESSES_SILENT] += attach->processes.silent;
	counters[GPT_COUNTER_FILES_UNPROBED] += attach->files.left_out;
	for (size_t i = 0; i < attach->files.list.count; i++)
		counters[GPT_COUNTER_FILES_UNPROBED] += attach->files.list.items[i]->refused >> FILE_CALLS & 1;
	counters[GPT_COUNTER_PROCESSES_UNSEEN] += attach->unseen;
	counters[GPT_COUNTER_PROCESSES_UNENTERED] += attach->processes.unentered;
	counters[GPT_COUNTER_MISSED] += attach->found_late;
	if (!attach->shares)
		counters[GPT_COUNTER_MISSED] += programs_missed(&attach->programs);
}

static bool agents_pending(const struct attach *attach)
{
	for (size_t i = 0; i < attach->processes.list.count; i++) {
		const struct followed *process = attach->processes.list.items[i];

		if ((process->agent_live && !process->agent_stopped) || process->ops_live)
			return true;
	}
	return false;
}

static void pause_ms(unsigned ms)
{
	struct timespec pause = {.tv_nsec = ms * 1000000L};

	nanosleep(&pause, NULL);
}

static void report_looks_at_all(struct attach *attach)
{
	char note[160];

	if (attach->missed) {
		snprintf(note, sizeof(note),
			 "%" PRIu64 " changes of processes came too fast to be followed one by one: all were looked at "
			 "again",
			 attach->missed);
		emit_text(attach->emit, attach->emit_context, GPT_NOTE, 0, note);
		msg_warn("%s", note);
	}
	if (attach->batches_missed)
		emit_note(attach->emit, attach->emit_context, 0,
			  "%" PRIu64
			  " reports of agents about themselves came too fast to be followed: they are in the "
			  "log, but the trace may have waited for an agent, or for the end of a schedule",
			  attach->batches_missed);
	if (attach->changes_missed)
		emit_note(attach->emit, attach->emit_context, 0,
			  "the kernel did not report %" PRIu64 " starts, ends and mappings of this machine's "
			  "processes, as it had preempted a BPF program: all that is traced was looked at again",
			  attach->changes_missed);
}

static void report_crowding_users(struct attach *attach)
{
	int map = bpf_map__fd(attach->programs.bpf->maps.ring_users);
	uint32_t uid, *before = NULL;
	struct gpt_ring_user user;

	for (; !bpf_map_get_next_key(map, before, &uid); before = &uid)
		if (!bpf_map_lookup_elem(map, &uid, &user) && user.refused)
			emit_note(attach->emit, attach->emit_context, 0,
				  "processes of user %u sent more than their part of the ring buffer: %llu records of "
				  "theirs are missing (--buffer makes it larger)",
				  uid, (unsigned long long)user.refused);
}

static void detach_calls(struct attach *attach, bool of_agents)
{
	struct links all = {};

	for (size_t i = 0; i < attach->files.list.count; i++)
		if ((attach->files.list.items[i]->kind == LIBRARY_AGENT) == of_agents)
			links_move(&attach->files.list.items[i]->call_links, &all);
	links_detach(&all);
}

static void detach_all(struct attach *attach)
{
	struct links all = {};

	for (size_t i = 0; i < attach->files.list.count; i++)
		file_move_links(attach->files.list.items[i], &all);
	links_detach(&all);
}

void attach_stop(struct attach *attach, unsigned timeout_ms, void (*drain)(void *), void *drain_context)
{
	uint64_t end_ns = monotonic_ns() + timeout_ms * 1000000ULL;

	if (attach->shares) {
		by_agents_stop(attach, end_ns, drain, drain_context);
		report_looks_at_all(attach);
		return;
	}
	attach->ending = true;
	agents_end_entering(&attach->agents);
	/* An agent must know of another user of CUPTI before it leaves. */
	drain(drain_context);
	attach_take_cupti_uses(attach, true);
	attach_look_after_last_misses(attach);
	for (size_t i = 0; i < attach->processes.list.count; i++) {
		processes_update_agent(&attach->processes, attach->processes.list.items[i]);
		processes_update_title(&attach->processes, attach->processes.list.items[i]);
		agents_report_waiting(&attach->agents, attach->processes.list.items[i]);
	}
	activity_stop(attach);
	detail_stop(attach);
	(void)awaits_tick(attach->awaits, &attach->processes, monotonic_ns());
	/*
	 * First the symbol probes, then the agents' call probes: detaching those asks agents to stop and to send what
	 * they have.
	 */
	detach_calls(attach, false);
	detach_calls(attach, true);
	drain(drain_context);
	while (agents_pending(attach) && monotonic_ns() < end_ns) {
		pause_ms(2);
		drain(drain_context);
	}
	modules_tick(&attach->processes, monotonic_ns(), true);
	halts_report_all(&attach->processes);
	detach_all(attach);
	/* Only now, when every agent has left: a falling counter must not be the last thing that an agent sees. */
	for (size_t i = 0; i < attach->processes.list.count; i++)
		cupti_client_forget(&attach->processes.list.items[i]->cupti_client);
	links_detach(&attach->lifecycle);
	drain(drain_context);
	while (attach_answer_stops(attach))
		pause_ms(1);
	for (size_t i = 0; i < attach->processes.list.count; i++)
		attach_report_late(attach, attach->processes.list.items[i]);
	costs_report(attach);
	report_looks_at_all(attach);
	report_crowding_users(attach);
	processes_report_silent(&attach->processes);
}
