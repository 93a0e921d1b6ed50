/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What CUPTI does not tell is seen by probes on its functions.  The order of calls in a session of torch.profiler
 * (PyTorch 2.15): RegisterTimestampCallback, RegisterCallbacks, Enable..., Disable..., FlushAll, SetAttribute.
 */
#include "attach/cupti_clients.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <gputrace/agent.h>

#include "attach/emit.h"
#include "base/msg.h"
#include "target/image.h"
#include "target/site.h"

/*
 * A torch.profiler that records calls cuptiActivityPushExternalCorrelationId at every op, and ops launch kernels.  So a
 * process that launches for this long without such a call has no recording torch.profiler.
 */
#define QUIET_NS 250000000ULL
#define KINDS_UNKNOWN 1ULL /* CUPTI_ACTIVITY_KIND_INVALID is 0 */

/* A call that follows its last flush shows that the flush is over; when none comes, time has to. */
#define AFTER_FLUSH_NS 2000000000ULL
/* For a session that is ended and never flushed. */
#define AFTER_DISABLE_NS 5000000000ULL

/*
 * The agent looks every 20 ms (user/agent/agent.c): of a session that was shorter it would see YIELD and RESUME at
 * once, and not know that CUPTI has forgotten its buffers.
 */
#define SEEN_NS 60000000ULL
/* It answers within two looks; where its thread was not let run meanwhile it is told again. */
#define ANSWER_NS 1000000000ULL
#define REPEATS_MAX 5

/* ---- the agent's counters -------------------------------------------------------------------------------------- */

static int raise_counter(struct links *links, const struct probed_file *agent, pid_t pid, const char *function,
			 const char *semaphore)
{
	struct uprobe uprobe;
	struct image *image = NULL;
	int error;

	if (!agent || links->fds.count)
		return 0;
	error = file_open_image(agent, &image);
	if (error)
		return error;
	error = agent_uprobe(image, function, semaphore, &uprobe);
	if (!error)
		error = links_raise_counter(links, agent->fd, &uprobe, pid);
	image_close(image);
	return error;
}

static void begin(struct cupti_client *client, const struct probed_file *agent, pid_t pid)
{
	bool changes = !client->yield.fds.count || client->resume.fds.count;
	int error = raise_counter(&client->yield, agent, pid, GPUTRACE_AGENT_YIELD, GPUTRACE_AGENT_YIELD_SEMAPHORE);

	if (error && error != -ESRCH)
		msg_warn("pid %d: another profiler uses CUPTI, and the agent cannot be told: %s", pid,
			 strerror(-error));
	links_detach(&client->resume);
	client->state = CUPTI_CLIENT_RECORDS;
	client->flushes = client->over = false;
	client->repeats = 0;
	if (changes)
		client->told_ns = monotonic_ns();
}

/* After begin(), whose counter comes first (agent/yield.c). */
static void share(struct cupti_client *client, const struct probed_file *agent, pid_t pid)
{
	int error = 0;

	if (client->kinds & GPT_AGENT_SHARED_KINDS)
		error = raise_counter(&client->share, agent, pid, GPUTRACE_AGENT_SHARE, GPUTRACE_AGENT_SHARE_SEMAPHORE);
	if (error && error != -ESRCH)
		msg_warn("pid %d: another profiler wants waits and events too, and the agent cannot be told: %s", pid,
			 strerror(-error));
}

static void finish(struct cupti_client *client, const struct probed_file *agent, pid_t pid)
{
	int error;

	client->over = monotonic_ns() - client->told_ns < SEEN_NS;
	if (client->over)
		return;
	error = raise_counter(&client->resume, agent, pid, GPUTRACE_AGENT_RESUME, GPUTRACE_AGENT_RESUME_SEMAPHORE);

	if (error && error != -ESRCH)
		msg_warn("pid %d: the other profiler has finished, and the agent cannot be told: %s", pid,
			 strerror(-error));
	client->state = CUPTI_CLIENT_DONE;
	client->told_ns = monotonic_ns();
}

/* Once more, as it has not answered. */
static void finish_again(struct cupti_client *client)
{
	links_detach(&client->resume);
	client->state = CUPTI_CLIENT_RECORDS;
	client->over = true;
	client->repeats++;
	client->told_ns = monotonic_ns();
}

/* The agent has registered anew. */
static void settle(struct cupti_client *client)
{
	links_detach(&client->yield); /* first: YIELD without RESUME is an order */
	links_detach(&client->resume);
	links_detach(&client->share);
	client->state = CUPTI_CLIENT_NONE;
	client->kinds = 0;
	client->over = false;
	client->repeats = 0;
}

int agent_ask_anew(struct links *anew, const struct probed_file *agent, pid_t pid)
{
	return raise_counter(anew, agent, pid, GPUTRACE_AGENT_ANEW, GPUTRACE_AGENT_ANEW_SEMAPHORE);
}

