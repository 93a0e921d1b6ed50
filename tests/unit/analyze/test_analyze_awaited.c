/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a thread waits for, by the library's functions that it waits in; logs with one gap, in which the thread that
 * launches waits.
 */
#include "gap_log.h"
#include "report/why/why.h"

#define STDLIB "/usr/lib/python3.12/"
#define PACKAGES "/x/lib/python3.12/site-packages/"
#define IN_LIBRARY 20u /* a stack */
#define NO_PYTHON 0u

struct library_frame {
	const char *file, *name;
};

/* The stack IN_LIBRARY: these frames, innermost first, below train.py:33. */
static void log_library_stack(struct log_builder *log, const struct library_frame *frames)
{
	struct gpt_pyframe stack[8];
	uint32_t depth = 0;

	for (; frames[depth].file; depth++) {
		log_function(log, PID, 0xd000 + depth, frames[depth].name, frames[depth].file, 100);
		stack[depth] = (struct gpt_pyframe){.code = 0xd000 + depth, .lasti = 2};
	}
	stack[depth] = (struct gpt_pyframe){.code = 0xc0de, .lasti = 6};
	log_stack(log, PID, IN_LIBRARY, depth + 1, stack);
}

static void begin_gap_in(struct gap *gap, const struct library_frame *frames)
{
	*gap = (struct gap){};
	begin_gap(gap);
	log_library_stack(&gap->log, frames);
}

static const struct library_frame in_queue[] = {
	{STDLIB "threading.py", "Condition.wait"}, {STDLIB "queue.py", "Queue.get"}, {}};
static const struct library_frame in_result[] = {{STDLIB "threading.py", "Condition.wait"},
						 {STDLIB "concurrent/futures/_base.py", "Future.result"},
						 {STDLIB "concurrent/futures/_base.py", "_result_or_cancel"},
						 {}};
static const struct library_frame in_pool[] = {{STDLIB "threading.py", "wait"},
					       {STDLIB "threading.py", "wait"},
					       {STDLIB "multiprocessing/pool.py", "wait"},
					       {STDLIB "multiprocessing/pool.py", "get"},
					       {}};
static const struct library_frame in_worker_of_pool[] = {
	{STDLIB "concurrent/futures/thread.py", "_worker"}, {STDLIB "threading.py", "Thread.run"}, {}};
static const struct library_frame in_join[] = {
	{STDLIB "threading.py", "Thread._wait_for_tstate_lock"}, {STDLIB "threading.py", "Thread.join"}, {}};
static const struct library_frame in_event[] = {
	{STDLIB "threading.py", "Condition.wait"}, {STDLIB "threading.py", "Event.wait"}, {}};
static const struct library_frame in_own_code[] = {{}};
static const struct library_frame in_own_namesake[] = {{"/src/queue.py", "get"}, {}};
static const struct library_frame in_other_package[] = {{PACKAGES "queue.py", "get"}, {}};
static const struct library_frame in_asyncio[] = {{STDLIB "selectors.py", "EpollSelector.select"},
						  {STDLIB "asyncio/base_events.py", "BaseEventLoop._run_once"},
						  {STDLIB "asyncio/base_events.py", "BaseEventLoop.run_forever"},
						  {STDLIB "asyncio/base_events.py", "BaseEventLoop.run_until_complete"},
						  {STDLIB "asyncio/runners.py", "Runner.run"},
						  {STDLIB "asyncio/runners.py", "run"},
						  {}};
static const struct library_frame in_uvloop[] = {
	{STDLIB "asyncio/runners.py", "Runner.run"}, {PACKAGES "uvicorn/server.py", "Server.run"}, {}};
static const struct library_frame in_accept[] = {{STDLIB "socket.py", "socket.accept"}, {}};
static const struct library_frame in_serve[] = {
	{STDLIB "selectors.py", "PollSelector.select"}, {STDLIB "socketserver.py", "BaseServer.serve_forever"}, {}};
static const struct library_frame in_zmq[] = {{PACKAGES "zmq/sugar/socket.py", "Socket.recv_multipart"}, {}};
static const struct library_frame in_grpc[] = {{PACKAGES "grpc/_server.py", "_serve"}, {}};
/* A task that blocks in a library, below the loop. */
static const struct library_frame in_blocking_task[] = {{STDLIB "ssl.py", "SSLSocket.read"},
							{STDLIB "asyncio/events.py", "Handle._run"},
							{STDLIB "asyncio/base_events.py", "BaseEventLoop._run_once"},
							{}};

