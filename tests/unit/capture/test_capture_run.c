/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Run control: when a recording ends and why, what the log then holds, and which records attach/ gets.  The ring buffer
 * and attach/ are stand-ins in this file; the log and the thread that drains are real.
 */
#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/monotonic.h"
#include "base/resident.h"
#include "base/msg.h"
#include "capture/clock.h"
#include "capture/drain.h"
#include "capture/ring.h"
#include "capture/run.h"
#include "capture/signals.h"
#include "log/reader.h"
#include "log/packing/schema.h"

#define MILLISECOND 1000000ull

/* ---- stand-ins --------------------------------------------------------------------------------- */

struct ring {
	ring_record record;
	void *context;
};

static struct fake {
	struct ring ring;
	int wait_fd;
	atomic_uint consumed;			 /* calls of ring_consume */
	atomic_bool waits;			 /* attach_notice then waits for 20 calls of ring_consume */
	const struct gpt_record *on_stop;	 /* arrives while the probes are detached */
	_Atomic(const struct gpt_record *) once; /* arrives at the next ring_consume */
	const struct gpt_record *always;	 /* arrives at every ring_consume while probes are there */
	bool never_stops;			 /* and also without them */
	pid_t consumes_after;			 /* without probes ring_consume waits for this child's end */
	bool schedule_is_over;
	uint32_t cycles_over;
	unsigned live; /* attach_live_processes */
	unsigned ticks;
	uint64_t due_in_ns; /* when attach_tick wants to be called again, 0: no matter */
	bool is_calm;
	atomic_uint_fast64_t resident;		/* bytes; MEMORY is the limit */
	uint64_t last_tick_ns, shortest_gap_ns; /* 0: no gap yet */
	unsigned soon;				/* ticks within 10 ms of the one before */
	unsigned noticed, noticed_calls;
	uint16_t noticed_type;
	atomic_bool stopped;
	bool looks_into_log; /* at the first notice */
	bool noticed_before_log;
	unsigned signals_at_tick; /* raise() a SIGINT at this tick, 0: never */
	unsigned ready_at_tick;	  /* everything is set up at this tick */
	unsigned unready, set_up_asked;
	uint64_t steps_begun_ns;
	bool raises_at_stop; /* and once the probes are detached */
	int ring_error;
	struct log_writer *log;
	int log_fd;
} fake;

int ring_open(int map_fd, ring_record record, void *context, struct ring **out)
{
	fake.ring = (struct ring){.record = record, .context = context};
	*out = &fake.ring;
	return fake.ring_error;
}

int ring_open_shares(struct shares *shares, ring_record record, void *context, struct ring **out)
{
	return ring_open(-1, record, context, out);
}

int attach_wait_fd(const struct attach *attach)
{
	return -1;
}

int64_t ring_consume(struct ring *ring)
{
	const struct gpt_record *once = atomic_exchange(&fake.once, NULL);

	fake.consumed++;
	if (once) {
		ring->record(ring->context, once);
		return once->size;
	}
	if (fake.stopped && fake.consumes_after)
		(void)waitid(P_PID, (id_t)fake.consumes_after, &(siginfo_t){0}, WEXITED | WNOWAIT);
	if ((fake.stopped && !fake.never_stops) || !fake.always)
		return 0;
	ring->record(ring->context, fake.always);
	return fake.always->size;
}

int ring_wait_fd(const struct ring *ring)
{
	return fake.wait_fd;
}

uint64_t ring_bytes(const struct ring *ring)
{
	return 1 << 20;
}

uint64_t ring_fill(const struct ring *ring)
{
	return 0;
}

uint64_t ring_bytes_max(const struct ring *ring)
{
	return 4711;
}

uint64_t ring_malformed(const struct ring *ring)
{
	return 3;
}

void ring_close(struct ring *ring)
{
}

static bool is_logged(uint16_t type)
{
	const struct gpt_record *record;
	struct log_reader reader;
	const char *why;
	bool found = false;

	if (log_writer_settle(fake.log) || log_reader_open(&reader, fake.log_fd, &why))
		return false;
	while (!found && (record = log_reader_next(&reader)))
		found = record->type == type;
	log_reader_close(&reader);
	return found;
}

static bool wants_process_events(const struct gpt_record *record)
{
	return record->type == GPT_FORK;
}

