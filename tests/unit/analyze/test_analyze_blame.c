/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lines that samples and waits of threads put a gap on: small logs, each with one gap of 90 ms and the launch that
 * ends it.
 */
#include "gap_log.h"
#include "export/folded/folded.h"
#include "export/profiles/profile.h"
#include "report/why/why.h"

static void samples_share_the_time_between_them(void **state)
{
	struct gap gap;
	uint64_t train, load;

	begin_gap(&gap);
	for (uint64_t at = 15 * MS; at < 55 * MS; at += 10 * MS)
		sample(&gap.log, PID, TID, at, TRAIN); /* the last at 45 */
	for (uint64_t at = 55 * MS; at < 100 * MS; at += 10 * MS)
		sample(&gap.log, PID, TID, at, LOAD); /* the last at 95 */
	end_gap(&gap);
	train = own(&gap, LINE_TRAIN, WHY_RAN);
	load = own(&gap, LINE_LOAD, WHY_RAN);
	assert_int_equal(train, 40 * MS);
	assert_int_equal(load, LAUNCHED - 50 * MS);
	free_gap(&gap, train + load + begun(&gap));
}

static void a_sample_owns_no_more_than_a_period_to_either_side(void **state)
{
	struct gap gap;
	uint64_t train, unknown;

	begin_gap(&gap);
	sample(&gap.log, PID, TID, 50 * MS, TRAIN);
	end_gap(&gap);
	train = own(&gap, LINE_TRAIN, WHY_RAN);
	unknown = own(&gap, LINE_LAUNCH, WHY_UNSAMPLED);
	assert_int_equal(train, 2 * PERIOD);
	free_gap(&gap, train + unknown + begun(&gap));
}

static void a_wait_that_no_thread_ends_is_that_of_its_line(void **state)
{
	struct gap gap;
	uint64_t slept, ran, no_cpu;

	begin_gap(&gap);
	runs(&gap.log, PID, TID, LOAD, 10 * MS, 20 * MS);
	log_wait(&gap.log, waits(GPT_WAIT_SLEEP, WAITS, 20 * MS, 60 * MS));
	runs(&gap.log, PID, TID, LOAD, 60 * MS, 70 * MS);
	log_wait(&gap.log, waits(GPT_WAIT_PREEMPTED, LOAD, 70 * MS, 90 * MS));
	runs(&gap.log, PID, TID, LOAD, 90 * MS, 100 * MS);
	end_gap(&gap);
	slept = own(&gap, LINE_WAITS, WHY_SLEEP);
	no_cpu = own(&gap, LINE_LOAD, WHY_NO_CPU);
	ran = own(&gap, LINE_LOAD, WHY_RAN);
	assert_int_equal(slept, 40 * MS);
	assert_int_equal(no_cpu, 20 * MS);
	assert_int_equal(ran, 30 * MS - (TO - LAUNCHED));
	free_gap(&gap, slept + no_cpu + ran + begun(&gap));
}

static void from_when_it_was_woken_a_thread_has_no_cpu(void **state)
{
	struct gap gap;
	struct gpt_wait wait = waits(GPT_WAIT_SLEEP, WAITS, FROM, LAUNCHED);

	begin_gap(&gap);
	wait.woken_ns = 40 * MS;
	log_wait(&gap.log, wait);
	end_gap(&gap);
	assert_int_equal(own(&gap, LINE_WAITS, WHY_SLEEP), 30 * MS);
	assert_int_equal(own(&gap, LINE_WAITS, WHY_NO_CPU), LAUNCHED - 40 * MS);
	free_gap(&gap, LAUNCHED - FROM + begun(&gap));
}

static void a_lock_is_put_on_the_line_of_the_thread_that_had_it(void **state)
{
	struct gap gap;
	uint64_t ran, slept;

	begin_gap(&gap);
	runs(&gap.log, PID, HELPER, HOLDS, 10 * MS, 60 * MS);
	log_wait(&gap.log, of(waits(GPT_WAIT_SLEEP, HOLDS, 60 * MS, 90 * MS), PID, HELPER));
	runs(&gap.log, PID, HELPER, HOLDS, 90 * MS, 100 * MS);
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_FUTEX, WAITS, FROM, LAUNCHED), PID, HELPER, HOLDS));
	end_gap(&gap);
	ran = ns_of(&gap, LINE_HOLDS, WHY_LOCK, WHY_RAN);
	slept = ns_of(&gap, LINE_HOLDS, WHY_LOCK, WHY_SLEEP);
	assert_int_equal(slept, 30 * MS);
	free_gap(&gap, ran + slept + begun(&gap));
}

static void the_gil_is_put_on_the_thread_that_had_it_whoever_woke_the_one_that_waits(void **state)
{
	struct gap gap;
	struct gpt_wait wait;

	begin_gap(&gap);
	runs(&gap.log, PID, HELPER, HOLDS, FROM, TO);
	for (uint64_t at = FROM; at < LAUNCHED; at += 5 * MS) { /* the waiter asks to drop the GIL every 5 ms */
		wait = waits(GPT_WAIT_GIL, WAITS, at, at + 5 * MS < LAUNCHED ? at + 5 * MS : LAUNCHED);
		wait.holder_tid = HELPER;
		log_wait(&gap.log, wait);
	}
	end_gap(&gap);
	free_gap(&gap, ns_of(&gap, LINE_HOLDS, WHY_GIL, WHY_RAN) + begun(&gap));
}

