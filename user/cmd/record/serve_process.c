/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The process that answers: browsers and Prometheus by HTTP (view/server.h), users by a Unix socket (serve/control.h).
 * It has what the recording sends it, and cannot keep that waiting.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/monotonic.h"
#include "base/msg.h"
#include "cmd/output/confine.h"
#include "cmd/process/call_filter.h"
#include "cmd/process/privileges.h"
#include "cmd/record/serve_link.h"
#include "cmd/record/serve_work.h"
#include "serve/choice.h"
#include "serve/control.h"
#include "serve/metrics.h"
#include "view/server.h"

#define SECOND_NS 1000000000ull

/* The users that are answered at a time; how long one may take to ask, and a file to be written. */
#define ASKERS 8u
#define ASK_NS (5 * SECOND_NS)
#define FILE_NS (60 * SECOND_NS)

/* A file that was asked for so much earlier is the same (capture/flight.c). */
#define SAME_NS (SECOND_NS / 5)

struct asker {
	int fd; /* -1: free */
	enum control_request request;
	uint64_t since_ns, until_ns;
};

struct unsummed_window {
	int log_fd; /* -1: none */
	uint64_t from_ns, to_ns;
};

struct serving {
	const struct options *options;
	const struct serve_sockets *sockets;
	int epoll;
	bool is_over;
	struct metrics metrics;
	uint64_t summed_to_ns; /* the end of the latest window, at first the recording's start; 0: not begun */
	struct window_choice choice;
	struct serve_work sums, profile;
	struct unsummed_window next; /* to be summed up after the one at work */
	struct asker askers[ASKERS];
};