void attach_missed_batches(struct attach *attach, uint64_t count)
{
}

void attach_missed(struct attach *attach, uint64_t count)
{
}

void attach_notice(struct attach *attach, const struct gpt_record *record)
{
	fake.noticed++;
	fake.noticed_type = record->type;
	fake.noticed_calls += record->type == GPT_CALL;
	if (fake.looks_into_log && fake.noticed == 1)
		fake.noticed_before_log = !is_logged(record->type);
	for (unsigned begun = fake.consumed; fake.waits && fake.consumed < begun + 20;)
		usleep(1000);
}

void attach_report_gaps(struct attach *attach, uint64_t short_ns)
{
}

#define MEMORY 1600u

uint64_t resident_bytes(void)
{
	return fake.resident;
}

bool attach_is_calm(const struct attach *attach, uint64_t now_ns)
{
	return fake.is_calm;
}

void attach_report_ring(struct attach *attach, uint64_t fill, uint64_t bytes)
{
}

uint64_t attach_tick(struct attach *attach, uint64_t now_ns, uint64_t heard_ns)
{
	uint64_t gap_ns = now_ns - fake.last_tick_ns;

	fake.ticks++;
	if (fake.last_tick_ns && (!fake.shortest_gap_ns || gap_ns < fake.shortest_gap_ns))
		fake.shortest_gap_ns = gap_ns;
	fake.soon += fake.last_tick_ns && gap_ns < 10 * MILLISECOND;
	fake.last_tick_ns = now_ns;
	if (fake.signals_at_tick && fake.ticks == fake.signals_at_tick)
		raise(SIGINT);
	return fake.due_in_ns ? now_ns + fake.due_in_ns : UINT64_MAX;
}

bool attach_is_set_up(struct attach *attach, uint64_t now_ns)
{
	fake.set_up_asked++;
	return fake.ticks >= fake.ready_at_tick;
}

unsigned attach_unready(struct attach *attach)
{
	return fake.unready;
}

int attach_begin_steps(struct attach *attach, char *why, size_t why_size)
{
	fake.steps_begun_ns = monotonic_ns();
	return 0;
}

unsigned attach_live_processes(const struct attach *attach)
{
	return fake.live;
}

static unsigned left_ends_at_tick; /* when the processes that a command left end; 0: none is left */

pid_t attach_first_process(const struct attach *attach)
{
	return fake.ticks >= left_ends_at_tick ? 0 : 4711;
}

bool attach_schedule_is_over(const struct attach *attach)
{
	return fake.schedule_is_over;
}

uint32_t attach_cycles_over(const struct attach *attach)
{
	return fake.cycles_over;
}

void attach_counters(const struct attach *attach, uint64_t counters[GPT_COUNTER_COUNT])
{
	memset(counters, 0, GPT_COUNTER_COUNT * sizeof(counters[0]));
	counters[GPT_COUNTER_BATCHES] = 100;
	counters[GPT_COUNTER_CALLS_LOST] = 5;
	counters[GPT_COUNTER_NESTED] = 50;
	counters[GPT_COUNTER_THREADS_FULL] = 7;
	counters[GPT_COUNTER_PYCALLS_LOST] = 11;
}

void attach_stop(struct attach *attach, unsigned timeout_ms, void (*drain)(void *), void *drain_context)
{
	drain(drain_context);
	fake.once = fake.on_stop;
	fake.stopped = true;
	if (!fake.raises_at_stop)
		return;
	usleep(fake.signals_at_tick ? 250000 : 0); /* two signals at once are one request (signal_is_request) */
	raise(SIGINT);
}

/* ---- one run ----------------------------------------------------------------------------------- */

struct outcome {
	int err, fd;
	struct run_result result;
	uint64_t took_ns;
	unsigned of_type[64];
	uint64_t counters[GPT_COUNTER_COUNT];
	struct gpt_start start;
	uint64_t header_start_ns;
	/* The last member, for it ends in a flexible array. */
	struct gpt_end end;
};

static int begin_calls, begin_error;
static uint64_t begun_ns;
static unsigned started_at_tick;
static unsigned command_ends_at_tick;

static int on_begin(void *context)
{
	begin_calls++;
	begun_ns = monotonic_ns();
	return begin_error;
}

static void on_started(void *context, const struct start *start)
{
	started_at_tick = fake.ticks;
}

