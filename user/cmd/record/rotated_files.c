/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Called by the log's writer, whose messages are printed by the first thread. */
#include "cmd/record/rotated_files.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/msg.h"
#include "capture/cut.h"
#include "cmd/output/output.h"
#include "cmd/record/dated_file.h"

/* A file that goes on, and one that waits for its last records. */
#define OPEN_MOST 2

struct open_file {
	struct output output; /* path NULL: free */
	uint64_t start_ns;
	struct history_counts before; /* what was counted before it */
};

struct rotated_files {
	const char *path;
	struct history *history;
	struct open_file open[OPEN_MOST];
	struct open_file *latest; /* the last one that was opened */
	struct dated_files written;

	pthread_mutex_t lock;
	char *said; /* NULL: nothing */
};

struct rotated_files *rotated_files_new(const char *path, unsigned keep, struct history *history)
{
	struct rotated_files *files = xcalloc(1, sizeof(*files));

	pthread_mutex_init(&files->lock, NULL);
	files->path = path;
	files->written.keep = keep;
	files->history = history;
	return files;
}

void rotated_files_free(struct rotated_files *files)
{
	if (!files)
		return;
	dated_files_free(&files->written);
	pthread_mutex_destroy(&files->lock);
	free(files->said);
	free(files);
}

/* ---- messages -----------------------------------------------------------------------------------------------------
 */

/* Adds what was held to what the first thread prints; takes it over. */
static void keep_said(struct rotated_files *files, char *held)
{
	pthread_mutex_lock(&files->lock);
	if (held)
		files->said = files->said ? xjoin(files->said, "", held) : held;
	pthread_mutex_unlock(&files->lock);
}

static void say_full(void *context, int error)
{
	struct rotated_files *files = context;
	char *held = NULL;

	msg_hold(&held);
	msg_warn("%s: the log cannot be written (%s): nothing is recorded until it can be again", files->path,
		 output_error(error));
	msg_hold(NULL);
	keep_said(files, held);
}

/* It was written, and is lost. */
static void say_unnamed(struct rotated_files *files, const struct output *output, int error)
{
	char *held = NULL;

	msg_hold(&held);
	msg_error("%s: the log could not be given its name: %s: use another folder with -o", output->path,
		  output_error(error));
	msg_hold(NULL);
	keep_said(files, held);
}

static void say_room(void *context, const struct rotation_gap *gap)
{
	struct rotated_files *files = context;
	char *held = NULL;

	msg_hold(&held);
	msg_warn("%s: the log is written again, after %.1f s of which it has nothing: %llu records are lost",
		 files->path, (double)(gap->to_ns - gap->from_ns) / 1e9, (unsigned long long)gap->records);
	msg_hold(NULL);
	keep_said(files, held);
}

/* ---- files --------------------------------------------------------------------------------------------------------
 */

/* Counts are noted from then on. */
static bool has_begun(void *context)
{
	const struct rotated_files *files = context;

	return history_before(files->history, UINT64_MAX).at_ns != 0;
}

static int open_file(void *context)
{
	struct rotated_files *files = context;
	struct open_file *file = files->open[0].output.path ? &files->open[1] : &files->open[0];
	char *name = dated_file_name(files->path);
	int err = output_open(name, &file->output);

	free(name);
	file->start_ns = 0;
	file->before = (struct history_counts){0};
	files->latest = file;
	return err ? err : file->output.fd;
}

static void close_file(void *context, int fd, bool has_segments)
{
	struct rotated_files *files = context;
	struct open_file *first = &files->open[0];
	struct output *output = first->output.path && first->output.fd == fd ? &first->output : &files->open[1].output;
	int err = has_segments ? dated_file_commit(output) : 0;

	if (has_segments && !err)
		dated_files_add(&files->written, output->path);
	else if (err)
		say_unnamed(files, output, err);
	output_close(output);
}

/* ---- what a file's end says ---------------------------------------------------------------------------------------
 */

/* Subtracts what was counted before the file; of the first one nothing was. */
static void subtract_earlier(void *context, uint64_t start_ns, struct gpt_end *end)
{
	const struct rotated_files *files = context;

	for (unsigned i = 0; i < OPEN_MOST; i++)
		if (files->open[i].output.path && files->open[i].start_ns == start_ns)
			history_subtract(&files->open[i].before, end);
}

/* What was counted until the next file begins: from then on it counts there. */
static struct gpt_end *make_end(void *context, uint64_t start_ns, uint64_t end_ns)
{
	struct rotated_files *files = context;
	struct history_counts until = history_before(files->history, end_ns);
	size_t bytes = sizeof(struct gpt_end) + sizeof(until.counters);
	struct gpt_end *end = xcalloc(1, bytes);

	end->hdr = (struct gpt_record){.size = (uint32_t)bytes, .type = GPT_END};
	end->cpu_ns = until.cpu_ns;
	end->counters_count = GPT_COUNTER_COUNT;
	memcpy(end->counters, until.counters, sizeof(until.counters));
	subtract_earlier(files, start_ns, end);
	return end;
}

static int64_t begin_file(void *context, uint64_t start_ns)
{
	const struct rotated_files *files = context;

	files->latest->start_ns = start_ns;
	files->latest->before = history_before(files->history, start_ns);
	return files->latest->before.wall_offset_ns;
}

/* -------------------------------------------------------------------------------------------------------------------
 */

void rotated_files_print(struct rotated_files *files)
{
	char *said;

	pthread_mutex_lock(&files->lock);
	said = files->said;
	files->said = NULL;
	pthread_mutex_unlock(&files->lock);
	msg_print_held(said);
	free(said);
}

void rotated_files_say(const struct rotated_files *files)
{
	const struct dated_files *written = &files->written;
	size_t count = written->paths.count;

	if (!count)
		return;
	msg_info("%zu log%s, the first is %s: gputrace report %s is of the last", count, count == 1 ? "" : "s",
		 written->paths.items[0], written->paths.items[count - 1]);
}

struct rotation_options rotated_files_options(struct rotated_files *files, uint64_t bytes, uint64_t span_ns)
{
	return (struct rotation_options){.bytes = bytes,
					 .span_ns = span_ns,
					 .has_begun = has_begun,
					 .open = open_file,
					 .close = close_file,
					 .make_end = make_end,
					 .subtract = subtract_earlier,
					 .begin = begin_file,
					 .say_full = say_full,
					 .say_room = say_room,
					 .cut = cut_at,
					 .context = files};
}
