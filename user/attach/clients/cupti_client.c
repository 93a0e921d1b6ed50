/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes on CUPTI's functions show what CUPTI does not report. The order of calls in a session of torch.profiler
 * (PyTorch 2.15): RegisterTimestampCallback, RegisterCallbacks, Enable..., Disable..., FlushAll, SetAttribute.
 */
#include "attach/clients/cupti_client.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gputrace/agent.h>

#include "base/monotonic.h"
#include "base/msg.h"

/*
 * While it records, torch.profiler calls cuptiActivityPushExternalCorrelationId at every op, and ops launch kernels. So
 * a process that launches for this long without such a call has no recording torch.profiler.
 */
#define QUIET_NS 250000000ULL
#define KINDS_UNKNOWN 1ULL /* CUPTI_ACTIVITY_KIND_INVALID is 0 */

/* A later call shows that the last flush is over; if none comes, it is taken to be over after this time. */
#define AFTER_FLUSH_NS 2000000000ULL
/* The same for a session that ends without a flush. */
#define AFTER_DISABLE_NS 5000000000ULL

/*
 * The agent looks every 20 ms (user/agent/agent.c). For a shorter session it would see YIELD and RESUME at once, and
 * not know that CUPTI has dropped its buffers.
 */
#define SEEN_NS 60000000ULL
/* The agent answers within two looks; if its thread could not run meanwhile it is asked again. */
#define ANSWER_NS 1000000000ULL
#define REPEATS_MAX 5

/* ---- the agent's counters -------------------------------------------------------------------------------------- */

static void begin_yield(struct cupti_client *client, const struct probed_file *agent, pid_t pid)
{
	bool changes = !client->yield.fds.count || client->resume.fds.count;
	int error = file_raise_agent_counter(&client->yield, agent, pid, GPUTRACE_AGENT_YIELD,
					     GPUTRACE_AGENT_YIELD_SEMAPHORE);

	if (error && error != -ESRCH)
		msg_warn("pid %d: another profiler uses CUPTI, and the agent cannot be reached: %s", pid,
			 strerror(-error));
	links_detach(&client->resume);
	client->state = CUPTI_CLIENT_RECORDS;
	client->flushes = client->over = false;
	client->repeats = 0;
	if (changes)
		client->asked_ns = monotonic_ns();
}

/* Called after begin_yield(), whose counter must be raised first (agent/cupti/yield.c). */
static void begin_sharing(struct cupti_client *client, const struct probed_file *agent, pid_t pid)
{
	int error = 0;

	if (client->kinds & GPT_AGENT_SHARED_KINDS)
		error = file_raise_agent_counter(&client->share, agent, pid, GPUTRACE_AGENT_SHARE,
						 GPUTRACE_AGENT_SHARE_SEMAPHORE);
	if (error && error != -ESRCH)
		msg_warn("pid %d: another profiler wants waits and events too, and the agent cannot be reached: %s",
			 pid, strerror(-error));
}

static void finish_yield(struct cupti_client *client, const struct probed_file *agent, pid_t pid)
{
	int error;

	client->over = monotonic_ns() - client->asked_ns < SEEN_NS;
	if (client->over)
		return;
	error = file_raise_agent_counter(&client->resume, agent, pid, GPUTRACE_AGENT_RESUME,
					 GPUTRACE_AGENT_RESUME_SEMAPHORE);

	if (error && error != -ESRCH)
		msg_warn("pid %d: the other profiler has finished, and the agent cannot be reached: %s", pid,
			 strerror(-error));
	client->state = CUPTI_CLIENT_DONE;
	client->asked_ns = monotonic_ns();
}

/* Asks once more, as the agent has not answered. */
static void finish_again(struct cupti_client *client)
{
	links_detach(&client->resume);
	client->state = CUPTI_CLIENT_RECORDS;
	client->over = true;
	client->repeats++;
	client->asked_ns = monotonic_ns();
}

/* The agent has registered again. */
static void end_yield(struct cupti_client *client)
{
	links_detach(&client->yield); /* lowered first: YIELD without RESUME is an order */
	links_detach(&client->resume);
	links_detach(&client->share);
	client->state = CUPTI_CLIENT_NONE;
	client->kinds = 0;
	client->over = false;
	client->repeats = 0;
}

/* ---- the other client's session ---------------------------------------------------------------------------------- */

