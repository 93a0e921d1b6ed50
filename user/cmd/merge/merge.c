/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads all logs for what must be known of all, then prints it; files take another round. */
#include "cmd/commands.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/analyze.h"
#include "analyze/ranks/collective_split.h"
#include "analyze/ranks/rank_lines.h"
#include "analyze/ranks/rank_steps.h"
#include "base/threads/thread.h"
#include "base/threads/workers.h"
#include "cmd/process/interrupt.h"
#include "cmd/merge/merge_dumps.h"
#include "cmd/merge/merge_logs.h"
#include "cmd/options/nearest.h"
#include "cmd/output/outputs.h"
#include "cmd/process/print.h"
#include "cmd/output/reading.h"
#include "report/ranks/ranks.h"
#include "report/table/text.h"

/* Identifies a log's file. */
struct identity {
	dev_t device;
	ino_t inode;
};

/* What is known of all logs. */
struct job {
	struct ranks ranks;
	ARRAY(struct collective_kernels) kernels; /* by ranks.logs */
	struct collective_split split;
	struct rank_steps steps;
	struct rank_lines lines;
	bool is_compared; /* steps and lines are made */
};

static void job_free(struct job *job)
{
	collective_split_free(&job->split);
	if (job->is_compared) {
		rank_steps_free(&job->steps);
		rank_lines_free(&job->lines);
	}
	for (size_t i = 0; i < job->kernels.count; i++)
		collective_kernels_free(&job->kernels.items[i]);
	array_free(&job->kernels);
	ranks_free(&job->ranks);
}

/* A log while it is read. */
struct opened_log {
	int fd; /* -1: it cannot be read */
	char *said;
	struct delivery delivery;
	struct reading reading;
	bool is_analyzed;
	struct analyses all;
};

static void opened_log_free(struct opened_log *log)
{
	if (log->is_analyzed)
		analyses_free(&log->all);
	if (log->fd >= 0) {
		reading_close(&log->reading);
		close(log->fd);
	}
	free(log->said);
}

/* Takes over what was found in a log. */
static void keep_log(struct job *job, const char *name, const struct steps *steps, struct analyses *all)
{
	ranks_add_log(&job->ranks, name, all->model, &all->arrivals);
	ranks_add_breakdown(&job->ranks, &all->breakdown, window_timed_ns(&all->window));
	ranks_add_work(&job->ranks, all, steps);
	array_push(&job->kernels, all->collective_kernels);
	all->collective_kernels = (struct collective_kernels){0};
}

static enum exit_code analyze_log(const struct options *options, const char *name, struct opened_log *log)
{
	const struct analyze_options wanted = {.comm_names = &options->comm_kernels};
	struct analyses *all = &log->all;
	enum exit_code code;
	int err;

	log->delivery = (struct delivery){
		.options = options, .log_name = from_log_name(name), .log_fd = log->fd, .skip = SIZE_MAX};
	code = reading_open(&log->reading, &log->delivery);
	if (code)
		return code;
	log->is_analyzed = true;
	err = analyze_with(all, log->reading.trace,
			   ANALYSES(ANALYZE_ARRIVALS, ANALYZE_BREAKDOWN, ANALYZE_COLLECTIVE_KERNELS, ANALYZE_IDLE,
				    ANALYZE_UNTIMED, ANALYZE_WHY, ANALYZE_PER_STEP),
			   &wanted);
	if (err)
		return reading_failed(&log->reading, err);
	if (model_completeness(all->model) < MODEL_COMPLETE - model_is_foreign(all->model))
		msg_warn("%s is %s %% complete", log->delivery.log_name,
			 number_thousandths(model_completeness(all->model)).text);
	return EXIT_GOOD;
}

/* Whether files[count] is one of the files before it, also under another name. */
static bool is_there_twice(const struct options *options, const struct identity *files, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (files[i].device == files[count].device && files[i].inode == files[count].inode) {
			msg_error("%s and %s are the same file: name each log once", options->logs.list.items[i],
				  options->logs.list.items[count]);
			return true;
		}
	return false;
}

/*
 * Logs that are read, two at once if there are two processors: each is read by one thread, with help of the worker
 * threads (base/threads/workers.h), which leaves a processor idle most of the time if a log is short.  What was found
 * is kept, and what was said is printed, in the order of the logs.
 */
struct log_queue {
	const struct options *options;
	struct job *job;
	struct identity *files;
	pthread_mutex_t lock; /* guards job, files, and what follows */
	pthread_cond_t turned;
	size_t opened, kept; /* logs so far */
	enum exit_code code; /* of the first log that failed */
};

