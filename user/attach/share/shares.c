/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/share/shares.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "attach/share/share_control.h"
#include "base/array.h"
#include "target/process.h"

#define SHARES_MAX 1024 /* maximum of processes with a ring at a time */
#define READER_ROOM GPT_RECORD_MAX

struct share {
	pid_t pid;
	struct share_ring ring;
	bool over;  /* the process has ended */
	bool empty; /* and the drain has found no more records since */
};

struct shares {
	struct share_control control;
	struct share_door door;
	uint64_t bytes;
	pthread_mutex_t lock; /* protects the members below */
	ARRAY(struct share *) list;
	unsigned count;
	uint64_t counters[GPT_COUNTER_COUNT]; /* of processes that are gone, or were refused as there was no room */
	uint64_t bytes_max, malformed;	      /* the same */
	_Alignas(8) uint8_t room[READER_ROOM];
};

int shares_open(const char *name, uid_t uid, uint64_t bytes, struct shares **out)
{
	struct shares *shares = xcalloc(1, sizeof(*shares));
	int error;

	shares->bytes = bytes;
	shares->control.fd = -1;
	pthread_mutex_init(&shares->lock, NULL);
	error = share_door_open(&shares->door, name, uid);
	if (!error)
		error = share_control_open(&shares->control);
	if (error) {
		shares_close(shares);
		return error;
	}
	*out = shares;
	return 0;
}

void shares_close(struct shares *shares)
{
	if (!shares)
		return;
	share_door_close(&shares->door);
	share_control_close(&shares->control);
	for (size_t i = 0; i < shares->list.count; i++) {
		share_ring_close(&shares->list.items[i]->ring);
		free(shares->list.items[i]);
	}
	array_free(&shares->list);
	pthread_mutex_destroy(&shares->lock);
	free(shares);
}

struct gpt_share_control *shares_control(struct shares *shares)
{
	return shares->control.shared;
}

struct share_door *shares_door(struct shares *shares)
{
	return &shares->door;
}

/* ---- letting an agent in -------------------------------------------------------------------------------------- */

static struct share *find_share(struct shares *shares, pid_t pid)
{
	return value_of_first(shares->list.count, i, shares->list.items[i]->pid == pid && !shares->list.items[i]->over,
			      shares->list.items[i], NULL);
}

int shares_let_in(struct shares *shares)
{
	struct share *share = xcalloc(1, sizeof(*share));
	int error = -ENOSPC;

	share->pid = shares->door.pid;
	share->ring.fd = -1;
	if (shares->list.count < SHARES_MAX)
		error = share_ring_open(shares->bytes, &share->ring);
	if (!error) {
		share->ring.shared->reader.python_state = GPT_STACK_UNKNOWN_LAYOUT;
		share->ring.shared->reader.pid = (uint32_t)share->pid;
		pthread_mutex_lock(&shares->lock);
		array_push(&shares->list, share);
		shares->count++;
		pthread_mutex_unlock(&shares->lock);
		return 0;
	}
	shares->counters[GPT_COUNTER_PROCESSES_FULL]++;
	share_door_refuse(&shares->door);
	free(share);
	return error;
}

int shares_finish(struct shares *shares)
{
	struct share *share = find_share(shares, shares->door.pid);

	if (share)
		return share_door_let_in(&shares->door, shares->control.fd, share->ring.fd);
	share_door_dismiss(&shares->door);
	return -ESRCH;
}

/* ---- state of a process ----------------------------------------------------------------------------------------- */

uint32_t shares_state(struct shares *shares, pid_t pid)
{
	struct share *share = find_share(shares, pid);

	return share ? __atomic_load_n(&share->ring.shared->writer.state, __ATOMIC_ACQUIRE) : 0;
}

uint32_t shares_given_way(struct shares *shares, pid_t pid)
{
	struct share *share = find_share(shares, pid);

	return share ? __atomic_load_n(&share->ring.shared->writer.given_way, __ATOMIC_ACQUIRE) : 0;
}

void shares_let_resume(struct shares *shares, pid_t pid, uint32_t given_way)
{
	struct share *share = find_share(shares, pid);

	if (share)
		__atomic_store_n(&share->ring.shared->reader.resume, given_way, __ATOMIC_RELEASE);
}