static void a_lock_of_the_library_is_what_it_is_taken_for(void **state)
{
	static const struct {
		const struct library_frame *frames;
		enum why_cause cause;
		const char *words, *title, *advice;
	} all[] = {
		{in_queue, WHY_ITEM, "waited for an item: ran", "waits for an item of a queue", "Have items put into"},
		{in_result, WHY_RESULT, "waited for a result: ran", "waits for a result", "Start that work earlier"},
		{in_pool, WHY_RESULT, "waited for a result: ran", "waits for a result", "Start that work earlier"},
		{in_worker_of_pool, WHY_ITEM, "waited for an item: ran", "waits for an item of a queue",
		 "Have items put into"},
		{in_join, WHY_RESULT, "waited for a result: ran", "waits for a result", "Start that work earlier"},
		{in_event, WHY_NOTICE, "waited for a notification: ran", "waits for a notification",
		 "before it notifies cheaper"},
		{in_own_namesake, WHY_LOCK, "waited for a lock: ran", "waits for a lock", "Hold the lock for less"},
		/* SimpleQueue.get has no frame, and takes the queue's lock as any other is taken */
		{in_own_code, WHY_LOCK, "waited for a lock: ran", "waits for a lock",
		 "If it is the lock of a queue.SimpleQueue: have items put into"},
		{in_other_package, WHY_LOCK, "waited for a lock: ran", "waits for a lock", "Hold the lock for less"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct gap gap;

		begin_gap_in(&gap, all[i].frames);
		runs(&gap.log, PID, HELPER, HOLDS, FROM, TO);
		log_wait(&gap.log, woken_by(waits(GPT_WAIT_FUTEX, IN_LIBRARY, FROM, LAUNCHED), PID, HELPER, HOLDS));
		end_gap(&gap);
		assert_int_equal(ns_of(&gap, LINE_HOLDS, all[i].cause, WHY_RAN), LAUNCHED - FROM);
		SAYS(&gap, report_write, all[i].words);
		SAYS(&gap, report_write_why, all[i].title, all[i].advice);
		end_words(&gap);
	}
}

/* No traced thread ends the wait. */
static void a_server_that_waits_for_requests_has_no_work_to_do(void **state)
{
	static const struct {
		const struct library_frame *frames;
		const char *where;
	} all[] = {
		{in_asyncio, "where    train.py:34 train\n"}, /* the task that launches next */
		{in_uvloop, "where    train.py:34 train\n"},
		{in_accept, "socket.accept <- train.py:33 train\n"},
		{in_serve, "PollSelector.select <- train.py:33 train\n"},
		{in_zmq, "Socket.recv_multipart <- train.py:33 train\n"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct gap gap;

		begin_gap_in(&gap, all[i].frames);
		log_wait(&gap.log, waits(GPT_WAIT_POLL, IN_LIBRARY, FROM, LAUNCHED));
		end_gap(&gap);
		assert_int_equal(gap.all.why.sums[WHY_REQUEST].ns, LAUNCHED - FROM);
		SAYS(&gap, report_write_why, "no work to do: the program waits for requests", all[i].where,
		     "Nothing to mend where it serves requests");
		SAYS(&gap, report_write, "waited for requests");
		end_words(&gap);
	}
}

/* grpc's own thread has no Python. */
static void so_has_one_whose_library_waits_in_a_thread_of_its_own(void **state)
{
	struct gap gap;
	struct gpt_wait outside = of(waits(GPT_WAIT_POLL, NO_PYTHON, FROM, LAUNCHED - MS), PID, HELPER);

	begin_gap_in(&gap, in_grpc);
	outside.stack_state = GPT_STACK_NO_THREAD;
	log_wait(&gap.log, outside);
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_FUTEX, IN_LIBRARY, FROM, LAUNCHED - MS), PID, HELPER, NO_PYTHON));
	end_gap(&gap);
	assert_int_equal(gap.all.why.sums[WHY_REQUEST].ns, LAUNCHED - MS - FROM);
	SAYS(&gap, report_write_why, " _serve <- train.py:33 train\n");
	end_words(&gap);
}