static void add_collection(struct log_builder *log, uint32_t pid, uint32_t tid, uint64_t from_ns, uint64_t to_ns)
{
	struct gpt_pyevent event = {.frame = 0x7000, .pid = pid, .tid = tid, .kind = GPT_PYEVENT_GC, .value = 2};

	event.time_ns = from_ns;
	log_put(log, GPT_PYEVENT, &event, sizeof(event), NULL, 0);
	event.time_ns = to_ns;
	event.ends = true;
	log_put(log, GPT_PYEVENT, &event, sizeof(event), NULL, 0);
}

/* Waits as the kernel reports them: a timer ends all but the last, and CPython does not show who holds the GIL. */
static void ask_for_gil(struct gap *gap, uint32_t tid, uint64_t from_ns, uint64_t to_ns, uint32_t waker, uint64_t stack)
{
	uint64_t at = from_ns;

	for (; at + 5 * MS < to_ns; at += 5 * MS)
		log_wait(&gap->log, of(waits(GPT_WAIT_GIL, WAITS, at, at + 5 * MS - 10 * US), PID, tid));
	log_wait(&gap->log, of(woken_by(waits(GPT_WAIT_GIL, WAITS, at, to_ns), PID, waker, stack), PID, tid));
}

static void who_lets_go_of_the_gil_in_the_end_had_it_where_no_other_thread_got_it(void **state)
{
	struct gap gap;
	uint64_t held, asked;

	begin_gap(&gap);
	runs(&gap.log, PID, HELPER, HOLDS, FROM, TO);
	ask_for_gil(&gap, TID, FROM, LAUNCHED, HELPER, HOLDS);
	end_gap(&gap);
	held = ns_of(&gap, LINE_HOLDS, WHY_GIL, WHY_RAN);
	asked = own(&gap, LINE_LAUNCH, WHY_UNSAMPLED); /* between two waits */
	assert_int_equal(asked, 17 * 10 * US);
	free_gap(&gap, held + asked + begun(&gap));
}

static void who_had_the_gil_is_not_known_while_another_thread_got_it(void **state)
{
	struct gap gap;
	uint64_t before, after;

	begin_gap(&gap);
	log_thread(&gap.log, PID, HELPER + 1, 1200, "third");
	runs(&gap.log, PID, HELPER, HOLDS, FROM, TO);
	ask_for_gil(&gap, HELPER + 1, FROM, 48 * MS, HELPER, HOLDS);
	ask_for_gil(&gap, TID, FROM, LAUNCHED, HELPER, HOLDS);
	end_gap(&gap);
	before = own(&gap, LINE_WAITS, WHY_GIL);
	after = ns_of(&gap, LINE_HOLDS, WHY_GIL, WHY_RAN);
	assert_int_equal(before, 8 * (5 * MS - 10 * US));
	free_gap(&gap, before + after + own(&gap, LINE_LAUNCH, WHY_UNSAMPLED) + begun(&gap));
}

static void a_collection_has_no_time_in_which_its_thread_had_no_cpu(void **state)
{
	struct gap gap;
	uint64_t garbage, no_cpu;

	begin_gap(&gap);
	runs(&gap.log, PID, TID, LOAD, FROM, TO);
	add_collection(&gap.log, PID, TID, 30 * MS, 60 * MS);
	log_wait(&gap.log, waits(GPT_WAIT_PREEMPTED, LOAD, 40 * MS, 52 * MS));
	end_gap(&gap);
	garbage = own(&gap, LINE_LOAD, WHY_GC);
	no_cpu = own(&gap, LINE_LOAD, WHY_NO_CPU);
	assert_int_equal(garbage, 18 * MS);
	assert_int_equal(no_cpu, 12 * MS);
	free_gap(&gap, garbage + no_cpu + own(&gap, LINE_LOAD, WHY_RAN) + begun(&gap));
}

/* The thread waits for a helper, and the helper for a process at the other end of a pipe. */
static void wake_ups_lead_into_other_processes(void **state)
{
	struct gap gap;
	uint64_t worked, helped;

	begin_gap(&gap);
	runs(&gap.log, WORKER, WORKER, WORKS, FROM, 80 * MS);
	log_wait(&gap.log,
		 woken_by(of(waits(GPT_WAIT_PIPE, HOLDS, 5 * MS, 80 * MS), PID, HELPER), WORKER, WORKER, WORKS));
	runs(&gap.log, PID, HELPER, HOLDS, 80 * MS, 100 * MS);
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_FUTEX, WAITS, FROM, LAUNCHED), PID, HELPER, HOLDS));
	end_gap(&gap);
	worked = ns_of(&gap, LINE_WORKS, WHY_LOCK, WHY_RAN);
	helped = ns_of(&gap, LINE_HOLDS, WHY_LOCK, WHY_RAN);
	assert_int_equal(worked, 70 * MS);
	assert_int_equal(gap.model->processes[gap.all.idle.rows[0].process].pid, WORKER);
	free_gap(&gap, worked + helped + begun(&gap));
}

