/*
 * buffers.c: the client's buffers: asked for on the thread that needs room (normally the
 * application's, inside an API call), filled, handed back. As in the real library the client's
 * request callback runs under a lock of ours.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "stand-in.h"

struct buffer {
	uint8_t *base;
	size_t size, used, records, records_max;
	struct buffer *next;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUpti_BuffersCallbackRequestFunc on_request;
static CUpti_BuffersCallbackCompleteFunc on_complete;
static struct buffer *open_buffers; /* the first is being filled */
static struct buffer *full, **full_end = &full;
static size_t reserved; /* bytes promised to records not yet written */
static _Atomic uint64_t dropped;

static void overhead_note(uint64_t start);

void buffers_drop(void)
{
	atomic_fetch_add(&dropped, 1);
}

uint64_t buffers_dropped(void)
{
	return atomic_exchange(&dropped, 0);
}

static void list_forget(struct buffer **list)
{
	while (*list) {
		struct buffer *gone = *list;

		*list = gone->next;
		free(gone);
	}
}

/* Buffers of an earlier client are its own: they are forgotten, not written to. */
void buffers_register(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete)
{
	pthread_mutex_lock(&lock);
	list_forget(&open_buffers);
	list_forget(&full);
	full_end = &full;
	on_request = request;
	on_complete = complete;
	pthread_mutex_unlock(&lock);
}

static struct buffer *request_locked(void)
{
	struct buffer *buffer = calloc(1, sizeof(*buffer));
	struct buffer **end = &open_buffers;

	if (!buffer || !on_request) {
		free(buffer);
		return NULL;
	}
	on_request(&buffer->base, &buffer->size, &buffer->records_max);
	if (!buffer->base || buffer->size < RECORD_MAX) {
		free(buffer);
		return NULL;
	}
	while (*end)
		end = &(*end)->next;
	*end = buffer;
	return buffer;
}

static bool has_room(const struct buffer *buffer, size_t size)
{
	return buffer->size - buffer->used >= size && (!buffer->records_max || buffer->records < buffer->records_max);
}

static void retire_first_locked(void)
{
	struct buffer *first = open_buffers;

	open_buffers = first->next;
	first->next = NULL;
	*full_end = first;
	full_end = &first->next;
}

bool buffers_append(const void *record, size_t size)
{
	bool written = false, retired = false;
	uint64_t asked = 0;

	pthread_mutex_lock(&lock);
	while (open_buffers && !has_room(open_buffers, size)) {
		retire_first_locked();
		retired = true;
	}
	if (!open_buffers) {
		asked = clock_now();
		request_locked();
	}
	if (open_buffers) {
		memcpy(open_buffers->base + open_buffers->used, record, size);
		open_buffers->used += size;
		open_buffers->records++;
		written = true;
	}
	pthread_mutex_unlock(&lock);
	if (!written)
		buffers_drop();
	if (retired)
		buffers_hand_over(false);
	if (asked && written)
		overhead_note(asked);
	return written;
}

void buffers_reserve(size_t size)
{
	size_t room = 0;
	uint64_t asked = 0;

	pthread_mutex_lock(&lock);
	reserved += size;
	for (struct buffer *at = open_buffers; at; at = at->next)
		room += at->size - at->used;
	if (room < reserved) {
		asked = clock_now();
		if (!request_locked())
			asked = 0;
	}
	pthread_mutex_unlock(&lock);
	if (asked)
		overhead_note(asked);
}

void buffers_unreserve(size_t size)
{
	pthread_mutex_lock(&lock);
	reserved -= reserved < size ? reserved : size;
	pthread_mutex_unlock(&lock);
}

/* Kind OVERHEAD: the time this thread spent asking for a buffer. */
static void overhead_note(uint64_t start)
{
	CUpti_ActivityOverhead3 record = {
		.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
		.overheadKind = CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST,
		.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
		.start = start,
		.end = clock_now(),
	};

	record.objectId.pt.processId = (uint32_t)sim_thread()->pid;
	record.objectId.pt.threadId = thread_id();
	if (kind_enabled(CUPTI_ACTIVITY_KIND_OVERHEAD))
		records_emit(&record);
}

/* all: also what is only partly filled, and, when nothing is recorded any more, what is empty. */
void buffers_hand_over(bool all)
{
	struct buffer *list;
	CUpti_BuffersCallbackCompleteFunc complete;
	bool keep_empty = kinds_any_enabled();

	pthread_mutex_lock(&lock);
	while (all && open_buffers && (open_buffers->used || !keep_empty))
		retire_first_locked();
	list = full;
	full = NULL;
	full_end = &full;
	complete = on_complete;
	pthread_mutex_unlock(&lock);
	while (list) {
		struct buffer *gone = list;

		list = gone->next;
		if (complete)
			complete(NULL, 0, gone->base, gone->size, gone->used);
		free(gone);
	}
}

void buffers_forked(void)
{
	pthread_mutex_init(&lock, NULL);
}

CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc funcBufferRequested,
					   CUpti_BuffersCallbackCompleteFunc funcBufferCompleted)
{
	if (!funcBufferRequested || !funcBufferCompleted)
		return CUPTI_ERROR_INVALID_PARAMETER;
	buffers_register(funcBufferRequested, funcBufferCompleted);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNextRecord(uint8_t *buffer, size_t validBufferSizeBytes, CUpti_Activity **record)
{
	const uint8_t *at;
	size_t size, left;

	if (!record || !buffer)
		return CUPTI_ERROR_INVALID_PARAMETER;
	at = buffer;
	if (*record) {
		size = layout_size((*record)->kind);
		if (!size)
			return CUPTI_ERROR_INVALID_KIND;
		at = (const uint8_t *)*record + size;
	}
	left = validBufferSizeBytes - (size_t)(at - buffer);
	if (at >= buffer + validBufferSizeBytes || left < sizeof(CUpti_Activity))
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	size = layout_size(((const CUpti_Activity *)at)->kind);
	if (!size)
		return CUPTI_ERROR_INVALID_KIND;
	if (size > left)
		return CUPTI_ERROR_MAX_LIMIT_REACHED;
	*record = (CUpti_Activity *)at;
	return CUPTI_SUCCESS;
}

CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext context, uint32_t streamId, size_t *numDropped)
{
	(void)context;
	(void)streamId;
	*numDropped = buffers_dropped();
	return CUPTI_SUCCESS;
}
