/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ring, queue and the loop between them; see drain.h. */
#include "capture/drain.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/monotonic.h"
#include "base/threads/thread.h"
#include "capture/cut.h"
#include "capture/gaps.h"
#include "capture/memory_bound.h"
#include "capture/ring.h"
#include "capture/trigger.h"

#define SECOND_NS 1000000000ull

#define POLL_IDLE_MS 20

/* A patient drain waits so long for each of so many bytes of the ring, at most so many times. */
#define PATIENT_BYTES (16u << 20)
#define TURNS_MOST 4u

/* Between two calls of `meanwhile`. */
#define MEANWHILE_NS 20000000ull

#define POLL_BUSY_MS 5
#define POLL_FULL_MS 1

/* Above the targets, so that a busy machine does not overflow the ring buffer; setpriority(2). */
#define DRAIN_NICE (-10)

/* Records appended under one lock of the log: a lock for each would be a fifth of the cost. */
#define RECORDS_AT_ONCE 64

/* Of --memory-limit, what the queue may have. */
#define NOTICES_PART 16u

/* Room for the cut copy of a record; as large as the largest record of the ring. */
struct cut_room {
	_Alignas(8) uint8_t bytes[GPT_RECORD_MAX];
};

struct drain {
	struct ring *ring;
	struct log_writer *log;
	uint64_t end_ns;    /* of the recording; under the log's lock */
	uint64_t before_ns; /* drain_leave_out; under the log's lock */
	struct cut_room *cut;
	struct agent_request request;
	uint64_t malformed; /* batches with bytes that are no record */
	bool (*wanted)(const struct gpt_record *record);
	_Atomic uint32_t *passes;
	struct trigger *trigger; /* drain_show; under the log's lock */
	struct notices *notices;
	struct memory_bound memory;
	int epoll, wake; /* wake: an eventfd */
	pthread_t thread;
	bool started;

	/* Owned by the thread, except flush_each_ns. */
	unsigned held; /* records appended since the log was locked, 0: not locked */
	struct gaps gaps;
	uint64_t flushed_ns;
	_Atomic uint64_t flush_each_ns;

	/* Written by the thread, read by others. */
	atomic_uint_fast64_t calls, left_out;
	atomic_uint_fast64_t short_gaps_ns;
	atomic_uint_fast64_t fill; /* one more than the most since drain_take_fill; 0: no pass since then */
	atomic_int ring_error, log_error;
	atomic_bool is_patient; /* written by others */

	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t passed;
	uint64_t asked, answered; /* number of the last request; of the last one after which a whole pass has run */
	bool finish, ended;
};

/* ---- records ------------------------------------------------------------------------------------------------- */

static void report_failure(struct drain *drain, atomic_int *where, int error)
{
	if (!error || atomic_exchange(where, error) == error)
		return;
	notices_wake(drain->notices);
}

/* Appends the record as it is, but leaves out the copy of a CUPTI buffer: attach/ records what it reads from that. */
static int append_record(struct drain *drain, const struct gpt_record *record)
{
	struct gpt_cupti_done done;

	if (record->type != GPT_CUPTI_DONE || record->size <= sizeof(done))
		return log_writer_append_locked(drain->log, record);
	memcpy(&done, record, sizeof(done));
	done.hdr.size = sizeof(done);
	done.copied = 0;
	return log_writer_append_locked(drain->log, &done.hdr);
}

static void let_others_append(struct drain *drain)
{
	if (drain->held)
		log_writer_unlock(drain->log);
	drain->held = 0;
}

/* Whether attach/ completes the record and writes it itself. */
static bool is_incomplete(const struct gpt_record *record)
{
	return record->type == GPT_CUPTI_USE && record->size >= sizeof(struct gpt_cupti_use) &&
	       ((const struct gpt_cupti_use *)record)->own == GPT_CUPTI_CALLER_UNKNOWN;
}

/* The part of a record that was asked for; NULL: nothing. */
static const struct gpt_record *take_asked(struct drain *drain, const struct gpt_record *record)
{
	bool malformed;

	if (record->size > GPT_RECORD_MAX)
		return record;
	record = cut_unasked(record, &drain->request, (struct gpt_record *)drain->cut->bytes, &malformed);
	drain->malformed += malformed;
	return record;
}

