/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "capture/round.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>

#include <gputrace/losses.h>

#include "base/monotonic.h"
#include "base/msg.h"
#include "base/signal_name.h"
#include "capture/clock.h"
#include "capture/gpu_counters.h"
#include "capture/signals.h"

/* Until everything is set up there is more to do. */
#define SET_UP_POLL_NS (2 * MILLISECOND_NS)

/* The longest time for records of the queue between two checks of signals and of the end. */
#define HEAR_NS (10 * MILLISECOND_NS)

/* How long a command that got a signal to end may take for that before the trace ends without it. */
#define COMMAND_GRACE_NS (3 * SECOND_NS)

/*
 * How long after a command another process goes on before a message says so: multiprocessing's resource tracker and
 * fork server end by themselves when they notice that no process has their pipe.
 */
#define LEFT_NS SECOND_NS

void run_end(struct run *run, enum gpt_end_reason reason, int error)
{
	if (run->ended)
		return;
	run->ended = true;
	run->result->reason = reason;
	run->result->error = error;
}

void run_check_drain(struct run *run)
{
	bool of_log;
	int error = drain_error(run->drain, &of_log);

	if (error)
		run_end(run, of_log ? GPT_END_DISK : GPT_END_ERROR, error);
}

/* A program that does not handle such a signal has crashed or was killed; the other ones end programs in order. */
static bool is_crash(uint32_t number)
{
	static const int crashes[] = {SIGQUIT, SIGILL,	SIGTRAP, SIGABRT, SIGBUS, SIGFPE,
				      SIGKILL, SIGSEGV, SIGXCPU, SIGXFSZ, SIGSYS};

	return any_of(sizeof(crashes) / sizeof(crashes[0]), i, (uint32_t)crashes[i] == number);
}

static void note_crash(struct run *run, const struct gpt_record *record)
{
	const struct gpt_process_event *event = (const struct gpt_process_event *)record;
	char why[FLIGHT_WHY_MAX];

	if (!run->flight || !run->start_ns || record->type != GPT_EXIT || record->size < sizeof(*event) ||
	    !is_crash(event->other_pid))
		return;
	snprintf(why, sizeof(why), "pid %u (%.*s) ended by %s", event->pid, GPT_COMM, event->comm,
		 signal_name(event->other_pid));
	flight_ask_by_itself(run->flight, monotonic_ns(), &(struct flight_event){.why = why});
}

size_t run_hand_over_records(struct run *run, size_t most)
{
	uint64_t begin_ns = monotonic_ns();
	const struct gpt_record *record;
	uint64_t refused, batches;
	size_t heard = 0;

	while (heard < most && monotonic_ns() - begin_ns <= HEAR_NS &&
	       (record = notices_take(drain_notices(run->drain)))) {
		attach_notice(run->attach, record);
		note_crash(run, record);
		notices_done(record);
		heard++;
	}
	refused = notices_refused(drain_notices(run->drain), &batches);
	attach_missed_batches(run->attach, batches);
	if (refused)
		attach_missed(run->attach, refused);
	run->refused += refused;
	return heard;
}

bool run_receive_all(struct run *run)
{
	uint64_t begin_ns = monotonic_ns();

	run_hand_over_records(run, SIZE_MAX);
	if (notices_count(drain_notices(run->drain)))
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

	if (taken.write && run->flight)
		flight_ask(run->flight, now_ns, FLIGHT_BY_SIGNAL);
	if (!taken.count)
		return;
	if (run->give_up_ns)
		run->result->abandoned = !run->options->command_has_terminal;
	/* The command got the same signal: the trace waits for its end. */
	if (command && !run->give_up_ns) {
		run->give_up_ns = now_ns + COMMAND_GRACE_NS;
		run->from_terminal = taken.from_terminal;
	} else {
		run_end(run, GPT_END_INTERRUPTED, 0);
	}
}

void run_take_late_signals(struct run_result *result, int signals_fd, pid_t command)
{
	if (!stop_signals_take(signals_fd, command).count)
		return;
	result->abandoned = result->abandoned || result->signalled;
	result->signalled = true;
}

void run_on_wait(void *context)
{
	struct run *run = context;

	if (run->ended)
		run_take_late_signals(run->result, run->options->signals_fd, live_command(run));
	else
		check_signals(run, monotonic_ns());
}

void run_drain_for_attach(void *context)
{
	struct run *run = context;
	size_t left;

	drain_sync(run->drain, run_on_wait, run);
	for (left = notices_count(drain_notices(run->drain)); left; left -= run_hand_over_records(run, left))
		run_on_wait(run);
}

