/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which files are open, and what was not written. */
#include "log/rotation.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/log.h>

#include "base/array.h"
#include "base/error_text.h"
#include "log/lasting.h"

#define NOTE_MAX 480

struct open_file {
	struct part *part; /* NULL: there is none */
	int fd;
	uint64_t start_ns, end_ns; /* end_ns UINT64_MAX: it goes on */
	bool has_segments;
	char note[NOTE_MAX]; /* "": none */
};

struct rotation {
	struct rotation_options options;
	pthread_mutex_t lock; /* rotation_set_start against the rest */
	uint64_t start_ns;    /* of the recording */
	int64_t wall_offset_ns;
	bool has_begun;		      /* a file has */
	struct open_file now, before; /* before: has ended, and waits */
	struct lasting lasting;	      /* of the segments so far */
	uint64_t appended_ns;	      /* when the last segment ended */
	uint32_t shared_below;	      /* the number after that of the last segment of `before` */
	bool is_full;
	struct rotation_gap gap; /* of now, or of the file that is being ended */
};

struct rotation *rotation_new(const struct rotation_options *options)
{
	struct rotation *rotation = xcalloc(1, sizeof(*rotation));

	pthread_mutex_init(&rotation->lock, NULL);
	rotation->options = *options;
	return rotation;
}

int rotation_set_start(struct rotation *rotation, uint64_t start_ns, int64_t wall_offset_ns)
{
	int err = 0;

	pthread_mutex_lock(&rotation->lock);
	if (rotation->now.part && rotation->now.start_ns == rotation->start_ns) {
		rotation->now.start_ns = start_ns;
		err = part_set_start(rotation->now.part, start_ns, wall_offset_ns);
	}
	rotation->start_ns = start_ns;
	rotation->wall_offset_ns = wall_offset_ns;
	pthread_mutex_unlock(&rotation->lock);
	return err;
}

