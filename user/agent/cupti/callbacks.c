/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * One CUDA call may enter CUPTI several times (a runtime function and the driver functions it calls): all of
 * them carry one correlation id, and only the outermost is reported.
 */
#include "agent/cupti/callbacks.h"

#include <stdatomic.h>
#include <string.h>

#include <gputrace/agent.h>
#include "cupti/apis.h"
#include "agent/process/clock.h"
#include "cupti/cupti_abi.h"
#include "agent/kernels/kernel_places.h"
#include "agent/send/points.h"
#include "agent/cupti/returns.h"
#include "agent/process/thread_id.h"

/*
 * State of a thread: eight bytes of the static TLS that glibc keeps for late libraries (1,664 in all). A table of open
 * calls by correlation id would lose a long call (a synchronisation) when thousands of others are made meanwhile.
 */
static __thread struct {
	uint32_t corr;	   /* of the latest reported call that has not returned; 0: none (CUPTI starts at 1) */
	uint32_t captured; /* the same, when that call became a node of a graph instead of being executed */
} self __attribute__((tls_model("initial-exec")));

#define SHARDS 16 /* threads mostly count in different cache lines */

static struct {
	atomic_bool running;
	atomic_bool forked;	    /* locks may be held by threads that the child does not have */
	atomic_bool loads_reported; /* report calls that load code; else they are only followed */
	uint32_t (*graph_node_id)(void *node, uint64_t *id); /* CUPTI's, NULL: not there */
	void (*capture)(bool starts);
	_Atomic uint64_t started_ns; /* a return of a call older than this belongs to an earlier session */
	struct shard {
		_Atomic uint64_t calls, returned;			     /* reported calls */
		_Atomic uint32_t last_corr;				     /* of the latest of these */
		_Atomic uint64_t timed, timed_ns, timed_long, timed_long_ns; /* gpt_agent_stats.callbacks_* */
	} __attribute__((aligned(64))) shards[SHARDS];
	struct {
		atomic_flag busy;
		_Atomic uint32_t fresh;
		uint32_t result;
		char text[200];
	} error;
} callbacks = {.error = {.busy = ATOMIC_FLAG_INIT}};

static uint64_t load_member(const void *data, unsigned offset, unsigned bytes)
{
	uint64_t value = 0;

	memcpy(&value, (const char *)data + offset, bytes);
	return value;
}

/* One call in GPT_AGENT_TIMED_IN, at no distance that a loop's calls could keep. */
static bool is_timed(uint32_t corr)
{
	return corr * 2654435769u < UINT32_MAX / GPT_AGENT_TIMED_IN;
}

static void add_time(uint64_t ns)
{
	struct shard *shard = &callbacks.shards[thread_id() % SHARDS];

	if (ns > GPT_AGENT_LONG_NS) {
		atomic_fetch_add_explicit(&shard->timed_long, 1, memory_order_relaxed);
		atomic_fetch_add_explicit(&shard->timed_long_ns, ns, memory_order_relaxed);
	} else {
		atomic_fetch_add_explicit(&shard->timed_ns, ns, memory_order_relaxed);
	}
}

/* slot: eight bytes that CUPTI keeps for the subscriber from this entry to its return. */
static void call_enter(uint32_t domain, uint32_t cbid, uint32_t corr, uint64_t *slot, const void *params)
{
	struct shard *shard;

	if (slot)
		*slot = 0;
	if (!atomic_load_explicit(&callbacks.running, memory_order_relaxed) || !points_listening() || corr == self.corr)
		return;
	self.corr = corr;
	shard = &callbacks.shards[thread_id() % SHARDS];
	atomic_fetch_add_explicit(&shard->calls, 1, memory_order_relaxed);
	atomic_store_explicit(&shard->last_corr, corr, memory_order_relaxed);
	if (is_timed(corr))
		atomic_fetch_add_explicit(&shard->timed, 1, memory_order_relaxed);
	if (domain == CUPTI_DOMAIN_DRIVER)
		kernel_places_launch(cbid, params, corr);
	points_call(corr, apis_of(domain, cbid), params);
	if (slot)
		*slot = clock_now_ns(); /* after the probe, whose cost is not part of the call */
}

static void call_return(uint32_t domain, uint32_t cbid, uint32_t corr, const uint64_t *slot, const void *data)
{
	struct call_return call = {.end_ns = clock_now_ns(), .corr = corr};
	const void *result = (const void *)(uintptr_t)load_member(data, CUPTI_CB_RETURN_VALUE, sizeof(void *));

	call.start_ns = slot ? *slot : 0;
	if (!slot && atomic_load_explicit(&callbacks.running, memory_order_relaxed))
		returns_count_dropped();
	if (!call.start_ns)
		return; /* a nested call, or one that was not reported */
	if (self.corr == corr)
		self.corr = 0;
	if (call.start_ns < atomic_load_explicit(&callbacks.started_ns, memory_order_relaxed) ||
	    call.start_ns > call.end_ns)
		return; /* entered before this session: what is in the slot is stale */
	call.api = apis_of(domain, cbid);
	if (self.captured == corr)
		call.flags = GPT_AGENT_API_CAPTURED;
	call.tid = thread_id();
	if (result)
		memcpy(&call.result, result, sizeof(call.result));
	if (call.result && domain == CUPTI_DOMAIN_DRIVER)
		kernel_places_failed(corr);
	returns_push(&call);
	atomic_fetch_add_explicit(&callbacks.shards[call.tid % SHARDS].returned, 1, memory_order_release);
}

