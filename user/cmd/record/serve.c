/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/record/serve.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/attach.h"
#include "base/error_text.h"
#include "base/monotonic.h"
#include "base/msg.h"
#include "base/order.h"
#include "capture/drain.h"
#include "capture/history.h"
#include "cmd/output/output.h"
#include "cmd/record/recording.h"
#include "cmd/record/serve_link.h"
#include "serve/control.h"
#include "view/server.h"

#define SECOND_NS 1000000000ull
#define PROFILE_NS (60 * SECOND_NS)

/* How long the process may take to end. */
#define END_NS (5 * SECOND_NS)

/* The most requests that are read at once. */
#define REQUESTS_MOST 16u

/* ---- the process ------------------------------------------------------------------------------------------------- */

uint64_t serve_needs_ns(const struct options *options)
{
	uint64_t longest_ns = options->profiles ? PROFILE_NS : options->interval_ns;

	if (options->subcommand != SUBCOMMAND_SERVE)
		return 0;
	return FLIGHT_WAITS_NS + 2 * FLIGHT_AROUND_NS +
	       (longest_ns > options->recorder_ns ? longest_ns - options->recorder_ns : 0);
}

/* 0, or -errno and a message. */
static int check_profiles(const char *folder)
{
	AUTO_FREE char *name = folder ? xasprintf("%s/gputrace.pb.gz", folder) : NULL;
	int err = name ? output_probe(name) : 0;
	struct stat stat_of;

	/* The process that writes them has no capabilities. */
	if (name && !err && !geteuid() && stat(folder, &stat_of) == 0 && stat_of.st_uid)
		err = -EACCES;
	if (err)
		msg_error("--profiles %s: cannot be written: %s: name another folder", folder, output_error(err));
	return err;
}

/* Opens what it answers at. 0, or -errno and a message. */
static int open_sockets(struct serve_process *serve, const struct options *options, struct serve_sockets *sockets)
{
	char why[CONTROL_WHY_MAX];
	bool replaced;
	int err = server_open(options->port, &sockets->http);

	if (err) {
		msg_error("serve: 127.0.0.1:%u: %s: name another port with --port", options->port, strerror(-err));
		return err;
	}
	serve->path = options->socket ? xstrdup(options->socket) : control_usual_path();
	if (!serve->path) {
		msg_error("serve: neither XDG_RUNTIME_DIR nor /run/user/%u is a folder of yours: name a socket with "
			  "--socket PATH",
			  geteuid());
		return -ENOENT;
	}
	sockets->control = control_listen(serve->path, &serve->bound, &replaced, why);
	if (sockets->control < 0) {
		msg_error("serve: %s", why);
		free(serve->path);
		serve->path = NULL;
		return sockets->control;
	}
	if (replaced)
		msg_info("%s: was left by a gputrace that has ended; replaced", serve->path);
	return 0;
}

static void close_sockets(const struct serve_sockets *sockets)
{
	server_close(sockets->http);
	if (sockets->control >= 0)
		close(sockets->control);
}

int serve_process_start(struct serve_process *serve, const struct options *options)
{
	struct serve_sockets sockets = {.link = -1, .control = -1};
	int ends[2], err;

	serve->link = -1;
	if (options->subcommand != SUBCOMMAND_SERVE)
		return 0;
	err = check_profiles(options->profiles);
	if (!err)
		err = open_sockets(serve, options, &sockets);
	if (err)
		goto cleanup;
	serve->port = server_port(sockets.http);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		err = -errno;
		msg_error("serve: %s", start_error_text(err));
		goto cleanup;
	}
	serve->pid = fork();
	if (serve->pid == 0) {
		close(ends[1]);
		sockets.link = ends[0];
		serve_until_over(options, &sockets);
	}
	err = serve->pid < 0 ? -errno : 0;
	if (err)
		msg_error("serve: %s", start_error_text(err));
	serve->pid = err ? 0 : serve->pid;
	close(ends[0]);
	serve->link = ends[1];
cleanup:
	close_sockets(&sockets);
	return err;
}

void serve_process_begin(struct serve_process *serve)
{
	if (!serve->pid)
		return;
	serve->start_ns = monotonic_ns();
	serve->totals.start_ns = serve->start_ns;
	serve->totals.start_wall_ns = (int64_t)clock_ns(CLOCK_REALTIME);
	msg_info("http://127.0.0.1:%u/metrics; gputrace serve status, write and stop: %s", serve->port, serve->path);
}

/* descriptor: -1: none */
static bool send_packet(const struct serve_process *serve, const struct serve_packet *packet, int descriptor)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control = {0};
	struct iovec bytes = {.iov_base = (void *)packet, .iov_len = sizeof(*packet)};
	struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1};

	if (descriptor >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.header), &descriptor, sizeof(descriptor));
	}
	return sendmsg(serve->link, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0;
}

/* ---- what was counted -------------------------------------------------------------------------------------------- */

DEFINE_ORDER(by_length, uint64_t, least_first(*a, *b))

static void count_steps(struct serve_process *serve, struct trigger *trigger)
{
	struct served_totals *totals = &serve->totals;
	uint64_t sorted[TRIGGER_STEPS_KEPT];
	size_t count;

	totals->has_steps = true;
	if (!trigger_steps(trigger, &serve->steps))
		return;
	count = serve->steps.count < TRIGGER_STEPS_KEPT ? (size_t)serve->steps.count : TRIGGER_STEPS_KEPT;
	memcpy(sorted, serve->steps.ns, count * sizeof(sorted[0]));
	qsort(sorted, count, sizeof(sorted[0]), by_length);
	totals->steps = serve->steps.count;
	totals->steps_ns = serve->steps.sum_ns;
	totals->step_median_ns = sorted[median_of_order(count)];
	totals->step_p99_ns = sorted[p99_of_order(count)];
}

