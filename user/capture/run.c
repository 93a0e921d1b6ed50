/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The loop of a recording, on the thread that attaches: records from the thread that drains the ring, time, signals.
 * What outlives the loop belongs to the caller.
 */
#include "capture/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gputrace/losses.h>

#include "base/array.h"
#include "base/monotonic.h"
#include "base/msg.h"
#include "capture/clock.h"
#include "capture/drain.h"
#include "capture/gpu_counters.h"
#include "capture/nvml_process.h"
#include "capture/signals.h"

#define SECOND_NS 1000000000ull
#define MILLISECOND_NS 1000000ull

/* attach_tick wants to be called at least every 50 ms. */
#define POLL_MS 20

/* Until everything is set up there is more to do. */
#define SET_UP_POLL_NS (2 * MILLISECOND_NS)

/* Events that are over earlier than this before a moment that is waited for are left out of the log. */
#define CONTEXT_NS SECOND_NS

/* The longest time for records of the queue between two checks of signals and of the end. */
#define HEAR_NS (10 * MILLISECOND_NS)

/* How long a command that got a signal to end may take for that before the trace ends without it. */
#define COMMAND_GRACE_NS (3 * SECOND_NS)

/*
 * How long after a command another process goes on before a message says so: multiprocessing's resource tracker and
 * fork server end by themselves when they notice that no process has their pipe.
 */
#define LEFT_NS SECOND_NS

/* How long after a cycle its GPU work is recorded, unless the work goes on for long. */
#define CYCLE_SAID_NS SECOND_NS

/* The most cycles reported at a time, the latest ones: a process may report any number. */
#define CYCLES_MOST 16u

/* How long agents may take to hand over their last records. */
#define AGENT_STOP_MS 2000

/* Above the targets: some of them are held until probes are in place. */
#define ATTACH_NICE (-10)

struct run {
	struct attach *attach;
	struct log_writer *log;
	struct drain *drain;
	struct gpu_counters *counters; /* NULL: not recorded */
	const struct run_options *options;
	struct run_result *result;
	int epoll;
	struct start start;
	uint64_t start_ns; /* the instant at which the recording began; 0: not yet */
	uint64_t next_second_ns;
	uint64_t cpu_start_ns;
	uint64_t calls_at_second; /* drain_calls at the last full second */
	uint64_t refused;	  /* records that attach/ did not get */
	uint64_t heard_ns;	  /* attach/ got all that was in the queue at this time */
	uint64_t command_over_ns; /* it has ended; 0: not yet */
	bool left_reported;	  /* a message says which other process goes on */
	uint64_t give_up_ns;	  /* set by a signal while the command still runs; 0: not set */
	bool from_terminal;	  /* that was Ctrl-C */
	uint32_t cycles_reported; /* to cycles_over */
	uint64_t cycle_due_ns;	  /* when to report more; 0: no more to report */
	bool ended;
};

static void end_run(struct run *run, enum gpt_end_reason reason, int error)
{
	if (run->ended)
		return;
	run->ended = true;
	run->result->reason = reason;
	run->result->error = error;
}

/* An error of the drain or the log ends the run. */
static void check_drain(struct run *run)
{
	bool of_log;
	int error = drain_error(run->drain, &of_log);

	if (error)
		end_run(run, of_log ? GPT_END_DISK : GPT_END_ERROR, error);
}

/* Hands `most` queued records to attach/, for HEAR_NS at most; returns how many that were. */
static size_t hand_over_records(struct run *run, size_t most)
{
	uint64_t begin_ns = monotonic_ns();
	const struct gpt_record *record;
	uint64_t refused, batches;
	size_t heard = 0;

	while (heard < most && monotonic_ns() - begin_ns <= HEAR_NS && (record = drain_take(run->drain))) {
		attach_notice(run->attach, record);
		drain_done(record);
		heard++;
	}
	refused = drain_refused(run->drain, &batches);
	attach_missed_batches(run->attach, batches);
	if (refused)
		attach_missed(run->attach, refused);
	run->refused += refused;
	return heard;
}