/* Rare; CUPTI owns the message, which is only valid now. A concurrent second one is dropped. */
static void state_error(uint32_t cbid, const void *data)
{
	const char *text = (const char *)(uintptr_t)load_member(data, CUPTI_STATE_DATA_MESSAGE, sizeof(void *));

	if ((cbid != CUPTI_STATE_FATAL && cbid != CUPTI_STATE_ERROR && cbid != CUPTI_STATE_WARNING) ||
	    atomic_flag_test_and_set(&callbacks.error.busy))
		return;
	callbacks.error.result = (uint32_t)load_member(data, CUPTI_STATE_DATA_RESULT, 4);
	callbacks.error.text[0] = '\0';
	if (text)
		strncat(callbacks.error.text, text, sizeof(callbacks.error.text) - 1);
	atomic_store(&callbacks.error.fresh, 1);
	atomic_flag_clear(&callbacks.error.busy);
}

static uint64_t node_id(const void *graph, unsigned offset)
{
	void *node = (void *)(uintptr_t)load_member(graph, offset, sizeof(void *));
	uint64_t id = 0;

	return node && callbacks.graph_node_id(node, &id) == CUPTI_OK ? id : 0;
}

/* Reports the call that made a node, and the node that it was cloned from: kernels of a graph name the clone. */
static void graph_node(uint32_t cbid, const void *data)
{
	const void *graph = (const void *)(uintptr_t)load_member(data, CUPTI_RESOURCE_DESCRIPTOR, sizeof(void *));
	bool cloned = cbid == CUPTI_RESOURCE_GRAPHNODE_CLONED;
	struct call_return node = {.corr = cloned ? 0 : self.corr};

	if (cbid != CUPTI_RESOURCE_GRAPHNODE_CREATED && !cloned)
		return;
	if (!cloned)
		self.captured = self.corr;
	if (!graph || !callbacks.graph_node_id || !atomic_load_explicit(&callbacks.running, memory_order_relaxed) ||
	    (!cloned && !node.corr))
		return;
	node.node = node_id(graph, CUPTI_GRAPH_NODE);
	node.source = cloned ? node_id(graph, CUPTI_GRAPH_ORIGINAL_NODE) : 0;
	if (!node.node || (cloned && !node.source))
		return;
	if (cloned)
		kernel_places_clone(node.node, node.source);
	else
		kernel_places_node(node.node, node.corr);
	returns_push(&node);
}

static void handle_resource(uint32_t cbid, const void *data)
{
	const void *module;

	if (cbid != CUPTI_RESOURCE_MODULE_LOADED) {
		graph_node(cbid, data);
		return;
	}
	module = (const void *)(uintptr_t)load_member(data, CUPTI_RESOURCE_DESCRIPTOR, sizeof(void *));
	if (module)
		kernel_places_module((const void *)(uintptr_t)load_member(module, CUPTI_MODULE_CUBIN, sizeof(void *)),
				     load_member(module, CUPTI_MODULE_CUBIN_SIZE, sizeof(uint64_t)));
}

/* Follows the calls that give kernels their place. True: this call needs no further report. */
static bool follow_code(uint32_t cbid, const void *data, bool enters, const void *params)
{
	const void *result = (const void *)(uintptr_t)load_member(data, CUPTI_CB_RETURN_VALUE, sizeof(void *));

	if (enters)
		kernel_places_enter(cbid, params);
	else
		kernel_places_return(cbid, params, result ? (int32_t)load_member(result, 0, sizeof(int32_t)) : -1);
	return !kernel_places_loads(cbid) || !atomic_load_explicit(&callbacks.loads_reported, memory_order_relaxed);
}

/* cudaProfilerStart or cudaProfilerStop, or the driver's function that it calls. These are never reported as calls. */
static bool is_capture(uint32_t domain, uint32_t cbid, bool *starts)
{
	bool runtime = domain == CUPTI_DOMAIN_RUNTIME;

	*starts = cbid == (runtime ? CUPTI_RUNTIME_PROFILER_START : CUPTI_DRIVER_PROFILER_START);
	return *starts || cbid == (runtime ? CUPTI_RUNTIME_PROFILER_STOP : CUPTI_DRIVER_PROFILER_STOP);
}

