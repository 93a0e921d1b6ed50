/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The loop of a recording.  Owns nothing that outlives it: ring, epoll and timers are opened and closed here.
 */
#include "capture/run.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/array.h"
#include "base/msg.h"
#include "capture/clock.h"
#include "capture/ring.h"
#include "capture/signals.h"

#define SECOND_NS 1000000000ull
#define MILLISECOND_NS 1000000ull

/* attach_tick wants to be called at least every 50 ms; the ring buffer is looked at as often. */
#define POLL_IDLE_MS 20
#define POLL_BUSY_MS 5
#define POLL_FULL_MS 1

/* How long a command that was sent Ctrl-C by the terminal may take to end by itself. */
#define COMMAND_GRACE_NS (3 * SECOND_NS)

/* How long agents may take to hand over their last records. */
#define AGENT_STOP_MS 2000

/* Above the targets, so that a busy machine does not overflow the ring buffer; setpriority(2). */
#define COLLECTOR_NICE (-10)

struct run {
	struct attach *attach;
	struct log_writer *log;
	const struct run_options *options;
	struct run_result *result;
	struct ring *ring;
	int epoll;
	uint64_t start_ns, next_second_ns;
	uint64_t cpu_start_ns;
	uint64_t calls_at_second; /* result->calls at the last full second */
	uint64_t give_up_ns;	  /* set by Ctrl-C while the command still runs, 0: not */
	bool ended;
};

/* Records after which probes have to follow (attach.h, attach_notice). */
static const bool noticed_types[] = {
	[GPT_NATIVE_STACK] = true, [GPT_THREAD] = true,	   [GPT_FORK] = true,
	[GPT_EXEC] = true,	   [GPT_EXIT] = true,	   [GPT_MAPPED] = true,
	[GPT_AGENT_BATCH] = true,  [GPT_CUPTI_USE] = true, [GPT_CUPTI_DONE] = true,
};

static void end_run(struct run *run, enum gpt_end_reason reason, int error)
{
	if (run->ended)
		return;
	run->ended = true;
	run->result->reason = reason;
	run->result->error = error;
}

/* As they come; but of a buffer that attach/ makes sense of, what it makes of it is what counts. */
static int append(struct run *run, const struct gpt_record *record)
{
	struct gpt_cupti_done done;

	if (record->type != GPT_CUPTI_DONE || record->size <= sizeof(done))
		return log_writer_append(run->log, record);
	memcpy(&done, record, sizeof(done));
	done.hdr.size = sizeof(done);
	done.copied = 0;
	return log_writer_append(run->log, &done.hdr);
}

static void take_record(void *context, const struct gpt_record *record)
{
	struct run *run = context;
	int err = append(run, record);

	/* A record of an impossible size is no reason to stop. */
	if (err && err != -EINVAL)
		end_run(run, GPT_END_DISK, err);
	if (record->type == GPT_CALL || record->type == GPT_CALL_ARGS)
		run->result->calls++;
	else if (record->type < sizeof(noticed_types) && noticed_types[record->type])
		attach_notice(run->attach, record);
}

static int64_t drain_ring(struct run *run)
{
	int64_t bytes = ring_consume(run->ring);

	if (bytes < 0)
		end_run(run, GPT_END_ERROR, (int)bytes);
	return bytes;
}

static void drain_for_attach(void *context)
{
	drain_ring(context);
}

