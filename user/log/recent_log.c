/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps segments, drops old ones and what of them has to stay. */
#include "log/recent_log.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct kept_segment {
	atomic_uint holders; /* the list of what is kept, and each struct recent_log */
	uint8_t *bytes;	     /* as in a file, with its padding */
	size_t size, header_size;
	struct appended appended;
	struct lasting lasting;
};

struct recent_segments {
	uint64_t keep_ns, bytes_max;

	pthread_mutex_t lock; /* guards what follows */
	ARRAY(struct kept_segment *) list;
	uint64_t bytes;
	uint64_t since_ns;	/* after the last record that was dropped; 0: none was */
	struct lasting lasting; /* of those that were dropped */
	uint64_t needed_ns;	/* a file that waits begins then; UINT64_MAX: none waits */
};

struct recent_segments *recent_segments_new(uint64_t keep_ns, uint64_t bytes)
{
	struct recent_segments *recent = xcalloc(1, sizeof(*recent));

	pthread_mutex_init(&recent->lock, NULL);
	recent->keep_ns = keep_ns;
	recent->bytes_max = bytes;
	recent->needed_ns = UINT64_MAX;
	return recent;
}

/* ---- segments ---------------------------------------------------------------------------------------------------- */

/* Each has pages of its own: what is dropped goes back to the system, whatever the sizes are. */
static struct kept_segment *make_kept(const struct segment *segment, struct appended appended)
{
	struct kept_segment *kept = xcalloc(1, sizeof(*kept));

	kept->bytes = mmap(NULL, segment->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (kept->bytes == MAP_FAILED) {
		free(kept);
		return NULL;
	}
	memcpy(kept->bytes, segment->bytes, segment->size);
	kept->size = segment->size;
	kept->header_size = segment->header_size;
	kept->appended = appended;
	atomic_init(&kept->holders, 1);
	return kept;
}

static void release_kept(struct kept_segment *kept)
{
	if (atomic_fetch_sub(&kept->holders, 1) > 1)
		return;
	munmap(kept->bytes, kept->size);
	lasting_free(&kept->lasting);
	free(kept);
}

static uint64_t cost_of(const struct kept_segment *kept)
{
	return kept->size + kept->lasting.count + sizeof(*kept);
}

/* ---- dropping ---------------------------------------------------------------------------------------------------- */

/* For its age, or for a file that waits. */
static bool has_to_stay(const struct recent_segments *recent, const struct kept_segment *kept, uint64_t now_ns)
{
	return now_ns - kept->appended.last_ns <= recent->keep_ns || kept->appended.last_ns >= recent->needed_ns;
}

static void drop_old(struct recent_segments *recent, uint64_t now_ns)
{
	size_t old = 0;

	for (; old + 1 < recent->list.count; old++) {
		struct kept_segment *kept = recent->list.items[old];

		if (has_to_stay(recent, kept, now_ns) && recent->bytes <= recent->bytes_max)
			break;
		recent->since_ns = kept->appended.last_ns + 1;
		recent->bytes -= cost_of(kept);
		lasting_add(&recent->lasting, kept->lasting.bytes, kept->lasting.count);
		release_kept(kept);
	}
	recent->list.count -= old;
	memmove(recent->list.items, recent->list.items + old, recent->list.count * sizeof(recent->list.items[0]));
}

int recent_segments_add(struct recent_segments *recent, const struct segment *segment, const uint8_t *records,
			size_t bytes, struct appended appended)
{
	struct kept_segment *kept = make_kept(segment, appended);

	if (!kept)
		return -ENOMEM;
	lasting_add(&kept->lasting, records, bytes);
	pthread_mutex_lock(&recent->lock);
	array_push(&recent->list, kept);
	recent->bytes += cost_of(kept);
	drop_old(recent, appended.last_ns);
	pthread_mutex_unlock(&recent->lock);
	return 0;
}

void recent_segments_need(struct recent_segments *recent, uint64_t since_ns)
{
	pthread_mutex_lock(&recent->lock);
	recent->needed_ns = since_ns;
	pthread_mutex_unlock(&recent->lock);
}

void recent_segments_free(struct recent_segments *recent)
{
	if (!recent)
		return;
	for (size_t i = 0; i < recent->list.count; i++)
		release_kept(recent->list.items[i]);
	array_free(&recent->list);
	lasting_free(&recent->lasting);
	pthread_mutex_destroy(&recent->lock);
	free(recent);
}

/* ---- taking ------------------------------------------------------------------------------------------------------ */

struct recent_log *recent_segments_take(struct recent_segments *recent)
{
	struct recent_log *log = xcalloc(1, sizeof(*log));

	pthread_mutex_lock(&recent->lock);
	for (size_t i = 0; i < recent->list.count; i++) {
		atomic_fetch_add(&recent->list.items[i]->holders, 1);
		array_push(&log->segments, recent->list.items[i]);
	}
	log->bytes = recent->bytes;
	log->since_ns = recent->since_ns;
	log->lasting = lasting_copy(&recent->lasting);
	pthread_mutex_unlock(&recent->lock);
	return log;
}

void recent_log_free(struct recent_log *log)
{
	if (!log)
		return;
	for (size_t i = 0; i < log->segments.count; i++)
		release_kept(log->segments.items[i]);
	array_free(&log->segments);
	lasting_free(&log->lasting);
	free(log);
}

/* The first segment that is written; never none. */
static size_t leave_out_old(const struct recent_log *log, uint64_t since_ns, struct lasting *lasting)
{
	size_t first = 0;

	for (; first + 1 < log->segments.count && log->segments.items[first]->appended.last_ns < since_ns; first++) {
		const struct kept_segment *kept = log->segments.items[first];

		lasting_add(lasting, kept->lasting.bytes, kept->lasting.count);
	}
	return first;
}

int recent_log_write(const struct recent_log *log, int fd, const struct recent_writing *writing, struct gpt_end *end)
{
	struct lasting lasting = lasting_copy(&log->lasting);
	const struct part_begin begin = {
		.start_ns = writing->start_ns, .wall_offset_ns = writing->wall_offset_ns, .lasting = &lasting};
	struct part *part = part_new(fd, &begin);
	size_t first = leave_out_old(log, writing->since_ns, &lasting);
	int err = 0;

	for (size_t i = first; i < log->segments.count && !err; i++) {
		const struct kept_segment *kept = log->segments.items[i];
		const struct segment segment = {
			.bytes = kept->bytes, .size = kept->size, .header_size = kept->header_size};

		err = part_append(part, &segment, kept->appended, end->time_ns, writing->cut);
	}
	err = part_finish(part, writing->note, end, err);
	part_free(part);
	lasting_free(&lasting);
	return err;
}