static bool watch_descriptor(const struct serving *serving, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(serving->epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

/* ---- users ------------------------------------------------------------------------------------------------------- */

/* What was sent and not read would take the answer from the other end. */
static void close_asker(struct asker *asker)
{
	char unread;

	shutdown(asker->fd, SHUT_RD);
	while (recv(asker->fd, &unread, 1, MSG_DONTWAIT) > 0)
		;
	close(asker->fd);
	*asker = (struct asker){.fd = -1};
}

static void answer_asker(struct asker *asker, bool good, const char *text, size_t size)
{
	struct sink answer;

	sink_open_memory(&answer);
	sink_text(&answer, good ? CONTROL_GOOD : CONTROL_FAILED);
	sink_put(&answer, text, size);
	(void)send(asker->fd, answer.buffer, answer.used < CONTROL_ANSWER_MAX ? answer.used : CONTROL_ANSWER_MAX,
		   MSG_DONTWAIT | MSG_NOSIGNAL);
	sink_close(&answer);
	close_asker(asker);
}

static void answer_text(struct asker *asker, bool good, const char *text)
{
	answer_asker(asker, good, text, strlen(text));
}

static void accept_asker(struct serving *serving)
{
	struct asker new = {.fd = accept4(serving->sockets->control, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK),
			    .until_ns = monotonic_ns() + ASK_NS};
	struct asker *place = find_item(serving->askers, ASKERS, asker, asker->fd < 0);

	if (new.fd < 0)
		return;
	if (!control_answers(geteuid(), control_peer(new.fd)))
		answer_text(&new, false, "it answers its own user and root");
	else if (!place || !watch_descriptor(serving, new.fd))
		answer_text(&new, false, "too many ask at once: try again");
	else
		*place = new;
}

static void ask_recording(struct serving *serving, enum serve_request request)
{
	char asked = (char)request;

	(void)send(serving->sockets->link, &asked, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

static void answer_status(struct serving *serving, struct asker *asker)
{
	struct sink lines;

	sink_open_memory(&lines);
	metrics_put_status(&serving->metrics, &lines);
	answer_asker(asker, true, lines.buffer, lines.used);
	sink_close(&lines);
}

static void receive_question(struct serving *serving, struct asker *asker)
{
	char word[32];
	ssize_t got = recv(asker->fd, word, sizeof(word), MSG_DONTWAIT | MSG_TRUNC);

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (got <= 0 || asker->request) { /* it does not wait for the answer */
		close_asker(asker);
		return;
	}
	asker->request = (size_t)got > sizeof(word) ? CONTROL_NONE : control_request_of(word, (size_t)got);
	asker->since_ns = monotonic_ns();
	asker->until_ns = asker->since_ns + FILE_NS;
	switch (asker->request) {
	case CONTROL_NONE:
		answer_text(asker, false, "no such request: status, write and stop are known");
		break;
	case CONTROL_STATUS:
		answer_status(serving, asker);
		break;
	case CONTROL_WRITE:
		ask_recording(serving, SERVE_ASKS_WRITE);
		break;
	case CONTROL_STOP:
		ask_recording(serving, SERVE_ASKS_STOP);
		break;
	}
}

static void end_late_askers(struct serving *serving, uint64_t now_ns)
{
	for (unsigned i = 0; i < ASKERS; i++) {
		struct asker *asker = &serving->askers[i];

		if (asker->fd >= 0 && now_ns >= asker->until_ns)
			answer_text(asker, false,
				    asker->request ? "it goes on, and took too long to wait for: see its status"
						   : "it took too long");
	}
}

/* ---- the recording ----------------------------------------------------------------------------------------------- */

static uint64_t own_cpu_ns(void)
{
	struct rusage own, children;

	if (getrusage(RUSAGE_SELF, &own) < 0 || getrusage(RUSAGE_CHILDREN, &children) < 0)
		return 0;
	return (uint64_t)(own.ru_utime.tv_sec + own.ru_stime.tv_sec + children.ru_utime.tv_sec +
			  children.ru_stime.tv_sec) *
		       SECOND_NS +
	       (uint64_t)(own.ru_utime.tv_usec + own.ru_stime.tv_usec + children.ru_utime.tv_usec +
			  children.ru_stime.tv_usec) *
		       1000;
}

static void take_totals(struct serving *serving, const struct served_totals *totals)
{
	serving->metrics.totals = *totals;
	serving->metrics.totals.cpu_ns += own_cpu_ns();
	if (!serving->summed_to_ns)
		serving->summed_to_ns = totals->start_ns;
}

static void take_file(struct serving *serving, const struct serve_packet *packet)
{
	AUTO_FREE char *text = xasprintf("%s\n", packet->file.text);

	for (unsigned i = 0; i < ASKERS; i++) {
		struct asker *asker = &serving->askers[i];

		if (asker->fd >= 0 && asker->request == CONTROL_WRITE &&
		    packet->file.end_ns + SAME_NS >= asker->since_ns)
			answer_text(asker, packet->file.written, packet->file.written ? text : packet->file.text);
	}
}

static void begin_window(struct serving *serving, struct unsummed_window window)
{
	if (!serve_work_begin(&serving->sums, window.log_fd, window.from_ns, window.to_ns, NULL))
		serving->metrics.unsummed_ns[UNSUMMED_FAILED] += window.to_ns - window.from_ns;
	else if (serving->sums.done >= 0)
		(void)watch_descriptor(serving, serving->sums.done);
}

static void take_window(struct serving *serving, const struct serve_packet *packet, int log_fd)
{
	const struct unsummed_window window = {log_fd, packet->window.from_ns, packet->window.to_ns};

	if (serving->summed_to_ns && window.from_ns > serving->summed_to_ns)
		serving->metrics.unsummed_ns[UNSUMMED_DROPPED] += window.from_ns - serving->summed_to_ns;
	serving->summed_to_ns = window.to_ns;
	if (!window_choose(&serving->choice, window.to_ns - window.from_ns)) {
		serving->metrics.unsummed_ns[UNSUMMED_COST] += window.to_ns - window.from_ns;
		close(log_fd);
	} else if (!serving->sums.pid) {
		begin_window(serving, window);
	} else if (serving->next.log_fd < 0) {
		serving->next = window;
	} else {
		serving->metrics.unsummed_ns[UNSUMMED_BUSY] += window.to_ns - window.from_ns;
		close(log_fd);
	}
}

static void take_profile(struct serving *serving, const struct serve_packet *packet, int log_fd)
{
	const struct serve_profiles profiles = {.folder = serving->options->profiles,
						.keep = serving->options->profiles_keep};

	if (serving->profile.pid) {
		serving->metrics.profiles_failed++;
		close(log_fd);
	} else if (!serve_work_begin(&serving->profile, log_fd, packet->window.from_ns, packet->window.to_ns,
				     &profiles)) {
		serving->metrics.profiles_failed++;
	} else if (serving->profile.done >= 0) {
		(void)watch_descriptor(serving, serving->profile.done);
	}
}

static int descriptor_of(struct msghdr *message)
{
	const struct cmsghdr *header = CMSG_FIRSTHDR(message);
	int descriptor = -1;

	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(&descriptor, CMSG_DATA(header), sizeof(descriptor));
	return descriptor;
}

static void receive_packet(struct serving *serving)
{
	union {
		struct cmsghdr header;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct serve_packet packet;
	struct iovec bytes = {.iov_base = &packet, .iov_len = sizeof(packet)};
	struct msghdr message = {
		.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(serving->sockets->link, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int descriptor;

	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	serving->is_over = got <= 0;
	if (serving->is_over)
		return;
	descriptor = descriptor_of(&message);
	if (packet.kind == SERVE_TOTALS)
		take_totals(serving, &packet.totals);
	else if (packet.kind == SERVE_FILE)
		take_file(serving, &packet);
	else if (descriptor >= 0 && packet.kind == SERVE_WINDOW)
		take_window(serving, &packet, descriptor);
	else if (descriptor >= 0)
		take_profile(serving, &packet, descriptor);
}

/* ---- work -------------------------------------------------------------------------------------------------------- */

static void check_sums(struct serving *serving, uint64_t now_ns)
{
	struct serve_work *work = &serving->sums;
	enum serve_result result = work->pid ? serve_work_check(work, now_ns) : SERVE_WORKS;
	uint64_t length_ns = work->to_ns - work->from_ns;
	struct live_sums sums;

	if (result == SERVE_WORKS)
		return;
	window_took(&serving->choice, work->cpu_ns);
	/* What a child that was taken over has left behind may still write there. */
	sums = *work->sums;
	if (result == SERVE_GOOD && sums.span_ns <= length_ns && live_sums_make_sense(&sums)) {
		metrics_add_window(&serving->metrics, &sums);
		serving->metrics.unsummed_ns[UNSUMMED_UNTIMED] += length_ns - sums.span_ns;
	} else {
		serving->metrics.unsummed_ns[UNSUMMED_FAILED] += length_ns;
	}
	if (serving->next.log_fd >= 0)
		begin_window(serving, serving->next);
	serving->next.log_fd = -1;
}

static void check_profile(struct serving *serving, uint64_t now_ns)
{
	enum serve_result result = serving->profile.pid ? serve_work_check(&serving->profile, now_ns) : SERVE_WORKS;

	serving->metrics.profiles += result == SERVE_GOOD;
	serving->metrics.profiles_failed += result == SERVE_BAD;
}

/* ---- all of it --------------------------------------------------------------------------------------------------- */

static const char *answer_http(void *context, const struct http_request *request, struct sink *body)
{
	const struct serving *serving = context;

	if (!strcmp(request->path, "metrics"))
		metrics_put(&serving->metrics, body);
	else if (!*request->path)
		sink_literal(body, "gputrace serve: /metrics is for Prometheus\n");
	else
		return NULL;
	return "text/plain; version=0.0.4; charset=utf-8";
}

static void serve_event(struct serving *serving, int fd, int timer)
{
	struct asker *asker = find_item(serving->askers, ASKERS, item, item->fd == fd);
	uint64_t ticks;

	if (fd == serving->sockets->link)
		receive_packet(serving);
	else if (fd == serving->sockets->control)
		accept_asker(serving);
	else if (fd == timer)
		(void)!read(timer, &ticks, sizeof(ticks));
	else if (asker)
		receive_question(serving, asker);
}

/* What the recording has open is not for this process. */
static void close_others(const struct serve_sockets *sockets)
{
	const int kept[] = {sockets->link, sockets->control, server_descriptor(sockets->http)};
	int most = 2;

	for (unsigned i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		most = kept[i] > most ? kept[i] : most;
	for (int fd = 3; fd < most; fd++)
		if (!any_of(sizeof(kept) / sizeof(kept[0]), i, kept[i] == fd))
			close(fd);
	syscall(SYS_close_range, (unsigned)most + 1, ~0u, 0);
}

/* With too little memory it and its children go first; they have little, and the largest of them is a child. */
static void offer_memory(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, "1000", 4);
	close(fd);
}

/*
 * Signals to end are for the recording, which closes the link.  It gives up all rights: it listens to every user, and
 * its children read what programs wrote.
 */
static void become_server(const struct options *options)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "gputrace-serve");
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGUSR1, SIG_IGN);
	offer_memory();
	(void)confine_reader(options);
	if (!privileges_give_up())
		_exit(1);
	(void)call_filter_set();
}

static int open_timer(void)
{
	const struct itimerspec each_second = {.it_interval.tv_sec = 1, .it_value.tv_sec = 1};
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

	if (timer >= 0)
		(void)timerfd_settime(timer, 0, &each_second, NULL);
	return timer;
}

static void serve_all(struct serving *serving, int timer)
{
	const struct server_handler handler = {.context = serving, .for_all_users = true, .answer = answer_http};
	struct epoll_event event;

	while (!serving->is_over && server_run(serving->sockets->http, -1, serving->epoll, &handler) == 0) {
		uint64_t now_ns;

		if (epoll_wait(serving->epoll, &event, 1, 0) > 0)
			serve_event(serving, event.data.fd, timer);
		now_ns = monotonic_ns();
		check_sums(serving, now_ns);
		check_profile(serving, now_ns);
		end_late_askers(serving, now_ns);
	}
}

void serve_until_over(const struct options *options, const struct serve_sockets *sockets)
{
	struct serving *serving = xcalloc(1, sizeof(*serving));
	int timer;

	close_others(sockets);
	timer = open_timer();
	serving->options = options;
	serving->sockets = sockets;
	serving->next.log_fd = -1;
	serving->choice = (struct window_choice){.limit = options->sums_limit, .random = monotonic_ns()};
	serving->metrics.has_profiles = options->profiles != NULL;
	for (unsigned i = 0; i < ASKERS; i++)
		serving->askers[i].fd = -1;
	serving->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (serving->epoll < 0 || timer < 0 || serve_work_open(&serving->sums) || serve_work_open(&serving->profile) ||
	    !watch_descriptor(serving, sockets->link) || !watch_descriptor(serving, sockets->control) ||
	    !watch_descriptor(serving, timer))
		_exit(1);
	become_server(options);
	serve_all(serving, timer);
	for (unsigned i = 0; i < ASKERS; i++)
		if (serving->askers[i].fd >= 0 && serving->askers[i].request == CONTROL_STOP)
			answer_text(&serving->askers[i], true, "ended\n");
	_exit(0);
}