static bool on_command_ended(void *context)
{
	return fake.ticks >= command_ends_at_tick;
}

static void read_log(int fd, struct outcome *outcome)
{
	const struct gpt_record *record;
	struct log_reader reader;
	const char *why;

	assert_int_equal(log_reader_open(&reader, fd, &why), 0);
	outcome->header_start_ns = reader.header.start_ns;
	while ((record = log_reader_next(&reader))) {
		assert_true(record->type < 64);
		if (record->type == GPT_START)
			memcpy(&outcome->start, record, sizeof(outcome->start));
		outcome->of_type[record->type]++;
		if (record->type == GPT_END) {
			memcpy(&outcome->end, record, sizeof(outcome->end));
			memcpy(outcome->counters, (const uint8_t *)record + sizeof(outcome->end),
			       sizeof(outcome->counters));
		}
	}
	assert_false(reader.torn);
	log_reader_close(&reader);
}

static struct outcome run_capture(struct run_options options)
{
	struct outcome outcome = {.fd = memfd_create("log", MFD_CLOEXEC)};
	uint64_t start_ns = monotonic_ns();
	struct drain *drain = NULL;
	sigset_t old;

	assert_true(outcome.fd >= 0);
	fake.log = log_writer_open(outcome.fd);
	fake.log_fd = outcome.fd;
	options.signals_fd = stop_signals_open(false, &old);
	assert_true(options.signals_fd >= 0);
	outcome.err = drain_start(&(struct drain_options){.ring_fd = -1,
							  .log = fake.log,
							  .wanted = wants_process_events,
							  .memory_limit = fake.resident ? MEMORY : 0},
				  &drain);
	if (!outcome.err)
		outcome.err = run_trace(NULL, fake.log, drain, &options, &outcome.result);
	drain_close(drain);
	outcome.took_ns = monotonic_ns() - start_ns;
	/* Signals that are still pending belong to this test, not to the next. */
	stop_signals_take(options.signals_fd, 0);
	stop_signals_close(options.signals_fd, &old);
	log_writer_close(fake.log);
	fake.log = NULL;
	if (!outcome.err)
		read_log(outcome.fd, &outcome);
	close(outcome.fd);
	return outcome;
}

static int set_up(void **state)
{
	memset(&fake, 0, sizeof(fake));
	fake.live = 1;
	fake.wait_fd = eventfd(0, EFD_CLOEXEC);
	begin_calls = begin_error = 0;
	command_ends_at_tick = UINT32_MAX;
	return 0;
}

static int tear_down(void **state)
{
	close(fake.wait_fd);
	return 0;
}

static const struct gpt_call call = {.hdr = {.size = sizeof(call), .type = GPT_CALL}};
static const struct gpt_process_event fork_event = {.hdr = {.size = sizeof(fork_event), .type = GPT_FORK}};

/* ---- behaviour --------------------------------------------------------------------------------- */

static void a_duration_ends_the_trace_in_time(void **state)
{
	struct outcome outcome;

	/* A busy machine makes a run longer, never shorter: one of many is undisturbed. */
	for (unsigned i = 0; i < 50; i++) {
		outcome = run_capture((struct run_options){.duration_ns = 120 * MILLISECOND});
		if (outcome.err || outcome.took_ns < 400 * MILLISECOND)
			break;
	}
	assert_int_equal(outcome.err, 0);
	assert_int_equal(outcome.result.reason, GPT_END_DURATION);
	assert_true(outcome.took_ns >= 120 * MILLISECOND);
	assert_true(outcome.took_ns < 400 * MILLISECOND);
	assert_true(fake.stopped);
}

static void a_trace_ends_although_something_goes_on_writing(void **state)
{
	fake.always = &fork_event.hdr;
	fake.never_stops = true;
	alarm(60); /* a run that takes what comes meanwhile never ends */
	assert_int_equal(run_capture((struct run_options){.duration_ns = 20 * MILLISECOND}).err, 0);
	alarm(0);
	assert_true(fake.noticed > 0);
}

static void a_trace_ends_when_no_followed_process_lives(void **state)
{
	struct outcome outcome;

	fake.live = 0;
	outcome = run_capture((struct run_options){.end_with_targets = true, .duration_ns = 60000 * MILLISECOND});
	assert_int_equal(outcome.result.reason, GPT_END_TARGETS_GONE);
	assert_int_equal(fake.ticks, 1);
	assert_true(outcome.took_ns < 30000 * MILLISECOND);
}

