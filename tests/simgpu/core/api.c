/*
 * api.c: one call of an API function, from entry to exit. A call made by another API function (the
 * driver call inside a runtime call) shares the outer call's correlation id. The tool sees both
 * calls, the ground truth only the outer one.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sim.h"

static __thread struct sim_thread thread_state;
static _Atomic uint32_t last_correlation;
static _Atomic(const struct sim_tool *) the_tool;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;

static void forget_ids(void)
{
	thread_state.tid = 0;
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, forget_ids);
}

struct sim_thread *sim_thread(void)
{
	struct sim_thread *self = &thread_state;

	if (!self->tid) {
		pthread_once(&fork_once, watch_forks);
		self->tid = (int)syscall(SYS_gettid);
		self->pid = getpid();
	}
	return self;
}

void sim_label(const char *label)
{
	struct sim_thread *self = sim_thread();
	size_t size = label ? strnlen(label, SIM_LABEL_SIZE - 1) : 0;

	if (size)
		memcpy(self->label, label, size);
	self->label[size] = 0;
}

void sim_tool_set(const struct sim_tool *tool)
{
	atomic_store(&the_tool, tool);
}

const struct sim_tool *sim_tool(void)
{
	return atomic_load_explicit(&the_tool, memory_order_acquire);
}

void sim_resource(uint32_t cbid, const struct sim_resource *resource)
{
	const struct sim_tool *tool = sim_tool();

	if (tool)
		tool->resource(cbid, resource);
}

void sim_api_enter(struct sim_api *call, const struct sim_api_info *info, const void *params, const char *symbol)
{
	struct sim_thread *self = sim_thread();
	const struct sim_tool *tool = sim_tool();

	call->info = info;
	call->params = params;
	call->symbol = symbol;
	call->result = NULL;
	call->context = self->context;
	call->outer = self->depth++ == 0;
	call->tool_slot = 0;
	if (call->outer)
		self->correlation = sim_options()->correlation + atomic_fetch_add(&last_correlation, 1) + 1;
	call->correlation = self->correlation;
	call->enter = call->outer && sim_truth_on() ? sim_now() : 0;
	if (tool)
		tool->api(call, 0, 0);
}

void sim_api_exit(struct sim_api *call, const void *result, int status)
{
	struct sim_thread *self = sim_thread();
	const struct sim_tool *tool = sim_tool();

	call->result = result;
	if (!call->context)
		call->context = self->context;
	if (tool)
		tool->api(call, 1, status);
	self->depth--;
	if (call->outer && call->info->class != SIM_QUIET && sim_truth_on())
		sim_truth_api(call, sim_now(), status);
}
