/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds processes that the user has not named: all of the machine that have CUDA loaded (ATTACH_ALL), or those of them
 * that fit a selection (ATTACH_SELECTED).  A process with CUDA that does not fit may do so later, as its name, its user
 * or its cgroup changes, so it is looked at again.
 */
#include <unistd.h>

#include "attach/attach_state.h"
#include "attach/emit/emit.h"
#include "target/library.h"
#include "target/selection.h"

#define AGAIN_NS 1000000000ULL
#define PASSED_MAX 4096u /* processes with CUDA that do not fit */

static bool is_of_cuda(const char *path)
{
	enum library_kind kind = library_kind_of_name(path);

	return library_kind_has_calls(kind) || kind == LIBRARY_AGENT;
}

/* Without BPF only one user's processes are recorded. */
static bool may_record_process(const struct attach *attach, pid_t pid)
{
	struct process_owner owner;

	if (attach->shares && (process_owner(pid, &owner) || owner.file_uid != attach->options.uid))
		return false;
	return attach->options.scope == ATTACH_ALL || selection_fits_process(attach->options.selection, pid);
}

static struct passed_process *find_passed(struct attach *attach, pid_t pid)
{
	return array_find(&attach->passed, item, item->pid == pid);
}

/* Keeps a process that has CUDA and does not fit, also in place of an earlier one with its pid. */
static void pass_over(struct attach *attach, pid_t pid)
{
	struct passed_process passed = {.pid = pid}, *known = find_passed(attach, pid);

	if (attach->options.scope != ATTACH_SELECTED || process_start_ticks(pid, &passed.start_ticks))
		return;
	if (known)
		*known = passed;
	else if (attach->passed.count < PASSED_MAX)
		array_push(&attach->passed, passed);
	else if (!attach->passed_lost++)
		emit_note(attach->emit, attach->emit_context, 0,
			  "more than %u processes have CUDA loaded and are not among those to be traced: of the others "
			  "those that come to fit later are not noticed",
			  PASSED_MAX);
}

struct followed *attach_newcomer(struct attach *attach, pid_t pid)
{
	if (pid == getpid())
		return NULL;
	if (!may_record_process(attach, pid)) {
		pass_over(attach, pid);
		return NULL;
	}
	return processes_add(&attach->processes, pid, false, false);
}

static int add_if_of_interest(pid_t pid, void *context)
{
	struct attach *attach = context;
	struct followed *process;

	if (pid == getpid() || processes_find(&attach->processes, pid) || !mappings_have(pid, is_of_cuda))
		return 0;
	process = attach_newcomer(attach, pid);
	if (process)
		processes_examine(&attach->processes, process);
	return 0;
}

void attach_find_newcomers(struct attach *attach)
{
	process_each(add_if_of_interest, attach);
	if (attach->options.scope == ATTACH_SELECTED)
		processes_add_descendants(&attach->processes);
}

void attach_check_passed(struct attach *attach, uint64_t now_ns)
{
	if (now_ns - attach->passed_checked_ns < AGAIN_NS)
		return;
	attach->passed_checked_ns = now_ns;
	for (size_t i = attach->passed.count; i-- > 0;) {
		const struct passed_process passed = attach->passed.items[i];
		bool followed = processes_find(&attach->processes, passed.pid);
		struct followed *process = NULL;
		uint64_t start_ticks;

		if (!followed && !process_start_ticks(passed.pid, &start_ticks) && start_ticks == passed.start_ticks) {
			if (!may_record_process(attach, passed.pid))
				continue;
			process = processes_add(&attach->processes, passed.pid, false, false);
		}
		attach->passed.items[i] = attach->passed.items[--attach->passed.count];
		if (process && processes_examine(&attach->processes, process) == 0)
			attach->reconcile = true;
	}
}
