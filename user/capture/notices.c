/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A list under a lock, and an eventfd; knows of records only which ones it may drop or shorten. */
#include "capture/notices.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/array.h"

enum room { ROOM_PLAIN, ROOM_BULK, ROOM_BATCHES };

struct notice {
	struct notice *next;
	enum room room;	   /* in which it counts */
	uint64_t record[]; /* aligned as records are */
};

struct user_bytes {
	uint32_t uid;
	size_t bytes;
};

struct notices {
	pthread_mutex_t lock; /* guards all that follows */
	struct notice *first, *last;
	size_t count;
	size_t bytes[ROOM_BATCHES + 1], most[ROOM_BATCHES + 1];
	ARRAY(struct user_bytes) users; /* of batches */
	uint64_t refused, batches_refused;
	int fd;
};

struct notices *notices_new(void)
{
	struct notices *notices = calloc(1, sizeof(*notices));

	if (!notices)
		return NULL;
	notices->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (notices->fd < 0) {
		free(notices);
		return NULL;
	}
	pthread_mutex_init(&notices->lock, NULL);
	notices->most[ROOM_PLAIN] = NOTICES_PLAIN_MAX;
	notices->most[ROOM_BULK] = NOTICES_BULK_MAX;
	notices->most[ROOM_BATCHES] = NOTICES_BATCHES_MAX;
	return notices;
}

void notices_bound(struct notices *notices, size_t bytes)
{
	const size_t all = NOTICES_PLAIN_MAX + NOTICES_BULK_MAX + NOTICES_BATCHES_MAX;

	pthread_mutex_lock(&notices->lock);
	for (unsigned room = 0; bytes < all && room <= ROOM_BATCHES; room++)
		notices->most[room] = (size_t)((double)notices->most[room] / (double)all * (double)bytes);
	pthread_mutex_unlock(&notices->lock);
}

void notices_free(struct notices *notices)
{
	if (!notices)
		return;
	for (struct notice *notice = notices->first, *next; notice; notice = next) {
		next = notice->next;
		free(notice);
	}
	array_free(&notices->users);
	close(notices->fd);
	pthread_mutex_destroy(&notices->lock);
	free(notices);
}

int notices_fd(const struct notices *notices)
{
	return notices->fd;
}

void notices_wake(struct notices *notices)
{
	uint64_t one = 1;

	/* The write fails only if the counter is full, and then the descriptor is readable. */
	(void)!write(notices->fd, &one, sizeof(one));
}

static const struct gpt_record *record_of(const struct notice *notice)
{
	return (const struct gpt_record *)notice->record;
}

static bool is_stopped(const struct gpt_record *record)
{
	return record->type == GPT_MAPPED && record->flags & GPT_MAPPED_STOPPED;
}

/* Whether the last record of the queue says the same: the process's mappings will be looked at after this one, too. */
static bool is_said(const struct notices *notices, const struct gpt_record *record)
{
	const struct gpt_record *last = notices->last ? record_of(notices->last) : NULL;

	return record->type == GPT_MAPPED && !is_stopped(record) && last && last->type == GPT_MAPPED &&
	       !(last->flags & ~record->flags & GPT_MAPPED_OTHER) &&
	       ((const struct gpt_mapped *)last)->pid == ((const struct gpt_mapped *)record)->pid;
}

static size_t bytes_of(const struct notice *notice)
{
	return sizeof(*notice) + record_of(notice)->size;
}

static uint32_t user_of(const struct gpt_record *record)
{
	return ((const struct gpt_agent_batch *)record)->uid;
}

static struct user_bytes *find_user(struct notices *notices, uint32_t uid)
{
	return array_find(&notices->users, item, item->uid == uid);
}

static bool has_room(struct notices *notices, enum room room, size_t bytes)
{
	return notices->bytes[room] + bytes <= notices->most[room];
}

/* No user's batches take more room than is left for those of the others. */
static bool user_has_room(struct notices *notices, const struct gpt_record *record, size_t bytes)
{
	const struct user_bytes *user = find_user(notices, user_of(record));

	return (user ? user->bytes : 0) + bytes <= notices->most[ROOM_BATCHES] - notices->bytes[ROOM_BATCHES];
}

