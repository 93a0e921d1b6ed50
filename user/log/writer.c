/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The chunks, the thread that encodes them as segments, and the lock between it and the threads that append. */
#include "log/writer.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <gputrace/log.h>

#include "base/array.h"
#include "base/monotonic.h"
#include "base/threads/thread.h"
#include "log/descriptions.h"
#include "log/packing/schema.h"
#include "log/recent_log.h"
#include "log/rotation.h"
#include "log/segment.h"
#include "log/segment_file.h"

_Static_assert(WRITER_CHUNK_LEAST > GPT_RECORD_MAX, "every record fits a chunk");
_Static_assert(WRITER_CHUNK_BYTES + DESCRIPTIONS_REPEATED_MAX <= GPT_LOG_RECORD_BYTES_MAX, "a segment fits its bounds");

/* As DRAIN_NICE: while the drain waits for this thread, records can be lost. setpriority(2) */
#define WRITER_NICE (-10)

/*
 * A segment that would repeat at least REPEATED_MUCH bytes, and more than half as much as it has of its own, waits for
 * more records, up to PATIENCE_NS.  A program with 3,000 code objects on 2,000 stacks has 2 MB of descriptions, which
 * the segment of every second would repeat.
 */
#define REPEATED_MUCH (1u << 20)
#define PATIENCE_NS 10000000000ull

/* Room for repeated records that a chunk keeps between two segments. */
#define FRONT_KEPT (1u << 20)

/* Of what --memory-limit permits: for one chunk, for descriptions, for those that one segment repeats. */
#define CHUNK_PART 64u
#define DESCRIPTIONS_PART 8u
#define REPEATED_PART 32u

/* Records, with room in front of them for those that their segment repeats. */
struct chunk {
	struct chunk *next; /* in the queue, or among the free ones */
	uint8_t *memory, *records;
	size_t bytes; /* of records */
	struct appended appended;
};

struct log_writer {
	pthread_mutex_t lock; /* guards all down to the file */
	pthread_cond_t work;  /* the queue or `stop` has changed */
	pthread_cond_t done;  /* a chunk has become free, the thread is idle, or there is an error */
	int error;	      /* sticky, negative errno */
	size_t repeated;      /* bytes that the last segment repeated */
	unsigned chunks;      /* made so far */
	size_t chunk_bytes;   /* of records in one */
	struct chunk *open;   /* the one being filled; NULL: none */
	struct chunk *free;
	struct chunk *queue, **queue_end;
	bool started, stop, busy;
	pthread_t thread;

	struct segment_file file; /* header: under the lock; the rest: the thread's, later log_writer_finish's */

	/* Owned by the thread. */
	struct schema *schema;
	struct segment_encoder *encoder;
	struct descriptions *descriptions;
	uint32_t sequence;
	struct recent_segments *recent; /* instead of the file; NULL: none */
	struct rotation *rotation;	/* the same */
};

struct log_writer *log_writer_open(int fd)
{
	struct log_writer *writer = xcalloc(1, sizeof(*writer));
	uint64_t start_ns = monotonic_ns();

	pthread_mutex_init(&writer->lock, NULL);
	pthread_cond_init(&writer->work, NULL);
	pthread_cond_init(&writer->done, NULL);
	writer->queue_end = &writer->queue;
	segment_file_init(&writer->file, fd);
	writer->file.header.start_ns = start_ns;
	writer->file.header.wall_offset_ns = (int64_t)(clock_ns(CLOCK_REALTIME) - start_ns);
	writer->schema = schema_own();
	writer->encoder = segment_encoder_new(writer->schema);
	writer->descriptions = descriptions_new(DESCRIPTIONS_BYTES_MAX, DESCRIPTIONS_REPEATED_MAX);
	writer->chunk_bytes = WRITER_CHUNK_BYTES;
	return writer;
}

static size_t part_of(uint64_t bytes, unsigned part, size_t least, size_t most)
{
	bytes /= part;
	return bytes < least ? least : bytes > most ? most : (size_t)bytes;
}

void log_writer_bound_memory(struct log_writer *writer, uint64_t bytes)
{
	writer->chunk_bytes = part_of(bytes, CHUNK_PART, WRITER_CHUNK_LEAST, WRITER_CHUNK_BYTES);
	descriptions_free(writer->descriptions);
	writer->descriptions = descriptions_new(part_of(bytes, DESCRIPTIONS_PART, 0, DESCRIPTIONS_BYTES_MAX),
						part_of(bytes, REPEATED_PART, 0, DESCRIPTIONS_REPEATED_MAX));
}

void log_writer_keep_recent(struct log_writer *writer, uint64_t keep_ns, uint64_t bytes)
{
	writer->recent = recent_segments_new(keep_ns, bytes);
}

void log_writer_need_recent(struct log_writer *writer, uint64_t since_ns)
{
	recent_segments_need(writer->recent, since_ns);
}

