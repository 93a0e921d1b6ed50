/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which moments were asked for, what was counted before them, and the thread that writes. */
#include "capture/flight.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/array.h"
#include "base/msg.h"
#include "base/threads/thread.h"
#include "capture/asked.h"
#include "capture/cut.h"

#define SECOND_NS 1000000000ull

#define HOUR_NS (3600 * SECOND_NS)

/* Below the targets, whereas the thread that starts it is above them: what a file needs stays in memory meanwhile. */
#define WRITE_NICE 10

/* A file to be written. */
struct job {
	struct job *next;
	uint64_t span_ns;
	const struct flight_windows *window; /* it is one of these; NULL: a file */
	char why[FLIGHT_WHY_MAX];
	struct gpt_end *end;
	char *said; /* NULL: nothing */
};

struct jobs {
	struct job *first, **end;
};

struct flight {
	struct log_writer *log;
	struct flight_options options;
	struct history *history;
	uint64_t began_ns;
	struct asked_list asked;
	uint64_t by_itself_ns[FLIGHT_HOURLY_MOST]; /* the latest such moments, in turn; 0: none */
	uint64_t by_itself;
	uint64_t window_ns[FLIGHT_WINDOWS]; /* where the next one begins */
	bool started;
	pthread_t thread;

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t changed;
	struct jobs waiting, done;
	bool busy, stop;
	uint64_t needed_ns; /* where the first of the files that wait begins; UINT64_MAX: none waits */
	uint64_t left_out;  /* what happened and has no file, since the log before */
};

struct flight *flight_new(struct log_writer *log, const struct flight_options *options)
{
	struct flight *flight = xcalloc(1, sizeof(*flight));

	flight->log = log;
	flight->options = *options;
	if (!flight->options.hourly)
		flight->options.hourly = FLIGHT_HOURLY;
	flight->history = history_new(options->span_ns + FLIGHT_SPARE_NS);
	pthread_mutex_init(&flight->lock, NULL);
	pthread_cond_init(&flight->changed, NULL);
	flight->waiting.end = &flight->waiting.first;
	flight->done.end = &flight->done.first;
	flight->needed_ns = UINT64_MAX;
	return flight;
}

static void add_job(struct jobs *jobs, struct job *job)
{
	job->next = NULL;
	*jobs->end = job;
	jobs->end = &job->next;
}

static struct job *take_job(struct jobs *jobs)
{
	struct job *job = jobs->first;

	if (job)
		jobs->first = job->next;
	if (!jobs->first)
		jobs->end = &jobs->first;
	return job;
}

static void free_job(struct job *job)
{
	free(job->end);
	free(job->said);
	free(job);
}

void flight_free(struct flight *flight)
{
	struct job *job;

	if (!flight)
		return;
	pthread_mutex_lock(&flight->lock);
	flight->stop = true;
	pthread_cond_signal(&flight->changed);
	pthread_mutex_unlock(&flight->lock);
	if (flight->started)
		pthread_join(flight->thread, NULL);
	while ((job = take_job(&flight->waiting)))
		free_job(job);
	while ((job = take_job(&flight->done)))
		free_job(job);
	pthread_cond_destroy(&flight->changed);
	pthread_mutex_destroy(&flight->lock);
	history_free(flight->history);
	free(flight);
}

/* ---- the recording -------------------------------------------------------------------------------------------- */

void flight_begin(struct flight *flight, uint64_t start_ns)
{
	flight->began_ns = start_ns;
	for (unsigned i = 0; i < FLIGHT_WINDOWS; i++)
		flight->window_ns[i] = start_ns;
	asked_move(&flight->asked, start_ns);
}

void flight_note_counts(struct flight *flight, const struct history_counts *counts)
{
	history_note(flight->history, counts);
}

/* ---- a log ------------------------------------------------------------------------------------------------------- */

#define NOTE_MAX 480