static void what_a_traced_thread_does_for_an_event_loop_is_that_thread_s(void **state)
{
	struct gap gap;

	begin_gap_in(&gap, in_asyncio);
	runs(&gap.log, PID, HELPER, HOLDS, FROM, TO);
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_POLL, IN_LIBRARY, FROM, LAUNCHED), PID, HELPER, HOLDS));
	end_gap(&gap);
	assert_int_equal(ns_of(&gap, LINE_HOLDS, WHY_PIPE, WHY_RAN), LAUNCHED - FROM);
	assert_int_equal(gap.all.why.sums[WHY_REQUEST].ns, 0);
	SAYS(&gap, report_write_why, "while the thread that launches waited at train.py:34 train");
	end_words(&gap);
}

static void a_task_that_blocks_the_loop_does_not_wait_for_requests(void **state)
{
	struct gap gap;

	begin_gap_in(&gap, in_blocking_task);
	log_wait(&gap.log, waits(GPT_WAIT_SOCKET, IN_LIBRARY, FROM, LAUNCHED));
	end_gap(&gap);
	assert_int_equal(gap.all.why.sums[WHY_PIPE].ns, LAUNCHED - FROM);
	end_words(&gap);
}

/* Rayon, OpenMP, a BLAS: the line of Python that waits for the pool. */
static void work_of_a_native_pool_is_the_line_s_that_waits_for_it(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	runs(&gap.log, PID, HELPER, NO_PYTHON, FROM, TO);
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_FUTEX, WAITS, FROM, LAUNCHED), PID, HELPER, NO_PYTHON));
	end_gap(&gap);
	assert_int_equal(own(&gap, LINE_WAITS, WHY_NATIVE), LAUNCHED - FROM);
	SAYS(&gap, report_write_why, "where    train.py:33 train",
	     "it waited for threads without Python, which ran for its line");
	end_words(&gap);
}

static void what_keeps_a_thread_of_a_native_pool_keeps_the_line_that_waits_for_it(void **state)
{
	struct gap gap;
	struct gpt_wait other = of(waits(GPT_WAIT_PREEMPTED, NO_PYTHON, 40 * MS, 70 * MS), PID, HELPER);
	struct gpt_wait own_wait = waits(GPT_WAIT_PREEMPTED, LOAD, FROM, 20 * MS);

	begin_gap(&gap);
	other.stack_state = GPT_STACK_NO_PYTHON;
	log_wait(&gap.log, own_wait);
	runs(&gap.log, PID, HELPER, NO_PYTHON, 20 * MS, 40 * MS);
	log_wait(&gap.log, other);
	runs(&gap.log, PID, HELPER, NO_PYTHON, 70 * MS, TO);
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_FUTEX, WAITS, 20 * MS, LAUNCHED), PID, HELPER, NO_PYTHON));
	end_gap(&gap);
	assert_int_equal(own(&gap, LINE_WAITS, WHY_NO_CPU), 30 * MS);
	assert_int_equal(own(&gap, LINE_LOAD, WHY_NO_CPU), 10 * MS);
	assert_int_equal(own(&gap, LINE_WAITS, WHY_NATIVE), LAUNCHED - 50 * MS);
	SAYS(&gap, report_write_why, "the thread that launches waited: for 30.0 ms at train.py:33 train.");
	end_words(&gap);
}

/* A sample in a native function of its own. */
static void sample_in(struct gap *gap, uint64_t time_ns, uint64_t native)
{
	log_sample(&gap->log, (struct gpt_sample){.time_ns = time_ns,
						  .native_id = native,
						  .pid = PID,
						  .tid = HELPER,
						  .period_ns = PERIOD,
						  .stack_state = GPT_STACK_NO_PYTHON,
						  .place = GPT_SAMPLE_USER});
}

static void all_functions_of_a_native_pool_are_one_row_of_the_line(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	log_native_stack(&gap.log, PID, 2, 1, (uint64_t[]){0x1000});
	log_native_stack(&gap.log, PID, 4, 1, (uint64_t[]){0x2000});
	log_native_sym(&gap.log, PID, 0x1000, "tokenize", "/lib/pool.so");
	log_native_sym(&gap.log, PID, 0x2000, "_RNvNtCs1234_4pool4text5count", "/lib/pool.so");
	for (uint64_t i = 0; i < 9; i++)
		sample_in(&gap, FROM + i * PERIOD + PERIOD / 2, i % 2 ? 2 : 4);
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_FUTEX, WAITS, FROM, LAUNCHED), PID, HELPER, NO_PYTHON));
	end_gap(&gap);
	assert_int_equal(own(&gap, LINE_WAITS, WHY_NATIVE), LAUNCHED - FROM);
	SAYS(&gap, report_write_why, "where    train.py:33 train\n", "is pool::text::count: 50.0 ms.");
	end_words(&gap);
}