static void what_a_worker_of_a_data_loader_runs_is_data(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	runs(&gap.log, WORKER, WORKER, WORKS, FROM, TO);
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_PIPE, LOADER, FROM, LAUNCHED), WORKER, WORKER, WORKS));
	end_gap(&gap);
	free_gap(&gap, ns_of(&gap, LINE_WORKS, WHY_DATA, WHY_RAN) + begun(&gap));
}

static void a_collection_is_on_the_line_of_the_nearest_sample(void **state)
{
	struct gap gap;
	uint64_t garbage, far;

	begin_gap(&gap);
	sample(&gap.log, PID, TID, 20 * MS, LOAD);
	add_collection(&gap.log, PID, TID, 25 * MS, 28 * MS); /* 5 ms after the sample */
	add_collection(&gap.log, PID, TID, 60 * MS, 64 * MS); /* no sample is near */
	end_gap(&gap);
	garbage = own(&gap, LINE_LOAD, WHY_GC);
	far = own(&gap, LINE_LAUNCH, WHY_GC);
	assert_int_equal(garbage, 3 * MS);
	assert_int_equal(far, 4 * MS);
	free_gap(&gap,
		 garbage + far + own(&gap, LINE_LOAD, WHY_RAN) + own(&gap, LINE_LAUNCH, WHY_UNSAMPLED) + begun(&gap));
}

static void a_collection_in_another_process_is_to_blame_itself(void **state)
{
	struct gap gap;
	uint64_t garbage, ran;

	begin_gap(&gap);
	runs(&gap.log, WORKER, WORKER, WORKS, FROM, TO);
	add_collection(&gap.log, WORKER, WORKER, 30 * MS, 60 * MS);
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_SOCKET, WAITS, FROM, LAUNCHED), WORKER, WORKER, WORKS));
	end_gap(&gap);
	garbage = own(&gap, LINE_WORKS, WHY_GC);
	ran = ns_of(&gap, LINE_WORKS, WHY_PIPE, WHY_RAN);
	assert_int_equal(garbage, 30 * MS);
	free_gap(&gap, garbage + ran + begun(&gap));
}

static void pages_and_a_lack_of_cpus_are_to_blame_wherever_they_are(void **state)
{
	struct gap gap;
	uint64_t faults, no_cpu;

	begin_gap(&gap);
	log_wait(&gap.log, of(waits(GPT_WAIT_PAGE_FAULT, WORKS, FROM, 60 * MS), WORKER, WORKER));
	log_wait(&gap.log, of(waits(GPT_WAIT_THROTTLED, WORKS, 60 * MS, LAUNCHED), WORKER, WORKER));
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_SOCKET, WAITS, FROM, LAUNCHED), WORKER, WORKER, WORKS));
	end_gap(&gap);
	faults = own(&gap, LINE_WORKS, WHY_FAULT);
	no_cpu = own(&gap, LINE_WORKS, WHY_NO_CPU);
	assert_int_equal(faults, 50 * MS);
	free_gap(&gap, faults + no_cpu + begun(&gap));
}

static void who_wakes_a_thread_that_sleeps_or_reads_a_file_is_not_to_blame(void **state)
{
	static const struct {
		enum gpt_wait_reason reason;
		enum why_cause cause;
	} waiting[] = {{GPT_WAIT_SLEEP, WHY_SLEEP}, {GPT_WAIT_FILE, WHY_DISK}, {GPT_WAIT_PAGE_FAULT, WHY_FAULT}};

	for (size_t i = 0; i < sizeof(waiting) / sizeof(waiting[0]); i++) {
		struct gap gap;

		begin_gap(&gap);
		runs(&gap.log, PID, HELPER, HOLDS, FROM, TO);
		log_wait(&gap.log, woken_by(waits(waiting[i].reason, WAITS, FROM, LAUNCHED), PID, HELPER, HOLDS));
		end_gap(&gap);
		free_gap(&gap, own(&gap, LINE_WAITS, waiting[i].cause) + begun(&gap));
	}
}

static void what_another_thread_ran_that_was_not_sampled_is_not_known(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_FUTEX, WAITS, FROM, LAUNCHED), PID, HELPER, HOLDS));
	end_gap(&gap);
	free_gap(&gap, ns_of(&gap, LINE_WAITS, WHY_LOCK, WHY_UNSAMPLED) + begun(&gap));
}

/* 59 gaps of 5 ms in which a thread runs one of two lines; every fourth gap has a sample. */
static void gaps_without_a_sample_are_divided_as_samples_of_the_same_launch_say(void **state)
{
	struct gap gap;
	uint64_t train, load, at = 10 * MS;

	begin(&gap.log);
	log_wait(&gap.log, of(waits(GPT_WAIT_SLEEP, HOLDS, 2 * MS, 3 * MS), PID, HELPER)); /* waits are recorded */
	for (uint32_t i = 0; i < 60; i++, at += 5 * MS + 10 * US) {
		kernel(&gap.log, 2 + i, at - 10 * US, at, at + 10 * US);
		if (i % 4 == 0)
			sample(&gap.log, PID, TID, at + 2 * MS, i % 12 ? LOAD : TRAIN);
	}
	log_end(&gap.log, 10000 * MS);
	gap.model = model_of(&gap.log);
	analyze_model(&gap.all, gap.model, ANALYSES(ANALYZE_WHY, ANALYZE_UNTIMED, ANALYZE_IDLE));
	train = own(&gap, LINE_TRAIN, WHY_RAN);
	load = own(&gap, LINE_LOAD, WHY_RAN);
	assert_int_equal(train + load + own(&gap, LINE_LAUNCH, WHY_GPU), gap.all.idle.sum);
	assert_int_equal(gap.all.idle.sum, 59 * 5 * MS);
	assert_in_range(load, 2 * train - 60, 2 * train + 60); /* rounding to whole nanoseconds */
	assert_int_equal(gap.all.why.sums[WHY_RAN].ns, train + load);
	analyses_free(&gap.all);
	model_free(gap.model);
}

