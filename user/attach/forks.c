/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CUDA does not survive a fork: if it was up before, the child cannot use it and is left alone. A child that shares its
 * parent's memory (vfork, CLONE_VM) has none of its own: an agent let in there would be the parent's, and end with the
 * child. A child that loads a libcuda of its own after the fork is like any other process.
 */
#include "attach/forks.h"

#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gputrace/agent.h>

#include "attach/inject/waiting.h"
#include "base/monotonic.h"
#include "target/image.h"

#define PAGE 4096ULL
#define PAGES_COMPARED 64 /* pages of a mapping of libcuda */
/* Documentation/admin-guide/mm/pagemap.rst */
#define PAGEMAP_FRAME ((1ULL << 55) - 1)
#define PAGEMAP_FILE (1ULL << 61)
#define PAGEMAP_PRESENT (1ULL << 63)

/*
 * The agent reports it. Without a report, a CUDA call shows it; after one it does not, as an agent that waits for CUDA
 * calls CUDA to ask.
 */
static bool cuda_is_up(const struct followed *process)
{
	return followed_maps(process, LIBRARY_CUDA) &&
	       (process->agent_live || process->agent_stopped || (process->called_ns && !process->agent_heard) ||
		(process->forked && process->fork.cuda_up));
}

void fork_note(struct followed *child, const struct followed *parent)
{
	child->forked = true;
	child->fork.of = parent->pid;
	child->fork.seen = true;
	child->fork.cuda_up = cuda_is_up(parent);
	child->fork.observed = parent->ops_live || (parent->forked && parent->fork.observed);
	child->fork.ns = monotonic_ns();
}

void fork_note_older(struct followed *child, pid_t parent)
{
	child->forked = true;
	child->fork.of = parent;
}

static const struct mapping *find_mapping(const struct mappings *mappings, const struct probed_file *file)
{
	return array_find(&mappings->list, item,
			  item->executable && item->inode == file->inode && item->device == file->device);
}

/* Where the process has the agent's status; -errno if that agent has none. */
static int find_status(const struct probed_file *agent, const struct mapping *mapping, uint64_t *address)
{
	struct image *image = NULL;
	struct image_symbol symbol;
	uint64_t bias;
	int error = file_open_image(agent, &image);

	if (error)
		return error;
	error = image_symbol(image, GPUTRACE_AGENT_STATUS, &symbol);
	if (!error)
		error = image_bias(image, mapping, &bias);
	if (!error)
		*address = symbol.address + bias;
	image_close(image);
	return error;
}

/* If the process lies, only its own agent is not heard, or is asked in vain. */
static bool read_status(pid_t pid, const struct probed_file *agent, const struct mappings *mappings,
			struct gpt_agent_status *out)
{
	const struct mapping *mapping = find_mapping(mappings, agent);
	uint64_t address;

	*out = (struct gpt_agent_status){0};
	return mapping && !find_status(agent, mapping, &address) &&
	       !process_read_memory(pid, address, out, sizeof(*out));
}

bool fork_has_own_agent(pid_t pid, const struct probed_file *agent, const struct mappings *mappings)
{
	struct gpt_agent_status status;

	/* false: an agent of another version */
	return !read_status(pid, agent, mappings, &status) || status.life != GPT_AGENT_DEAD;
}

bool agent_has_declined(const struct followed *process, pid_t ns_pid, const struct mappings *mappings)
{
	struct gpt_agent_status status;

	return any_of(process->files.count, i,
		      process->files.items[i]->kind == LIBRARY_AGENT &&
			      read_status(process->pid, process->files.items[i], mappings, &status) &&
			      status.bytes >= sizeof(status) && status.declined == (uint32_t)ns_pid);
}

/* ---- shared memory, and copies of it ------------------------------------------------------------------------ */

static bool shares_memory(pid_t one, pid_t other)
{
	return syscall(SYS_kcmp, one, other, KCMP_VM, 0, 0) == 0;
}

/* Reads the pagemap entries of the first pages of a mapping; returns how many, or -errno. Free with free(). */
static ssize_t read_pagemap(pid_t pid, const struct mapping *mapping, uint64_t **out)
{
	uint64_t pages = (mapping->end - mapping->start) / PAGE;
	size_t bytes = (size_t)(pages < PAGES_COMPARED ? pages : PAGES_COMPARED) * sizeof(**out);
	char *text = NULL;
	ssize_t got = process_read_text(pid, "pagemap", mapping->start / PAGE * sizeof(**out), bytes, &text);

	*out = (uint64_t *)text;
	return got < 0 ? got : got / (ssize_t)sizeof(**out);
}

