/*
 * buffers.c: the client's buffers: requested on the thread that needs room (normally the
 * application's, inside an API call), filled, handed back. As in the real library the client's
 * request callback runs under one lock. Buffers belong to a queue: one for all threads, or one
 * for each. A setting says what happens to open buffers when another client registers.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stand-in.h"

struct client {
	CUpti_BuffersCallbackRequestFunc request;
	CUpti_BuffersCallbackCompleteFunc complete;
};

struct buffer {
	uint8_t *base;
	size_t size, used, records, records_max;
	CUpti_BuffersCallbackCompleteFunc complete; /* of the client that will get it */
	struct buffer *next;
};

struct buffers_queue {
	struct buffer *open; /* list; the first is being filled */
	size_t reserved;     /* bytes promised to records not yet written */
	bool abandoned;	     /* its thread has ended */
	struct buffers_queue *next;
};

/* What happens to open buffers when another client registers. */
static const struct way {
	const char *name;
	bool forgotten; /* neither written to nor given back */
	bool at_once;	/* given back at once; otherwise filled further and given back when full or flushed */
	bool to_new;	/* given to the new client, which has never seen them */
} ways[] = {
	{"forgotten", true, false, false}, {"given-old", false, true, false}, {"given-new", false, true, true},
	{"kept-old", false, false, false}, {"kept-new", false, false, true},
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct client client;
static struct buffers_queue shared, *of_threads; /* a list */
static struct buffer *full, **full_end = &full;
static _Atomic uint64_t dropped;
static pthread_key_t thread_end;
static pthread_once_t thread_end_once = PTHREAD_ONCE_INIT;
static __thread struct buffers_queue *of_thread;

static void overhead_note(uint64_t start);

void buffers_drop(void)
{
	atomic_fetch_add(&dropped, 1);
}

uint64_t buffers_dropped(void)
{
	return atomic_exchange(&dropped, 0);
}

/* ---- queues ---- */

/* Of an ended thread: its buffers stay until they are full or flushed. */
static void abandon_queue(void *queue)
{
	pthread_mutex_lock(&lock);
	((struct buffers_queue *)queue)->abandoned = true;
	pthread_mutex_unlock(&lock);
	of_thread = NULL;
}

static void make_thread_end(void)
{
	pthread_key_create(&thread_end, abandon_queue);
}

static struct buffers_queue *queue_of_thread(void)
{
	struct buffers_queue *queue = of_thread;

	if (!buffers_per_thread())
		return &shared;
	if (queue)
		return queue;
	pthread_once(&thread_end_once, make_thread_end);
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return &shared;
	pthread_setspecific(thread_end, queue);
	of_thread = queue;
	pthread_mutex_lock(&lock);
	queue->next = of_threads;
	of_threads = queue;
	pthread_mutex_unlock(&lock);
	return queue;
}

static void for_each_queue_locked(void (*visit)(struct buffers_queue *queue, const void *context), const void *context)
{
	visit(&shared, context);
	for (struct buffers_queue *queue = of_threads; queue; queue = queue->next)
		visit(queue, context);
}

static void free_abandoned_locked(void)
{
	struct buffers_queue **at = &of_threads;

	while (*at) {
		struct buffers_queue *queue = *at;

		if (queue->abandoned && !queue->open && !queue->reserved) {
			*at = queue->next;
			free(queue);
		} else {
			at = &queue->next;
		}
	}
}

/* ---- clients ---- */

static const struct way *chosen_way(void)
{
	const char *wanted = sim_options()->open_buffers;

	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
		if (!wanted || !strcmp(wanted, ways[i].name))
			return &ways[i];
	fprintf(stderr, "simgpu: SIMGPU_OPEN_BUFFERS=%s: forgotten, given-old, given-new, kept-old or kept-new\n",
		wanted);
	abort();
}

static void list_forget(struct buffer **list)
{
	while (*list) {
		struct buffer *gone = *list;

		*list = gone->next;
		free(gone);
	}
}

static void retire_first_locked(struct buffers_queue *queue)
{
	struct buffer *first = queue->open;

	queue->open = first->next;
	first->next = NULL;
	*full_end = first;
	full_end = &first->next;
}

/* context: the way */
static void leave_locked(struct buffers_queue *queue, const void *context)
{
	const struct way *chosen = context;

	if (chosen->forgotten)
		list_forget(&queue->open);
	for (struct buffer *at = queue->open; at && chosen->to_new; at = at->next)
		at->complete = client.complete;
	while (queue->open && chosen->at_once)
		retire_first_locked(queue);
}

void buffers_register(CUpti_BuffersCallbackRequestFunc request, CUpti_BuffersCallbackCompleteFunc complete)
{
	pthread_mutex_lock(&lock);
	client = (struct client){request, complete};
	if (chosen_way()->forgotten) {
		list_forget(&full);
		full_end = &full;
	}
	for_each_queue_locked(leave_locked, chosen_way());
	pthread_mutex_unlock(&lock);
	if (chosen_way()->at_once)
		buffers_hand_over(false);
}

/* ---- records ---- */

static struct buffer *request_locked(struct buffers_queue *queue)
{
	struct buffer *buffer = calloc(1, sizeof(*buffer));
	struct buffer **end = &queue->open;

	if (!buffer || !client.request) {
		free(buffer);
		return NULL;
	}
	buffer->complete = client.complete;
	client.request(&buffer->base, &buffer->size, &buffer->records_max);
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

static bool append_record(struct buffers_queue *queue, const void *record, size_t size)
{
	bool written = false, retired = false;
	uint64_t asked = 0;

	pthread_mutex_lock(&lock);
	while (queue->open && !has_room(queue->open, size)) {
		retire_first_locked(queue);
		retired = true;
	}
	if (!queue->open) {
		asked = clock_now();
		request_locked(queue);
	}
	if (queue->open) {
		memcpy(queue->open->base + queue->open->used, record, size);
		queue->open->used += size;
		queue->open->records++;
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

bool buffers_append(const void *record, size_t size)
{
	return append_record(queue_of_thread(), record, size);
}

struct buffers_queue *buffers_reserve(size_t size)
{
	struct buffers_queue *queue = queue_of_thread();
	size_t room = 0;
	uint64_t asked = 0;

	pthread_mutex_lock(&lock);
	queue->reserved += size;
	for (struct buffer *at = queue->open; at; at = at->next)
		room += at->size - at->used;
	if (room < queue->reserved) {
		asked = clock_now();
		if (!request_locked(queue))
			asked = 0;
	}
	pthread_mutex_unlock(&lock);
	if (asked)
		overhead_note(asked);
	return queue;
}

void buffers_append_reserved(struct buffers_queue *queue, const void *record, size_t size)
{
	append_record(queue, record, size);
	pthread_mutex_lock(&lock);
	queue->reserved -= size;
	pthread_mutex_unlock(&lock);
}

/* Kind OVERHEAD: the time this thread spent asking for a buffer. */
static void overhead_note(uint64_t start)
{
	static __thread bool noting; /* prevents recursion: this record may need another buffer */
	CUpti_ActivityOverhead3 record = {
		.kind = CUPTI_ACTIVITY_KIND_OVERHEAD,
		.overheadKind = CUPTI_ACTIVITY_OVERHEAD_ACTIVITY_BUFFER_REQUEST,
		.objectKind = CUPTI_ACTIVITY_OBJECT_THREAD,
		.start = start,
		.end = clock_now(),
	};

	if (noting || !kind_enabled(CUPTI_ACTIVITY_KIND_OVERHEAD))
		return;
	record.objectId.pt.processId = (uint32_t)sim_thread()->pid;
	record.objectId.pt.threadId = thread_id();
	noting = true;
	records_emit(&record);
	noting = false;
}

/* context: whether empty buffers stay */
static void retire_locked(struct buffers_queue *queue, const void *context)
{
	while (queue->open && (queue->open->used || !*(const bool *)context))
		retire_first_locked(queue);
}

/* all: also buffers that are partly filled and, when no kind is enabled any more, empty ones. */
void buffers_hand_over(bool all)
{
	bool keep_empty = kinds_any_enabled();
	struct buffer *list;

	pthread_mutex_lock(&lock);
	if (all) {
		for_each_queue_locked(retire_locked, &keep_empty);
		free_abandoned_locked();
	}
	list = full;
	full = NULL;
	full_end = &full;
	pthread_mutex_unlock(&lock);
	while (list) {
		struct buffer *gone = list;

		list = gone->next;
		gone->complete(NULL, 0, gone->base, gone->size, gone->used);
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
	if (faults_dropped())
		return CUPTI_ERROR_NOT_COMPATIBLE;
	*numDropped = buffers_dropped();
	return CUPTI_SUCCESS;
}