static uint64_t own_cpu_ns(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * SECOND_NS +
	       (uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
}

static uint64_t count_lost(const uint64_t accounts[GPT_ACC_COUNT])
{
	return accounts[GPT_ACC_CALLS_LOST] + accounts[GPT_ACC_STACKS_LOST] + accounts[GPT_ACC_CODE_LOST] +
	       accounts[GPT_ACC_BATCHES_LOST] + accounts[GPT_ACC_OTHER_LOST];
}

static void append_clock(struct run *run)
{
	struct gpt_clock clock;
	int err;

	clock_sample(&clock);
	err = log_writer_append(run->log, &clock.hdr);
	if (err)
		end_run(run, GPT_END_DISK, err);
}

/* What is due once a second; the flush bounds what a crash of ours can take from the log. */
static void every_second(struct run *run, uint64_t now_ns)
{
	uint64_t accounts[GPT_ACC_COUNT];
	uint64_t since_ns = now_ns - run->next_second_ns + SECOND_NS;
	double rate = (double)(run->result->calls - run->calls_at_second) * 1e9 / (double)since_ns;
	int err;

	append_clock(run);
	err = log_writer_flush(run->log);
	if (err)
		end_run(run, GPT_END_DISK, err);
	attach_accounts(run->attach, accounts);
	run->result->lost = count_lost(accounts);
	msg_progress("%.0f s, %.0f events/s, %llu events, %llu lost. Ctrl-C ends the trace.",
		     (double)(now_ns - run->start_ns) / 1e9, rate, (unsigned long long)run->result->calls,
		     (unsigned long long)run->result->lost);
	run->calls_at_second = run->result->calls;
	run->next_second_ns = now_ns + SECOND_NS;
}

static void check_signals(struct run *run, uint64_t now_ns)
{
	struct stop_signals taken = stop_signals_take(run->options->signals_fd);

	if (!taken.count)
		return;
	if (run->give_up_ns)
		run->result->abandoned = true;
	/* The command got the same Ctrl-C: its end belongs to the trace. */
	if (taken.from_terminal && run->options->command_ended && !run->result->abandoned)
		run->give_up_ns = now_ns + COMMAND_GRACE_NS;
	else
		end_run(run, GPT_END_INTERRUPTED, 0);
}

static void check_end(struct run *run, uint64_t now_ns)
{
	const struct run_options *options = run->options;
	bool interrupted = run->give_up_ns != 0;

	if (options->command_ended && options->command_ended(options->context))
		end_run(run, interrupted ? GPT_END_INTERRUPTED : GPT_END_TARGETS_GONE, 0);
	else if (interrupted && now_ns >= run->give_up_ns)
		end_run(run, GPT_END_INTERRUPTED, 0);
	else if (options->end_with_targets && attach_live_processes(run->attach) == 0)
		end_run(run, GPT_END_TARGETS_GONE, 0);
	else if (options->duration_ns && now_ns - run->start_ns >= options->duration_ns)
		end_run(run, GPT_END_DURATION, 0);
}

/* How long to sleep after so many bytes were found: the fuller, the shorter, and never past due_ns or the end. */
static int poll_timeout_ms(const struct run *run, int64_t bytes, uint64_t now_ns, uint64_t due_ns)
{
	uint64_t size = ring_bytes(run->ring), end_ns = run->start_ns + run->options->duration_ns;
	int timeout = POLL_IDLE_MS;

	if ((uint64_t)bytes > size / 16)
		timeout = POLL_FULL_MS;
	else if ((uint64_t)bytes > size / 256)
		timeout = POLL_BUSY_MS;
	if (run->options->duration_ns && end_ns < due_ns)
		due_ns = end_ns;
	if (due_ns <= now_ns)
		return 0;
	if (due_ns - now_ns < (uint64_t)timeout * MILLISECOND_NS)
		timeout = (int)((due_ns - now_ns + MILLISECOND_NS - 1) / MILLISECOND_NS);
	return timeout;
}

static void record_until_end(struct run *run)
{
	while (!run->ended) {
		struct epoll_event event;
		int64_t bytes = drain_ring(run);
		uint64_t now_ns = clock_now_ns();
		uint64_t due_ns = attach_tick(run->attach, now_ns);

		if (now_ns >= run->next_second_ns)
			every_second(run, now_ns);
		check_signals(run, now_ns);
		check_end(run, now_ns);
		if (run->ended)
			break;
		if (epoll_wait(run->epoll, &event, 1, poll_timeout_ms(run, bytes, now_ns, due_ns)) < 0 &&
		    errno != EINTR)
			end_run(run, GPT_END_ERROR, -errno);
	}
	msg_progress_end();
}

static int watch(int epoll, int fd, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.fd = fd};

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_run(struct run *run)
{
	int err = ring_open(attach_ring_fd(run->attach), take_record, run, &run->ring);

	if (err)
		return err;
	run->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (run->epoll < 0)
		return -errno;
	/*
	 * Edge-triggered: level-triggered, it would be ready whenever the ring is not empty, and the loop would
	 * spin over single records.
	 */
	err = watch(run->epoll, ring_wait_fd(run->ring), EPOLLIN | EPOLLET);
	if (err)
		return err;
	return watch(run->epoll, run->options->signals_fd, EPOLLIN);
}

static void finish_log(struct run *run, uint64_t end_ns)
{
	uint64_t accounts[GPT_ACC_COUNT] = {0};
	size_t bytes = sizeof(struct gpt_end) + sizeof(accounts);
	struct gpt_end *end = xcalloc(1, bytes);
	int err;

	attach_accounts(run->attach, accounts);
	accounts[GPT_ACC_OTHER_LOST] += ring_malformed(run->ring);
	run->result->lost = count_lost(accounts);
	end->hdr = (struct gpt_record){.size = (uint32_t)bytes, .type = GPT_END};
	end->time_ns = end_ns;
	end->ring_bytes = ring_bytes(run->ring);
	end->ring_bytes_max = ring_bytes_max(run->ring);
	end->reason = run->result->reason;
	end->accounts_count = GPT_ACC_COUNT;
	end->cpu_ns = own_cpu_ns() - run->cpu_start_ns;
	memcpy(end->accounts, accounts, sizeof(accounts));
	err = log_writer_finish(run->log, end);
	free(end);
	if (err) {
		run->result->reason = GPT_END_DISK;
		run->result->error = err;
	}
}

int run_trace(struct attach *attach, struct log_writer *log, const struct run_options *options,
	      struct run_result *result)
{
	struct run run = {.attach = attach, .log = log, .options = options, .result = result, .epoll = -1};
	int niceness = getpriority(PRIO_PROCESS, 0);
	uint64_t end_ns;
	int err;

	*result = (struct run_result){0};
	/* Without the right to do so we stay where we are, which only matters on a full machine. */
	if (niceness > COLLECTOR_NICE)
		(void)setpriority(PRIO_PROCESS, 0, COLLECTOR_NICE);
	err = open_run(&run);
	if (err)
		goto cleanup;
	run.cpu_start_ns = own_cpu_ns();
	run.start_ns = clock_now_ns();
	run.next_second_ns = run.start_ns + SECOND_NS;
	append_clock(&run);
	/* Whatever happens to us from here on, there is a log that tells what was asked for. */
	log_writer_flush(log);
	err = options->begin ? options->begin(options->context) : 0;
	if (err)
		goto cleanup;
	record_until_end(&run);
	end_ns = clock_now_ns();
	attach_stop(attach, AGENT_STOP_MS, drain_for_attach, &run);
	/* One pass takes what was there when it began; with the probes gone, nothing is left after the last. */
	while (ring_consume(run.ring) > 0)
		;
	append_clock(&run);
	finish_log(&run, end_ns);
cleanup:
	(void)setpriority(PRIO_PROCESS, 0, niceness);
	if (run.epoll >= 0)
		close(run.epoll);
	ring_close(run.ring);
	return err;
}