static void add_to_note(char note[NOTE_MAX], const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_to_note(char note[NOTE_MAX], const char *format, ...)
{
	size_t length = strlen(note);
	va_list args;

	va_start(args, format);
	vsnprintf(note + length, NOTE_MAX - length, format, args);
	va_end(args);
}

/* The note that says what the log lacks. */
static void describe_log(struct flight *flight, const struct recent_log *recent, struct recent_writing *writing,
			 const struct gpt_end *end, uint64_t span_ns, char note[NOTE_MAX])
{
	uint64_t left_out;

	note[0] = '\0';
	pthread_mutex_lock(&flight->lock);
	left_out = flight->left_out;
	flight->left_out = 0;
	pthread_mutex_unlock(&flight->lock);
	if (writing->start_ns > flight->began_ns)
		add_to_note(
			note,
			"flight recorder: the last %.1f s are here; the %.1f s before that were recorded, and dropped "
			"on purpose",
			(double)(end->time_ns - writing->start_ns) / 1e9,
			(double)(writing->start_ns - flight->began_ns) / 1e9);
	if (*note && recent->since_ns + span_ns > end->time_ns)
		add_to_note(note, ": its memory has no room for more");
	if (recent->lasting.left_out)
		add_to_note(note, "; of these, %" PRIu64 " notes are missing, too", recent->lasting.left_out);
	if (left_out)
		add_to_note(note, "%s%" PRIu64 " files that no one asked for were not written: %u an hour are",
			    *note ? "; " : "flight recorder: ", left_out, flight->options.hourly);
	writing->note = *note ? note : NULL;
}

/* Finds when the log begins and what its end says. */
static void prepare_log(struct flight *flight, const struct recent_log *recent, struct recent_writing *writing,
			struct gpt_end *end, uint64_t span_ns)
{
	struct history_counts before;
	uint64_t start_ns = end->time_ns > span_ns ? end->time_ns - span_ns : 0;

	start_ns = start_ns > recent->since_ns ? start_ns : recent->since_ns;
	writing->start_ns = start_ns > flight->began_ns ? start_ns : flight->began_ns;
	if (end->time_ns < writing->start_ns)
		end->time_ns = writing->start_ns;
	before = history_before(flight->history, writing->start_ns);
	writing->wall_offset_ns = before.wall_offset_ns;
	if (writing->start_ns > flight->began_ns)
		history_subtract(&before, end);
}

static uint64_t start_of(const struct job *job)
{
	return job->end->time_ns > job->span_ns ? job->end->time_ns - job->span_ns : 0;
}

/* With the lock. */
static void need_since(struct flight *flight, uint64_t since_ns)
{
	flight->needed_ns = since_ns;
	log_writer_need_recent(flight->log, since_ns);
}

/* A file has taken what it needs. */
static void need_for_waiting(struct flight *flight)
{
	uint64_t since_ns = UINT64_MAX;

	pthread_mutex_lock(&flight->lock);
	for (const struct job *job = flight->waiting.first; job; job = job->next)
		since_ns = start_of(job) < since_ns ? start_of(job) : since_ns;
	need_since(flight, since_ns);
	pthread_mutex_unlock(&flight->lock);
}

static void write_job(struct flight *flight, const struct job *job)
{
	struct recent_writing writing = {.cut = cut_at};
	struct recent_log *recent;
	char note[NOTE_MAX];
	int error;

	/* An error of the log ends the recording, which says so. */
	recent = log_writer_take_recent(flight->log, &error);
	need_for_waiting(flight);
	prepare_log(flight, recent, &writing, job->end, job->span_ns);
	if (job->window) {
		writing.since_ns = writing.start_ns;
		job->window->take(flight->options.context, recent, &writing, job->end);
	} else {
		describe_log(flight, recent, &writing, job->end, job->span_ns, note);
		flight->options.write(flight->options.context, recent, &writing, job->end, job->why);
	}
	recent_log_free(recent);
}

static void *flight_main(void *context)
{
	struct flight *flight = context;
	struct job *job;

	(void)setpriority(PRIO_PROCESS, 0, WRITE_NICE); /* of this thread */
	pthread_mutex_lock(&flight->lock);
	for (;;) {
		while (!flight->waiting.first && !flight->stop)
			pthread_cond_wait(&flight->changed, &flight->lock);
		if (flight->stop)
			break;
		job = take_job(&flight->waiting);
		flight->busy = true;
		pthread_mutex_unlock(&flight->lock);
		msg_hold(&job->said);
		write_job(flight, job);
		msg_hold(NULL);
		pthread_mutex_lock(&flight->lock);
		flight->busy = false;
		add_job(&flight->done, job);
	}
	pthread_mutex_unlock(&flight->lock);
	return NULL;
}

/* Without a thread, as none could be started. */
static void write_waiting(struct flight *flight)
{
	struct job *job;

	while ((job = take_job(&flight->waiting))) {
		write_job(flight, job);
		free_job(job);
	}
}

/* ---- what is asked for ------------------------------------------------------------------------------------------- */

void flight_ask(struct flight *flight, uint64_t now_ns, const char *why)
{
	struct asked asked = {
		.at_ns = now_ns, .first_ns = now_ns, .moment_ns = now_ns, .span_ns = flight->options.span_ns};

	snprintf(asked.why, sizeof(asked.why), "%s", why);
	if (!asked_join(&flight->asked, &asked, flight->options.span_ns))
		asked_add(&flight->asked, &asked);
}

bool flight_ask_by_itself(struct flight *flight, uint64_t now_ns, const struct flight_event *event)
{
	uint64_t *oldest_ns = &flight->by_itself_ns[flight->by_itself % flight->options.hourly];
	uint64_t end_ns = event->end_ns > now_ns ? event->end_ns : now_ns, span_ns = end_ns - event->start_ns;
	struct asked asked = {.at_ns = end_ns, .first_ns = end_ns, .moment_ns = now_ns, .by_itself = true};

	asked.span_ns = span_ns < flight->options.span_ns ? span_ns : flight->options.span_ns;
	snprintf(asked.why, sizeof(asked.why), "%s", event->why);
	if (asked_join(&flight->asked, &asked, flight->options.span_ns))
		return true;
	if (*oldest_ns && now_ns - *oldest_ns < HOUR_NS) {
		pthread_mutex_lock(&flight->lock);
		flight->left_out++;
		pthread_mutex_unlock(&flight->lock);
		return false;
	}
	*oldest_ns = now_ns;
	flight->by_itself++;
	asked_add(&flight->asked, &asked);
	return true;
}

static bool is_due(uint64_t end_ns, uint64_t now_ns)
{
	return now_ns >= end_ns + FLIGHT_WAITS_NS;
}

/* Where the log of the next window ends. */
static uint64_t end_of_window(const struct flight *flight, unsigned window)
{
	return flight->window_ns[window] + flight->options.windows[window].length_ns + FLIGHT_AROUND_NS;
}

static bool window_is_due(const struct flight *flight, unsigned window, uint64_t now_ns)
{
	return flight->options.windows[window].length_ns && is_due(end_of_window(flight, window), now_ns);
}

bool flight_is_due(const struct flight *flight, uint64_t now_ns)
{
	return (flight->asked.count && is_due(flight->asked.items[0].at_ns, now_ns)) ||
	       any_of(FLIGHT_WINDOWS, i, window_is_due(flight, i, now_ns));
}

/* end: with the counts until now. */
static struct job *make_job(uint64_t end_ns, uint64_t span_ns, const char *why, const struct gpt_end *end)
{
	struct job *job = xcalloc(1, sizeof(*job));

	job->end = xmalloc(end->hdr.size);
	memcpy(job->end, end, end->hdr.size);
	job->span_ns = span_ns;
	snprintf(job->why, sizeof(job->why), "%s", why);
	job->end->time_ns = end_ns;
	job->end->reason = GPT_END_WRITTEN;
	job->end->ring_bytes = job->end->ring_bytes_max = 0; /* known at the end */
	return job;
}

static struct job *asked_job(const struct asked *asked, const struct gpt_end *end)
{
	return make_job(asked->at_ns, asked->span_ns, asked->why, end);
}

static void hand_over(struct flight *flight, struct job *job)
{
	pthread_mutex_lock(&flight->lock);
	add_job(&flight->waiting, job);
	need_since(flight, start_of(job) < flight->needed_ns ? start_of(job) : flight->needed_ns);
	pthread_cond_signal(&flight->changed);
	pthread_mutex_unlock(&flight->lock);
}

static void start_writing(struct flight *flight)
{
	if (flight->started || !flight->waiting.first)
		return;
	flight->started = thread_start(flight_main, flight, 0, &flight->thread) == 0;
	if (!flight->started)
		write_waiting(flight);
}

static void hand_over_windows(struct flight *flight, uint64_t now_ns, const struct gpt_end *end)
{
	for (unsigned i = 0; i < FLIGHT_WINDOWS; i++) {
		const struct flight_windows *window = &flight->options.windows[i];
		uint64_t span_ns = window->length_ns + 2 * FLIGHT_AROUND_NS;

		for (; window_is_due(flight, i, now_ns); flight->window_ns[i] += window->length_ns) {
			struct job *job = make_job(end_of_window(flight, i), span_ns, "", end);

			job->window = window;
			hand_over(flight, job);
		}
	}
}

void flight_look(struct flight *flight, uint64_t since_ns, uint64_t now_ns, const struct gpt_end *end)
{
	struct job *job = make_job(now_ns, now_ns - since_ns, "", end);

	job->window = &flight->options.look;
	hand_over(flight, job);
	start_writing(flight);
}

void flight_write_due(struct flight *flight, uint64_t now_ns, const struct gpt_end *end)
{
	unsigned due = 0;

	while (due < flight->asked.count && is_due(flight->asked.items[due].at_ns, now_ns))
		hand_over(flight, asked_job(&flight->asked.items[due++], end));
	asked_remove(&flight->asked, due);
	hand_over_windows(flight, now_ns, end);
	start_writing(flight);
}

void flight_write_last(struct flight *flight, const struct gpt_end *end)
{
	for (unsigned i = 0; i < flight->asked.count; i++)
		if (!flight->asked.items[i].by_itself)
			hand_over(flight, asked_job(&flight->asked.items[i], end));
	asked_remove(&flight->asked, flight->asked.count);
	start_writing(flight);
}

void flight_print(struct flight *flight)
{
	struct job *job;

	do {
		pthread_mutex_lock(&flight->lock);
		job = take_job(&flight->done);
		pthread_mutex_unlock(&flight->lock);
		if (!job)
			return;
		msg_print_held(job->said);
		free_job(job);
	} while (true);
}

bool flight_is_idle(struct flight *flight)
{
	bool is_idle;

	pthread_mutex_lock(&flight->lock);
	is_idle = !flight->started || (!flight->waiting.first && !flight->busy);
	pthread_mutex_unlock(&flight->lock);
	return is_idle;
}

int flight_finish(struct flight *flight, int fd, struct gpt_end *end)
{
	struct recent_writing writing = {0}; /* the drain has cut what comes after the end */
	struct recent_log *recent;
	char note[NOTE_MAX];
	int error, written;

	recent = log_writer_take_recent(flight->log, &error);
	if (error)
		end->reason = GPT_END_DISK;
	prepare_log(flight, recent, &writing, end, flight->options.span_ns);
	describe_log(flight, recent, &writing, end, flight->options.span_ns, note);
	written = recent_log_write(recent, fd, &writing, end);
	recent_log_free(recent);
	return error ? error : written;
}