static uint32_t first_over, last_over;

static void on_cycles_over(void *context, uint32_t first, uint32_t last)
{
	first_over = first;
	last_over = last;
	fake.schedule_is_over = true;
}

static void cycles_that_are_over_are_reported_once_they_are_in_the_log(void **state)
{
	struct run_options options = {.end_with_schedule = true, .cycles_over = on_cycles_over};

	fake.cycles_over = 2;
	run_capture(options);
	assert_int_equal(first_over, 1);
	assert_int_equal(last_over, 2);
}

static void of_very_many_cycles_the_latest_are_reported(void **state)
{
	struct run_options options = {.end_with_schedule = true, .cycles_over = on_cycles_over};

	fake.cycles_over = UINT32_MAX;
	run_capture(options);
	assert_int_equal(first_over, UINT32_MAX - 15);
	assert_int_equal(last_over, UINT32_MAX);
}

static void a_trace_ends_when_all_cycles_of_the_schedule_are_recorded(void **state)
{
	struct outcome outcome;

	fake.schedule_is_over = true;
	outcome = run_capture((struct run_options){.end_with_schedule = true, .duration_ns = 60000 * MILLISECOND});
	assert_int_equal(outcome.result.reason, GPT_END_SCHEDULE);
}

static void a_trace_of_the_machine_does_not_end_with_its_processes(void **state)
{
	struct outcome outcome;

	fake.live = 0;
	outcome = run_capture((struct run_options){.duration_ns = 50 * MILLISECOND});
	assert_int_equal(outcome.result.reason, GPT_END_DURATION);
}

static void a_trace_ends_with_its_command(void **state)
{
	struct outcome outcome;

	command_ends_at_tick = 3;
	outcome = run_capture((struct run_options){.command_ended = on_command_ended, .begin = on_begin});
	assert_int_equal(outcome.result.reason, GPT_END_TARGETS_GONE);
	assert_int_equal(begin_calls, 1);
}

static void a_trace_goes_on_while_what_its_command_has_started_lives(void **state)
{
	struct outcome outcome;

	command_ends_at_tick = 3;
	left_ends_at_tick = 9;
	outcome = run_capture(
		(struct run_options){.command_ended = on_command_ended, .command_name = "sh", .begin = on_begin});
	assert_int_equal(outcome.result.reason, GPT_END_TARGETS_GONE);
	assert_true(fake.ticks >= 9);
	left_ends_at_tick = 0;
}

static void a_signal_ends_the_trace_cleanly(void **state)
{
	struct outcome outcome;

	fake.signals_at_tick = 2;
	outcome = run_capture((struct run_options){.duration_ns = 60000 * MILLISECOND});
	assert_int_equal(outcome.err, 0);
	assert_int_equal(outcome.result.reason, GPT_END_INTERRUPTED);
	assert_false(outcome.result.abandoned);
	assert_int_equal(outcome.of_type[GPT_END], 1);
	assert_int_equal(fake.ticks, 2);
	assert_true(outcome.took_ns < 30000 * MILLISECOND);
}

/* A child that lives until a signal. */
static pid_t start_child(void)
{
	pid_t child = fork();

	if (!child) {
		sigset_t none;

		signal(SIGINT, SIG_DFL); /* a shell's background job ignores it */
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		for (;;)
			pause();
	}
	return child;
}

/* The signal that ended it; 0: it was ended by SIGKILL here. */
static int end_child(pid_t child)
{
	int status;

	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	return WTERMSIG(status) == SIGKILL ? 0 : WTERMSIG(status);
}

static void a_signal_is_passed_on_and_the_trace_does_not_wait_for_ever(void **state)
{
	struct outcome outcome;
	pid_t child = start_child();

	fake.signals_at_tick = 2;
	/* The command does not end: the trace does after three seconds. */
	outcome = run_capture((struct run_options){
		.command_ended = on_command_ended, .command_pid = child, .duration_ns = 600000 * MILLISECOND});
	assert_int_equal(outcome.result.reason, GPT_END_INTERRUPTED);
	assert_true(outcome.result.signalled);
	assert_false(outcome.result.abandoned);
	assert_int_equal(end_child(child), SIGINT);
}

