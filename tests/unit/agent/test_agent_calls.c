/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* CUPTI's API callback: each call reported once, with its return. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gputrace/cuda_api.h>

#include "agent/cupti/callbacks.h"
#include "agent/process/clock.h"
#include "agent/kernels/kernel_tables.h"
#include "cupti/cupti_abi.h"
#include "agent/cupti/returns.h"
#include "agent_points.h"

#define RUNTIME CUPTI_DOMAIN_RUNTIME
#define DRIVER CUPTI_DOMAIN_DRIVER

/* CUpti_CallbackData as in CUDA 11.8 to 13.5 (tests/cupti_headers.c holds the offsets against the headers). */
struct callback_data {
	uint32_t site;
	const char *name;
	const void *params;
	void *result;
	const char *symbol;
	void *context;
	uint32_t context_uid;
	uint64_t *correlation_data;
	uint32_t corr;
};

struct call {
	struct callback_data data;
	uint64_t slot;
	int result;
};

static void enter_call(struct call *call, uint32_t domain, uint32_t cbid, uint32_t corr)
{
	*call = (struct call){.slot = 0x5555555555555555u, .data = {.site = CUPTI_SITE_ENTER, .corr = corr}};
	call->data.correlation_data = &call->slot;
	callbacks_api(NULL, domain, cbid, &call->data);
}

static void leave_call(struct call *call, uint32_t domain, uint32_t cbid, int result)
{
	call->result = result;
	call->data.site = CUPTI_SITE_EXIT;
	call->data.result = &call->result;
	callbacks_api(NULL, domain, cbid, &call->data);
}

/* Stands in for cuptiGetGraphNodeId: the node's pointer is its id. */
static uint32_t node_id(void *node, uint64_t *id)
{
	*id = (uint64_t)(uintptr_t)node;
	return *id == 13 ? CUPTI_UNKNOWN : CUPTI_OK;
}

/* CUpti_ResourceData with its CUpti_GraphData. */
static void graph_node(uint32_t cbid, uint64_t node, uint64_t original)
{
	const uint64_t graph[4] = {0, 0, node, original};
	const void *data[3] = {NULL, NULL, graph};

	callbacks_api(NULL, CUPTI_DOMAIN_RESOURCE, cbid, data);
}

static char captured[8]; /* '+' for each start, '-' for each stop */

static void note_capture(bool starts)
{
	strcat(captured, starts ? "+" : "-");
}

static int begin_test(void **state)
{
	memset(&said, 0, sizeof(said));
	gputrace_agent_semaphore = 2;
	if (!returns_open())
		return -1;
	returns_reset();
	captured[0] = 0;
	callbacks_start(node_id, note_capture);
	return 0;
}

static void a_start_or_stop_of_the_profiler_is_passed_on_as_it_enters_and_is_no_call(void **state)
{
	static const struct {
		uint32_t domain, cbid;
	} calls[] = {{RUNTIME, CUPTI_RUNTIME_PROFILER_START},
		     {CUPTI_DOMAIN_DRIVER, CUPTI_DRIVER_PROFILER_START},
		     {CUPTI_DOMAIN_DRIVER, CUPTI_DRIVER_PROFILER_STOP},
		     {RUNTIME, CUPTI_RUNTIME_PROFILER_STOP}};
	struct call_return got;
	struct call call;

	for (uint32_t i = 0; i < 4; i++) {
		enter_call(&call, calls[i].domain, calls[i].cbid, 7 + i);
		assert_int_equal(strlen(captured), i + 1);
		leave_call(&call, calls[i].domain, calls[i].cbid, 0);
	}
	assert_string_equal(captured, "++--");
	assert_int_equal(said.calls, 0);
	assert_false(returns_pop(&got));
}

