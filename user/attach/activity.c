/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/activity.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

#include "attach/attach_state.h"
#include "attach/emit/emit.h"
#include "base/monotonic.h"
#include "base/msg.h"
#include "base/read_at.h"

#define COST_MOST_NS (GPT_COST_WINDOW_NS / 100)

/* A period in step with no usual clock, as the usual one (record_options.c); the rate is ten times as high. */
#define SHORT_PERIOD_NS (1000000000u / 997)

/* The rate rises where short gaps are at least this part of the time since the last check, and falls below half. */
#define GAPS_PART 50
#define GAPS_CHECK_NS 250000000ull

#define RAISES_MOST 2u /* 100 us to 1.6 ms: what is shorter than that would be taken for time on the CPU */
#define RAISE_BY 4u

/* What costs less than one part in this many of the limit may be recorded as before, after a while. */
#define RETURN_PART 4u
#define RETURN_NS 5000000000ull
#define RETURN_NS_MOST 80000000000ull

#define PAUSE_NS 10000000000ull
#define PAUSE_NS_MOST 80000000000ull

static struct gpt_activity *shared_activity(const struct attach *attach)
{
	return &attach->programs.bpf->bss->activity;
}

/* ---- attaching --------------------------------------------------------------------------------------------------- */

/* Notes what cannot be recorded; the trace goes on without it. Only who asked for it is also told at once. */
static void note_refused(struct attach *attach, const char *what, int error)
{
	char note[256];

	snprintf(note, sizeof(note), "%s: %s; `gputrace doctor` says what is missing", what, strerror(-error));
	emit_text(attach->emit, attach->emit_context, GPT_NOTE, 0, note);
	if (!attach->activity.adapts)
		msg_warn("%s", note);
}

static int attach_switches(struct attach *attach)
{
	const struct gputrace_bpf *bpf = attach->programs.bpf;
	struct links *links = &attach->activity.switches;
	int error = links_attach_raw_tracepoint(links, bpf_program__fd(bpf->progs.thread_waking), NULL);

	if (!error)
		error = links_attach_raw_tracepoint(links, bpf_program__fd(bpf->progs.thread_switch), NULL);
	if (error)
		links_detach(links);
	return error;
}

#define ONLINE "/sys/devices/system/cpu/online"
#define ONLINE_CHECK_NS 1000000000ull

static void read_online(char online[static 256])
{
	(void)read_small_file(AT_FDCWD, ONLINE, online, 256);
}

static int attach_clock(struct attach *attach)
{
	struct links *links = &attach->activity.clock;
	int error;

	read_online(attach->activity.online);
	error = links_attach_cpu_clock(links, bpf_program__fd(attach->programs.bpf->progs.sample_cpu),
				       shared_activity(attach)->period_ns);

	if (error)
		links_detach(links);
	return error;
}

static void attach_both(struct attach *attach)
{
	int error = attach->options.sample_period_ns ? attach_clock(attach) : 0;

	if (error)
		note_refused(attach, "--cpu: no samples, as the kernel refuses perf events", error);
	error = attach->options.off_cpu_min_ns ? attach_switches(attach) : 0;
	if (error)
		note_refused(attach, "--off-cpu: no waits, as the kernel refuses the scheduler's tracepoints", error);
}

static void detach_both(struct activity *activity)
{
	links_move(&activity->clock, &activity->switches);
	links_detach(&activity->switches);
}

static void note_most_cost(struct attach *attach)
{
	if (shared_activity(attach)->most_cost_ns > attach->activity.most_cost_ns)
		attach->activity.most_cost_ns = shared_activity(attach)->most_cost_ns;
}

/* What was paid so far no longer counts. */
static void begin_costs(struct attach *attach)
{
	note_most_cost(attach);
	shared_activity(attach)->cost_from_ns = monotonic_ns();
	shared_activity(attach)->most_cost_ns = 0;
}

void activity_start(struct attach *attach)
{
	struct activity *activity = &attach->activity;

	activity->start_ns = activity->gaps_checked_ns = monotonic_ns();
	activity->adapts = attach->options.activity_adapts;
	activity->pause_ns = PAUSE_NS;
	activity->return_ns = RETURN_NS;
	activity->counted_ns = activity->start_ns;
	shared_activity(attach)->period_ns = (uint32_t)attach->options.sample_period_ns;
	shared_activity(attach)->off_cpu_min_ns = attach->options.off_cpu_min_ns;
	begin_costs(attach);
	attach_both(attach);
}

/* ---- rate -------------------------------------------------------------------------------------------------------- */

