/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/record/top.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/msg.h"
#include "cmd/process/interrupt.h"
#include "cmd/process/privileges.h"
#include "cmd/output/output.h"
#include "cmd/record/session.h"
#include "top/screen.h"

#define INTERVAL_NS 500000000ull	/* on a terminal */
#define BLOCK_INTERVAL_NS 2000000000ull /* as blocks of lines */

/* Restores the terminal after the process was killed: leaves the alternate screen, shows the cursor. */
#define USUAL_SCREEN "\033[?1049l\033[?25h"

/* ---- the process ------------------------------------------------------------------------------------------------- */

static void write_span(const struct live_log *live, uint64_t from_ns, uint64_t to_ns, char *said, size_t size)
{
	char path[48] = "";
	struct output output;
	time_t now = time(NULL);
	struct tm local;
	int err;

	if (localtime_r(&now, &local))
		strftime(path, sizeof(path), "gputrace-%Y%m%d-%H%M%S.json.gz", &local);
	err = output_open(path, &output);
	if (!err) {
		err = live_log_export(live, from_ns, to_ns, path, output.fd);
		if (!err)
			err = output_commit(&output);
		output_close(&output);
	}
	if (err)
		snprintf(said, size, "%s: not written: %s", path, output_error(err));
	else
		snprintf(said, size, "%s: written, the last %.0f s", path, (double)(to_ns - from_ns) / 1e9);
}

/* Ctrl-C is left to the recording, which then closes the socket. */
static void become_screen(void)
{
	sigset_t end;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_SET_NAME, "gputrace-top");
	privileges_drop();
	interrupt_watch();
	signal(SIGINT, SIG_IGN);
	sigemptyset(&end);
	sigaddset(&end, SIGTERM);
	sigaddset(&end, SIGHUP);
	sigprocmask(SIG_UNBLOCK, &end, NULL);
	msg_set_level(MSG_QUIET);
}

static void show_screen(const struct options *options, int log_fd, int from, bool on_terminal)
{
	struct top top = {.in = stdin,
			  .out = stdout,
			  .log_fd = log_fd,
			  .ended_fd = from,
			  .target = session_target(options),
			  .interval_ns = options->interval_ns,
			  .is_ended = is_interrupted,
			  .write = write_span};
	bool known = false;

	if (!top.interval_ns)
		top.interval_ns = on_terminal ? INTERVAL_NS : BLOCK_INTERVAL_NS;
	if (on_terminal && top_on_terminal(&top, &known))
		kill(getppid(), SIGTERM);
	if (on_terminal && !known)
		msg_error("TERM=%s: no such terminal is known here, or it has no screen: blocks of lines follow; name "
			  "another, as in TERM=xterm",
			  getenv("TERM") ? getenv("TERM") : "");
	if (!known)
		top_in_blocks(&top);
}

static void serve_screen(const struct options *options, int log_fd, int from, bool on_terminal)
{
	char go;

	become_screen();
	if (read(from, &go, 1) == 1)
		show_screen(options, log_fd, from, on_terminal);
}

/* ---- the recording ----------------------------------------------------------------------------------------------- */

int top_process_start(struct top_process *top, const struct options *options, int log_fd)
{
	int ends[2], error;

	*top = (struct top_process){.to = -1};
	if (options->subcommand != SUBCOMMAND_TOP)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return -errno;
	top->on_terminal =
		isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && tcgetattr(STDIN_FILENO, &top->terminal) == 0;
	top->pid = fork();
	if (top->pid == 0) {
		close(ends[1]);
		serve_screen(options, log_fd, ends[0], top->on_terminal);
		exit(0);
	}
	error = -errno;
	close(ends[0]);
	top->to = ends[1];
	if (top->pid > 0)
		return 0;
	close(ends[1]);
	top->pid = 0;
	return error;
}

void top_process_begin(struct top_process *top)
{
	if (!top->pid)
		return;
	/* messages from here on would spoil the screen */
	if (top->on_terminal)
		msg_set_level(MSG_QUIET);
	(void)send(top->to, "", 1, MSG_NOSIGNAL);
}

void top_process_end(struct top_process *top)
{
	int status = 0;

	if (!top->pid)
		return;
	close(top->to);
	while (waitpid(top->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (top->on_terminal && WIFSIGNALED(status)) {
		(void)!write(STDOUT_FILENO, USUAL_SCREEN, strlen(USUAL_SCREEN));
		tcsetattr(STDIN_FILENO, TCSADRAIN, &top->terminal);
	}
	*top = (struct top_process){.to = -1};
}