/* Under the lock: the descriptor, or -1 if a message has said why the log is not read. */
static int open_next(struct log_queue *queue, size_t log)
{
	int fd = from_log_open(queue->options->logs.list.items[log]);
	struct stat stat;

	if (fd < 0)
		return -1;
	if (!fstat(fd, &stat)) {
		queue->files[log] = (struct identity){stat.st_dev, stat.st_ino};
		if (!is_there_twice(queue->options, queue->files, log))
			return fd;
	}
	close(fd);
	return -1;
}

/* Under the lock, which is released while the log is read. */
static void read_next(struct log_queue *queue)
{
	size_t log = queue->opened++;
	const char *name = queue->options->logs.list.items[log];
	struct opened_log *opened = xcalloc(1, sizeof(*opened));
	enum exit_code code = EXIT_FAILED;

	msg_hold(&opened->said);
	opened->fd = open_next(queue, log);
	pthread_mutex_unlock(&queue->lock);
	if (opened->fd >= 0)
		code = analyze_log(queue->options, name, opened);
	msg_hold(NULL);
	pthread_mutex_lock(&queue->lock);
	while (queue->kept != log)
		pthread_cond_wait(&queue->turned, &queue->lock);
	if (!queue->code) {
		msg_print_held(opened->said);
		queue->code = code;
		if (!code)
			keep_log(queue->job, name, &opened->reading.steps, &opened->all);
	}
	queue->kept++;
	pthread_cond_broadcast(&queue->turned);
	pthread_mutex_unlock(&queue->lock);
	opened_log_free(opened);
	free(opened);
	pthread_mutex_lock(&queue->lock);
}

static void *read_all(void *context)
{
	struct log_queue *queue = context;

	pthread_mutex_lock(&queue->lock);
	while (queue->opened < queue->options->logs.list.count && !queue->code)
		read_next(queue);
	pthread_mutex_unlock(&queue->lock);
	return NULL;
}

static enum exit_code read_logs(const struct options *options, struct job *job)
{
	struct log_queue queue = {.options = options,
				  .job = job,
				  .files = xcalloc(options->logs.list.count, sizeof(*queue.files)),
				  .lock = PTHREAD_MUTEX_INITIALIZER,
				  .turned = PTHREAD_COND_INITIALIZER};
	pthread_t second;
	bool has_second =
		workers_count() && options->logs.list.count > 1 && !thread_start(read_all, &queue, 0, &second);

	read_all(&queue);
	if (has_second)
		pthread_join(second, NULL);
	free(queue.files);
	return queue.code;
}

struct print_request {
	const struct job *job;
	const struct options *options;
	char **tables;
};

static int print_merged(FILE *out, const struct screen *screen, void *context)
{
	const struct print_request *request = context;
	const struct job *job = request->job;
	const struct report_job shown = {.ranks = &job->ranks,
					 .split = &job->split,
					 .steps = &job->steps,
					 .lines = &job->lines,
					 .is_whole = request->options->whole_report};

	return report_write_ranks(
		out, &shown,
		&(struct report_options){.width = screen->width,
					 .truncates = screen->is_terminal,
					 .color = screen->has_color,
					 .format = request->options->report_format,
					 .table = request->options->report_table,
					 .lines = screen->is_terminal && !shown.is_whole ? REPORT_LINES : 0,
					 .tables = request->tables});
}

static int print_ranks(const struct job *job, const struct options *options)
{
	char *tables = NULL;
	int err = print_on_stdout(print_merged, &(struct print_request){job, options, &tables});

	if (tables)
		msg_error("--table %s: not in this report, which has: %s%s", options->report_table, tables,
			  nearest_question(options->report_table, tables).text);
	free(tables);
	return err;
}

static enum exit_code merge_ranks(const struct options *options, struct job *job)
{
	char *why = ranks_align(&job->ranks, options->unaligned);
	int err, written;

	if (!why)
		why = ranks_compare(&job->ranks);
	if (why) {
		msg_error("%s", why);
		free(why);
		return EXIT_FAILED;
	}
	collective_split_make(&job->split, &job->ranks, job->kernels.items);
	rank_steps_make(&job->steps, &job->ranks);
	rank_lines_make(&job->lines, &job->ranks);
	job->is_compared = true;
	err = print_ranks(job, options);
	written = is_interrupted() ? -ECANCELED : merge_write_files(options, &job->ranks, &job->split);
	return err || written ? EXIT_FAILED : EXIT_GOOD;
}

enum exit_code merge_command(const struct options *options)
{
	struct job job = {0};
	enum exit_code code;

	if (merge_is_of_dumps(options))
		return merge_dumps(options);
	interrupt_watch();
	code = outputs_check(options) ? EXIT_FAILED : read_logs(options, &job);
	if (!code)
		code = merge_ranks(options, &job);
	job_free(&job);
	return code;
}