/* ---- its session ------------------------------------------------------------------------------------------------- */

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
		begin(client, agent, pid);
		share(client, agent, pid);
		break;
	case GPT_CUPTI_REGISTER:
		begin(client, agent, pid);
		break;
	case GPT_CUPTI_DISABLE:
		if (client->state == CUPTI_CLIENT_SUSPECTED) /* so it did record, and has said nothing until its end */
			begin(client, agent, pid);
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
			finish(client, agent, pid);
		break;
	}
	client->last_ns = use->time_ns;
}

void cupti_client_note(struct cupti_client *client, const struct probed_file *agent, const struct gpt_cupti_use *use)
{
	if (!use->own)
		note_foreign(client, agent, use);
	else if (client->state == CUPTI_CLIENT_DONE)
		settle(client);
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
	error = raise_counter(&client->yield, agent, pid, GPUTRACE_AGENT_YIELD, GPUTRACE_AGENT_YIELD_SEMAPHORE);
	if (error)
		return error;
	client->state = CUPTI_CLIENT_SUSPECTED;
	client->watched_ns = now_ns;
	client->told_ns = now_ns;
	return 0;
}

/* True when it is found to record; when it is not, the agent hears of that. */
static bool settle_suspicion(struct cupti_client *client, const struct files *files, const struct probed_file *agent,
			     pid_t pid, uint64_t calls_ns, uint64_t now_ns)
{
	uint64_t quiet_ns = calls_ns > client->watched_ns ? calls_ns : client->watched_ns;
	uint64_t push_ns = last_push(files, pid);

	if (push_ns >= client->watched_ns) {
		begin(client, agent, pid);
		client->kinds = KINDS_UNKNOWN;
		client->last_ns = push_ns;
		return true;
	}
	/* Before the first call there is nothing to time, and nothing to tell by. */
	if (calls_ns && now_ns > quiet_ns && now_ns - quiet_ns >= QUIET_NS)
		finish(client, agent, pid);
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
		finish(client, agent, pid);
	else if (client->state == CUPTI_CLIENT_DONE && client->repeats < REPEATS_MAX && now_ns > client->told_ns &&
		 now_ns - client->told_ns > ANSWER_NS)
		finish_again(client);
	return false;
}

void cupti_client_forget(struct cupti_client *client)
{
	settle(client);
	client->flushes = false;
	client->watched_ns = 0;
}

/* ---- probes ------------------------------------------------------------------------------------------------------ */

int file_attach_pushes(struct files *files, struct probed_file *file)
{
	struct image_symbol symbol;
	struct uprobe uprobe = {};
	struct image *image = NULL;
	struct probe_site site = {};
	int error;

	if (file->push_links.fds.count)
		return 0;
	if (file->push_unfit || file->fd < 0)
		return -ENOENT;
	file->push_unfit = true;
	error = file_open_image(file, &image);
	if (error)
		return error;
	error = image_symbol(image, "cuptiActivityPushExternalCorrelationId", &symbol);
	if (!error)
		error = site_choose(image, symbol.address, &site);
	image_close(image);
	uprobe.offset = site.offset;
	if (!error)
		error = links_attach_uprobes(&file->push_links, files->programs->multi,
					     bpf_program__fd(files->programs->bpf->progs.cupti_push), file->fd, &uprobe,
					     1);
	if (error)
		file_note_refused(files, file, FILE_PUSHES, error);
	else
		file->push_unfit = false;
	return error;
}

void file_detach_pushes(struct probed_file *file)
{
	links_detach(&file->push_links);
}

int file_attach_cupti(struct files *files, struct probed_file *file)
{
	const struct gputrace_bpf *bpf = files->programs->bpf;
	const struct {
		const char *function;
		const struct bpf_program *program;
	} probes[] = {
		{"cuptiActivityRegisterCallbacks", bpf->progs.cupti_register},
		{"cuptiActivityEnable", bpf->progs.cupti_enable},
		{"cuptiActivityDisable", bpf->progs.cupti_disable},
		{"cuptiActivityFlushAll", bpf->progs.cupti_flush},
		{"cuptiActivitySetAttribute", bpf->progs.cupti_attribute},
	};
	struct image *image = NULL;
	int error;

	if (file->kind != LIBRARY_CUPTI || file->cupti_links.fds.count || file->fd < 0)
		return 0;
	error = file_open_image(file, &image);
	if (error)
		return error;
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]) && !error; i++) {
		struct uprobe uprobe = {};

		/* At the very entry, however slow the instruction: the program reads the return address. */
		error = image_symbol_offset(image, probes[i].function, &uprobe.offset);
		if (!error)
			error = links_attach_uprobes(&file->cupti_links, files->programs->multi,
						     bpf_program__fd(probes[i].program), file->fd, &uprobe, 1);
	}
	image_close(image);
	if (error) {
		links_detach(&file->cupti_links);
		file_note_refused(files, file, FILE_CUPTI, error);
	}
	return error;
}
