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

struct notice {
	struct notice *next;
	bool bulk;
	uint64_t record[]; /* aligned as records are */
};

struct notices {
	pthread_mutex_t lock; /* guards all that follows */
	struct notice *first, *last;
	size_t count, bulk_bytes, plain_bytes;
	uint64_t refused;
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
	return notices;
}

void notices_free(struct notices *notices)
{
	if (!notices)
		return;
	for (struct notice *notice = notices->first, *next; notice; notice = next) {
		next = notice->next;
		free(notice);
	}
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

/* Reserves the room that the record needs; false when there is none. */
static bool reserve(struct notices *notices, const struct gpt_record *record, size_t *bytes, bool *bulk)
{
	*bytes = record->size;
	*bulk = record->type == GPT_CUPTI_DONE && record->size > sizeof(struct gpt_cupti_done);
	if (*bulk && notices->bulk_bytes + sizeof(struct notice) + *bytes > NOTICES_BULK_MAX) {
		*bulk = false;
		*bytes = sizeof(struct gpt_cupti_done);
	}
	if (!*bulk && !is_stopped(record) && notices->plain_bytes + sizeof(struct notice) + *bytes > NOTICES_PLAIN_MAX)
		return false;
	*(*bulk ? &notices->bulk_bytes : &notices->plain_bytes) += sizeof(struct notice) + *bytes;
	return true;
}

static struct notice *copy(const struct gpt_record *record, size_t bytes, bool bulk)
{
	struct notice *notice = xmalloc(sizeof(*notice) + bytes);

	notice->next = NULL;
	notice->bulk = bulk;
	memcpy(notice->record, record, bytes);
	if (bytes != record->size) {
		struct gpt_cupti_done *done = (struct gpt_cupti_done *)notice->record;

		done->hdr.size = sizeof(*done);
		done->copied = 0;
	}
	return notice;
}

static void append(struct notices *notices, struct notice *notice)
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
	bool bulk;

	pthread_mutex_lock(&notices->lock);
	if (!is_said(notices, record)) {
		if (!notices->first)
			notices_wake(notices);
		if (reserve(notices, record, &bytes, &bulk))
			append(notices, copy(record, bytes, bulk));
		else
			notices->refused++;
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
		*(notice->bulk ? &notices->bulk_bytes : &notices->plain_bytes) -= bytes_of(notice);
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

uint64_t notices_refused(struct notices *notices)
{
	uint64_t refused;

	pthread_mutex_lock(&notices->lock);
	refused = notices->refused;
	notices->refused = 0;
	pthread_mutex_unlock(&notices->lock);
	return refused;
}
