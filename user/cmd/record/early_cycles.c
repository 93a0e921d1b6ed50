/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/record/early_cycles.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/msg.h"
#include "cmd/output/deliver.h"
#include "cmd/options/format.h"
#include "cmd/process/interrupt.h"
#include "cmd/process/print.h"
#include "cmd/process/privileges.h"

#define BEHIND_OTHERS 5 /* nice(1): a third of the others' share; with 19 a busy machine gives it no time at all */

struct span {
	uint32_t first, last;
};

static bool is_early(const char *path)
{
	struct format format;

	return format_path_is_per_cycle(path) && format_by_path(path, &format) && format.writer;
}

/* With repeat=1 the trace ends with the cycle. */
static bool has_early(const struct options *options)
{
	for (size_t i = 0; i < options->outputs.list.count && options->schedule.repeat != 1; i++)
		if (options->schedule.active && is_early(options->outputs.list.items[i]))
			return true;
	return false;
}

/* ---- the process ------------------------------------------------------------------------------------------------- */

static void write_cycle(const struct options *all, int log_fd, uint32_t cycle)
{
	struct options options = *all;
	struct delivery delivery = {
		.options = &options,
		.log_fd = log_fd,
		.file = all->keeps_log ? "" : NULL,
		.skip = SIZE_MAX,
	};
	bool all_written;

	options.outputs.list.items = NULL;
	options.outputs.list.count = options.outputs.list.capacity = 0;
	for (size_t i = 0; i < all->outputs.list.count; i++)
		if (is_early(all->outputs.list.items[i]))
			array_push(&options.outputs.list, all->outputs.list.items[i]);
	options.slice.cycle = cycle;
	/* what is missing or wrong is reported at the end of the recording */
	(void)deliver(&delivery, &all_written);
	array_free(&options.outputs.list);
}

static void serve_cycles(int from, const struct options *options, int log_fd)
{
	struct span span;

	while (!is_interrupted() && read(from, &span, sizeof(span)) == (ssize_t)sizeof(span))
		for (uint32_t cycle = span.first; cycle <= span.last && !is_interrupted(); cycle++)
			write_cycle(options, log_fd, cycle);
}

static void become_server(void)
{
	sigset_t end;

	privileges_drop();
	interrupt_watch();
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigprocmask(SIG_UNBLOCK, &end, NULL);
	prctl(PR_SET_NAME, "gputrace-cycles");
	(void)setpriority(PRIO_PROCESS, 0, BEHIND_OTHERS);
	print_end_and_input();
	msg_set_level(MSG_QUIET);
}

void early_cycles_start(struct early_cycles *early, const struct options *options, int log_fd)
{
	int ends[2];

	*early = (struct early_cycles){.to = -1};
	if (!has_early(options) || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return;
	early->pid = fork();
	if (early->pid == 0) {
		close(ends[1]);
		become_server();
		serve_cycles(ends[0], options, log_fd);
		_exit(0);
	}
	close(ends[0]);
	if (early->pid > 0) {
		early->to = ends[1];
		return;
	}
	early->pid = 0;
	close(ends[1]);
}

/* ---- the recording ----------------------------------------------------------------------------------------------- */

void early_cycles_report(struct early_cycles *early, uint32_t first, uint32_t last)
{
	struct span span = {first, last};

	if (!early->pid)
		return;
	if (send(early->to, &span, sizeof(span), MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof(span))
		msg_debug("cycles %u to %u of the schedule are over: their files are being written", first, last);
	else
		msg_debug("cycles %u to %u of the schedule are over: their files come at the end", first, last);
}

void early_cycles_end(struct early_cycles *early)
{
	if (!early->pid)
		return;
	close(early->to);
	kill(early->pid, SIGTERM);
	while (waitpid(early->pid, NULL, 0) < 0 && errno == EINTR)
		;
	*early = (struct early_cycles){.to = -1};
}