/*
 * Gaps of 90 ms that one stack launches behind: in every other one the thread runs another line, and there no sample
 * came for some time, each time at another place.
 */
static void log_gaps_with_holes(struct log_builder *log, uint32_t gaps)
{
	uint64_t at = 10 * MS;

	begin(log);
	kernel(log, 1, at - 10 * US, at, at + 10 * MS);
	for (uint32_t i = 0; i < gaps; i++) {
		uint64_t from_ns = at + 10 * MS, hole_ns = from_ns + (i % 3 + 3) * PERIOD;

		log_wait(log, of(waits(GPT_WAIT_SLEEP, HOLDS, at, at + MS), PID, HELPER)); /* waits are recorded */
		runs(log, PID, TID, i % 2 ? LOAD : TRAIN, from_ns, hole_ns - PERIOD);
		if (i % 2 == 0)
			runs(log, PID, TID, TRAIN, hole_ns - PERIOD, hole_ns + PERIOD);
		runs(log, PID, TID, i % 2 ? LOAD : TRAIN, hole_ns + PERIOD, from_ns + 9 * PERIOD);
		at += 100 * MS;
		kernel(log, 2 + i, at - 10 * US, at, at + 10 * MS);
	}
	log_end(log, 10000 * MS);
}

static void a_gap_with_samples_is_divided_by_its_own(void **state)
{
	struct gap gap;

	log_gaps_with_holes(&gap.log, 40);
	gap.model = model_of(&gap.log);
	analyze_model(&gap.all, gap.model, ANALYSES(ANALYZE_WHY, ANALYZE_UNTIMED, ANALYZE_IDLE));
	assert_int_equal(own(&gap, LINE_TRAIN, WHY_RAN), 20 * (90 * MS - 10 * US));
	assert_int_equal(own(&gap, LINE_LOAD, WHY_RAN), 20 * (90 * MS - 10 * US));
	assert_int_equal(gap.all.idle.sum, 40 * 90 * MS);
	analyses_free(&gap.all);
	model_free(gap.model);
}

/* Idle time of a line in a slice of a log. */
static uint64_t ran_in_slice(int fd, uint64_t from_ns, uint64_t to_ns, const char *line)
{
	static const struct trace_division whole = {.whole_bytes = UINT64_MAX};
	const struct slice slice = {.from_ns = from_ns, .to_ns = to_ns, .device = NONE};
	struct sliced_trace sliced;
	struct gap gap;
	struct trace *trace;
	const char *why;
	uint64_t ns;

	lseek(fd, 0, SEEK_SET);
	assert_int_equal(gpt_trace_open(fd, &whole, NULL, &trace, &why), 0);
	assert_int_equal(sliced_trace_open(&sliced, trace, &slice, ""), 0);
	assert_int_equal(analyze(&gap.all, &sliced.trace, ANALYSES(ANALYZE_IDLE), NULL), 0);
	ns = own(&gap, line, WHY_RAN);
	analyses_free(&gap.all);
	sliced_trace_close(&sliced);
	gpt_trace_close(trace);
	return ns;
}

/* The slices are cut where a kernel begins, in one, where it ends, and in the gap after it. */
static void accounts_of_two_halves_add_up_to_that_of_the_whole(void **state)
{
	struct log_builder log;
	int fd;

	log_gaps_with_holes(&log, 40);
	fd = log_fd(&log);
	for (uint64_t at = 0; at < 100 * MS; at += 5 * MS) {
		uint64_t cut = (10 + 20 * 100) * MS + at;
		uint64_t train = ran_in_slice(fd, 0, cut, LINE_TRAIN) + ran_in_slice(fd, cut, UINT64_MAX, LINE_TRAIN);
		uint64_t load = ran_in_slice(fd, 0, cut, LINE_LOAD) + ran_in_slice(fd, cut, UINT64_MAX, LINE_LOAD);

		assert_int_equal(train, ran_in_slice(fd, 0, UINT64_MAX, LINE_TRAIN));
		assert_int_equal(load, ran_in_slice(fd, 0, UINT64_MAX, LINE_LOAD));
	}
	close(fd);
	log_free(&log);
}

