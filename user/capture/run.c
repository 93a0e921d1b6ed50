/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A recording from its start to its end, on the thread that attaches: rounds (round.h) until it has begun, and until it
 * is over. What outlives it belongs to the caller.
 */
#include "capture/run.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/msg.h"
#include "capture/clock.h"
#include "capture/gpu_counters.h"
#include "capture/nvml_process.h"
#include "capture/round.h"

/* Events that are over earlier than this before a moment that is waited for are left out of the log. */
#define CONTEXT_NS SECOND_NS

/* How long after a cycle its GPU work is recorded, unless the work goes on for long. */
#define CYCLE_SAID_NS SECOND_NS

/* The most cycles reported at a time, the latest ones: a process may report any number. */
#define CYCLES_MOST 16u

/* How long agents may take to hand over their last records. */
#define AGENT_STOP_MS 2000

/* Above the targets: some of them are held until probes are in place. */
#define ATTACH_NICE (-10)

static void check_cycles(struct run *run, uint64_t now_ns)
{
	const struct run_options *options = run->options;
	uint32_t over = options->cycles_over ? attach_cycles_over(run->attach) : 0;

	if (over <= run->cycles_reported)
		return;
	if (!run->cycle_due_ns)
		run->cycle_due_ns = now_ns + CYCLE_SAID_NS;
	if (now_ns < run->cycle_due_ns)
		return;
	run->cycle_due_ns = 0;
	if (log_writer_settle(run->log) == 0)
		options->cycles_over(options->context,
				     over - run->cycles_reported > CYCLES_MOST ? over - CYCLES_MOST + 1
									       : run->cycles_reported + 1,
				     over);
	run->cycles_reported = over;
}

/* Whether it is written: not if that are too many. */
static bool ask_for_event(struct run *run, uint64_t now_ns, const struct trigger_event *event)
{
	const struct trigger_options *options = &run->options->by_itself;
	struct flight_event ask = {.why = event->why, .end_ns = event->to_ns + options->after_ns};

	if (options->before_ns && event->from_ns > options->before_ns)
		ask.start_ns = event->from_ns - options->before_ns;
	return flight_ask_by_itself(run->flight, now_ns, &ask);
}

static void check_gaps(struct run *run, uint64_t now_ns)
{
	const struct run_options *options = run->options;
	struct trigger_event event;
	struct gpt_end *end;
	uint64_t since_ns;

	if (!options->gap_seen)
		return;
	if (options->gap_blamed(options->context, &event))
		(void)ask_for_event(run, now_ns, &event);
	if (!options->gap_looks(options->context, &since_ns))
		return;
	end = run_make_end(run, GPT_END_WRITTEN);
	flight_look(run->flight, since_ns, now_ns, end);
	free(end);
}

static void check_trigger(struct run *run, uint64_t now_ns)
{
	const struct run_options *options = run->options;
	struct trigger_event event;

	check_gaps(run, now_ns);
	if (!options->trigger || !trigger_take(options->trigger, now_ns, &event))
		return;
	if (event.kind == TRIGGER_GAP && options->gap_seen)
		options->gap_seen(options->context, &event);
	else if (ask_for_event(run, now_ns, &event) && event.kind == TRIGGER_HANG && options->hang_seen)
		options->hang_seen(options->context, &event);
}

static void check_flight(struct run *run, uint64_t now_ns)
{
	struct gpt_end *end;

	if (!run->flight)
		return;
	flight_print(run->flight);
	check_trigger(run, now_ns);
	if (!flight_is_due(run->flight, now_ns))
		return;
	end = run_make_end(run, GPT_END_WRITTEN);
	flight_write_due(run->flight, now_ns, end);
	free(end);
}

static void check_recording(struct run *run, uint64_t now_ns)
{
	check_cycles(run, now_ns);
	check_flight(run, now_ns);
	if (run->options->print)
		run->options->print(run->options->context);
}

static void record_until_end(struct run *run)
{
	while (!run->ended)
		run_round(run, check_recording);
	msg_progress_end();
}

/* A record of NVML's.  context: struct run. */
static void append_counter(void *context, const struct gpt_record *record)
{
	const struct gpt_gpu_error *error = (const struct gpt_gpu_error *)record;
	struct run *run = context;
	struct trigger_event event = {.kind = TRIGGER_HAPPENED};

	run_append_record(run, record);
	if (record->type != GPT_GPU_ERROR || !run->options->by_itself.xid || !run->flight || !run->start_ns)
		return;
	snprintf(event.why, sizeof(event.why), "GPU %02x%02x%02x%02x ", error->uuid[0], error->uuid[1], error->uuid[2],
		 error->uuid[3]);
	if (error->kind == GPT_GPU_XID)
		snprintf(event.why + strlen(event.why), sizeof(event.why) - strlen(event.why), "reports XID %llu",
			 (unsigned long long)error->data);
	else if (error->kind == GPT_GPU_ECC_UNCORRECTED)
		strcat(event.why, "reports an ECC error that it cannot correct");
	else if (error->kind == GPT_GPU_LOST)
		strcat(event.why, "does not answer any more");
	else
		return;
	event.from_ns = event.to_ns = error->time_ns;
	(void)ask_for_event(run, monotonic_ns(), &event);
}