/*
 * A page of a library's data that the loader has written stays shared by parent and child until one of them writes to
 * it, which neither can if the loader has made it read-only.
 */
static bool shares_a_page(pid_t child, pid_t parent, const struct mapping *mapping)
{
	uint64_t *child_pages = NULL, *parent_pages = NULL;
	ssize_t count = read_pagemap(child, mapping, &child_pages);
	bool shares = false;

	if (read_pagemap(parent, mapping, &parent_pages) != count)
		count = 0;
	for (ssize_t i = 0; i < count && !shares; i++)
		shares = child_pages[i] & PAGEMAP_PRESENT && !(child_pages[i] & PAGEMAP_FILE) &&
			 child_pages[i] & PAGEMAP_FRAME &&
			 (child_pages[i] & PAGEMAP_FRAME) == (parent_pages[i] & PAGEMAP_FRAME) &&
			 parent_pages[i] & PAGEMAP_PRESENT;
	free(child_pages);
	free(parent_pages);
	return shares;
}

/* Whether the child has the libcuda that its parent loaded before the fork, and not one of its own. */
static bool inherited_cuda(pid_t pid, pid_t of)
{
	struct mappings mappings = {};
	bool shares = false;

	if (!mappings_read(pid, &mappings))
		for (size_t i = 0; i < mappings.list.count && !shares; i++)
			shares = mappings.list.items[i].inode && !mappings.list.items[i].executable &&
				 library_kind_of_name(mappings.list.items[i].path) == LIBRARY_CUDA &&
				 shares_a_page(pid, of, &mappings.list.items[i]);
	mappings_free(&mappings);
	return shares;
}

/* ---- the verdict ------------------------------------------------------------------------------------------------ */

static enum fork_verdict leave_out(char *why, size_t why_size, pid_t parent, const char *what)
{
	snprintf(why, why_size, "pid %d has forked it: %s", parent, what);
	return FORK_LEFT_OUT;
}

static enum fork_verdict refuse_lost_cuda(char *why, size_t why_size, pid_t parent)
{
	leave_out(why, why_size, parent, "CUDA was up there, and does not survive that");
	return FORK_CUDA_LOST;
}

enum fork_verdict fork_look(pid_t pid, pid_t parent, char *why, size_t why_size)
{
	if (shares_memory(pid, parent))
		return leave_out(why, why_size, parent, "they share their memory, and one agent");
	return inherited_cuda(pid, parent) ? FORK_UNKNOWN_YET : FORK_MAY_ENTER;
}

enum fork_verdict fork_judge(struct processes *processes, const struct followed *process, char *why, size_t why_size)
{
	pid_t of = process->fork.of;
	const struct followed *parent = processes_find(processes, of);
	enum fork_verdict verdict;

	if (!process->forked)
		return FORK_MAY_ENTER;
	if (processes->shares) {
		/* Only CUDA that starts in the child itself makes an agent wait there. */
		if (process->named || !parent || !followed_maps(parent, LIBRARY_CUDA) ||
		    waiting_agent_is_there(process->pid))
			return FORK_MAY_ENTER;
		return leave_out(why, why_size, of,
				 "whether it can use CUDA is not known without root; if it does, name it (-p)");
	}
	if (process->fork.cuda_up && !shares_memory(process->pid, of))
		return refuse_lost_cuda(why, why_size, of);
	verdict = fork_look(process->pid, of, why, why_size);
	/* An earlier trace has found that it may be entered, whatever its parent has done since. */
	if (verdict != FORK_LEFT_OUT && process->fork.own_agent)
		return FORK_MAY_ENTER;
	if (verdict == FORK_LEFT_OUT)
		return verdict;
	if (verdict == FORK_MAY_ENTER || !parent || !followed_maps(parent, LIBRARY_CUDA))
		return FORK_MAY_ENTER;
	if (cuda_is_up(parent))
		return refuse_lost_cuda(why, why_size, of);
	if (parent->agent_heard) /* the agent waits for CUDA */
		return FORK_MAY_ENTER;
	leave_out(why, why_size, of, "whether CUDA was up there is not known, as the agent is not in it");
	return parent->entry.state == ENTRY_REFUSED ? FORK_LEFT_OUT : FORK_UNKNOWN_YET;
}