static void a_signal_while_the_last_records_are_taken_is_passed_on(void **state)
{
	pid_t child = start_child();
	struct outcome outcome;

	fake.consumes_after = child;
	fake.raises_at_stop = true;
	alarm(60); /* the child, for whose end the last pass waits, gets nothing but that signal */
	outcome = run_capture((struct run_options){
		.command_ended = on_command_ended, .command_pid = child, .duration_ns = 20 * MILLISECOND});
	alarm(0);
	assert_true(outcome.result.signalled);
	assert_false(outcome.result.abandoned); /* the first signal is for the command */
	assert_int_equal(end_child(child), SIGINT);
}

static void a_signal_to_a_trace_that_has_just_ended_by_itself_leaves_no_output_out(void **state)
{
	struct outcome outcome;

	fake.raises_at_stop = true;
	outcome = run_capture((struct run_options){.duration_ns = 20 * MILLISECOND});
	assert_true(outcome.result.signalled);
	assert_false(outcome.result.abandoned);
}

static void a_signal_while_the_last_records_of_an_interrupted_trace_are_taken_leaves_outputs_out(void **state)
{
	fake.signals_at_tick = 1;
	fake.raises_at_stop = true;
	assert_true(run_capture((struct run_options){.duration_ns = 600000 * MILLISECOND}).result.abandoned);
}

static void a_command_that_cannot_be_executed_ends_the_trace_with_its_error(void **state)
{
	struct outcome outcome;

	begin_error = -ENOENT;
	outcome = run_capture((struct run_options){.begin = on_begin});
	assert_int_equal(outcome.err, -ENOENT);
}

static void a_ring_buffer_that_cannot_be_opened_is_an_error(void **state)
{
	fake.ring_error = -EPERM;
	assert_int_equal(run_capture((struct run_options){.begin = on_begin}).err, -EPERM);
	assert_int_equal(begin_calls, 0);
}

static void the_ring_is_drained_while_a_process_is_slow_to_attach(void **state)
{
	struct outcome outcome;

	/* attach_notice returns when the ring has been consumed 20 times meanwhile. */
	fake.waits = true;
	fake.once = &fork_event.hdr;
	fake.always = &call.hdr;
	outcome = run_capture((struct run_options){.duration_ns = 20 * MILLISECOND});
	assert_int_equal(fake.noticed, 1);
	assert_true(outcome.of_type[GPT_CALL] >= 19);
}

static bool on_consumed(void *context)
{
	return fake.consumed > 4;
}

static void every_record_of_the_ring_is_in_the_log(void **state)
{
	struct outcome outcome;

	fake.always = &call.hdr;
	outcome = run_capture((struct run_options){.command_ended = on_consumed});
	assert_true(outcome.of_type[GPT_CALL] > 2);
	assert_int_equal(outcome.of_type[GPT_CALL], outcome.result.calls);
	/* One for each time the ring was consumed with the probes in place. */
	assert_true(outcome.of_type[GPT_CALL] <= fake.consumed);
	assert_int_equal(fake.noticed_calls, 0);
}

static void probes_hear_of_process_events_after_the_log(void **state)
{
	struct outcome outcome;

	fake.always = &fork_event.hdr;
	fake.looks_into_log = true;
	outcome = run_capture((struct run_options){.duration_ns = 40 * MILLISECOND});
	assert_true(fake.noticed > 0);
	assert_int_equal(fake.noticed, outcome.of_type[GPT_FORK]);
	assert_int_equal(fake.noticed_type, GPT_FORK);
	assert_false(fake.noticed_before_log);
}

static void what_begins_after_the_end_is_not_of_the_recording(void **state)
{
	static struct gpt_call late = {.hdr = {.size = sizeof(late), .type = GPT_CALL}};
	struct outcome outcome;

	late.time_ns = monotonic_ns() + 3600000 * MILLISECOND; /* no run takes so long */
	fake.on_stop = &late.hdr;
	outcome = run_capture((struct run_options){.duration_ns = 20 * MILLISECOND});
	assert_int_equal(outcome.of_type[GPT_CALL], 0);
	assert_int_equal(outcome.result.calls, 0);
	assert_true(outcome.end.time_ns <= late.time_ns);
}