void log_writer_rotate(struct log_writer *writer, const struct rotation_options *options)
{
	writer->rotation = rotation_new(options);
	(void)rotation_set_start(writer->rotation, writer->file.header.start_ns, writer->file.header.wall_offset_ns);
}

void log_writer_lock(struct log_writer *writer)
{
	pthread_mutex_lock(&writer->lock);
}

void log_writer_unlock(struct log_writer *writer)
{
	pthread_mutex_unlock(&writer->lock);
}

int log_writer_set_start(struct log_writer *writer, uint64_t start_ns, int64_t wall_offset_ns)
{
	int error = 0;

	log_writer_lock(writer);
	writer->file.header.start_ns = start_ns;
	writer->file.header.wall_offset_ns = wall_offset_ns;
	if (writer->file.begun)
		error = segment_file_write_header(&writer->file);
	if (writer->rotation)
		error = rotation_set_start(writer->rotation, start_ns, wall_offset_ns);
	log_writer_unlock(writer);
	return error;
}

/* ---- chunks ---------------------------------------------------------------------------------------------------- */

static struct chunk *make_chunk(void)
{
	struct chunk *chunk = xcalloc(1, sizeof(*chunk));

	/* Pages that are never written to cost nothing. */
	chunk->memory = mmap(NULL, DESCRIPTIONS_REPEATED_MAX + WRITER_CHUNK_BYTES, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (chunk->memory == MAP_FAILED) {
		free(chunk);
		return NULL;
	}
	chunk->records = chunk->memory + DESCRIPTIONS_REPEATED_MAX;
	return chunk;
}

static void free_chunks(struct chunk *chunk)
{
	while (chunk) {
		struct chunk *next = chunk->next;

		munmap(chunk->memory, DESCRIPTIONS_REPEATED_MAX + WRITER_CHUNK_BYTES);
		free(chunk);
		chunk = next;
	}
}

/* Prefers the one that was used last: its pages are mapped. */
static struct chunk *take_free(struct log_writer *writer)
{
	struct chunk *chunk = writer->free;

	if (chunk) {
		writer->free = chunk->next;
	} else if (writer->chunks < WRITER_CHUNKS) {
		chunk = make_chunk();
		writer->chunks += chunk != NULL;
	}
	if (chunk) {
		chunk->next = NULL;
		chunk->bytes = 0;
	}
	return chunk;
}

/* ---- the thread ------------------------------------------------------------------------------------------------ */

static int begin_file(struct log_writer *writer)
{
	int err;

	if (writer->recent || writer->rotation)
		return 0;
	/* Under the lock: log_writer_set_start may come in between. */
	log_writer_lock(writer);
	err = segment_file_begin(&writer->file);
	log_writer_unlock(writer);
	return err;
}

static int write_chunk(struct log_writer *writer, struct chunk *chunk)
{
	struct descriptions_repeated repeated;
	struct segment segment;
	uint8_t *front;
	int err;

	descriptions_look(writer->descriptions, chunk->records, chunk->bytes, &repeated);
	front = chunk->records - repeated.bytes;
	descriptions_write(writer->descriptions, front);
	err = segment_encode(writer->encoder, front, repeated.bytes + chunk->bytes, repeated.records, writer->sequence,
			     repeated.complete ? 0 : GPT_LOG_SEGMENT_FORGOT, &segment);
	if (!err && writer->recent)
		err = recent_segments_add(writer->recent, &segment, chunk->records, chunk->bytes, chunk->appended);
	else if (!err && writer->rotation)
		rotation_add(writer->rotation, &segment, chunk->records, chunk->bytes, chunk->appended);
	else if (!err)
		err = segment_file_append(&writer->file, &segment);
	if (!err)
		writer->sequence++;
	log_writer_lock(writer);
	writer->repeated = repeated.bytes;
	log_writer_unlock(writer);
	if (repeated.bytes > FRONT_KEPT)
		(void)madvise(chunk->memory, DESCRIPTIONS_REPEATED_MAX - FRONT_KEPT, MADV_DONTNEED);
	return err;
}

/* Waits for a chunk; NULL: the thread must end. */
static struct chunk *next_chunk(struct log_writer *writer)
{
	struct chunk *chunk;