/* One stack launches behind gaps of 3 ms and of 9 ms in turn; every second or eighth of them has a sample. */
static void gaps_without_a_sample_are_divided_as_gaps_like_them_are(void **state)
{
	struct gap gap;
	uint64_t at = 10 * MS;

	begin(&gap.log);
	log_wait(&gap.log, of(waits(GPT_WAIT_SLEEP, HOLDS, 2 * MS, 3 * MS), PID, HELPER));
	kernel(&gap.log, 1, at - 10 * US, at, at + MS);
	for (uint32_t i = 0; i < 200; i++) {
		uint64_t from_ns = at + MS;

		if (i / 2 % (i % 2 ? 8 : 2) == 0)
			sample(&gap.log, PID, TID, from_ns + MS, i % 2 ? LOAD : TRAIN);
		at = from_ns + (i % 2 ? 9 * MS : 3 * MS);
		kernel(&gap.log, 2 + i, at - 10 * US, at, at + MS);
	}
	log_end(&gap.log, 10000 * MS);
	gap.model = model_of(&gap.log);
	analyze_model(&gap.all, gap.model, ANALYSES(ANALYZE_WHY, ANALYZE_UNTIMED, ANALYZE_IDLE));
	assert_int_equal(own(&gap, LINE_TRAIN, WHY_RAN), 100 * (3 * MS - 10 * US));
	assert_int_equal(own(&gap, LINE_LOAD, WHY_RAN), 100 * (9 * MS - 10 * US));
	analyses_free(&gap.all);
	model_free(gap.model);
}

/* A ring of threads, each of which waits for the next. */
static void wake_ups_are_followed_eight_steps_far(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	for (uint32_t i = 0; i < 20; i++) {
		log_thread(&gap.log, PID, HELPER + i, 1200, "ring");
		log_wait(&gap.log, woken_by(of(waits(GPT_WAIT_FUTEX, HOLDS, FROM, LAUNCHED), PID, HELPER + i), PID,
					    HELPER + (i + 1) % 20, HOLDS));
	}
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_FUTEX, WAITS, FROM, LAUNCHED), PID, HELPER, HOLDS));
	end_gap(&gap);
	free_gap(&gap, own(&gap, LINE_HOLDS, WHY_LOCK) + begun(&gap));
}

/* The GPU is idle: the thread would return from the call, if it had a CPU. */
static void a_thread_in_a_call_that_waits_lacks_a_cpu_once_the_gpu_is_idle(void **state)
{
	struct gap gap;
	struct gpt_wait woken = waits(GPT_WAIT_POLL, WAITS, 5 * MS, 50 * MS);
	uint64_t in_call, no_cpu;

	begin_gap(&gap);
	woken.woken_ns = 12 * MS;
	call_that_waits(&gap.log, 4 * MS, 92 * MS);
	log_wait(&gap.log, woken);
	log_wait(&gap.log, waits(GPT_WAIT_PREEMPTED, WAITS, 60 * MS, 90 * MS));
	runs(&gap.log, PID, TID, LOAD, 92 * MS, 100 * MS);
	end_gap(&gap);
	no_cpu = gap.all.why.sums[WHY_NO_CPU].ns;
	in_call = own(&gap, LINE_WAITS, WHY_SYNC);
	assert_int_equal(no_cpu, 38 * MS + 30 * MS);
	assert_int_equal(in_call, 2 * MS + 10 * MS + 2 * MS);
	free_gap(&gap, no_cpu + in_call + own(&gap, LINE_LOAD, WHY_RAN) + begun(&gap));
}

/* In the gap the thread is in no wait; samples show what it did after an earlier one, which was shorter. */
static void what_samples_know_is_not_put_on_an_earlier_wait_for_the_gpu(void **state)
{
	struct gap gap;

	begin(&gap.log);
	call_that_waits(&gap.log, 2 * MS, FROM);
	kernel(&gap.log, 1, 1 * MS, 1 * MS + 10 * US, FROM);
	runs(&gap.log, PID, TID, LOAD, FROM, 80 * MS);
	end_gap(&gap);
	assert_int_equal(own(&gap, LINE_LOAD, WHY_RAN), 75 * MS); /* the last sample, at 75 ms, owns a period */
	assert_int_equal(own(&gap, LINE_WAITS, WHY_SYNC), 8 * MS);
	free_gap(&gap, 75 * MS + 8 * MS + own(&gap, LINE_LAUNCH, WHY_UNSAMPLED) + begun(&gap));
}

/*
 * After a wait of 8 ms for the GPU another thread keeps this one until 4 ms before the launch.  In these it runs, and
 * would have done so while the GPU worked.
 */
static void begin_own_time(struct gap *gap, uint64_t own_from)
{
	begin(&gap->log);
	call_that_waits(&gap->log, 2 * MS, FROM);
	kernel(&gap->log, 1, 1 * MS, 1 * MS + 10 * US, FROM);
	runs(&gap->log, PID, HELPER, HOLDS, FROM, own_from);
	log_wait(&gap->log, woken_by(waits(GPT_WAIT_FUTEX, LOAD, FROM, own_from), PID, HELPER, HOLDS));
}