/* Hands over what is queued, for HEAR_NS at most; true when there may be more, else sets heard_ns. */
static bool receive_all(struct run *run)
{
	uint64_t begin_ns = monotonic_ns();

	hand_over_records(run, SIZE_MAX);
	if (drain_queued(run->drain))
		return true;
	run->heard_ns = begin_ns;
	return false;
}

/* The command while it lives, else 0. */
static pid_t live_command(const struct run *run)
{
	const struct run_options *options = run->options;

	return options->command_ended && !options->command_ended(options->context) ? options->command_pid : 0;
}

static void check_signals(struct run *run, uint64_t now_ns)
{
	pid_t command = live_command(run);
	struct stop_signals taken = stop_signals_take(run->options->signals_fd, command);

	if (!taken.count)
		return;
	if (run->give_up_ns)
		run->result->abandoned = !run->options->command_has_terminal;
	/* The command got the same signal: the trace waits for its end. */
	if (command && !run->give_up_ns) {
		run->give_up_ns = now_ns + COMMAND_GRACE_NS;
		run->from_terminal = taken.from_terminal;
	} else {
		end_run(run, GPT_END_INTERRUPTED, 0);
	}
}

/* The same once the recording has ended: the first signal may be only for the command, a second one is not. */
static void check_signals_at_end(struct run *run)
{
	pid_t command = live_command(run);

	if (!stop_signals_take(run->options->signals_fd, command).count)
		return;
	if (run->result->signalled || !command)
		run->result->abandoned = true;
	run->result->signalled = true;
}

static void on_wait(void *context)
{
	struct run *run = context;

	if (run->ended)
		check_signals_at_end(run);
	else
		check_signals(run, monotonic_ns());
}

/*
 * Returns when all that the ring has now is in the log, and attach/ has got its part. What arrives meanwhile is for the
 * next call: an agent that goes on writing does not keep the caller here.
 */
static void drain_for_attach(void *context)
{
	struct run *run = context;
	size_t left;

	drain_sync(run->drain, on_wait, run);
	for (left = drain_queued(run->drain); left; left -= hand_over_records(run, left))
		on_wait(run);
}

static uint64_t own_cpu_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * SECOND_NS +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

/* Without the losses of agents and CUPTI: those are in agents' records, which are not read here. */
static uint64_t count_lost(const uint64_t counters[GPT_COUNTER_COUNT])
{
	uint64_t lost = 0;

#define ADD(counter, name, kind, words) lost += counters[GPT_COUNTER_##counter];
	GPT_COUNTER_LOSSES(ADD);
#undef ADD
	return lost;
}

static void append_record(void *context, const struct gpt_record *record)
{
	struct run *run = context;
	int err = log_writer_append(run->log, record);

	if (err)
		end_run(run, GPT_END_DISK, err);
}

static void append_clock(struct run *run)
{
	struct gpt_clock clock;

	clock_sample(&clock);
	append_record(run, &clock.hdr);
}

/* What is due once a second. */
static void every_second(struct run *run, uint64_t now_ns)
{
	uint64_t counters[GPT_COUNTER_COUNT], calls = drain_calls(run->drain);
	uint64_t since_ns = now_ns - run->next_second_ns + SECOND_NS;
	double rate = (double)(calls - run->calls_at_second) * 1e9 / (double)since_ns;

	append_clock(run);
	run->next_second_ns = now_ns + SECOND_NS;
	if (!run->start_ns)
		return;
	attach_counters(run->attach, counters);
	run->result->lost = count_lost(counters);
	msg_progress("%.0f s, %.0f events/s, %llu events, %llu lost. Ctrl-C ends the trace.",
		     (double)(now_ns - run->start_ns) / 1e9, rate, (unsigned long long)calls,
		     (unsigned long long)run->result->lost);
	run->calls_at_second = calls;
}