/* ---- the start --------------------------------------------------------------------------------------------------- */

/* All of the set-up lies before `start_ns`, and so does what was recorded until then. */
static void begin_recording(struct run *run, uint64_t start_ns)
{
	const struct start_request *request = &run->options->start;
	struct gpt_start record = {
		.hdr = {.size = sizeof(record), .type = GPT_START},
		.time_ns = start_ns,
		.set_up_ns = request->set_up_ns,
		.ready_ns = run->start.ready_ns && run->start.ready_ns < start_ns ? run->start.ready_ns : start_ns,
		.late_ns = run->start.late_ns,
		.left_out = drain_left_out(run->drain),
		.processes = attach_live_processes(run->attach),
		.unready = attach_unready(run->attach)};
	struct gpt_clock clock;
	char why[256];
	bool unsynced;
	int err;

	clock_sample(&clock);
	log_writer_set_start(run->log, start_ns, clock.wall_offset_ns);
	record.wall_error_ns = clock_wall_error(&unsynced);
	record.flags = (unsynced ? GPT_START_UNSYNCED : 0) | (start_has_moment(request) ? GPT_START_AT : 0) |
		       (run->options->command_pid ? GPT_START_COMMAND : 0);
	if (start_has_moment(request))
		record.asked_wall_ns = start_moment_wall(&run->start);
	err = log_writer_append(run->log, &record.hdr);
	if (err)
		run_end(run, GPT_END_DISK, err);
	run->start_ns = start_ns;
	run->next_second_ns = start_ns + SECOND_NS;
	run->calls_at_second = drain_calls(run->drain);
	if (run->flight)
		flight_begin(run->flight, start_ns);
	run_note_counts(run, start_ns);
	if (run->options->duration_ns && !run->options->search_begin)
		drain_end(run->drain, start_ns + run->options->duration_ns);
	err = attach_begin_steps(run->attach, why, sizeof(why));
	if (err) {
		msg_error("%s", why);
		run_end(run, GPT_END_ERROR, err);
	}
	run_append_clock(run);
	/* From here on a crash leaves a log that says what was asked for. */
	log_writer_settle(run->log);
	if (run->options->started)
		run->options->started(run->options->context, &run->start);
}

static void check_start(struct run *run, uint64_t now_ns)
{
	bool is_ready = attach_is_set_up(run->attach, now_ns);
	uint64_t start_ns;
	struct gpt_clock clock;

	if (run->ended)
		return;
	clock_sample(&clock);
	/* The clock is read after the processes were asked, so that nothing of the set-up lies after it. */
	start_ns = start_check(&run->start, is_ready, monotonic_ns(), clock.wall_offset_ns);
	if (start_has_moment(&run->options->start) && !start_ns)
		drain_leave_out(run->drain, run->start.at_ns > CONTEXT_NS ? run->start.at_ns - CONTEXT_NS : 0);
	if (start_ns)
		begin_recording(run, start_ns);
}

static int let_command_run(struct run *run)
{
	return run->options->begin ? run->options->begin(run->options->context) : 0;
}

/* Until the recording has begun, or has ended without.  0 or -errno */
static int set_up(struct run *run)
{
	bool has_moment = start_has_moment(&run->options->start);
	struct gpt_clock clock;
	int err = 0;

	clock_sample(&clock);
	start_prepare(&run->start, &run->options->start, clock.mono_ns, clock.wall_offset_ns);
	if (has_moment && run->options->say_waits)
		run->options->say_waits(run->options->context, &run->start);
	if (has_moment)
		err = let_command_run(run);
	if (err)
		return err;
	if (run->options->start.kind == START_WITH_COMMAND)
		begin_recording(run, monotonic_ns());
	while (!run->start_ns && !run->ended)
		run_round(run, check_start);
	if (!run->start_ns && has_moment)
		run->result->not_begun = true;
	else if (!run->start_ns)
		begin_recording(run, monotonic_ns());
	return run->result->not_begun ? -ECANCELED : has_moment ? 0 : let_command_run(run);
}

