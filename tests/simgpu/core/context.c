/*
 * context.c: devices' contexts, and streams. Contexts and streams are never freed, so a stale handle
 * is harmless; destroyed streams only leave their context's list.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include <cupti_callbacks.h>

#include "sim.h"

#define MAX_CONTEXTS 64

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static CUcontext contexts[MAX_CONTEXTS];
static _Atomic(CUcontext) primaries[SIM_MAX_DEVICES];
static unsigned context_count;
static _Atomic uint32_t last_stream = 6; /* the first context's default stream gets 7, as usual */

static CUstream stream_new(CUcontext context, unsigned flags, int priority)
{
	CUstream stream = calloc(1, sizeof(*stream));

	if (!stream)
		abort();
	stream->context = context;
	stream->id = atomic_fetch_add(&last_stream, 1) + 1;
	stream->flags = flags;
	stream->priority = priority;
	pthread_mutex_lock(&lock);
	stream->next = context->streams;
	context->streams = stream;
	pthread_mutex_unlock(&lock);
	return stream;
}

CUstream sim_stream_create(CUcontext context, unsigned flags, int priority)
{
	CUstream stream = stream_new(context, flags, priority);

	sim_resource(CUPTI_CBID_RESOURCE_STREAM_CREATED, &(struct sim_resource){.context = context, .stream = stream});
	return stream;
}

void sim_stream_destroy(CUstream stream)
{
	sim_resource(CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING,
		     &(struct sim_resource){.context = stream->context, .stream = stream});
	pthread_mutex_lock(&lock);
	for (CUstream *at = &stream->context->streams; *at; at = &(*at)->next)
		if (*at == stream) {
			*at = stream->next;
			break;
		}
	pthread_mutex_unlock(&lock);
}

static CUcontext context_new(int device, bool primary)
{
	CUcontext context = calloc(1, sizeof(*context));

	if (!context)
		abort();
	context->device = device;
	context->primary = primary;
	context->legacy = stream_new(context, 0, 0);
	context->per_thread = stream_new(context, 0, 0);
	pthread_mutex_lock(&lock);
	if (context_count < MAX_CONTEXTS)
		contexts[context_count++] = context;
	context->id = context_count;
	if (primary)
		atomic_store(&primaries[device], context);
	pthread_mutex_unlock(&lock);
	return context;
}

static void context_announce(CUcontext context)
{
	sim_resource(CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &(struct sim_resource){.context = context});
	sim_resource(CUPTI_CBID_RESOURCE_STREAM_CREATED,
		     &(struct sim_resource){.context = context, .stream = context->legacy});
}

CUcontext sim_context_create(int device)
{
	CUcontext context = context_new(device, false);

	context_announce(context);
	return context;
}

CUcontext sim_context_primary(int device)
{
	static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;
	CUcontext context = atomic_load(&primaries[device]);
	bool made = false;

	if (context)
		return context;
	pthread_mutex_lock(&making);
	context = atomic_load(&primaries[device]);
	if (!context) {
		context = context_new(device, true);
		made = true;
	}
	pthread_mutex_unlock(&making);
	if (made)
		context_announce(context);
	return context;
}

bool sim_primary_active(int device)
{
	return atomic_load(&primaries[device]) != NULL;
}

CUcontext sim_context_current(void)
{
	struct sim_thread *self = sim_thread();

	if (!self->context)
		self->context = sim_context_primary(self->device);
	return self->context;
}

CUstream sim_stream_resolve(CUstream handle)
{
	if ((uintptr_t)handle <= 1)
		return sim_context_current()->legacy;
	if ((uintptr_t)handle == 2)
		return sim_context_current()->per_thread;
	return handle;
}

void sim_for_each_context(void (*visit)(CUcontext))
{
	for (unsigned i = 0; i < context_count; i++)
		visit(contexts[i]);
}

void sim_for_each_stream(void (*visit)(CUstream))
{
	for (unsigned i = 0; i < context_count; i++)
		for (CUstream stream = contexts[i]->streams; stream; stream = stream->next)
			visit(stream);
}