static void set_period(struct attach *attach, uint64_t period_ns)
{
	/* A sample that comes in between has the other period: one of each CPU at most. */
	if (!links_set_period(&attach->activity.clock, period_ns))
		shared_activity(attach)->period_ns = (uint32_t)period_ns;
}

void attach_report_gaps(struct attach *attach, uint64_t short_ns)
{
	attach->activity.short_gaps_ns = short_ns;
}

static void follow_gaps(struct attach *attach, uint64_t now_ns)
{
	struct activity *activity = &attach->activity;
	uint64_t since_ns = now_ns - activity->gaps_checked_ns;
	uint64_t gaps_ns = activity->short_gaps_ns - activity->gaps_at_check_ns;
	bool is_high = shared_activity(attach)->period_ns == SHORT_PERIOD_NS;

	if (since_ns < GAPS_CHECK_NS)
		return;
	activity->gaps_checked_ns = now_ns;
	activity->gaps_at_check_ns = activity->short_gaps_ns;
	if (!is_high && !activity->rate_fell && gaps_ns >= since_ns / GAPS_PART)
		set_period(attach, SHORT_PERIOD_NS);
	else if (is_high && gaps_ns < since_ns / GAPS_PART / 2)
		set_period(attach, attach->options.sample_period_ns);
}

static double seconds_since_start(const struct activity *activity, uint64_t now_ns)
{
	return (double)(now_ns - activity->start_ns) / 1e9;
}

/* ---- CPUs ------------------------------------------------------------------------------------------------------- */

/* The clock of a CPU that goes is gone for good, and a CPU that comes has none. */
static void follow_cpus(struct attach *attach, uint64_t now_ns)
{
	struct activity *activity = &attach->activity;
	char online[sizeof(activity->online)];

	if (now_ns - activity->online_checked_ns < ONLINE_CHECK_NS || !activity->clock.fds.count)
		return;
	activity->online_checked_ns = now_ns;
	read_online(online);
	if (!strcmp(online, activity->online))
		return;
	links_detach(&activity->clock);
	(void)attach_clock(attach);
	if (!activity->noted_cpus)
		emit_note(
			attach->emit, attach->emit_context, 0,
			"CPUs went or came at %.1f s, and perhaps later: the first second of one that has come has no "
			"samples",
			seconds_since_start(activity, now_ns));
	activity->noted_cpus = true;
}

/* ---- cost -------------------------------------------------------------------------------------------------------- */

static void lower_rate(struct attach *attach, uint64_t now_ns)
{
	struct activity *activity = &attach->activity;

	activity->rate_fell = true;
	set_period(attach, attach->options.sample_period_ns);
	if (activity->rate_falls++)
		return;
	emit_note(attach->emit, attach->emit_context, shared_activity(attach)->most_cost_pid,
		  "99 samples a second from %.1f s on: more would take over 1 %% of a thread's time; -F HZ fixes the "
		  "rate",
		  seconds_since_start(activity, now_ns));
}

static void raise_least_wait(struct attach *attach, uint64_t now_ns)
{
	struct activity *activity = &attach->activity;
	uint64_t least_ns = shared_activity(attach)->off_cpu_min_ns * RAISE_BY;

	shared_activity(attach)->off_cpu_min_ns = least_ns;
	if (++activity->raised <= activity->raised_most)
		return;
	activity->raised_most = activity->raised;
	emit_note(attach->emit, attach->emit_context, shared_activity(attach)->most_cost_pid,
		  "waits shorter than %llu us are left out from %.1f s on: a thread switches so often that recording "
		  "them takes over 1 %% of its time; --off-cpu=MIN fixes the limit",
		  (unsigned long long)(least_ns / 1000), seconds_since_start(activity, now_ns));
}

static void pause_recording(struct attach *attach, uint64_t now_ns)
{
	struct activity *activity = &attach->activity;

	detach_both(activity);
	activity->paused = true;
	activity->paused_ns = now_ns;
	if (!activity->pauses++)
		emit_note(attach->emit, attach->emit_context, shared_activity(attach)->most_cost_pid,
			  "what runs and what waits is not recorded from %.1f s on, at times: a thread switches so "
			  "often that this takes over 1 %% of its time; --cpu --off-cpu records it at any cost",
			  seconds_since_start(activity, now_ns));
}

static void end_pause(struct activity *activity, uint64_t now_ns)
{
	activity->paused = false;
	activity->paused_sum_ns += now_ns - activity->paused_ns;
	if (activity->pause_ns < PAUSE_NS_MOST)
		activity->pause_ns *= 2;
}