static void one_call_in_some_is_timed_with_all_its_callbacks(void **state)
{
	uint64_t begin_ns = clock_now_ns(), calls = 1u << 15, ns;
	struct gpt_agent_stats stats = {.callbacks_long = 9};
	struct call_return got;
	struct call call, nested;

	for (uint32_t corr = 1; corr <= calls; corr++) {
		enter_call(&call, RUNTIME, 211, corr);
		enter_call(&nested, DRIVER, 307, corr); /* a call that it makes itself has its number */
		leave_call(&nested, DRIVER, 307, 0);
		leave_call(&call, RUNTIME, 211, 0);
		assert_true(returns_pop(&got));
	}
	ns = clock_now_ns() - begin_ns;
	callbacks_cost(&stats);
	assert_in_range(stats.callbacks_timed, calls / GPT_AGENT_TIMED_IN - 2, calls / GPT_AGENT_TIMED_IN + 2);
	assert_true(stats.callbacks_timed_ns > 0);
	assert_in_range(stats.callbacks_timed_ns + stats.callbacks_long_ns, 1, ns);
	assert_true(stats.callbacks_timed_ns <= 4 * stats.callbacks_timed * GPT_AGENT_LONG_NS);
	assert_true(stats.callbacks_long_ns >= stats.callbacks_long * GPT_AGENT_LONG_NS);
	callbacks_start(node_id, note_capture);
	callbacks_cost(&stats);
	assert_int_equal(stats.callbacks_timed, 0);
	assert_int_equal(stats.callbacks_timed_ns, 0);
	assert_int_equal(stats.callbacks_long, 0);
	assert_int_equal(stats.callbacks_long_ns, 0);
}

static void a_call_is_reported_at_entry_and_returned_with_its_times(void **state)
{
	uint64_t before = clock_now_ns();
	struct call_return got;
	struct call call;

	enter_call(&call, RUNTIME, 211, 7);
	assert_int_equal(said.calls, 1);
	assert_int_equal(said.corr[0], 7);
	assert_int_equal(said.api[0], GPT_API(2, 211));
	assert_int_equal(callbacks_open(), 1);
	assert_false(returns_pop(&got));
	leave_call(&call, RUNTIME, 211, 719);
	assert_true(returns_pop(&got));
	assert_int_equal(got.corr, 7);
	assert_int_equal(got.api, GPT_API(2, 211));
	assert_int_equal(got.result, 719);
	assert_int_equal(got.tid, gettid());
	assert_true(before <= got.start_ns && got.start_ns <= got.end_ns && got.end_ns <= clock_now_ns());
	assert_int_equal(callbacks_count(), 1);
	assert_int_equal(callbacks_open(), 0);
	assert_int_equal(callbacks_last_corr(), 7);
}