static void handle_call(uint32_t domain, uint32_t cbid, uint32_t corr, const void *data)
{
	uint64_t *slot = (uint64_t *)(uintptr_t)load_member(data, CUPTI_CB_CORRELATION_DATA, sizeof(void *));
	const void *params;
	bool enters, starts;

	params = (const void *)(uintptr_t)load_member(data, CUPTI_CB_PARAMS, sizeof(void *));
	enters = load_member(data, CUPTI_CB_SITE, 4) == CUPTI_SITE_ENTER;
	if (is_capture(domain, cbid, &starts)) {
		if (enters)
			callbacks.capture(starts);
		return;
	}
	if (domain == CUPTI_DOMAIN_DRIVER && kernel_places_follows(cbid) && follow_code(cbid, data, enters, params))
		return;
	if (enters)
		call_enter(domain, cbid, corr, slot, params);
	else
		call_return(domain, cbid, corr, slot, data);
}

void callbacks_api(void *user, uint32_t domain, uint32_t cbid, const void *data)
{
	uint64_t begin_ns;
	uint32_t corr;

	if (!data || atomic_load_explicit(&callbacks.forked, memory_order_relaxed))
		return;
	if (domain == CUPTI_DOMAIN_STATE) {
		state_error(cbid, data);
		return;
	}
	if (domain == CUPTI_DOMAIN_RESOURCE)
		handle_resource(cbid, data);
	if (domain != CUPTI_DOMAIN_RUNTIME && domain != CUPTI_DOMAIN_DRIVER)
		return;
	corr = (uint32_t)load_member(data, CUPTI_CB_CORRELATION_ID, 4);
	if (!is_timed(corr) || !atomic_load_explicit(&callbacks.running, memory_order_relaxed)) {
		handle_call(domain, cbid, corr, data);
		return;
	}
	begin_ns = clock_now_ns();
	handle_call(domain, cbid, corr, data);
	add_time(clock_now_ns() - begin_ns);
}

void callbacks_report_loads(bool wanted)
{
	atomic_store(&callbacks.loads_reported, wanted);
}

void callbacks_start(uint32_t (*graph_node_id)(void *node, uint64_t *id), void (*capture)(bool starts))
{
	unsigned i;

	for (i = 0; i < SHARDS; i++) {
		atomic_store(&callbacks.shards[i].calls, 0);
		atomic_store(&callbacks.shards[i].returned, 0);
		atomic_store(&callbacks.shards[i].last_corr, 0);
		atomic_store(&callbacks.shards[i].timed, 0);
		atomic_store(&callbacks.shards[i].timed_ns, 0);
		atomic_store(&callbacks.shards[i].timed_long, 0);
		atomic_store(&callbacks.shards[i].timed_long_ns, 0);
	}
	atomic_store(&callbacks.error.fresh, 0);
	callbacks.graph_node_id = graph_node_id;
	callbacks.capture = capture;
	atomic_store(&callbacks.started_ns, clock_now_ns());
	atomic_store(&callbacks.running, true);
}

void callbacks_stop(void)
{
	atomic_store(&callbacks.running, false);
}

void callbacks_go_on(void)
{
	atomic_store(&callbacks.started_ns, clock_now_ns());
	atomic_store(&callbacks.running, true);
}

void callbacks_forked(void)
{
	callbacks_stop();
	atomic_store(&callbacks.forked, true);
	memset(&self, 0, sizeof(self));
}

uint64_t callbacks_count(void)
{
	uint64_t calls = 0;
	unsigned i;

	for (i = 0; i < SHARDS; i++)
		calls += atomic_load(&callbacks.shards[i].calls);
	return calls;
}

void callbacks_cost(struct gpt_agent_stats *stats)
{
	stats->callbacks_timed = stats->callbacks_timed_ns = 0;
	stats->callbacks_long = stats->callbacks_long_ns = 0;
	for (unsigned i = 0; i < SHARDS; i++) {
		stats->callbacks_timed += atomic_load(&callbacks.shards[i].timed);
		stats->callbacks_timed_ns += atomic_load(&callbacks.shards[i].timed_ns);
		stats->callbacks_long += atomic_load(&callbacks.shards[i].timed_long);
		stats->callbacks_long_ns += atomic_load(&callbacks.shards[i].timed_long_ns);
	}
}

uint64_t callbacks_open(void)
{
	uint64_t open = 0;
	unsigned i;

	for (i = 0; i < SHARDS; i++)
		open += atomic_load(&callbacks.shards[i].calls) - atomic_load(&callbacks.shards[i].returned);
	return open;
}

uint32_t callbacks_last_corr(void)
{
	uint32_t last = 0, corr;
	unsigned i;

	for (i = 0; i < SHARDS; i++) {
		corr = atomic_load(&callbacks.shards[i].last_corr);
		if (!last || (corr && (int32_t)(corr - last) > 0))
			last = corr;
	}
	return last;
}

bool callbacks_state_error(uint32_t *result, char *text, uint32_t size)
{
	bool fresh;

	if (!atomic_load(&callbacks.error.fresh) || atomic_flag_test_and_set(&callbacks.error.busy))
		return false;
	fresh = atomic_exchange(&callbacks.error.fresh, 0);
	*result = callbacks.error.result;
	text[0] = '\0';
	strncat(text, callbacks.error.text, size - 1);
	atomic_flag_clear(&callbacks.error.busy);
	return fresh;
}