static void at_the_limit_of_memory_records_are_dropped_and_counted(void **state)
{
	struct outcome outcome;

	fake.resident = 1501;
	fake.on_stop = &call.hdr;
	outcome = run_capture((struct run_options){.duration_ns = 20 * MILLISECOND});
	assert_int_equal(outcome.of_type[GPT_CALL], 0);
	assert_int_equal(outcome.counters[GPT_COUNTER_MEMORY_CALLS], 1);
	assert_int_equal(outcome.result.calls, 0);
	fake.on_stop = &fork_event.hdr; /* processes are followed all the same */
	outcome = run_capture((struct run_options){.duration_ns = 20 * MILLISECOND});
	assert_int_equal(outcome.of_type[GPT_FORK], 1);
	fake.resident = 1500;
	fake.on_stop = &call.hdr;
	outcome = run_capture((struct run_options){.duration_ns = 20 * MILLISECOND});
	assert_int_equal(outcome.of_type[GPT_CALL], 1);
	assert_int_equal(outcome.counters[GPT_COUNTER_MEMORY_CALLS], 0);
}

static void what_arrives_while_probes_are_taken_away_is_recorded(void **state)
{
	struct outcome outcome;

	fake.on_stop = &call.hdr;
	outcome = run_capture((struct run_options){.duration_ns = 20 * MILLISECOND});
	assert_int_equal(outcome.of_type[GPT_CALL], 1);
}

static void attach_is_ticked_at_least_every_50_ms(void **state)
{
	command_ends_at_tick = 20;
	run_capture((struct run_options){.command_ended = on_command_ended});
	/* A busy machine makes gaps longer, never shorter; on an idle one they are 20 ms. */
	assert_true(fake.shortest_gap_ns && fake.shortest_gap_ns < 50 * MILLISECOND);
}

static void while_it_is_calm_attach_is_ticked_less_often(void **state)
{
	fake.is_calm = true;
	run_capture((struct run_options){.duration_ns = 400 * MILLISECOND});
	assert_true(fake.shortest_gap_ns > 50 * MILLISECOND || fake.ticks <= 8);
}

static void attach_is_ticked_when_it_asked_for_it(void **state)
{
	fake.due_in_ns = MILLISECOND;
	command_ends_at_tick = 100;
	run_capture((struct run_options){.command_ended = on_command_ended});
	assert_true(fake.soon >= 5); /* otherwise none is */
}

/* The ring is readable whenever it is not empty: only a new wake-up must wake the thread. */
static void a_ring_that_stays_readable_does_not_keep_the_thread_awake(void **state)
{
	struct outcome outcome;
	uint64_t one = 1;

	assert_int_equal(write(fake.wait_fd, &one, sizeof(one)), sizeof(one));
	outcome = run_capture((struct run_options){.duration_ns = 100 * MILLISECOND});
	/* about one in 20 ms; a thread that stays awake makes many in each */
	assert_true(fake.consumed < outcome.took_ns / MILLISECOND);
}

static void the_clock_is_sampled_at_start_each_second_and_end(void **state)
{
	struct outcome outcome = run_capture((struct run_options){.duration_ns = 1100 * MILLISECOND});

	/* On a busy machine the run may take longer. */
	assert_in_range(outcome.of_type[GPT_CLOCK], 3, 2 + outcome.took_ns / (1000 * MILLISECOND));
}

static void the_end_holds_the_counters_and_the_ring(void **state)
{
	struct outcome outcome = run_capture((struct run_options){.duration_ns = 20 * MILLISECOND});

	assert_int_equal(outcome.of_type[GPT_END], 1);
	assert_int_equal(outcome.end.reason, GPT_END_DURATION);
	assert_int_equal(outcome.end.counters_count, GPT_COUNTER_COUNT);
	assert_int_equal(outcome.counters[GPT_COUNTER_BATCHES], 100);
	assert_int_equal(outcome.counters[GPT_COUNTER_NESTED], 50);
	/* Records of impossible size count as lost. */
	assert_int_equal(outcome.counters[GPT_COUNTER_MALFORMED], 3);
	/* What is shown while it records includes every cause that the receipt knows. */
	assert_int_equal(outcome.result.lost, 8 + 7 + 11);
	assert_int_equal(outcome.end.ring_bytes, 1 << 20);
	assert_int_equal(outcome.end.ring_bytes_max, 4711);
	assert_true(outcome.end.time_ns > 0);
}