/* A launcher may end before the processes it started: true when none of those is alive. */
static bool all_of_command_ended(struct run *run, uint64_t now_ns)
{
	const struct run_options *options = run->options;
	pid_t left;

	if (!options->command_ended || !options->command_ended(options->context))
		return false;
	if (!run->command_over_ns) {
		drain_for_attach(run); /* its forks, and its own end */
		run->command_over_ns = now_ns;
	}
	left = attach_first_process(run->attach);
	if (left && !run->left_reported && now_ns - run->command_over_ns >= LEFT_NS) {
		msg_info("%s has ended; pid %d, which it has started, goes on and is traced: Ctrl-C ends the trace",
			 options->command_name, (int)left);
		run->left_reported = true;
	}
	return !left;
}

/* Ctrl-C did not end the command. */
static void command_survives(struct run *run)
{
	run->give_up_ns = 0;
	msg_info("%s goes on after Ctrl-C, and so does the trace: Ctrl-C twice ends it", run->options->command_name);
}

static void check_end(struct run *run, uint64_t now_ns)
{
	const struct run_options *options = run->options;
	bool interrupted = run->give_up_ns != 0;

	if (all_of_command_ended(run, now_ns) || (run->command_over_ns && interrupted))
		end_run(run, interrupted ? GPT_END_INTERRUPTED : GPT_END_TARGETS_GONE, 0);
	else if (interrupted && now_ns >= run->give_up_ns && options->command_has_terminal && run->from_terminal)
		command_survives(run);
	else if (interrupted && now_ns >= run->give_up_ns)
		end_run(run, GPT_END_INTERRUPTED, 0);
	else if (options->end_with_targets && attach_live_processes(run->attach) == 0)
		end_run(run, GPT_END_TARGETS_GONE, 0);
	else if (options->end_with_schedule && attach_schedule_is_over(run->attach))
		end_run(run, GPT_END_SCHEDULE, 0);
	else if (options->duration_ns && run->start_ns && now_ns - run->start_ns >= options->duration_ns)
		end_run(run, GPT_END_DURATION, 0);
}

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

/* Never past due_ns, the start or the end. */
static int poll_timeout_ms(const struct run *run, uint64_t now_ns, uint64_t due_ns)
{
	uint64_t end_ns = run->start_ns + run->options->duration_ns;

	if (run->start_ns && run->options->duration_ns && end_ns < due_ns)
		due_ns = end_ns;
	if (!run->start_ns && !run->start.ready_ns && now_ns + SET_UP_POLL_NS < due_ns)
		due_ns = now_ns + SET_UP_POLL_NS;
	if (!run->start_ns && run->start.at_ns && run->start.at_ns < due_ns)
		due_ns = run->start.at_ns;
	if (due_ns <= now_ns)
		return 0;
	if (due_ns - now_ns < POLL_MS * MILLISECOND_NS)
		return (int)((due_ns - now_ns + MILLISECOND_NS - 1) / MILLISECOND_NS);
	return POLL_MS;
}

/* One round: what has come, what is due, then a wait. */
static void run_round(struct run *run, void (*check)(struct run *run, uint64_t now_ns))
{
	struct epoll_event event;
	bool more = receive_all(run);
	uint64_t now_ns = monotonic_ns();
	uint64_t due_ns;

	attach_report_gaps(run->attach, drain_short_gaps_ns(run->drain));
	due_ns = attach_tick(run->attach, now_ns, run->heard_ns);
	gpu_counters_tick(run->counters);

	if (now_ns >= run->next_second_ns)
		every_second(run, now_ns);
	check_drain(run);
	check_signals(run, now_ns);
	check_end(run, now_ns);
	check(run, now_ns);
	if (run->ended)
		return;
	if (epoll_wait(run->epoll, &event, 1, more ? 0 : poll_timeout_ms(run, now_ns, due_ns)) < 0 && errno != EINTR)
		end_run(run, GPT_END_ERROR, -errno);
}