/* The part of it that belongs to the recording; NULL: nothing. */
static const struct gpt_record *cut_record(struct drain *drain, const struct gpt_record *record)
{
	uint64_t left_out = 0;

	if (record->size > GPT_RECORD_MAX)
		return record;
	if (is_incomplete(record))
		return NULL;
	if (drain->before_ns)
		record = cut_before(record, drain->before_ns, (struct gpt_record *)drain->cut->bytes, &left_out);
	if (left_out)
		atomic_fetch_add_explicit(&drain->left_out, left_out, memory_order_relaxed);
	if (!record)
		return NULL;
	return cut_at(record, drain->end_ns, (struct gpt_record *)drain->cut->bytes);
}

/* Before anything is cut at the end: attach/ needs to know how agents ended. */
static void pass_on(struct drain *drain, const struct gpt_record *record)
{
	if (record->type != GPT_CALL && record->type != GPT_CALL_ARGS && drain->wanted(record))
		notices_put(drain->notices, record);
}

static void show_trigger(struct drain *drain, const struct gpt_record *record)
{
	struct trigger *trigger = drain->trigger;

	if (trigger && trigger_wants(trigger, record))
		trigger_see(trigger, record, monotonic_ns());
}

static void take_record(void *context, const struct gpt_record *record)
{
	struct drain *drain = context;
	int error = 0;
	bool is_call;

	if (!drain->held++)
		log_writer_lock(drain->log);
	record = take_asked(drain, record);
	if (record) {
		show_trigger(drain, record);
		is_call = record->type == GPT_CALL || record->type == GPT_CALL_ARGS;
		gaps_add(&drain->gaps, record);
		pass_on(drain, record);
		record = cut_record(drain, record);
		if (record && memory_bound_drops(&drain->memory, record))
			record = NULL;
		if (record)
			error = append_record(drain, record);
		if (is_call && record)
			atomic_store_explicit(&drain->calls,
					      atomic_load_explicit(&drain->calls, memory_order_relaxed) + 1,
					      memory_order_relaxed);
	}
	/* -EINVAL: a record of an impossible size, which is no reason to stop. */
	if (error && error != -EINVAL)
		report_failure(drain, &drain->log_error, error);
	if (drain->held >= RECORDS_AT_ONCE)
		let_others_append(drain);
}

static int64_t empty_ring(struct drain *drain)
{
	int64_t bytes;

	if (drain->passes)
		atomic_fetch_add_explicit(drain->passes, 1, memory_order_relaxed);
	memory_bound_check(&drain->memory, monotonic_ns());
	bytes = ring_consume(drain->ring);
	if (ring_fill(drain->ring) >= atomic_load_explicit(&drain->fill, memory_order_relaxed))
		atomic_store_explicit(&drain->fill, ring_fill(drain->ring) + 1, memory_order_relaxed);
	if (ring_fill(drain->ring) > ring_bytes(drain->ring) / 2) /* detail may have to go */
		notices_wake(drain->notices);
	let_others_append(drain);
	atomic_store_explicit(&drain->short_gaps_ns, drain->gaps.short_ns, memory_order_relaxed);
	if (bytes < 0)
		report_failure(drain, &drain->ring_error, (int)bytes);
	return bytes;
}

/* Bounds what a gputrace crash can take from the log. */
static void flush_now_and_then(struct drain *drain)
{
	uint64_t now_ns = monotonic_ns();

	if (now_ns - drain->flushed_ns < drain->flush_each_ns)
		return;
	drain->flushed_ns = now_ns;
	report_failure(drain, &drain->log_error, log_writer_flush(drain->log));
}

/* ---- the thread ---------------------------------------------------------------------------------------------- */

static int idle_ms(const struct drain *drain, uint64_t size)
{
	uint64_t turns = atomic_load_explicit(&drain->is_patient, memory_order_relaxed) ? size / PATIENT_BYTES : 1;

	return (int)(turns < 1 ? 1 : turns > TURNS_MOST ? TURNS_MOST : turns) * POLL_IDLE_MS;
}