static uint64_t kind_bit(uint32_t kind)
{
	return kind < 64 ? 1ULL << kind : 0;
}

static void note_foreign(struct cupti_client *client, const struct probed_file *agent, const struct gpt_cupti_use *use)
{
	pid_t pid = (pid_t)use->pid;

	switch (use->what) {
	case GPT_CUPTI_ENABLE:
		client->kinds |= kind_bit(use->value);
		begin_yield(client, agent, pid);
		begin_sharing(client, agent, pid);
		break;
	case GPT_CUPTI_REGISTER:
		begin_yield(client, agent, pid);
		break;
	case GPT_CUPTI_DISABLE:
		if (client->state == CUPTI_CLIENT_SUSPECTED) /* it did record, and made no call before its end */
			begin_yield(client, agent, pid);
		client->kinds &= ~(kind_bit(use->value) | KINDS_UNKNOWN);
		break;
	case GPT_CUPTI_FLUSH:
		if (!client->kinds) {
			client->flushes = true;
			break;
		}
		break;
	default:
		if (client->state == CUPTI_CLIENT_RECORDS && client->flushes && !client->kinds)
			finish_yield(client, agent, pid);
		break;
	}
	client->last_ns = use->time_ns;
}

void cupti_client_note(struct cupti_client *client, const struct probed_file *agent, const struct gpt_cupti_use *use)
{
	if (!use->own)
		note_foreign(client, agent, use);
	else if (client->state == CUPTI_CLIENT_DONE)
		end_yield(client);
}

static uint64_t last_push(const struct files *files, pid_t pid)
{
	uint32_t key = (uint32_t)pid;
	uint64_t time_ns;

	if (bpf_map_lookup_elem(bpf_map__fd(files->programs->bpf->maps.cupti_pushes), &key, &time_ns))
		return 0;
	return time_ns;
}

int cupti_client_suspect(struct cupti_client *client, const struct probed_file *agent, pid_t pid, uint64_t now_ns)
{
	int error;

	if (client->state != CUPTI_CLIENT_NONE)
		return 0;
	error = file_raise_agent_counter(&client->yield, agent, pid, GPUTRACE_AGENT_YIELD,
					 GPUTRACE_AGENT_YIELD_SEMAPHORE);
	if (error)
		return error;
	client->state = CUPTI_CLIENT_SUSPECTED;
	client->watched_ns = now_ns;
	client->asked_ns = now_ns;
	return 0;
}

/* True if the client is found to record; if it does not, the agent is informed of that. */
static bool settle_suspicion(struct cupti_client *client, const struct files *files, const struct probed_file *agent,
			     pid_t pid, uint64_t calls_ns, uint64_t now_ns)
{
	uint64_t quiet_ns = calls_ns > client->watched_ns ? calls_ns : client->watched_ns;
	uint64_t push_ns = last_push(files, pid);

	if (push_ns >= client->watched_ns) {
		begin_yield(client, agent, pid);
		client->kinds = KINDS_UNKNOWN;
		client->last_ns = push_ns;
		return true;
	}
	/* Before the first CUDA call there is nothing to time, and no evidence. */
	if (calls_ns && now_ns > quiet_ns && now_ns - quiet_ns >= QUIET_NS)
		finish_yield(client, agent, pid);
	return false;
}

bool cupti_client_tick(struct cupti_client *client, const struct files *files, const struct probed_file *agent,
		       pid_t pid, uint64_t calls_ns, uint64_t now_ns)
{
	uint64_t patience = client->flushes ? AFTER_FLUSH_NS : AFTER_DISABLE_NS;

	if (client->state == CUPTI_CLIENT_SUSPECTED)
		return settle_suspicion(client, files, agent, pid, calls_ns, now_ns);
	if (client->state == CUPTI_CLIENT_RECORDS &&
	    (client->over || (!client->kinds && now_ns > client->last_ns && now_ns - client->last_ns > patience)))
		finish_yield(client, agent, pid);
	else if (client->state == CUPTI_CLIENT_DONE && client->repeats < REPEATS_MAX && now_ns > client->asked_ns &&
		 now_ns - client->asked_ns > ANSWER_NS)
		finish_again(client);
	return false;
}

void cupti_client_forget(struct cupti_client *client)
{
	end_yield(client);
	client->flushes = false;
	client->watched_ns = 0;
}