static void count_bytes(struct notices *notices, enum room room, const struct gpt_record *record, size_t bytes)
{
	struct user_bytes *user;

	notices->bytes[room] += bytes;
	if (room != ROOM_BATCHES)
		return;
	user = find_user(notices, user_of(record));
	if (!user)
		user = array_push(&notices->users, ((struct user_bytes){.uid = user_of(record)}));
	user->bytes += bytes;
}

static void release_bytes(struct notices *notices, const struct notice *notice)
{
	struct user_bytes *user;

	notices->bytes[notice->room] -= bytes_of(notice);
	if (notice->room != ROOM_BATCHES)
		return;
	user = find_user(notices, user_of(record_of(notice)));
	user->bytes -= bytes_of(notice);
	if (!user->bytes)
		*user = notices->users.items[--notices->users.count];
}

/* Reserves the room that the record needs; false when there is none. */
static bool reserve_room(struct notices *notices, const struct gpt_record *record, size_t *bytes, enum room *room)
{
	size_t all = sizeof(struct notice) + record->size;

	*bytes = record->size;
	*room = ROOM_PLAIN;
	if (record->type == GPT_AGENT_BATCH) {
		*room = ROOM_BATCHES;
		if (!has_room(notices, *room, all) || !user_has_room(notices, record, all)) {
			notices->batches_refused++;
			return false;
		}
	} else if (record->type == GPT_CUPTI_DONE && record->size > sizeof(struct gpt_cupti_done)) {
		if (has_room(notices, ROOM_BULK, all))
			*room = ROOM_BULK;
		else
			*bytes = sizeof(struct gpt_cupti_done);
	}
	all = sizeof(struct notice) + *bytes;
	if (*room == ROOM_PLAIN && !is_stopped(record) && !has_room(notices, ROOM_PLAIN, all)) {
		notices->refused++;
		return false;
	}
	count_bytes(notices, *room, record, all);
	return true;
}

static struct notice *copy_record(const struct gpt_record *record, size_t bytes, enum room room)
{
	struct notice *notice = xmalloc(sizeof(*notice) + bytes);

	notice->next = NULL;
	notice->room = room;
	memcpy(notice->record, record, bytes);
	if (bytes != record->size) {
		struct gpt_cupti_done *done = (struct gpt_cupti_done *)notice->record;

		done->hdr.size = sizeof(*done);
		done->copied = 0;
	}
	return notice;
}

static void append_notice(struct notices *notices, struct notice *notice)
{
	if (notices->last)
		notices->last->next = notice;
	else
		notices->first = notice;
	notices->last = notice;
	notices->count++;
}

void notices_put(struct notices *notices, const struct gpt_record *record)
{
	size_t bytes;
	enum room room;

	pthread_mutex_lock(&notices->lock);
	if (!is_said(notices, record)) {
		if (!notices->first)
			notices_wake(notices);
		if (reserve_room(notices, record, &bytes, &room))
			append_notice(notices, copy_record(record, bytes, room));
	}
	pthread_mutex_unlock(&notices->lock);
}

const struct gpt_record *notices_take(struct notices *notices)
{
	struct notice *notice;
	uint64_t count;

	pthread_mutex_lock(&notices->lock);
	notice = notices->first;
	if (notice) {
		notices->first = notice->next;
		if (!notices->first)
			notices->last = NULL;
		notices->count--;
		release_bytes(notices, notice);
	} else {
		/* Under the lock: the next notices_put makes it readable again. */
		(void)!read(notices->fd, &count, sizeof(count));
	}
	pthread_mutex_unlock(&notices->lock);
	return notice ? record_of(notice) : NULL;
}

void notices_done(const struct gpt_record *record)
{
	if (record)
		free((char *)(uintptr_t)record - offsetof(struct notice, record));
}

size_t notices_count(struct notices *notices)
{
	size_t count;

	pthread_mutex_lock(&notices->lock);
	count = notices->count;
	pthread_mutex_unlock(&notices->lock);
	return count;
}

uint64_t notices_refused(struct notices *notices, uint64_t *batches)
{
	uint64_t refused;

	pthread_mutex_lock(&notices->lock);
	refused = notices->refused;
	*batches = notices->batches_refused;
	notices->refused = notices->batches_refused = 0;
	pthread_mutex_unlock(&notices->lock);
	return refused;
}