bool shares_has_left(struct shares *shares, pid_t pid)
{
	struct share *share = shares_state(shares, pid) ? find_share(shares, pid) : NULL;
	struct mappings mappings = {};
	struct stat ring;
	bool left = share && !fstat(share->ring.fd, &ring) && !mappings_read(pid, &mappings) && mappings.list.count;

	/* A process that ends has no mappings any more. */
	for (size_t i = 0; left && i < mappings.list.count; i++)
		left = mappings.list.items[i].inode != ring.st_ino || mappings.list.items[i].device != ring.st_dev;
	mappings_free(&mappings);
	return left;
}

/* What stores between these two change is seen whole by the agent. */
static void begin_update(struct gpt_share_reader *reader)
{
	(void)__atomic_exchange_n(&reader->updates, (reader->updates & ~1u) + 1, __ATOMIC_ACQ_REL);
}

static void end_update(struct gpt_share_reader *reader)
{
	__atomic_store_n(&reader->updates, reader->updates + 1, __ATOMIC_RELEASE);
}

void shares_set_python(struct shares *shares, pid_t pid, uint32_t python_state, const struct gpt_python *python,
		       bool several)
{
	struct share *share = find_share(shares, pid);
	struct gpt_share_reader *reader = share ? &share->ring.shared->reader : NULL;

	if (!reader)
		return;
	begin_update(reader);
	reader->python_state = python_state;
	reader->several |= several;
	if (python)
		reader->python = *python;
	end_update(reader);
}

void shares_set_modules(struct shares *shares, pid_t pid, uint64_t code, uint32_t generation)
{
	struct share *share = find_share(shares, pid);
	struct gpt_share_reader *reader = share ? &share->ring.shared->reader : NULL;

	if (!reader)
		return;
	begin_update(reader);
	reader->module_code = code;
	reader->module_generation = generation;
	end_update(reader);
}

static void add_counters(const struct share *share, uint64_t counters[GPT_COUNTER_COUNT])
{
	for (unsigned i = 0; i < GPT_COUNTER_COUNT; i++)
		counters[i] += __atomic_load_n(&share->ring.shared->writer.counters[i], __ATOMIC_RELAXED);
}

static void forget_share(struct shares *shares, struct share *share)
{
	add_counters(share, shares->counters);
	shares->malformed += share->ring.malformed;
	if (share->ring.bytes_max > shares->bytes_max)
		shares->bytes_max = share->ring.bytes_max;
	share_ring_close(&share->ring);
	free(share);
}

bool shares_end(struct shares *shares, pid_t pid)
{
	bool ended = true;

	pthread_mutex_lock(&shares->lock);
	for (size_t i = shares->list.count; i-- > 0;) {
		struct share *share = shares->list.items[i];

		if (share->pid != pid)
			continue;
		share->over = true;
		if (share->empty) {
			forget_share(shares, share);
			shares->list.items[i] = shares->list.items[--shares->list.count];
		} else {
			ended = false;
		}
	}
	pthread_mutex_unlock(&shares->lock);
	return ended;
}

void shares_add_counters(struct shares *shares, uint64_t counters[GPT_COUNTER_COUNT])
{
	for (unsigned i = 0; i < GPT_COUNTER_COUNT; i++)
		counters[i] += shares->counters[i];
	for (size_t i = 0; i < shares->list.count; i++)
		add_counters(shares->list.items[i], counters);
}

unsigned shares_count(struct shares *shares)
{
	return shares->count;
}

/* ---- the drain ------------------------------------------------------------------------------------------------ */

int64_t shares_consume(struct shares *shares, share_record record, void *context, uint64_t *most)
{
	uint64_t bytes = 0, one;

	*most = 0;
	pthread_mutex_lock(&shares->lock);
	for (size_t i = 0; i < shares->list.count; i++) {
		struct share *share = shares->list.items[i];

		one = share_ring_consume(&share->ring, (uint32_t)share->pid, share->over, shares->room, record,
					 context);
		share->empty = share->over && !one;
		bytes += one;
		*most = one > *most ? one : *most;
	}
	pthread_mutex_unlock(&shares->lock);
	return (int64_t)bytes;
}

uint64_t shares_bytes(const struct shares *shares)
{
	return shares->bytes;
}

uint64_t shares_bytes_max(struct shares *shares)
{
	uint64_t most = shares->bytes_max;

	for (size_t i = 0; i < shares->list.count; i++)
		if (shares->list.items[i]->ring.bytes_max > most)
			most = shares->list.items[i]->ring.bytes_max;
	return most;
}

uint64_t shares_malformed(struct shares *shares)
{
	uint64_t malformed = shares->malformed;

	for (size_t i = 0; i < shares->list.count; i++)
		malformed += shares->list.items[i]->ring.malformed;
	return malformed;
}