/* The lock of the kernel tables may be held by a thread that does not exist in the child. */
static void a_forked_child_that_loads_code_waits_for_no_one(void **state)
{
	struct call load;
	int status;
	pid_t child;

	kernel_tables_lock();
	child = fork();
	if (!child) {
		alarm(20);
		callbacks_forked();
		enter_call(&load, DRIVER, CUPTI_DRIVER_MODULE_LOAD_DATA, 7);
		load.data.params = (const uint64_t[]){0, 0};
		leave_call(&load, DRIVER, CUPTI_DRIVER_MODULE_LOAD_DATA, 0);
		_exit(said.calls);
	}
	kernel_tables_unlock();
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void driver_calls_inside_a_runtime_call_are_part_of_it(void **state)
{
	struct call outer, inner, second;
	struct call_return got;

	enter_call(&outer, RUNTIME, 31, 8);
	enter_call(&inner, DRIVER, 277, 8);
	leave_call(&inner, DRIVER, 277, 0);
	enter_call(&second, DRIVER, 126, 8);
	leave_call(&second, DRIVER, 126, 0);
	leave_call(&outer, RUNTIME, 31, 0);
	assert_int_equal(said.calls, 1);
	assert_int_equal(said.api[0], GPT_API(2, 31));
	assert_true(returns_pop(&got));
	assert_int_equal(got.api, GPT_API(2, 31));
	assert_false(returns_pop(&got));
}

static void a_driver_call_of_its_own_is_reported(void **state)
{
	struct call call;

	enter_call(&call, DRIVER, 307, 9);
	leave_call(&call, DRIVER, 307, 0);
	enter_call(&call, DRIVER, 307, 10);
	leave_call(&call, DRIVER, 307, 0);
	assert_int_equal(said.calls, 2);
	assert_int_equal(said.api[1], GPT_API(1, 307));
	assert_int_equal(said.corr[1], 10);
}

static void the_launch_stubs_of_cuda_13_are_launches(void **state)
{
	static const uint16_t ids[][3] = {{RUNTIME, GPT_CBID_STUB_LAUNCH, 211},
					  {RUNTIME, GPT_CBID_STUB_LAUNCH_PTSZ, 214},
					  {RUNTIME, 482, 509},
					  {RUNTIME, 483, 510},
					  {DRIVER, 796, 776},
					  {DRIVER, 797, 777}};
	struct call outer, inner;
	struct call_return got;
	uint32_t i;

	for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		enter_call(&outer, ids[i][0], ids[i][1], 20 + i);
		enter_call(&inner, ids[i][0], ids[i][2], 20 + i); /* for a CUPTI that reports both */
		leave_call(&inner, ids[i][0], ids[i][2], 0);
		leave_call(&outer, ids[i][0], ids[i][1], 0);
		assert_int_equal(said.calls, i + 1);
		assert_int_equal(said.api[i], GPT_API(ids[i][0], ids[i][2]));
		assert_true(returns_pop(&got));
		assert_int_equal(got.api, GPT_API(ids[i][0], ids[i][2]));
		assert_false(returns_pop(&got));
	}
}

static void the_return_of_a_call_that_began_before_us_is_not_ours(void **state)
{
	struct call call = {.data = {.corr = 30}};
	struct call_return got;

	call.data.correlation_data = &call.slot;
	call.slot = 0; /* zeroed by CUPTI */
	leave_call(&call, RUNTIME, 131, 0);
	call.slot = 12345; /* a stale value */
	leave_call(&call, RUNTIME, 131, 0);
	call.slot = UINT64_MAX; /* not a valid time */
	leave_call(&call, RUNTIME, 131, 0);
	assert_false(returns_pop(&got));
	assert_int_equal(returns_dropped(), 0);
}

static void nothing_is_sent_when_no_one_listens(void **state)
{
	struct call_return got;
	struct call call;

	gputrace_agent_semaphore = 0;
	enter_call(&call, RUNTIME, 211, 40);
	leave_call(&call, RUNTIME, 211, 0);
	gputrace_agent_semaphore = 2;
	callbacks_stop();
	enter_call(&call, RUNTIME, 211, 41);
	leave_call(&call, RUNTIME, 211, 0);
	assert_int_equal(said.calls, 0);
	assert_int_equal(callbacks_count(), 0);
	assert_false(returns_pop(&got));
}

static void a_reported_call_may_still_return_after_the_end(void **state)
{
	struct call_return got;
	struct call call;

	enter_call(&call, RUNTIME, 211, 50);
	callbacks_stop();
	assert_int_equal(callbacks_open(), 1);
	leave_call(&call, RUNTIME, 211, 0);
	assert_int_equal(callbacks_open(), 0);
	assert_true(returns_pop(&got));
	assert_int_equal(got.corr, 50);
}

static void odd_callbacks_do_no_harm(void **state)
{
	struct callback_data bare = {.site = CUPTI_SITE_ENTER, .corr = 60};

	callbacks_api(NULL, RUNTIME, 211, NULL);
	callbacks_api(NULL, 3, 1, &bare);
	assert_int_equal(said.calls, 0);
	callbacks_api(NULL, RUNTIME, 211, &bare); /* no slot for the start time: the call is still reported */
	bare.site = CUPTI_SITE_EXIT;
	callbacks_api(NULL, RUNTIME, 211, &bare);
	assert_int_equal(said.calls, 1);
	assert_int_equal(returns_dropped(), 1);
}