static void a_full_disk_ends_the_trace_and_the_log_says_so(void **state)
{
	struct rlimit limit, old;
	struct outcome outcome;
	size_t schema_bytes;

	fake.always = &call.hdr;
	getrlimit(RLIMIT_FSIZE, &old);
	limit = old;
	free(schema_text(&schema_bytes));
	limit.rlim_cur = sizeof(struct gpt_log_header) + schema_bytes + 700; /* room for a segment or two */
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	outcome = run_capture((struct run_options){.duration_ns = 60000 * MILLISECOND});
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(outcome.err, 0);
	assert_int_equal(outcome.result.reason, GPT_END_DISK);
	assert_int_equal(outcome.result.error, -EFBIG);
	assert_int_equal(outcome.end.reason, GPT_END_DISK);
	assert_true(outcome.took_ns < 30000 * MILLISECOND);
	assert_true(fake.stopped);
}

/* ---- the start -------------------------------------------------------------------------------------------------- */

static void it_begins_when_everything_is_set_up_and_lasts_as_long_as_asked(void **state)
{
	struct outcome outcome;

	fake.ready_at_tick = 10;
	fake.unready = 1;
	fake.live = 8;
	outcome = run_capture((struct run_options){.duration_ns = 30 * MILLISECOND, .started = on_started});
	assert_int_equal(outcome.err, 0);
	assert_int_equal(started_at_tick, 10);
	assert_int_equal(outcome.of_type[GPT_START], 1);
	assert_int_equal(outcome.start.time_ns, outcome.header_start_ns);
	assert_int_equal(outcome.end.time_ns - outcome.start.time_ns, 30 * MILLISECOND);
	assert_int_equal(outcome.start.processes, 8);
	assert_int_equal(outcome.start.unready, 1);
	assert_true(fake.steps_begun_ns >= outcome.start.time_ns);
}

static void with_a_command_it_begins_before_that_runs(void **state)
{
	struct outcome outcome;

	fake.ready_at_tick = UINT_MAX;
	outcome = run_capture((struct run_options){.duration_ns = 20 * MILLISECOND,
						   .start = {.kind = START_WITH_COMMAND},
						   .begin = on_begin,
						   .started = on_started});
	assert_int_equal(outcome.err, 0);
	assert_int_equal(started_at_tick, 0);
	assert_int_equal(begin_calls, 1);
	assert_true(outcome.start.time_ns < begun_ns);
}

/* How far ahead a moment is: further, and longer recorded, where a busy machine came after it. */
#define FIRST_AHEAD (80 * MILLISECOND)
#define LAST_AHEAD (64 * FIRST_AHEAD)

static void at_a_moment_it_begins_to_the_ns_while_the_command_runs(void **state)
{
	uint64_t at_ns, end_ns = 0;
	struct outcome outcome;

	for (uint64_t ahead = FIRST_AHEAD; ahead <= LAST_AHEAD; ahead *= 4) {
		at_ns = monotonic_ns() + ahead;
		end_ns = at_ns + ahead / 4;
		outcome = run_capture((struct run_options){.duration_ns = ahead / 4,
							   .start = {.kind = START_AFTER, .mono_ns = at_ns},
							   .begin = on_begin,
							   .started = on_started});
		if (begun_ns < at_ns && outcome.end.time_ns == end_ns)
			break;
	}
	assert_int_equal(outcome.err, 0);
	assert_int_equal(outcome.start.time_ns, at_ns);
	assert_int_equal(outcome.header_start_ns, at_ns);
	assert_int_equal(outcome.end.time_ns, end_ns);
	assert_true(begun_ns < at_ns);
}

static void what_ends_before_its_moment_is_no_recording(void **state)
{
	struct run_options options = {
		.start = {.kind = START_AFTER, .mono_ns = monotonic_ns() + 3600000 * MILLISECOND}};
	struct outcome outcome;

	fake.signals_at_tick = 3;
	outcome = run_capture(options);
	assert_int_equal(outcome.err, -ECANCELED);
	assert_true(outcome.result.not_begun);
	assert_int_equal(outcome.result.reason, GPT_END_INTERRUPTED);
	assert_true(fake.stopped);
	fake.ticks = fake.live = 0;
	options.end_with_targets = true;
	outcome = run_capture(options);
	assert_int_equal(outcome.err, -ECANCELED);
	assert_int_equal(outcome.result.reason, GPT_END_TARGETS_GONE);
}