static void record_until_end(struct run *run)
{
	while (!run->ended)
		run_round(run, check_cycles);
	msg_progress_end();
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
		end_run(run, GPT_END_DISK, err);
	run->start_ns = start_ns;
	run->next_second_ns = start_ns + SECOND_NS;
	run->calls_at_second = drain_calls(run->drain);
	if (run->options->duration_ns && !run->options->search_begin)
		drain_end(run->drain, start_ns + run->options->duration_ns);
	err = attach_begin_steps(run->attach, why, sizeof(why));
	if (err) {
		msg_error("%s", why);
		end_run(run, GPT_END_ERROR, err);
	}
	append_clock(run);
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
	if (has_moment && run->options->waits)
		run->options->waits(run->options->context, &run->start);
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
		bool more = receive_all(run);
		uint64_t now_ns = monotonic_ns();

		attach_tick(run->attach, now_ns, run->heard_ns);
		gpu_counters_tick(run->counters);
		on_wait(run);
		if (epoll_wait(run->epoll, &event, 1, more ? 0 : POLL_MS) < 0 && errno != EINTR)
			return;
	}
}

static int watch_descriptor(int epoll, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_run(struct run *run)
{
	int err;

	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (run->epoll < 0)
		return -errno;
	err = watch_descriptor(run->epoll, drain_fd(run->drain));
	if (!err && attach_wait_fd(run->attach) >= 0)
		err = watch_descriptor(run->epoll, attach_wait_fd(run->attach));
	return err ? err : watch_descriptor(run->epoll, run->options->signals_fd);
}

static void finish_log(struct run *run, uint64_t end_ns)
{
	uint64_t counters[GPT_COUNTER_COUNT] = {0};
	size_t bytes = sizeof(struct gpt_end) + sizeof(counters);
	struct gpt_end *end = xcalloc(1, bytes);
	int err;

	/* Writing the log up to here counts as gputrace's CPU time; log_writer_finish returns the errors. */
	(void)log_writer_settle(run->log);
	attach_counters(run->attach, counters);
	counters[GPT_COUNTER_MALFORMED] += drain_malformed(run->drain);
	run->result->calls = drain_calls(run->drain);
	run->result->lost = count_lost(counters);
	end->hdr = (struct gpt_record){.size = (uint32_t)bytes, .type = GPT_END};
	end->time_ns = end_ns;
	end->ring_bytes = drain_ring_bytes(run->drain);
	end->ring_bytes_max = drain_ring_bytes_max(run->drain);
	end->reason = run->result->reason;
	end->counters_count = GPT_COUNTER_COUNT;
	end->cpu_ns = own_cpu_ns() - run->cpu_start_ns;
	memcpy(end->counters, counters, sizeof(counters));
	err = log_writer_finish(run->log, end);
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
	/* Without the right to do so the priority stays as it is, which only matters on a full machine. */
	if (niceness > ATTACH_NICE)
		(void)setpriority(PRIO_PROCESS, 0, ATTACH_NICE);
	err = open_run(&run);
	if (err)
		goto cleanup;
	run.cpu_start_ns = own_cpu_ns();
	run.next_second_ns = monotonic_ns() + SECOND_NS;
	if (options->gpu_counters)
		run.counters = gpu_counters_start(nvml_libraries(), options->library_path, append_record, &run);
	err = set_up(&run);
	if (err == -ECANCELED)
		attach_stop(attach, AGENT_STOP_MS, drain_for_attach, &run);
	if (err)
		goto cleanup;
	record_until_end(&run);
	result->signalled = run.give_up_ns || result->reason == GPT_END_INTERRUPTED;
	search_before_end(&run);
	end_ns = drain_end(drain, 0);
	gpu_counters_stop(run.counters);
	run.counters = NULL;
	attach_stop(attach, AGENT_STOP_MS, drain_for_attach, &run);
	/* With the probes gone, this takes the last records. */
	drain_finish(drain, on_wait, &run);
	do
		on_wait(&run);
	while (hand_over_records(&run, SIZE_MAX));
	check_drain(&run);
	append_clock(&run);
	finish_log(&run, end_ns);
cleanup:
	gpu_counters_stop(run.counters);
	(void)setpriority(PRIO_PROCESS, 0, niceness);
	if (run.epoll >= 0)
		close(run.epoll);
	return err;
}