/* Goes on recording while processes are read, so that all that happens meanwhile is known. */
static void search_before_end(struct run *run)
{
	const struct run_options *options = run->options;
	enum gpt_end_reason reason = run->result->reason;

	if (!options->search_begin || (reason != GPT_END_DURATION && reason != GPT_END_INTERRUPTED))
		return;
	options->search_begin(options->context);
	while (!options->search_is_over(options->context) && !run->result->abandoned) {
		struct epoll_event event;
		bool more = run_receive_all(run);
		uint64_t now_ns = monotonic_ns();

		attach_tick(run->attach, now_ns, run->heard_ns);
		gpu_counters_tick(run->counters);
		run_on_wait(run);
		if (epoll_wait(run->epoll, &event, 1, more ? 0 : POLL_MS) < 0 && errno != EINTR)
			return;
	}
}

static int open_run(struct run *run)
{
	int err;

	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (run->epoll < 0)
		return -errno;
	err = watch_descriptor(run->epoll, notices_fd(drain_notices(run->drain)), EPOLLIN);
	if (!err && attach_wait_fd(run->attach) >= 0)
		err = watch_descriptor(run->epoll, attach_wait_fd(run->attach), EPOLLIN);
	return err ? err : watch_descriptor(run->epoll, run->options->signals_fd, EPOLLIN);
}

/*
 * The files that a signal asked for, whatever still waits for its GPU work: that has come.  Who interrupts twice does
 * not wait for them.
 */
static void write_last_asked(struct run *run, const struct gpt_end *end)
{
	flight_write_last(run->flight, end);
	while (!flight_is_idle(run->flight) && !run->result->abandoned) {
		run_on_wait(run);
		(void)poll(NULL, 0, POLL_MS);
	}
	flight_print(run->flight);
}

static int write_log(struct run *run, struct gpt_end *end)
{
	if (!run->flight)
		return log_writer_finish(run->log, end);
	if (run->options->flight.only_asked)
		return log_writer_settle(run->log);
	return flight_finish(run->flight, run->options->log_fd, end);
}

static void finish_log(struct run *run, uint64_t end_ns)
{
	uint64_t counters[GPT_COUNTER_COUNT];
	struct gpt_end *end;
	int err;

	/* Writing the log up to here counts as gputrace's CPU time; log_writer_finish returns the errors. */
	(void)log_writer_settle(run->log);
	end = run_make_end(run, run->result->reason);
	end->time_ns = end_ns;
	drain_describe_ring(run->drain, end);
	run->result->calls = drain_calls(run->drain);
	memcpy(counters, end->counters, sizeof(counters));
	run->result->lost = run_count_lost(counters);
	if (run->flight)
		write_last_asked(run, end);
	err = write_log(run, end);
	free(end);
	if (err) {
		run->result->reason = GPT_END_DISK;
		run->result->error = err;
	}
}

int run_trace(struct attach *attach, struct log_writer *log, struct drain *drain, const struct run_options *options,
	      struct run_result *result)
{
	struct run run = {
		.attach = attach, .log = log, .drain = drain, .options = options, .result = result, .epoll = -1};
	int niceness = getpriority(PRIO_PROCESS, 0);
	uint64_t end_ns;
	int err;

	*result = (struct run_result){0};
	if (options->flight.span_ns)
		run.flight = flight_new(log, &options->flight);
	/* Without the right to do so the priority stays as it is, which only matters on a full machine. */
	if (niceness > ATTACH_NICE)
		(void)setpriority(PRIO_PROCESS, 0, ATTACH_NICE);
	err = open_run(&run);
	if (err)
		goto cleanup;
	run.cpu_start_ns = run_own_cpu_ns();
	run.next_second_ns = monotonic_ns() + SECOND_NS;
	if (options->gpu_counters)
		run.counters = gpu_counters_start(nvml_libraries(), options->library_path, append_counter, &run);
	err = set_up(&run);
	if (err == -ECANCELED)
		attach_stop(attach, AGENT_STOP_MS, run_drain_for_attach, &run);
	if (err)
		goto cleanup;
	record_until_end(&run);
	result->signalled = run.give_up_ns || result->reason == GPT_END_INTERRUPTED;
	search_before_end(&run);
	end_ns = drain_end(drain, 0);
	result->lacks_nvml = options->by_itself.xid && !gpu_counters_answer(run.counters);
	if (options->by_itself.xid)
		result->without_xid = gpu_counters_without_errors(run.counters);
	gpu_counters_stop(run.counters);
	run.counters = NULL;
	attach_stop(attach, AGENT_STOP_MS, run_drain_for_attach, &run);
	/* With the probes gone, this takes the last records. */
	drain_finish(drain, run_on_wait, &run);
	do
		run_on_wait(&run);
	while (run_hand_over_records(&run, SIZE_MAX));
	run_check_drain(&run);
	run_append_clock(&run);
	finish_log(&run, end_ns);
cleanup:
	gpu_counters_stop(run.counters);
	flight_free(run.flight);
	(void)setpriority(PRIO_PROCESS, 0, niceness);
	if (run.epoll >= 0)
		close(run.epoll);
	return err;
}