static void end_own_time(struct gap *gap)
{
	uint64_t held;

	end_gap(gap);
	SAYS(gap, report_write_why,
	     "1 call of cudaStreamSynchronize there took 8.0 ms. The GPU had nothing to do for 4.0 ms "
	     "after it, which would have run meanwhile (train.py:32 train for 4.0 ms of it).");
	held = ns_of(gap, LINE_HOLDS, WHY_LOCK, WHY_RAN);
	assert_true(held >= LAUNCHED - FROM - 5 * MS); /* the other thread would have been as late */
	assert_int_equal(own(gap, LINE_WAITS, WHY_SYNC), 4 * MS);
	free_gap(gap, held + 4 * MS + begun(gap));
}

static void what_a_thread_ran_after_a_longer_wait_for_the_gpu_is_put_on_that(void **state)
{
	struct gap gap;
	uint64_t own_from = LAUNCHED - 4 * MS;

	begin_own_time(&gap, own_from);
	sample(&gap.log, PID, TID, own_from + MS, LOAD);
	end_own_time(&gap);
}

static void so_is_what_it_slept(void **state)
{
	struct gap gap;
	uint64_t own_from = LAUNCHED - 4 * MS;

	begin_own_time(&gap, own_from);
	log_wait(&gap.log, waits(GPT_WAIT_SLEEP, LOAD, own_from, LAUNCHED));
	end_own_time(&gap);
}

/* ---- in words ---------------------------------------------------------------------------------------------------- */

static void why_names_the_line_that_has_the_lock_and_who_waits_for_it(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	runs(&gap.log, PID, HELPER, HOLDS, FROM, TO);
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_FUTEX, WAITS, FROM, LAUNCHED), PID, HELPER, HOLDS));
	end_gap(&gap);
	SAYS(&gap, report_write_why, "the GPU waits while a thread waits for a lock", "where    train.py:35 train\n",
	     "while the thread that launches waited at train.py:33 train. It waited for thread helper",
	     "90.0 ms running Python", "Hold the lock for less");
	SAYS(&gap, report_write, "train.py:35 train   ", "waited for a lock: ran  train.py:34 train");
	end_words(&gap);
}

static void why_names_the_worker_and_its_line(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	runs(&gap.log, WORKER, WORKER, WORKS, FROM, TO);
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_PIPE, LOADER, FROM, LAUNCHED), WORKER, WORKER, WORKS));
	end_gap(&gap);
	SAYS(&gap, report_write_why, "the GPU waits for data", "where    data.py:17 __getitem__ (worker 41330)",
	     "waited at train.py:32 train. It waited for worker (pid 41330)", "Make that line cheaper");
	SAYS(&gap, report_write, "data.py:17 __getitem__", "DataLoader: ran", "worker 41330");
	end_words(&gap);
}

static void a_folded_line_has_the_launch_then_what_happened_and_the_line_to_blame(void **state)
{
	const struct export_options options = {.process = -1};
	struct sink sink;
	struct gap gap;

	begin_gap(&gap);
	runs(&gap.log, WORKER, WORKER, WORKS, FROM, 80 * MS);
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_PIPE, WAITS, FROM, 80 * MS), WORKER, WORKER, WORKS));
	log_wait(&gap.log, waits(GPT_WAIT_SLEEP, LAUNCH, 80 * MS, LAUNCHED));
	end_gap(&gap);
	sink_open_memory(&sink);
	assert_int_equal(folded_idle_write(&sink, WHOLE_TRACE(gap.model), &options), 0);
	sink_char(&sink, '\0');
	assert_string_equal(sink.buffer,
			    "?;train (train.py:34);[GPU side] 10000\n"
			    "?;train (train.py:34);[slept] 19990000\n"
			    "?;train (train.py:34);[waited for a pipe or socket: ran];worker;__getitem__ (data.py:17) "
			    "70000000\n");
	sink_close(&sink);
	end_words(&gap);
}

#define BUSY_IN_TRAIN 78u

/* Stacks as text by what writes them. */
static char *export_gap(const struct gap *gap, export_write_fn *write)
{
	const struct export_options options = {.process = -1};
	struct sink sink;
	char *text;

	sink_open_memory(&sink);
	assert_int_equal(write(&sink, WHOLE_TRACE(gap->model), &options), 0);
	sink_char(&sink, '\0');
	text = xstrdup(sink.buffer);
	sink_close(&sink);
	return text;
}

/* The stacks with idle time, root first, each with it on a line. */
static int put_idle_stacks(struct sink *out, struct trace *trace, const struct export_options *options)
{
	struct profile profile;
	int error = profile_make(&profile, trace, options);

	for (uint32_t i = 0; !error && i < profile.nodes.count; i++) {
		char *text;

		if (!profile.nodes.items[i].values[PROFILE_IDLE_NS])
			continue;
		text = xstrdup("");
		for (uint32_t at = i; at != PROFILE_ROOT; at = profile.nodes.items[at].parent) {
			const struct profile_frame *frame = &profile.frames.items[profile.nodes.items[at].frame];
			char *outer = frame->line ? xasprintf("%s:%u", profile_text(&profile, frame->name), frame->line)
						  : xstrdup(profile_text(&profile, frame->name));

			text = xjoin(outer, *text ? ";" : "", text);
		}
		sink_text(out, text);
		sink_char(out, ' ');
		sink_u64(out, profile.nodes.items[i].values[PROFILE_IDLE_NS]);
		sink_char(out, '\n');
		free(text);
	}
	profile_free(&profile);
	return error;
}

