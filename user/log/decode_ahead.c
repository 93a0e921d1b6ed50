/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A ring of segments, and the threads that decode them. */
#include "log/decode_ahead.h"

#include <sched.h>
#include <string.h>

#include "base/thread.h"

/* Under way at once, unless one alone is larger. */
#define BYTES_MAX (128u << 20)

static unsigned count_processors(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set))
		return 1;
	return (unsigned)CPU_COUNT(&set);
}

void decode_ahead_use(struct decode_ahead *ahead, unsigned threads)
{
	ahead->threads = threads < DECODE_THREADS_MAX ? threads : DECODE_THREADS_MAX;
}

void decode_ahead_open(struct decode_ahead *ahead, const struct schema *schema)
{
	memset(ahead, 0, sizeof(*ahead));
	decode_ahead_use(ahead, count_processors());
	ahead->schema = schema;
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_cond_init(&ahead->put, NULL);
	pthread_cond_init(&ahead->ended, NULL);
}

void decode_ahead_close(struct decode_ahead *ahead)
{
	pthread_mutex_lock(&ahead->lock);
	ahead->stop = true;
	pthread_cond_broadcast(&ahead->put);
	pthread_mutex_unlock(&ahead->lock);
	for (unsigned i = 0; i < ahead->helper_count; i++)
		pthread_join(ahead->helpers[i], NULL);
	for (unsigned i = 0; i < DECODE_AHEAD_MAX; i++)
		log_segment_free(&ahead->slots[i].segment);
	log_decoder_free(&ahead->own);
	pthread_cond_destroy(&ahead->ended);
	pthread_cond_destroy(&ahead->put);
	pthread_mutex_destroy(&ahead->lock);
}

static struct decode_slot *slot_at(struct decode_ahead *ahead, unsigned place)
{
	return &ahead->slots[(ahead->first + place) % DECODE_AHEAD_MAX];
}

/* Under the lock: the oldest that nobody decodes yet, now taken; NULL: none. */
static struct decode_slot *take(struct decode_ahead *ahead)
{
	for (unsigned i = 0; i < ahead->count; i++) {
		struct decode_slot *slot = slot_at(ahead, i);

		if (slot->state == DECODE_WAITS) {
			slot->state = DECODE_RUNS;
			return slot;
		}
	}
	return NULL;
}

/* Under the lock, which is let go meanwhile. */
static void decode(struct decode_ahead *ahead, struct decode_slot *slot, struct log_decoder *decoder)
{
	pthread_mutex_unlock(&ahead->lock);
	slot->error = log_segment_decode(&slot->segment, decoder, ahead->schema);
	pthread_mutex_lock(&ahead->lock);
	slot->state = DECODE_ENDED;
	pthread_cond_signal(&ahead->ended);
}

static void *help(void *context)
{
	struct decode_ahead *ahead = context;
	struct log_decoder decoder = {0};

	pthread_mutex_lock(&ahead->lock);
	while (!ahead->stop) {
		struct decode_slot *slot = take(ahead);

		if (slot)
			decode(ahead, slot, &decoder);
		else
			pthread_cond_wait(&ahead->put, &ahead->lock);
	}
	pthread_mutex_unlock(&ahead->lock);
	log_decoder_free(&decoder);
	return NULL;
}

static uint64_t bytes_of(const struct log_segment *segment)
{
	return (uint64_t)segment->header.record_bytes + segment->header.packed_bytes + segment->header.body_bytes;
}

struct log_segment *decode_ahead_room(struct decode_ahead *ahead)
{
	/* The oldest is the caller's, who looks at it while the helpers decode one each; one more waits for them. */
	if (ahead->count >= (ahead->threads == 1 ? 1 : ahead->threads + 1) || ahead->bytes > BYTES_MAX)
		return NULL;
	return &slot_at(ahead, ahead->count)->segment;
}

void decode_ahead_put(struct decode_ahead *ahead)
{
	struct decode_slot *slot = slot_at(ahead, ahead->count);

	slot->bytes = bytes_of(&slot->segment);
	ahead->bytes += slot->bytes;
	slot->error = 0;
	pthread_mutex_lock(&ahead->lock);
	slot->state = DECODE_WAITS;
	ahead->count++;
	pthread_cond_signal(&ahead->put);
	pthread_mutex_unlock(&ahead->lock);
	/* A log of one segment needs no helper; where none can be had, the caller decodes. */
	if (ahead->count > 1 && ahead->helper_count + 1 < ahead->threads &&
	    thread_start(help, ahead, 0, &ahead->helpers[ahead->helper_count]) == 0)
		ahead->helper_count++;
}

struct log_segment *decode_ahead_oldest(struct decode_ahead *ahead, int *error)
{
	struct decode_slot *oldest;

	if (!ahead->count)
		return NULL;
	oldest = slot_at(ahead, 0);
	pthread_mutex_lock(&ahead->lock);
	while (oldest->state != DECODE_ENDED) {
		struct decode_slot *slot = take(ahead);

		if (slot)
			decode(ahead, slot, &ahead->own);
		else
			pthread_cond_wait(&ahead->ended, &ahead->lock);
	}
	pthread_mutex_unlock(&ahead->lock);
	*error = oldest->error;
	return &oldest->segment;
}

void decode_ahead_done(struct decode_ahead *ahead)
{
	struct decode_slot *oldest = slot_at(ahead, 0);

	ahead->bytes -= oldest->bytes;
	log_bytes_trim(&oldest->segment.file);
	log_bytes_trim(&oldest->segment.records);
	pthread_mutex_lock(&ahead->lock);
	ahead->first = (ahead->first + 1) % DECODE_AHEAD_MAX;
	ahead->count--;
	pthread_mutex_unlock(&ahead->lock);
}

void decode_ahead_drop(struct decode_ahead *ahead)
{
	int error;

	while (decode_ahead_oldest(ahead, &error))
		decode_ahead_done(ahead);
}
