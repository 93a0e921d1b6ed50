/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One thread reads the log, the main thread serves; neither parses the log with more rights than its user has. */
#include "cmd/commands.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/threads/thread.h"
#include "capture/signals.h"
#include "cmd/output/last_trace.h"
#include "cmd/process/destination.h"
#include "cmd/output/reading.h"
#include "input/foreign_trace.h"
#include "input/gpt/gpt_places.h"
#include "input/gpt/gpt_slice.h"
#include "input/gpt/gpt_trace.h"
#include "view/view.h"

/* A log of at least this many bytes (some 1.2 million launches with their kernels) is sampled: one part in SAMPLED_PART
 * is read in advance. */
#define SAMPLED_LEAST (8u << 20)
#define SAMPLED_PART 16u

struct viewing {
	const struct options *options;
	struct delivery delivery;
	struct view *view;
	int failed; /* readable: the log could not be read */
};

/* Becomes the user who called sudo, for good. */
static int drop_privileges(void)
{
	uid_t uid;
	gid_t gid;

	if (!destination_sudo_user(&uid, &gid))
		return 0;
	if (setgroups(0, NULL) < 0 || setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0)
		return -errno;
	return 0;
}

/* Reads one place of the log into the view; false: it could not be read. */
static bool sample_place(struct viewing *viewing, const struct gpt_place *place)
{
	const struct log_restriction wanted = gpt_restrict_to_place(place);
	const struct zoom_place shown = {.from_ns = place->from_ns, .to_ns = place->to_ns, .records = place->records};
	struct trace *trace;
	const char *why;
	int err = gpt_trace_open(viewing->delivery.log_fd, NULL, &wanted, &trace, &why);

	if (err)
		return false;
	err = zoom_sample(view_zoom(viewing->view), trace, -1, &shown);
	gpt_trace_close(trace);
	return !err;
}

/*
 * A long log takes about a second for every ten million launches before it shows anything, and more until all is there.
 * So places spread over it are read and shown first.  What fails here fails again when all is read, with a message.
 */
static void sample_log(struct viewing *viewing)
{
	struct zoom *zoom = view_zoom(viewing->view);
	struct gpt_places places;

	if (options_want_slice(viewing->options) || foreign_is(viewing->delivery.log_fd))
		return;
	if (gpt_places_find(viewing->delivery.log_fd, &places) && places.bytes >= SAMPLED_LEAST) {
		for (size_t i = 0; i < places.list.count; i++)
			zoom_expect_records(zoom, places.list.items[i].from_ns, places.list.items[i].to_ns,
					    places.list.items[i].records);
		gpt_places_choose(&places, places.bytes / SAMPLED_PART);
		for (size_t i = 0; i < places.chosen.count; i++) {
			if (!sample_place(viewing, &places.list.items[places.chosen.items[i]]))
				break;
			if (i + 1 == places.first)
				zoom_show_samples(zoom);
		}
	}
	gpt_places_free(&places);
}

static void *read_log(void *context)
{
	struct viewing *viewing = context;
	struct export_options options = {.process = -1, .attribution = viewing->options->attribution};
	struct reading reading;
	enum exit_code code;

	sample_log(viewing);
	code = reading_open(&reading, &viewing->delivery);
	if (!code) {
		int err = view_read(viewing->view, reading.trace, &options);

		if (err && err != -ECANCELED)
			code = reading_failed(&reading, err);
	}
	reading_close(&reading);
	if (code)
		eventfd_write(viewing->failed, 1);
	return NULL;
}

/* The log's index gives its time span before any record is read. */
static void expect_span(struct viewing *viewing)
{
	struct gpt_span span;

	if (!options_want_slice(viewing->options) && gpt_find_span(viewing->delivery.log_fd, &span))
		zoom_expect(view_zoom(viewing->view), span.start_ns, span.end_ns);
}

static bool has_failed(const struct viewing *viewing)
{
	struct pollfd polled = {.fd = viewing->failed, .events = POLLIN};

	return poll(&polled, 1, 0) > 0;
}

static enum exit_code serve_view(struct viewing *viewing, struct server *server, int signals)
{
	const struct server_handler handler = {.context = viewing->view, .answer = view_answer};
	int err;

	printf("http://127.0.0.1:%u/%s/\n", server_port(server), server_token(server));
	fflush(stdout);
	msg_info("open this address in a browser on this machine; Ctrl-C ends it");
	err = server_run(server, signals, viewing->failed, &handler);
	if (err)
		msg_error("view: %s", strerror(-err));
	return err || has_failed(viewing) ? EXIT_FAILED : EXIT_GOOD;
}

enum exit_code view_command(const struct options *options)
{
	struct viewing viewing = {.options = options,
				  .delivery = {.options = options,
					       .log_name = from_log_name(options->log),
					       .file = last_trace_word(options->log)}};
	enum exit_code code = EXIT_FAILED;
	struct server *server = NULL;
	pthread_t reader;
	sigset_t old;
	int signals, err;

	viewing.delivery.log_fd = from_log_open(options->log);
	if (viewing.delivery.log_fd < 0)
		return EXIT_FAILED;
	err = server_open(options->port, &server);
	if (err) {
		msg_error("view: port %u: %s: leave --port out to take any that is free", options->port,
			  strerror(-err));
		return EXIT_FAILED;
	}
	err = drop_privileges();
	if (err) {
		msg_error("view: cannot become the user who called sudo: %s", strerror(-err));
		return EXIT_FAILED;
	}
	signals = stop_signals_open(false, &old);
	viewing.failed = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	viewing.view = view_new(options->log);
	expect_span(&viewing);
	if (signals >= 0 && viewing.failed >= 0 && thread_start(read_log, &viewing, 0, &reader) == 0) {
		code = serve_view(&viewing, server, signals);
		server_close(server);
		view_stop(viewing.view);
		/* after Ctrl-C the user must not wait for the sums of a long log; the reader writes nothing */
		fflush(stdout);
		_exit(code);
	}
	msg_error("view: %s", strerror(errno));
	return code;
}