static void send_totals(struct recording *recording, uint64_t now_ns)
{
	struct serve_process *serve = &recording->serve;
	struct served_totals *totals = &serve->totals;
	const struct history_counts counts = history_before(recording->history, UINT64_MAX);
	struct serve_packet packet = {.kind = SERVE_TOTALS};

	totals->recorded_ns = now_ns - serve->start_ns;
	totals->calls = drain_calls(recording->drain);
	totals->cpu_ns = counts.cpu_ns;
	memcpy(totals->counters, counts.counters, sizeof(totals->counters));
	if (recording->options->trigger.counts_steps)
		count_steps(serve, recording->trigger);
	totals->has_cost = attach_cost(recording->attach, &totals->cost_ns);
	for (unsigned i = 0; i < SERVED_BY; i++)
		totals->files[i] = serve->files[i];
	totals->files_failed = serve->files_failed;
	packet.totals = *totals;
	(void)send_packet(serve, &packet, -1);
}

void serve_process_tick(struct recording *recording)
{
	struct serve_process *serve = &recording->serve;
	uint64_t now_ns = monotonic_ns();
	ssize_t got = -1;
	char asked;

	if (!serve->pid || serve->has_ended)
		return;
	/* As if a user had sent these signals. */
	for (unsigned i = 0; i < REQUESTS_MOST && (got = recv(serve->link, &asked, 1, MSG_DONTWAIT)) > 0; i++)
		kill(getpid(), asked == SERVE_ASKS_STOP ? SIGTERM : SIGUSR1);
	if (got == 0) {
		serve->has_ended = true;
		msg_error("serve: the process that answers has ended, and so does the recording: start it again");
		kill(getpid(), SIGTERM);
		return;
	}
	if (!serve->start_ns || now_ns < serve->next_ns)
		return;
	serve->next_ns = now_ns + SECOND_NS;
	send_totals(recording, now_ns);
}

/* ---- logs -------------------------------------------------------------------------------------------------------- */

static void send_window(void *context, enum serve_kind kind, uint64_t length_ns, const struct recent_log *recent,
			const struct recent_writing *writing, struct gpt_end *end)
{
	struct recording *recording = context;
	struct serve_packet packet = {.kind = kind};
	uint64_t start_ns = writing->start_ns, to_ns = end->time_ns - FLIGHT_AROUND_NS;
	int fd;

	packet.window.to_ns = to_ns;
	packet.window.from_ns = to_ns - length_ns > start_ns ? to_ns - length_ns : start_ns;
	if (packet.window.from_ns >= to_ns)
		return;
	fd = memfd_create("gputrace-window", MFD_CLOEXEC);
	if (fd < 0)
		return;
	if (recent_log_write(recent, fd, writing, end) == 0)
		(void)send_packet(&recording->serve, &packet, fd);
	close(fd);
}

static void send_sums(void *context, const struct recent_log *recent, const struct recent_writing *writing,
		      struct gpt_end *end)
{
	const struct recording *recording = context;

	send_window(context, SERVE_WINDOW, recording->options->interval_ns, recent, writing, end);
}

static void send_profile(void *context, const struct recent_log *recent, const struct recent_writing *writing,
			 struct gpt_end *end)
{
	send_window(context, SERVE_PROFILE, PROFILE_NS, recent, writing, end);
}

void serve_process_windows(const struct options *options, struct flight_windows windows[FLIGHT_WINDOWS])
{
	if (options->subcommand != SUBCOMMAND_SERVE)
		return;
	windows[0] = (struct flight_windows){.length_ns = options->interval_ns, .take = send_sums};
	if (options->profiles)
		windows[1] = (struct flight_windows){.length_ns = PROFILE_NS, .take = send_profile};
}

void serve_process_file(struct serve_process *serve, const char *path, uint64_t end_ns, const char *why,
			const char *error)
{
	AUTO_FREE char *folder = *path == '/' ? NULL : getcwd(NULL, 0);
	struct serve_packet packet = {.kind = SERVE_FILE};

	if (!serve->pid)
		return;
	if (error)
		serve->files_failed++;
	else
		serve->files[strcmp(why, FLIGHT_BY_SIGNAL) ? SERVED_BY_EVENT : SERVED_BY_USER]++;
	packet.file.end_ns = end_ns;
	packet.file.written = !error;
	snprintf(packet.file.text, sizeof(packet.file.text), "%s%s%s%s%s", folder ? folder : "", folder ? "/" : "",
		 path, error ? ": not written: " : "", error ? error : "");
	(void)send_packet(serve, &packet, -1);
}

void serve_process_end(struct serve_process *serve)
{
	uint64_t until_ns = monotonic_ns() + END_NS;

	if (serve->link >= 0) {
		shutdown(serve->link, SHUT_RDWR); /* other children of gputrace may have it, too */
		close(serve->link);
	}
	while (serve->pid && waitpid(serve->pid, NULL, WNOHANG) == 0) {
		if (monotonic_ns() > until_ns)
			kill(serve->pid, SIGKILL);
		poll(NULL, 0, 2);
	}
	if (serve->path)
		control_remove(serve->path, &serve->bound);
	free(serve->path);
	*serve = (struct serve_process){.link = -1};
}