static void what_is_over_before_its_moment_is_counted_and_left_out(void **state)
{
	struct gpt_call old = call;
	struct outcome outcome;

	old.time_ns = 1;
	fake.always = &old.hdr;
	for (uint64_t ahead = FIRST_AHEAD; ahead <= LAST_AHEAD; ahead *= 4) {
		outcome = run_capture((struct run_options){
			.duration_ns = MILLISECOND, .start = {.kind = START_AFTER, .mono_ns = monotonic_ns() + ahead}});
		if (outcome.start.left_out > 0)
			break;
	}
	assert_int_equal(outcome.err, 0);
	assert_true(outcome.start.left_out > 0);
	/* Before the run knows of its moment, records are kept. */
	assert_true(outcome.of_type[GPT_CALL] <= 5);
}

static void the_clock_sample_is_tight_and_right(void **state)
{
	struct gpt_clock sample;
	struct timespec wall;
	int64_t before_ns, after_ns, then_ns;

	clock_sample(&sample);
	before_ns = (int64_t)monotonic_ns();
	clock_gettime(CLOCK_REALTIME, &wall);
	after_ns = (int64_t)monotonic_ns();
	then_ns = (int64_t)wall.tv_sec * 1000000000 + wall.tv_nsec - sample.wall_offset_ns;
	assert_true(sample.error_ns < 1000000);
	assert_true(before_ns - 50000000 < then_ns && then_ns < after_ns + 50000000);
}

#define behaviour(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		behaviour(a_duration_ends_the_trace_in_time),
		behaviour(a_trace_ends_although_something_goes_on_writing),
		behaviour(a_trace_ends_when_no_followed_process_lives),
		behaviour(cycles_that_are_over_are_reported_once_they_are_in_the_log),
		behaviour(of_very_many_cycles_the_latest_are_reported),
		behaviour(a_trace_ends_when_all_cycles_of_the_schedule_are_recorded),
		behaviour(a_trace_of_the_machine_does_not_end_with_its_processes),
		behaviour(a_trace_ends_with_its_command),
		behaviour(a_trace_goes_on_while_what_its_command_has_started_lives),
		behaviour(a_signal_ends_the_trace_cleanly),
		behaviour(a_signal_is_passed_on_and_the_trace_does_not_wait_for_ever),
		behaviour(a_signal_while_the_last_records_are_taken_is_passed_on),
		behaviour(a_signal_to_a_trace_that_has_just_ended_by_itself_leaves_no_output_out),
		behaviour(a_signal_while_the_last_records_of_an_interrupted_trace_are_taken_leaves_outputs_out),
		behaviour(a_command_that_cannot_be_executed_ends_the_trace_with_its_error),
		behaviour(a_ring_buffer_that_cannot_be_opened_is_an_error),
		behaviour(the_ring_is_drained_while_a_process_is_slow_to_attach),
		behaviour(every_record_of_the_ring_is_in_the_log),
		behaviour(probes_hear_of_process_events_after_the_log),
		behaviour(what_begins_after_the_end_is_not_of_the_recording),
		behaviour(what_arrives_while_probes_are_taken_away_is_recorded),
		behaviour(at_the_limit_of_memory_records_are_dropped_and_counted),
		behaviour(attach_is_ticked_at_least_every_50_ms),
		behaviour(while_it_is_calm_attach_is_ticked_less_often),
		behaviour(attach_is_ticked_when_it_asked_for_it),
		behaviour(a_ring_that_stays_readable_does_not_keep_the_thread_awake),
		behaviour(the_clock_is_sampled_at_start_each_second_and_end),
		behaviour(the_end_holds_the_counters_and_the_ring),
		behaviour(a_full_disk_ends_the_trace_and_the_log_says_so),
		behaviour(it_begins_when_everything_is_set_up_and_lasts_as_long_as_asked),
		behaviour(with_a_command_it_begins_before_that_runs),
		behaviour(at_a_moment_it_begins_to_the_ns_while_the_command_runs),
		behaviour(what_ends_before_its_moment_is_no_recording),
		behaviour(what_is_over_before_its_moment_is_counted_and_left_out),
		behaviour(the_clock_sample_is_tight_and_right),
	};

	signal(SIGXFSZ, SIG_IGN);
	msg_set_level(MSG_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