static void an_asynchronous_error_is_kept_until_it_is_asked_for(void **state)
{
	struct {
		uint32_t result;
		const char *message;
	} data = {8, "out of buffers"};
	uint32_t result;
	char text[10];

	assert_false(callbacks_state_error(&result, text, sizeof(text)));
	callbacks_api(NULL, CUPTI_DOMAIN_STATE, CUPTI_STATE_ERROR, &data);
	assert_true(callbacks_state_error(&result, text, sizeof(text)));
	assert_int_equal(result, 8);
	assert_string_equal(text, "out of bu");
	assert_false(callbacks_state_error(&result, text, sizeof(text)));
}

static void correlation_ids_wrap_around(void **state)
{
	struct call call;

	enter_call(&call, RUNTIME, 211, 0xfffffff0u);
	leave_call(&call, RUNTIME, 211, 0);
	enter_call(&call, RUNTIME, 211, 5);
	leave_call(&call, RUNTIME, 211, 0);
	assert_int_equal(callbacks_last_corr(), 5);
}

#define TEST(name) cmocka_unit_test_setup(name, begin_test)

static void nodes_of_graphs_say_who_made_them(void **state)
{
	struct call call;
	struct call_return got;

	graph_node(CUPTI_RESOURCE_GRAPHNODE_CREATED, 10, 0); /* created outside any reported call */
	assert_false(returns_pop(&got));
	enter_call(&call, RUNTIME, 211, 5);
	graph_node(CUPTI_RESOURCE_GRAPHNODE_CREATED, 11, 0);
	graph_node(CUPTI_RESOURCE_GRAPHNODE_CREATED, 13, 0); /* CUPTI does not know this node */
	leave_call(&call, RUNTIME, 211, 0);
	assert_true(returns_pop(&got));
	assert_int_equal(got.api, 0);
	assert_int_equal(got.node, 11);
	assert_int_equal(got.source, 0);
	assert_int_equal(got.corr, 5);
	assert_true(returns_pop(&got));
	assert_int_equal(got.flags, GPT_AGENT_API_CAPTURED);
	graph_node(CUPTI_RESOURCE_GRAPHNODE_CLONED, 21, 11);
	assert_true(returns_pop(&got));
	assert_int_equal(got.node, 21);
	assert_int_equal(got.source, 11);
	assert_int_equal(got.corr, 0);
	graph_node(CUPTI_RESOURCE_GRAPHNODE_CLONED, 22, 13);
	graph_node(19, 23, 11);
	callbacks_stop();
	graph_node(CUPTI_RESOURCE_GRAPHNODE_CLONED, 24, 11);
	assert_false(returns_pop(&got));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nodes_of_graphs_say_who_made_them),
		TEST(one_call_in_some_is_timed_with_all_its_callbacks),
		TEST(a_call_is_reported_at_entry_and_returned_with_its_times),
		TEST(a_start_or_stop_of_the_profiler_is_passed_on_as_it_enters_and_is_no_call),
		TEST(a_forked_child_that_loads_code_waits_for_no_one),
		TEST(driver_calls_inside_a_runtime_call_are_part_of_it),
		TEST(a_driver_call_of_its_own_is_reported),
		TEST(the_launch_stubs_of_cuda_13_are_launches),
		TEST(the_return_of_a_call_that_began_before_us_is_not_ours),
		TEST(nothing_is_sent_when_no_one_listens),
		TEST(a_reported_call_may_still_return_after_the_end),
		TEST(odd_callbacks_do_no_harm),
		TEST(an_asynchronous_error_is_kept_until_it_is_asked_for),
		TEST(correlation_ids_wrap_around),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