static void add_to_note(struct open_file *file, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add_to_note(struct open_file *file, const char *format, ...)
{
	size_t length = strlen(file->note);
	va_list args;

	va_start(args, format);
	vsnprintf(file->note + length, NOTE_MAX - length, format, args);
	va_end(args);
}

/* error: what ended it before its time, or 0. */
static int end_file(struct rotation *rotation, struct open_file *file, struct gpt_end *end, int error)
{
	error = part_finish(file->part, *file->note ? file->note : NULL, end, error);
	rotation->gap.records += part_dropped(file->part);
	part_free(file->part);
	rotation->options.close(rotation->options.context, file->fd, file->has_segments);
	*file = (struct open_file){0};
	return error;
}

static void end_by_itself(struct rotation *rotation, struct open_file *file, uint64_t end_ns, int error)
{
	struct gpt_end *end = rotation->options.make_end(rotation->options.context, file->start_ns, end_ns);

	end->time_ns = end_ns;
	end->reason = GPT_END_WRITTEN;
	end_file(rotation, file, end, error);
	free(end);
}

/* Of a recording that never began; else rotation_finish has ended it. */
static void drop_file(const struct rotation *rotation, const struct open_file *file)
{
	if (!file->part)
		return;
	part_free(file->part);
	rotation->options.close(rotation->options.context, file->fd, false);
}

void rotation_free(struct rotation *rotation)
{
	if (!rotation)
		return;
	drop_file(rotation, &rotation->before);
	drop_file(rotation, &rotation->now);
	lasting_free(&rotation->lasting);
	pthread_mutex_destroy(&rotation->lock);
	free(rotation);
}

/* ---- a full disk --------------------------------------------------------------------------------------------------
 */

static void count_gap(struct rotation *rotation, const struct segment *segment, int error)
{
	const struct gpt_log_segment *header = (const struct gpt_log_segment *)segment->bytes;

	if (!rotation->is_full) {
		rotation->gap.from_ns =
			rotation->appended_ns > rotation->start_ns ? rotation->appended_ns : rotation->start_ns;
		rotation->gap.error = error;
		rotation->options.say_full(rotation->options.context, error);
	}
	rotation->is_full = true;
	rotation->gap.records += header->records - header->repeated;
}

/* The first segment after it is in the file. */
static void end_gap(struct rotation *rotation)
{
	struct rotation_gap *gap = &rotation->gap;

	gap->to_ns = rotation->now.start_ns > gap->from_ns ? rotation->now.start_ns : gap->from_ns;
	add_to_note(&rotation->now,
		    "%sbefore this log nothing could be written for %.1f s: %s: %" PRIu64 " records are lost",
		    *rotation->now.note ? "; " : "", (double)(gap->to_ns - gap->from_ns) / 1e9, error_text(gap->error),
		    gap->records);
	rotation->options.say_room(rotation->options.context, gap);
	rotation->is_full = false;
	*gap = (struct rotation_gap){0};
}

/* ---- the files ----------------------------------------------------------------------------------------------------
 */

/* It begins where the segment before ended; the first one of the recording with that. */
static int begin_file(struct rotation *rotation)
{
	const struct rotation_options *options = &rotation->options;
	struct open_file *file = &rotation->now;
	struct part_begin begin = {.start_ns = rotation->start_ns,
				   .wall_offset_ns = rotation->wall_offset_ns,
				   .lasting = &rotation->lasting};
	int fd = options->open(options->context);

	if (fd < 0)
		return fd;
	if ((rotation->has_begun || rotation->is_full) && options->has_begun(options->context)) {
		begin.start_ns =
			rotation->appended_ns > rotation->start_ns ? rotation->appended_ns : rotation->start_ns;
		begin.wall_offset_ns = options->begin(options->context, begin.start_ns);
	}
	rotation->has_begun = true;
	*file = (struct open_file){
		.part = part_new(fd, &begin), .fd = fd, .start_ns = begin.start_ns, .end_ns = UINT64_MAX};
	if (rotation->lasting.left_out)
		add_to_note(file, "%" PRIu64 " notes and lines from before this log are missing: there are too many",
			    rotation->lasting.left_out);
	return 0;
}

static int append_to(struct rotation *rotation, struct open_file *file, const struct segment *segment,
		     struct appended appended)
{
	int err = part_append(file->part, segment, appended, file->end_ns, rotation->options.cut);

	file->has_segments |= !err;
	return err;
}

static void add_to_file_before(struct rotation *rotation, const struct segment *segment, struct appended appended)
{
	struct open_file *before = &rotation->before;
	int err = part_set_continued(before->part);

	if (!err)
		err = append_to(rotation, before, segment, appended);
	if (!err)
		rotation->shared_below = ((const struct gpt_log_segment *)segment->bytes)->sequence + 1;
	if (err || appended.last_ns - before->end_ns >= ROTATION_WAITS_NS)
		end_by_itself(rotation, before, before->end_ns, err);
}

static void add_to_file(struct rotation *rotation, const struct segment *segment, struct appended appended)
{
	int err = rotation->now.part ? 0 : begin_file(rotation);

	if (!err)
		err = part_set_shared(rotation->now.part, rotation->shared_below);
	if (!err)
		err = append_to(rotation, &rotation->now, segment, appended);
	if (err && rotation->now.part)
		end_by_itself(rotation, &rotation->now, rotation->appended_ns, err);
	if (err)
		count_gap(rotation, segment, err);
	else if (rotation->is_full)
		end_gap(rotation);
}

/* Not during set-up, nor while the file before it still waits: that would end without what is late. */
static bool is_over(const struct rotation *rotation, uint64_t now_ns)
{
	const struct rotation_options *options = &rotation->options;
	const struct open_file *now = &rotation->now;

	return now->part && !rotation->before.part && options->has_begun(options->context) &&
	       ((options->bytes && part_bytes(now->part) >= options->bytes) ||
		(options->span_ns && now_ns - now->start_ns >= options->span_ns));
}

static void rotate_file(struct rotation *rotation)
{
	rotation->before = rotation->now;
	rotation->before.end_ns = rotation->appended_ns;
	rotation->now = (struct open_file){0};
}

void rotation_add(struct rotation *rotation, const struct segment *segment, const uint8_t *records, size_t bytes,
		  struct appended appended)
{
	pthread_mutex_lock(&rotation->lock);
	if (rotation->before.part)
		add_to_file_before(rotation, segment, appended);
	add_to_file(rotation, segment, appended);
	lasting_add(&rotation->lasting, records, bytes);
	rotation->appended_ns = appended.last_ns;
	if (is_over(rotation, appended.last_ns))
		rotate_file(rotation);
	pthread_mutex_unlock(&rotation->lock);
}

int rotation_finish(struct rotation *rotation, struct gpt_end *end)
{
	if (rotation->before.part)
		end_by_itself(rotation, &rotation->before, rotation->before.end_ns, 0);
	if (!rotation->now.part)
		return rotation->is_full ? rotation->gap.error : 0;
	if (rotation->now.start_ns != rotation->start_ns)
		rotation->options.subtract(rotation->options.context, rotation->now.start_ns, end);
	return end_file(rotation, &rotation->now, end, 0);
}