static void the_whole_stack_to_blame_is_in_folded_lines_and_profiles(void **state)
{
	struct gap gap;
	char *text;

	begin_gap(&gap);
	log_function(&gap.log, PID, 0xb5, "busy", "/src/util.py", 10);
	log_stack(&gap.log, PID, BUSY_IN_TRAIN, 2,
		  (struct gpt_pyframe[]){{.code = 0xb5, .lasti = 2}, {.code = 0xc0de, .lasti = 4}});
	runs(&gap.log, PID, TID, BUSY_IN_TRAIN, FROM, 60 * MS);
	runs(&gap.log, PID, TID, TRAIN, 60 * MS, TO);
	end_gap(&gap);
	text = export_gap(&gap, folded_idle_write);
	assert_string_equal(text, "?;train (train.py:34);[GPU side] 10000\n"
				  "?;train (train.py:34);[ran];train (train.py:31) 39990000\n"
				  "?;train (train.py:34);[ran];train (train.py:32);busy (util.py:11) 50000000\n");
	free(text);
	text = export_gap(&gap, put_idle_stacks);
	assert_non_null(strstr(text, "?;train:32;busy:11;[ran] 50000000\n"));
	assert_non_null(strstr(text, "?;train:31;[ran] 39990000\n"));
	assert_non_null(strstr(text, "?;train:34;[GPU side] 10000\n"));
	free(text);
	end_words(&gap);
}

/* What ran in a worker is below the worker. */
static void a_profile_has_the_process_to_blame_as_root(void **state)
{
	struct gap gap;
	char *text;

	begin_gap(&gap);
	runs(&gap.log, WORKER, WORKER, WORKS, FROM, TO);
	log_wait(&gap.log, woken_by(waits(GPT_WAIT_PIPE, WAITS, FROM, LAUNCHED), WORKER, WORKER, WORKS));
	end_gap(&gap);
	text = export_gap(&gap, put_idle_stacks);
	assert_non_null(strstr(text, "worker;__getitem__:17;[waited for a pipe or socket: ran] 89990000\n"));
	free(text);
	end_words(&gap);
}

static void why_says_each_cause_and_what_to_try(void **state)
{
	static const struct {
		enum gpt_wait_reason reason;
		const char *title, *advice;
	} all[] = {
		{GPT_WAIT_SLEEP, "the GPU waits while the program sleeps", "Wait for an event in the place of a sleep"},
		{GPT_WAIT_FILE, "the GPU waits for files", "Read ahead in a thread of its own"},
		{GPT_WAIT_PAGE_FAULT, "the GPU waits while memory is paged in", "Touch the memory before the loop"},
		{GPT_WAIT_PREEMPTED, "the GPU waits as the program gets no CPU",
		 "Run fewer threads than there are CPUs"},
		{GPT_WAIT_THROTTLED, "the GPU waits as the program gets no CPU", "raise cpu.max"},
		{GPT_WAIT_GIL, "the GPU waits while a thread waits for the GIL", "keeps the GIL"},
		{GPT_WAIT_SOCKET, "the GPU waits for another thread or process", "Ask for the next item before"},
		{GPT_WAIT_CHILD, "the GPU waits for a child process", "Start the child earlier"},
		{GPT_WAIT_STOPPED, "the GPU waits while a thread waits", "See what it waits for"},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct gap gap;

		begin_gap(&gap);
		log_wait(&gap.log, waits(all[i].reason, WAITS, FROM, LAUNCHED));
		end_gap(&gap);
		SAYS(&gap, report_write_why, all[i].title, all[i].advice, "train.py:33 train");
		end_words(&gap);
	}
}

static void why_says_what_a_waker_is_called_that_is_not_traced(void **state)
{
	struct gap gap;
	struct gpt_wait wait = waits(GPT_WAIT_SOCKET, WAITS, FROM, LAUNCHED);

	begin_gap(&gap);
	wait.waker = GPT_WAKER_OTHER;
	wait.waker_pid = wait.waker_tid = 4711;
	memcpy(wait.waker_comm, "redis", 6);
	log_wait(&gap.log, wait);
	end_gap(&gap);
	SAYS(&gap, report_write_why, "It was woken by redis (pid 4711), which is not traced.");
	end_words(&gap);
}

static void why_says_that_no_sample_says_and_what_to_record(void **state)
{
	struct gap gap;

	begin_gap(&gap);
	sample(&gap.log, PID, HELPER, FROM, HOLDS);
	end_gap(&gap);
	SAYS(&gap, report_write_why, "the GPU waits, and no sample says for what", "is in no sample and no wait",
	     "Record what ran and what was waited for");
	SAYS(&gap, report_write, "not sampled: no sample and no wait says");
	end_words(&gap);
}

