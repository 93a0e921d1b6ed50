/*
 * subscribe.c: the one subscriber, and the callbacks it gets on the application's threads.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "stand-in.h"

#define DOMAINS CUPTI_CB_DOMAIN_SIZE
#define CBID_LIMIT 1024
#define NOT_SUPPORTED_MULTIPLE CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED

struct CUpti_Subscriber_st {
	CUpti_CallbackFunc callback;
	void *user;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct CUpti_Subscriber_st the_subscriber;
static char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN]; /* its name, as the real CUPTI (13.0 to 13.5) writes it; under
							  the lock */
static _Atomic int subscribed, running;
static __thread int inside; /* callbacks this thread is in */
static _Atomic unsigned char wanted[DOMAINS][CBID_LIMIT];

_Static_assert(sizeof(CUpti_CallbackData) == 72, "callback data");
_Static_assert(offsetof(CUpti_CallbackData, symbolName) == 32, "symbol name");
_Static_assert(offsetof(CUpti_CallbackData, correlationData) == 56, "correlation data");
_Static_assert(offsetof(CUpti_CallbackData, correlationId) == 64, "correlation id");

static void call_back(CUpti_CallbackDomain domain, uint32_t cbid, const void *data)
{
	if (cbid >= CBID_LIMIT || !atomic_load_explicit(&wanted[domain][cbid], memory_order_relaxed))
		return;
	atomic_fetch_add(&running, 1);
	inside++;
	if (atomic_load(&subscribed) == 1)
		the_subscriber.callback(the_subscriber.user, domain, cbid, data);
	inside--;
	atomic_fetch_sub(&running, 1);
}

/* As if the client's callback for cudaLaunchKernel took that much longer: how long it did is in the ground truth. */
static void delay_launch(void)
{
	uint64_t start = sim_now();
	char line[96];

	if (!sim_options()->callback_ns ||
	    !atomic_load(&wanted[CUPTI_CB_DOMAIN_RUNTIME_API][CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000]))
		return;
	sim_sleep_until(start + sim_options()->callback_ns);
	snprintf(line, sizeof(line), "{\"is\":\"delay\",\"start\":%llu,\"end\":%llu}\n", (unsigned long long)start,
		 (unsigned long long)sim_now());
	if (sim_truth_on())
		sim_truth_line(line);
}

void subscriber_api(struct sim_api *call, int exiting)
{
	CUpti_CallbackData data = {
		.callbackSite = exiting ? CUPTI_API_EXIT : CUPTI_API_ENTER,
		.functionName = call->info->name,
		.functionParams = call->params,
		.functionReturnValue = (void *)call->result,
		.symbolName = call->symbol,
		.context = call->context,
		.contextUid = call->context ? call->context->id : 0,
		.correlationData = &call->tool_slot,
		.correlationId = call->correlation,
	};

	call_back((CUpti_CallbackDomain)call->info->domain, call->info->cbid, &data);
	if (!exiting && call->info->cbid == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000 &&
	    (CUpti_CallbackDomain)call->info->domain == CUPTI_CB_DOMAIN_RUNTIME_API)
		delay_launch();
}

void subscriber_resource(uint32_t cbid, const struct sim_resource *resource)
{
	CUpti_GraphData graph = {
		.graph = resource->graph,
		.originalGraph = resource->source_graph,
		.node = resource->node,
		.originalNode = resource->source_node,
		.nodeType = resource->node ? resource->node->type : 0,
		.graphExec = resource->exec,
	};
	CUpti_ModuleResourceData module = {.cubinSize = resource->image_bytes, .pCubin = resource->image};
	CUpti_ResourceData data = {
		.context = resource->context ? resource->context : sim_thread()->context,
		.resourceHandle.stream = resource->stream,
		.resourceDescriptor = resource->image			  ? (void *)&module
				      : resource->graph || resource->exec ? (void *)&graph
									  : NULL,
	};

	call_back(CUPTI_CB_DOMAIN_RESOURCE, cbid, &data);
}