uint64_t run_count_lost(const uint64_t counters[GPT_COUNTER_COUNT])
{
	uint64_t lost = 0;

#define ADD(counter, name, kind, words) lost += counters[GPT_COUNTER_##counter];
	GPT_COUNTER_LOSSES(ADD);
#undef ADD
	return lost;
}

void run_append_record(void *context, const struct gpt_record *record)
{
	struct run *run = context;
	int err = log_writer_append(run->log, record);

	if (err)
		run_end(run, GPT_END_DISK, err);
}

void run_append_clock(struct run *run)
{
	struct gpt_clock clock;

	clock_sample(&clock);
	run_append_record(run, &clock.hdr);
}

/* What is due once a second. */
static void every_second(struct run *run, uint64_t now_ns)
{
	uint64_t counters[GPT_COUNTER_COUNT], calls = drain_calls(run->drain);
	uint64_t since_ns = now_ns - run->next_second_ns + SECOND_NS;
	double rate = (double)(calls - run->calls_at_second) * 1e9 / (double)since_ns;

	run_append_clock(run);
	run->next_second_ns = now_ns + SECOND_NS;
	if (!run->start_ns)
		return;
	run_note_counts(run, now_ns);
	attach_counters(run->attach, counters);
	drain_count_dropped(run->drain, counters);
	run->result->lost = run_count_lost(counters);
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
		run_drain_for_attach(run); /* its forks, and its own end */
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
		run_end(run, interrupted ? GPT_END_INTERRUPTED : GPT_END_TARGETS_GONE, 0);
	else if (interrupted && now_ns >= run->give_up_ns && options->command_has_terminal && run->from_terminal)
		command_survives(run);
	else if (interrupted && now_ns >= run->give_up_ns)
		run_end(run, GPT_END_INTERRUPTED, 0);
	else if (options->end_with_targets && attach_live_processes(run->attach) == 0)
		run_end(run, GPT_END_TARGETS_GONE, 0);
	else if (options->end_with_schedule && attach_schedule_is_over(run->attach))
		run_end(run, GPT_END_SCHEDULE, 0);
	else if (options->duration_ns && run->start_ns && now_ns - run->start_ns >= options->duration_ns)
		run_end(run, GPT_END_DURATION, 0);
}

/* Never past due_ns, the start or the end. */
static int poll_timeout_ms(const struct run *run, uint64_t now_ns, uint64_t due_ns)
{
	uint64_t most_ms = run->is_calm ? POLL_CALM_MS : POLL_MS;
	uint64_t end_ns = run->start_ns + run->options->duration_ns;

	if (run->start_ns && run->options->duration_ns && end_ns < due_ns)
		due_ns = end_ns;
	if (!run->start_ns && !run->start.ready_ns && now_ns + SET_UP_POLL_NS < due_ns)
		due_ns = now_ns + SET_UP_POLL_NS;
	if (!run->start_ns && run->start.at_ns && run->start.at_ns < due_ns)
		due_ns = run->start.at_ns;
	if (due_ns <= now_ns)
		return 0;
	if (due_ns - now_ns < most_ms * MILLISECOND_NS)
		return (int)((due_ns - now_ns + MILLISECOND_NS - 1) / MILLISECOND_NS);
	return (int)most_ms;
}

void run_round(struct run *run, void (*check)(struct run *run, uint64_t now_ns))
{
	struct epoll_event event;
	bool more = run_receive_all(run);
	uint64_t now_ns = monotonic_ns();
	uint64_t due_ns, fill;

	attach_report_gaps(run->attach, drain_short_gaps_ns(run->drain));
	if (drain_take_fill(run->drain, &fill))
		attach_report_ring(run->attach, fill, drain_ring_bytes(run->drain));
	due_ns = attach_tick(run->attach, now_ns, run->heard_ns);
	gpu_counters_tick(run->counters);
	run->is_calm = run->start_ns && attach_is_calm(run->attach, now_ns);
	drain_be_patient(run->drain, run->is_calm);

	if (now_ns >= run->next_second_ns)
		every_second(run, now_ns);
	run_check_drain(run);
	check_signals(run, now_ns);
	check_end(run, now_ns);
	check(run, now_ns);
	if (run->ended)
		return;
	if (epoll_wait(run->epoll, &event, 1, more ? 0 : poll_timeout_ms(run, now_ns, due_ns)) < 0 && errno != EINTR)
		run_end(run, GPT_END_ERROR, -errno);
}