	while (!writer->queue && !writer->stop)
		pthread_cond_wait(&writer->work, &writer->lock);
	chunk = writer->queue;
	if (chunk) {
		writer->queue = chunk->next;
		if (!writer->queue)
			writer->queue_end = &writer->queue;
		writer->busy = true;
	}
	return chunk;
}

static void *writer_main(void *context)
{
	struct log_writer *writer = context;
	struct chunk *chunk;

	/* Without the right to do so the priority stays as it is, which only matters on a full machine. */
	if (getpriority(PRIO_PROCESS, 0) > WRITER_NICE)
		(void)setpriority(PRIO_PROCESS, 0, WRITER_NICE);
	log_writer_lock(writer);
	while ((chunk = next_chunk(writer))) {
		int err = writer->error;

		log_writer_unlock(writer);
		if (!err)
			err = begin_file(writer);
		if (!err)
			err = write_chunk(writer, chunk);
		log_writer_lock(writer);
		if (!writer->error)
			writer->error = err;
		chunk->next = writer->free;
		writer->free = chunk;
		writer->busy = false;
		pthread_cond_broadcast(&writer->done);
	}
	log_writer_unlock(writer);
	return NULL;
}

/* ---- appending ------------------------------------------------------------------------------------------------- */

/* Hands the open chunk to the thread. */
static void hand_over_chunk(struct log_writer *writer)
{
	if (!writer->open || !writer->open->bytes || writer->error)
		return;
	if (!writer->started) {
		writer->error = thread_start(writer_main, writer, 0, &writer->thread);
		if (writer->error)
			return;
		writer->started = true;
	}
	writer->open->appended.last_ns = monotonic_ns();
	*writer->queue_end = writer->open;
	writer->queue_end = &writer->open->next;
	writer->open = NULL;
	pthread_cond_signal(&writer->work);
}

/* Waits for a chunk if all are under way; another thread may open one meanwhile. */
static int open_chunk(struct log_writer *writer)
{
	while (!writer->open && !writer->error) {
		writer->open = take_free(writer);
		if (!writer->open && !writer->chunks)
			writer->error = -ENOMEM;
		else if (!writer->open)
			pthread_cond_wait(&writer->done, &writer->lock);
	}
	return writer->error;
}

int log_writer_append_locked(struct log_writer *writer, const struct gpt_record *record)
{
	size_t size = record->size;
	int err = writer->error;

	if (err)
		return err;
	if (size < sizeof(*record) || size > GPT_RECORD_MAX || size % 8)
		return -EINVAL;
	while (!writer->open || size > writer->chunk_bytes - writer->open->bytes) {
		hand_over_chunk(writer);
		err = open_chunk(writer);
		if (err)
			return err;
	}
	if (!writer->open->bytes)
		writer->open->appended.first_ns = monotonic_ns();
	memcpy(writer->open->records + writer->open->bytes, record, size);
	writer->open->bytes += size;
	return 0;
}

int log_writer_append(struct log_writer *writer, const struct gpt_record *record)
{
	int error;

	log_writer_lock(writer);
	error = log_writer_append_locked(writer, record);
	log_writer_unlock(writer);
	return error;
}

static bool is_worth_a_segment(const struct log_writer *writer)
{
	const struct chunk *chunk = writer->open;

	return chunk && (writer->repeated < REPEATED_MUCH || chunk->bytes >= 2 * writer->repeated ||
			 monotonic_ns() - chunk->appended.first_ns >= PATIENCE_NS);
}

int log_writer_flush(struct log_writer *writer)
{
	int error;

	log_writer_lock(writer);
	if (is_worth_a_segment(writer))
		hand_over_chunk(writer);
	error = writer->error;
	log_writer_unlock(writer);
	return error;
}

int log_writer_settle(struct log_writer *writer)
{
	int error;

	log_writer_lock(writer);
	hand_over_chunk(writer);
	while (writer->queue || writer->busy)
		pthread_cond_wait(&writer->done, &writer->lock);
	error = writer->error;
	log_writer_unlock(writer);
	return error;
}

struct recent_log *log_writer_take_recent(struct log_writer *writer, int *error)
{
	*error = log_writer_settle(writer);
	return writer->recent ? recent_segments_take(writer->recent) : NULL;
}

/* ---- the end --------------------------------------------------------------------------------------------------- */

static void stop_thread(struct log_writer *writer)
{
	log_writer_lock(writer);
	writer->stop = true;
	pthread_cond_signal(&writer->work);
	log_writer_unlock(writer);
	if (writer->started)
		pthread_join(writer->thread, NULL);
	writer->started = false;
}

int log_writer_finish(struct log_writer *writer, struct gpt_end *end)
{
	int error = log_writer_settle(writer);

	stop_thread(writer);
	if (writer->rotation)
		return rotation_finish(writer->rotation, end);
	if (!error)
		error = segment_file_finish(&writer->file, writer->encoder, end);
	if (error) {
		end->reason = GPT_END_DISK;
		segment_file_salvage(&writer->file, writer->encoder, end, error);
	}
	log_writer_lock(writer);
	writer->error = error;
	log_writer_unlock(writer);
	return error;
}

void log_writer_close(struct log_writer *writer)
{
	if (!writer)
		return;
	stop_thread(writer);
	pthread_mutex_destroy(&writer->lock);
	pthread_cond_destroy(&writer->work);
	pthread_cond_destroy(&writer->done);
	free_chunks(writer->open);
	free_chunks(writer->free);
	recent_segments_free(writer->recent);
	rotation_free(writer->rotation);
	segment_file_free(&writer->file);
	segment_encoder_free(writer->encoder);
	descriptions_free(writer->descriptions);
	schema_free(writer->schema);
	free(writer);
}