/* How long to sleep after a pass that found `bytes` bytes: the fuller the ring, the shorter. */
static int poll_timeout_ms(const struct drain *drain, int64_t bytes)
{
	uint64_t size = ring_bytes(drain->ring);

	if (bytes > 0 && (uint64_t)bytes > size / 16)
		return POLL_FULL_MS;
	if (bytes > 0 && (uint64_t)bytes > size / 256)
		return POLL_BUSY_MS;
	return idle_ms(drain, size);
}

/* Returns the number of the last request, which the pass that begins now answers. */
static uint64_t begin_pass(struct drain *drain, bool *finish)
{
	uint64_t asked;

	pthread_mutex_lock(&drain->lock);
	asked = drain->asked;
	*finish = drain->finish;
	pthread_mutex_unlock(&drain->lock);
	return asked;
}

static void end_pass(struct drain *drain, uint64_t asked, bool ended)
{
	pthread_mutex_lock(&drain->lock);
	if (drain->answered != asked || ended) {
		drain->answered = asked;
		drain->ended = ended;
		pthread_cond_broadcast(&drain->passed);
	}
	pthread_mutex_unlock(&drain->lock);
}

static void *drain_main(void *context)
{
	struct drain *drain = context;
	bool finish = false;

	/* Without the right to do so the priority stays as it is, which only matters on a full machine. */
	if (getpriority(PRIO_PROCESS, 0) > DRAIN_NICE)
		(void)setpriority(PRIO_PROCESS, 0, DRAIN_NICE);
	drain->flushed_ns = monotonic_ns();
	while (!finish) {
		struct epoll_event event;
		uint64_t asked = begin_pass(drain, &finish), count;
		int64_t bytes = empty_ring(drain);

		flush_now_and_then(drain);
		end_pass(drain, asked, finish);
		if (!finish)
			(void)epoll_wait(drain->epoll, &event, 1, poll_timeout_ms(drain, bytes));
		(void)!read(drain->wake, &count, sizeof(count));
	}
	return NULL;
}

/* ---- from outside ---------------------------------------------------------------------------------------------- */

int watch_descriptor(int epoll, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_all(struct drain *drain, const struct drain_options *options)
{
	int error = options->shares ? ring_open_shares(options->shares, take_record, drain, &drain->ring)
				    : ring_open(options->ring_fd, take_record, drain, &drain->ring);

	if (error)
		return error;
	drain->notices = notices_new();
	drain->epoll = epoll_create1(EPOLL_CLOEXEC);
	drain->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!drain->notices || drain->epoll < 0 || drain->wake < 0)
		return -errno;
	if (options->memory_limit)
		notices_bound(drain->notices, options->memory_limit / NOTICES_PART);
	/*
	 * Edge-triggered: level-triggered, it would be ready whenever the ring is not empty, and the loop would
	 * spin over single records.
	 */
	if (ring_wait_fd(drain->ring) >= 0)
		error = watch_descriptor(drain->epoll, ring_wait_fd(drain->ring), EPOLLIN | EPOLLET);
	return error ? error : watch_descriptor(drain->epoll, drain->wake, EPOLLIN);
}

int drain_start(const struct drain_options *options, struct drain **out)
{
	struct drain *drain = xcalloc(1, sizeof(*drain));
	int error;

	drain->log = options->log;
	drain->flush_each_ns = SECOND_NS;
	drain->wanted = options->wanted;
	drain->request = options->request;
	drain->passes = options->passes;
	drain->memory.limit = options->memory_limit;
	drain->end_ns = UINT64_MAX;
	drain->cut = xmalloc(sizeof(*drain->cut));
	drain->epoll = drain->wake = -1;
	pthread_mutex_init(&drain->lock, NULL);
	pthread_cond_init(&drain->passed, NULL);
	error = open_all(drain, options);
	if (!error)
		error = thread_start(drain_main, drain, 0, &drain->thread);
	if (error) {
		drain_close(drain);
		return error;
	}
	drain->started = true;
	*out = drain;
	return 0;
}

uint64_t drain_end(struct drain *drain, uint64_t end_ns)
{
	uint64_t now_ns;

	log_writer_lock(drain->log);
	/* What is in the log already began before now. */
	now_ns = monotonic_ns();
	if (end_ns < now_ns)
		end_ns = now_ns;
	if (end_ns < drain->end_ns)
		drain->end_ns = end_ns;
	end_ns = drain->end_ns;
	log_writer_unlock(drain->log);
	return end_ns;
}

