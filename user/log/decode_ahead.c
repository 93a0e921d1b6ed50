/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A ring of segments, and the threads that decode them. */
#include "log/decode_ahead.h"

#include <string.h>

/* The most bytes under way at once, unless a single segment is larger. */
#define BYTES_MAX (128u << 20)

void decode_ahead_use(struct decode_ahead *ahead, unsigned threads)
{
	ahead->threads = threads < DECODE_THREADS_MAX ? threads : DECODE_THREADS_MAX;
}

void decode_ahead_open(struct decode_ahead *ahead, const struct schema *schema)
{
	memset(ahead, 0, sizeof(*ahead));
	decode_ahead_use(ahead, workers_count() + 1);
	ahead->schema = schema;
	pthread_mutex_init(&ahead->lock, NULL);
	for (unsigned i = 0; i < DECODE_AHEAD_MAX; i++)
		ahead->slots[i].ahead = ahead;
}

void decode_ahead_close(struct decode_ahead *ahead)
{
	for (unsigned i = 0; i < DECODE_AHEAD_MAX; i++) {
		workers_wait(&ahead->slots[i].work);
		log_segment_free(&ahead->slots[i].segment);
	}
	for (unsigned i = 0; i < DECODE_AHEAD_MAX; i++)
		log_decoder_free(&ahead->decoders[i]);
	pthread_mutex_destroy(&ahead->lock);
}

static struct decode_slot *slot_at(struct decode_ahead *ahead, unsigned place)
{
	return &ahead->slots[(ahead->first + place) % DECODE_AHEAD_MAX];
}

/* Finds a free decoder, which there always is: there are as many as slots. */
static struct log_decoder *take_decoder(struct decode_ahead *ahead)
{
	unsigned i = 0;

	pthread_mutex_lock(&ahead->lock);
	while (ahead->taken[i])
		i++;
	ahead->taken[i] = true;
	pthread_mutex_unlock(&ahead->lock);
	return &ahead->decoders[i];
}

static void give_back(struct decode_ahead *ahead, const struct log_decoder *decoder)
{
	pthread_mutex_lock(&ahead->lock);
	ahead->taken[decoder - ahead->decoders] = false;
	pthread_mutex_unlock(&ahead->lock);
}

static void decode_taken(void *context)
{
	struct decode_slot *slot = context;
	struct log_decoder *decoder = take_decoder(slot->ahead);

	slot->error = log_segment_decode(&slot->segment, decoder, slot->ahead->schema);
	give_back(slot->ahead, decoder);
}

static uint64_t bytes_of(const struct log_segment *segment)
{
	return (uint64_t)segment->header.record_bytes + segment->header.packed_bytes + segment->header.body_bytes;
}

struct log_segment *decode_ahead_room(struct decode_ahead *ahead)
{
	/* The caller reads the oldest while each worker decodes one; one more waits for them. */
	if (ahead->count >= (ahead->threads == 1 ? 1 : ahead->threads + 1) || ahead->bytes > BYTES_MAX)
		return NULL;
	return &slot_at(ahead, ahead->count)->segment;
}

void decode_ahead_put(struct decode_ahead *ahead)
{
	struct decode_slot *slot = slot_at(ahead, ahead->count++);

	slot->bytes = bytes_of(&slot->segment);
	ahead->bytes += slot->bytes;
	slot->error = 0;
	if (ahead->threads > 1)
		workers_give(&slot->work, decode_taken, slot);
	else
		decode_taken(slot);
}

struct log_segment *decode_ahead_oldest(struct decode_ahead *ahead, int *error)
{
	struct decode_slot *oldest = slot_at(ahead, 0);

	if (!ahead->count)
		return NULL;
	workers_wait(&oldest->work);
	*error = oldest->error;
	return &oldest->segment;
}

void decode_ahead_done(struct decode_ahead *ahead)
{
	struct decode_slot *oldest = slot_at(ahead, 0);

	ahead->bytes -= oldest->bytes;
	log_bytes_trim(&oldest->segment.file);
	log_bytes_trim(&oldest->segment.records);
	ahead->first = (ahead->first + 1) % DECODE_AHEAD_MAX;
	ahead->count--;
}

void decode_ahead_rest(struct decode_ahead *ahead)
{
	for (unsigned i = 0; i < DECODE_AHEAD_MAX; i++) {
		log_segment_free(&ahead->slots[i].segment);
		log_decoder_free(&ahead->decoders[i]);
	}
}

void decode_ahead_drop(struct decode_ahead *ahead)
{
	int error;

	while (decode_ahead_oldest(ahead, &error))
		decode_ahead_done(ahead);
}