static CUptiResult subscribe_client(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *userdata,
				    CUpti_SubscriberParams *params)
{
	const char *name = params && params->subscriberName ? params->subscriberName : "<not provided>";
	CUptiResult result = CUPTI_SUCCESS;

	if (!subscriber)
		return CUPTI_ERROR_INVALID_PARAMETER;
	delivery_start();
	pthread_mutex_lock(&lock);
	if (atomic_load(&subscribed)) {
		result = NOT_SUPPORTED_MULTIPLE;
		if (params && params->oldSubscriberName && params->oldSubscriberSize)
			snprintf(params->oldSubscriberName, params->oldSubscriberSize, "%s", holder);
	} else {
		the_subscriber = (struct CUpti_Subscriber_st){callback, userdata};
		snprintf(holder, sizeof(holder), "CUPTI for %s", name);
		memset((void *)wanted, 0, sizeof(wanted));
		*subscriber = &the_subscriber;
		atomic_store(&subscribed, callback ? 1 : 2);
	}
	pthread_mutex_unlock(&lock);
	return result;
}

CUptiResult cuptiSubscribe(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *userdata)
{
	return subscribe_client(subscriber, callback, userdata, NULL);
}

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle *subscriber, CUpti_CallbackFunc callback, void *userdata,
			      CUpti_SubscriberParams *pParams)
{
	return subscribe_client(subscriber, callback, userdata, pParams);
}

static void disable_all_kinds(void)
{
	for (uint32_t kind = 0; kind < KIND_LIMIT; kind++)
		cuptiActivityDisable((CUpti_ActivityKind)kind);
}

/* Waits until no other thread is in a callback. */
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle subscriber)
{
	if (subscriber != &the_subscriber || !atomic_load(&subscribed))
		return CUPTI_ERROR_INVALID_PARAMETER;
	pthread_mutex_lock(&lock);
	memset((void *)wanted, 0, sizeof(wanted));
	atomic_store(&subscribed, 0);
	while (atomic_load(&running) > inside)
		sched_yield();
	pthread_mutex_unlock(&lock);
	if (sim_options()->unsubscribe_ends) {
		disable_all_kinds();
		buffers_register(NULL, NULL);
	}
	return CUPTI_SUCCESS;
}

static CUptiResult check_subscriber(CUpti_SubscriberHandle subscriber, uint32_t domain)
{
	if (subscriber != &the_subscriber || !atomic_load(&subscribed))
		return CUPTI_ERROR_INVALID_PARAMETER;
	return domain > 0 && domain < DOMAINS ? CUPTI_SUCCESS : CUPTI_ERROR_INVALID_PARAMETER;
}

CUptiResult cuptiEnableCallback(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
				CUpti_CallbackId cbid)
{
	CUptiResult result = check_subscriber(subscriber, domain);

	if (result || cbid >= CBID_LIMIT)
		return CUPTI_ERROR_INVALID_PARAMETER;
	if (enable)
		faults_enable_callback(domain, cbid);
	atomic_store(&wanted[domain][cbid], enable != 0);
	return CUPTI_SUCCESS;
}

CUptiResult cuptiEnableDomain(uint32_t enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain)
{
	CUptiResult result = check_subscriber(subscriber, domain);

	if (!result)
		memset((void *)wanted[domain], enable != 0, CBID_LIMIT);
	return result;
}

CUptiResult cuptiEnableAllDomains(uint32_t enable, CUpti_SubscriberHandle subscriber)
{
	CUptiResult result = CUPTI_SUCCESS;

	for (uint32_t domain = 1; !result && domain < DOMAINS; domain++)
		result = cuptiEnableDomain(enable, subscriber, (CUpti_CallbackDomain)domain);
	return result;
}

CUptiResult cuptiGetCallbackState(uint32_t *enable, CUpti_SubscriberHandle subscriber, CUpti_CallbackDomain domain,
				  CUpti_CallbackId cbid)
{
	CUptiResult result = check_subscriber(subscriber, domain);

	if (result || cbid >= CBID_LIMIT)
		return CUPTI_ERROR_INVALID_PARAMETER;
	*enable = atomic_load(&wanted[domain][cbid]);
	return CUPTI_SUCCESS;
}

/* Disables everything and unsubscribes; later calls start over. */
CUptiResult cuptiFinalize(void)
{
	disable_all_kinds();
	delivery_flush(true);
	if (atomic_load(&subscribed))
		cuptiUnsubscribe(&the_subscriber);
	return CUPTI_SUCCESS;
}