void drain_leave_out(struct drain *drain, uint64_t before_ns)
{
	log_writer_lock(drain->log);
	drain->before_ns = before_ns;
	log_writer_unlock(drain->log);
}

uint64_t drain_left_out(const struct drain *drain)
{
	return atomic_load_explicit(&drain->left_out, memory_order_relaxed);
}

void drain_flush_each(struct drain *drain, uint64_t ns)
{
	drain->flush_each_ns = ns;
}

void drain_show(struct drain *drain, struct trigger *trigger)
{
	log_writer_lock(drain->log);
	drain->trigger = trigger;
	log_writer_unlock(drain->log);
}

void drain_count_dropped(const struct drain *drain, uint64_t counters[GPT_COUNTER_COUNT])
{
	memory_bound_count(&drain->memory, counters);
}

void drain_be_patient(struct drain *drain, bool is_patient)
{
	atomic_store_explicit(&drain->is_patient, is_patient, memory_order_relaxed);
}

struct notices *drain_notices(const struct drain *drain)
{
	return drain->notices;
}

/* Waits for a pass that begins after this call: it takes what is in the ring now, and no more. */
void drain_sync(struct drain *drain, void (*meanwhile)(void *context), void *context)
{
	uint64_t asked;

	pthread_mutex_lock(&drain->lock);
	asked = ++drain->asked;
	(void)!write(drain->wake, &(uint64_t){1}, sizeof(uint64_t));
	while (drain->answered < asked && !drain->ended) {
		const struct timespec until = timespec_of(clock_ns(CLOCK_REALTIME) + MEANWHILE_NS);

		if (!pthread_cond_timedwait(&drain->passed, &drain->lock, &until) || !meanwhile)
			continue;
		pthread_mutex_unlock(&drain->lock);
		meanwhile(context);
		pthread_mutex_lock(&drain->lock);
	}
	pthread_mutex_unlock(&drain->lock);
}

void drain_finish(struct drain *drain, void (*meanwhile)(void *context), void *context)
{
	if (!drain->started)
		return;
	pthread_mutex_lock(&drain->lock);
	drain->finish = true;
	pthread_mutex_unlock(&drain->lock);
	drain_sync(drain, meanwhile, context);
	pthread_join(drain->thread, NULL);
	drain->started = false;
}

int drain_error(const struct drain *drain, bool *of_log)
{
	int error = atomic_load(&drain->log_error);

	*of_log = error != 0;
	return error ? error : atomic_load(&drain->ring_error);
}

uint64_t drain_short_gaps_ns(const struct drain *drain)
{
	return atomic_load_explicit(&drain->short_gaps_ns, memory_order_relaxed);
}

bool drain_take_fill(struct drain *drain, uint64_t *fill)
{
	uint64_t taken = atomic_exchange_explicit(&drain->fill, 0, memory_order_relaxed);

	*fill = taken ? taken - 1 : 0;
	return taken;
}

uint64_t drain_calls(const struct drain *drain)
{
	return atomic_load_explicit(&drain->calls, memory_order_relaxed);
}

uint64_t drain_ring_bytes(const struct drain *drain)
{
	return ring_bytes(drain->ring);
}

void drain_describe_ring(const struct drain *drain, struct gpt_end *end)
{
	end->ring_bytes = ring_bytes(drain->ring);
	end->ring_bytes_max = ring_bytes_max(drain->ring);
	end->counters[GPT_COUNTER_MALFORMED] += ring_malformed(drain->ring) + drain->malformed;
}

void drain_close(struct drain *drain)
{
	if (!drain)
		return;
	drain_finish(drain, NULL, NULL);
	if (drain->epoll >= 0)
		close(drain->epoll);
	if (drain->wake >= 0)
		close(drain->wake);
	notices_free(drain->notices);
	ring_close(drain->ring);
	pthread_cond_destroy(&drain->passed);
	pthread_mutex_destroy(&drain->lock);
	free(drain->cut);
	free(drain);
}