/* A program without Python at the other end of a pipe is no pool of the line. */
static void work_of_another_process_is_not_the_line_s(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	runs(&gap.log, WORKER, WORKER, NO_PYTHON, FROM, TO);
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_PIPE, WAITS, FROM, LAUNCHED), WORKER, WORKER, NO_PYTHON));
	end_gap(&gap);
	assert_int_equal(gap.all.why.sums[WHY_PIPE].ns, LAUNCHED - FROM);
	end_words(&gap);
}

static struct gpt_wait woken_by_program(struct gpt_wait wait, uint32_t pid, const char *name)
{
	wait.waker = GPT_WAKER_OTHER;
	wait.waker_pid = wait.waker_tid = pid;
	memcpy(wait.waker_comm, name, strlen(name));
	return wait;
}

/* Children that are no Python: one after the other, with another pid each time. */
static void children_of_one_program_are_one_row(void **state)
{
	struct gap gap;
	size_t rows = 0;

	begin_gap(&gap);
	for (uint32_t i = 0; i < 8; i++)
		log_wait(&gap.log,
			 woken_by_program(waits(GPT_WAIT_CHILD, WAITS, FROM + i * 10 * MS, FROM + (i + 1) * 10 * MS),
					  5000 + i, i % 2 ? "git" : "sh"));
	end_gap(&gap);
	for (size_t i = 0; i < gap.all.idle.count; i++)
		if (gap.all.idle.rows[i].cause == WHY_CHILD) {
			assert_int_equal(gap.all.idle.rows[i].ns, 40 * MS);
			rows++;
		}
	assert_int_equal(rows, 2);
	SAYS(&gap, report_write, "waited for a child process (git)", "waited for a child process (sh)");
	SAYS(&gap, report_write_why, "It was woken by processes of ");
	end_words(&gap);
}

#define LOADERS_FILE PACKAGES "torch/utils/data/dataloader.py"

static void how_a_data_loader_loads_is_said_by_its_frames(void **state)
{
	static const struct library_frame itself[] = {
		{PACKAGES "torch/utils/data/_utils/fetch.py", "_MapDatasetFetcher.fetch"},
		{LOADERS_FILE, "_SingleProcessDataLoaderIter._next_data"},
		{LOADERS_FILE, "_BaseDataLoaderIter.__next__"},
		{}};
	static const struct library_frame workers[] = {
		{LOADERS_FILE, "_try_get_data"}, {LOADERS_FILE, "_next_data"}, {LOADERS_FILE, "__next__"}, {}};
	static const struct library_frame unknown[] = {{LOADERS_FILE, "_next_data"}, {LOADERS_FILE, "__next__"}, {}};
	static const struct {
		const struct library_frame *frames;
		const char *advice;
	} all[] = {
		{itself, "Give the DataLoader num_workers of 2 or more"},
		{workers, "More num_workers or a larger prefetch_factor"},
		{unknown, "See whether the DataLoader has num_workers"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct gap gap;

		begin_gap_in(&gap, all[i].frames);
		runs(&gap.log, PID, TID, IN_LIBRARY, FROM, TO);
		end_gap(&gap);
		SAYS(&gap, report_write_why, "the GPU waits for data", all[i].advice);
		end_words(&gap);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_of_the_library_is_what_it_is_taken_for),
		cmocka_unit_test(a_server_that_waits_for_requests_has_no_work_to_do),
		cmocka_unit_test(so_has_one_whose_library_waits_in_a_thread_of_its_own),
		cmocka_unit_test(what_a_traced_thread_does_for_an_event_loop_is_that_thread_s),
		cmocka_unit_test(a_task_that_blocks_the_loop_does_not_wait_for_requests),
		cmocka_unit_test(work_of_a_native_pool_is_the_line_s_that_waits_for_it),
		cmocka_unit_test(what_keeps_a_thread_of_a_native_pool_keeps_the_line_that_waits_for_it),
		cmocka_unit_test(all_functions_of_a_native_pool_are_one_row_of_the_line),
		cmocka_unit_test(work_of_another_process_is_not_the_line_s),
		cmocka_unit_test(children_of_one_program_are_one_row),
		cmocka_unit_test(how_a_data_loader_loads_is_said_by_its_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