static void lower_cost(struct attach *attach, uint64_t now_ns)
{
	struct activity *activity = &attach->activity;

	if (activity->returns && activity->return_ns < RETURN_NS_MOST)
		activity->return_ns *= 2;
	activity->lowered_ns = now_ns;
	if (shared_activity(attach)->period_ns == SHORT_PERIOD_NS)
		lower_rate(attach, now_ns);
	else if (attach->options.off_cpu_min_ns && activity->raised < RAISES_MOST)
		raise_least_wait(attach, now_ns);
	else
		pause_recording(attach, now_ns);
	begin_costs(attach);
}

/* Records more again: shorter waits, then as many samples as gaps ask for. */
static void record_more(struct attach *attach, uint64_t now_ns)
{
	struct activity *activity = &attach->activity;

	if (activity->raised) {
		activity->raised--;
		shared_activity(attach)->off_cpu_min_ns /= RAISE_BY;
	} else {
		activity->rate_fell = false;
	}
	if (!activity->returns++)
		emit_note(attach->emit, attach->emit_context, 0,
			  "from %.1f s on more of what runs and what waits is recorded again, as its cost has fallen",
			  seconds_since_start(activity, now_ns));
}

/* After a while at a lower cost: returns one step if that cost was low, else waits for as long again. */
static void return_when_cheap(struct attach *attach, uint64_t now_ns)
{
	struct activity *activity = &attach->activity;

	if ((!activity->raised && !activity->rate_fell) || now_ns - activity->lowered_ns < activity->return_ns)
		return;
	activity->lowered_ns = now_ns;
	if (shared_activity(attach)->most_cost_ns <= COST_MOST_NS / RETURN_PART)
		record_more(attach, now_ns);
	begin_costs(attach);
}

static void count_lowered(struct activity *activity, uint64_t now_ns)
{
	uint64_t since_ns = now_ns - activity->counted_ns;

	activity->raised_sum_ns += activity->raised && !activity->paused ? since_ns : 0;
	activity->rate_sum_ns += activity->rate_fell && !activity->paused ? since_ns : 0;
	activity->counted_ns = now_ns;
}

void activity_tick(struct attach *attach, uint64_t now_ns)
{
	struct activity *activity = &attach->activity;

	follow_cpus(attach, now_ns);
	if (!activity->adapts)
		return;
	count_lowered(activity, now_ns);
	if (activity->paused && now_ns - activity->paused_ns >= activity->pause_ns) {
		end_pause(activity, now_ns);
		shared_activity(attach)->resumed_ns = activity->lowered_ns = now_ns;
		begin_costs(attach);
		attach_both(attach);
	}
	if (activity->paused)
		return;
	if (attach->options.sample_period_ns)
		follow_gaps(attach, now_ns);
	if (shared_activity(attach)->most_cost_ns > COST_MOST_NS)
		lower_cost(attach, now_ns);
	else
		return_when_cheap(attach, now_ns);
}

/* ---- the end ----------------------------------------------------------------------------------------------------- */

/* For how long something was left out that is recorded again. */
static void note_returns(struct attach *attach, uint64_t now_ns)
{
	const struct activity *activity = &attach->activity;
	double seconds = seconds_since_start(activity, now_ns);

	if (activity->raised_sum_ns)
		emit_note(attach->emit, attach->emit_context, 0,
			  "short waits were left out for %.1f of %.1f s, to keep their cost below 1 %%",
			  (double)activity->raised_sum_ns / 1e9, seconds);
	if (activity->rate_sum_ns)
		emit_note(
			attach->emit, attach->emit_context, 0,
			"for %.1f of %.1f s no more than 99 samples a second were taken, to keep their cost below 1 %%",
			(double)activity->rate_sum_ns / 1e9, seconds);
}

void activity_stop(struct attach *attach)
{
	struct activity *activity = &attach->activity;
	uint64_t now_ns = monotonic_ns();

	detach_both(activity);
	note_most_cost(attach);
	if (activity->adapts)
		msg_debug("samples and waits took at most %.2f %% of a thread's second",
			  (double)activity->most_cost_ns * 100 / GPT_COST_WINDOW_NS);
	if (activity->paused)
		end_pause(activity, now_ns);
	if (activity->adapts)
		count_lowered(activity, now_ns);
	if (activity->returns)
		note_returns(attach, now_ns);
	activity->adapts = false;
	if (activity->pauses)
		emit_note(attach->emit, attach->emit_context, 0,
			  "what runs and what waits was not recorded for %.1f of %.1f s, to keep its cost below 1 %%",
			  (double)activity->paused_sum_ns / 1e9, seconds_since_start(activity, now_ns));
}

void activity_close(struct activity *activity)
{
	detach_both(activity);
}