static void why_advises_no_other_rate_where_samples_were_left_out_on_purpose(void **state)
{
	static const struct {
		enum gpt_detail_why why;
		const char *advice;
	} all[] = {{GPT_DETAIL_RING, "record less (without --shapes, --ops), or with a larger --buffer"},
		   {GPT_DETAIL_COST, "left out for --cost-limit: raise it"},
		   {GPT_DETAIL_MEMORY, "left out for --memory-limit: raise it"}};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		struct gap gap;
		char *text;

		begin_gap(&gap);
		sample(&gap.log, PID, HELPER, FROM, HOLDS);
		log_detail(&gap.log, (struct gpt_detail){.time_ns = FROM,
							 .off = 1u << GPT_DETAIL_SAMPLES,
							 .why = all[i].why,
							 .measured = 1,
							 .limit = 1});
		end_gap(&gap);
		SAYS(&gap, report_write_why, "the GPU waits, and no sample says for what", all[i].advice);
		text = written(gap.model, report_write);
		assert_null(strstr(text, "what ran meanwhile is not in this trace"));
		free(text);
		end_words(&gap);
	}
}

/* Stacks without Python, as in a program in C. */
static void a_program_without_python_hears_nothing_of_python(void **state)
{
	struct log_builder log;
	struct model *model;
	char *text;

	begin(&log);
	for (uint32_t corr = 1; corr <= 2; corr++) {
		log_call(&log, (struct gpt_call){.time_ns = corr * 50 * MS,
						 .pid = PID,
						 .tid = TID,
						 .corr = corr,
						 .api = GPT_API(GPT_DOMAIN_RUNTIME, 211),
						 .origin = GPT_ORIGIN_AGENT,
						 .stack_state = GPT_STACK_NO_PYTHON});
		log_batch(&log, PID, TID, corr * 50 * MS + MS);
		log_agent_kernel(&log, (struct gpt_agent_kernel){.start_wall_ns = corr * 50 * MS + 10 * US,
								 .end_wall_ns = corr * 50 * MS + MS,
								 .corr = corr,
								 .name = 1});
	}
	log_end(&log, 10000 * MS);
	model = model_of(&log);
	text = written(model, report_write_why);
	assert_null(strstr(text, "the GPU waits for Python"));
	assert_non_null(strstr(text, "the GPU waits for the program on the CPU"));
	assert_non_null(strstr(text, "it is recorded by default"));
	free(text);
	model_free(model);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_share_the_time_between_them),
		cmocka_unit_test(a_sample_owns_no_more_than_a_period_to_either_side),
		cmocka_unit_test(a_wait_that_no_thread_ends_is_that_of_its_line),
		cmocka_unit_test(from_when_it_was_woken_a_thread_has_no_cpu),
		cmocka_unit_test(a_lock_is_put_on_the_line_of_the_thread_that_had_it),
		cmocka_unit_test(the_gil_is_put_on_the_thread_that_had_it_whoever_woke_the_one_that_waits),
		cmocka_unit_test(who_lets_go_of_the_gil_in_the_end_had_it_where_no_other_thread_got_it),
		cmocka_unit_test(who_had_the_gil_is_not_known_while_another_thread_got_it),
		cmocka_unit_test(a_collection_has_no_time_in_which_its_thread_had_no_cpu),
		cmocka_unit_test(wake_ups_lead_into_other_processes),
		cmocka_unit_test(what_a_worker_of_a_data_loader_runs_is_data),
		cmocka_unit_test(a_collection_is_on_the_line_of_the_nearest_sample),
		cmocka_unit_test(a_collection_in_another_process_is_to_blame_itself),
		cmocka_unit_test(pages_and_a_lack_of_cpus_are_to_blame_wherever_they_are),
		cmocka_unit_test(who_wakes_a_thread_that_sleeps_or_reads_a_file_is_not_to_blame),
		cmocka_unit_test(what_another_thread_ran_that_was_not_sampled_is_not_known),
		cmocka_unit_test(gaps_without_a_sample_are_divided_as_samples_of_the_same_launch_say),
		cmocka_unit_test(a_gap_with_samples_is_divided_by_its_own),
		cmocka_unit_test(accounts_of_two_halves_add_up_to_that_of_the_whole),
		cmocka_unit_test(gaps_without_a_sample_are_divided_as_gaps_like_them_are),
		cmocka_unit_test(wake_ups_are_followed_eight_steps_far),
		cmocka_unit_test(a_thread_in_a_call_that_waits_lacks_a_cpu_once_the_gpu_is_idle),
		cmocka_unit_test(what_samples_know_is_not_put_on_an_earlier_wait_for_the_gpu),
		cmocka_unit_test(what_a_thread_ran_after_a_longer_wait_for_the_gpu_is_put_on_that),
		cmocka_unit_test(so_is_what_it_slept),
		cmocka_unit_test(why_names_the_line_that_has_the_lock_and_who_waits_for_it),
		cmocka_unit_test(why_names_the_worker_and_its_line),
		cmocka_unit_test(a_folded_line_has_the_launch_then_what_happened_and_the_line_to_blame),
		cmocka_unit_test(the_whole_stack_to_blame_is_in_folded_lines_and_profiles),
		cmocka_unit_test(a_profile_has_the_process_to_blame_as_root),
		cmocka_unit_test(why_says_each_cause_and_what_to_try),
		cmocka_unit_test(why_says_what_a_waker_is_called_that_is_not_traced),
		cmocka_unit_test(why_says_that_no_sample_says_and_what_to_record),
		cmocka_unit_test(why_advises_no_other_rate_where_samples_were_left_out_on_purpose),
		cmocka_unit_test(a_program_without_python_hears_nothing_of_python),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
