/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/torch/schedule.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agent/process/thread_id.h"
#include "agent/process/clock.h"
#include "agent/process/fork_gate.h"
#include "agent/send/points.h"

#define STEPS_WAITING 1024u	     /* steps waiting for the agent's thread, which looks every 20 ms */
#define CUPTI_BEGINS_NS 50000000u    /* the longest that a step without warm-up waits for CUPTI */
#define CAPTURE_BEGINS_NS 500000000u /* the same for a call of cudaProfilerStart, which need not be fast */

#define CAPTURE_LOOK_NS 1000000u /* polling interval: nothing signals the start of the recording */

static const char optimizer_name[] = "Optimizer.step#", profiler_name[] = "ProfilerStep#";

_Atomic uint32_t schedule_resting;

static struct {
	_Atomic bool on;
	_Atomic uint32_t sessions; /* futex: number of sessions of ops that have begun */
	_Atomic uint32_t turns;	   /* number of starts and ends of rests */
	_Atomic uint32_t followed; /* futex: FOLLOWED of the latest turn that CUPTI's session has followed */
	_Atomic(void (*)(void)) wake_cupti;
	pthread_mutex_t lock; /* of the members below */
	struct gpt_schedule plan;
	void (*wake)(void);
	bool shared, shared_sent;
	bool sent;  /* the schedule itself was sent */
	bool begun; /* steps are being counted */
	enum gpt_step_by by;
	uint32_t thread;	/* thread_number of the thread whose steps are counted; 0: none yet */
	uint32_t tid;		/* its id, as sent */
	uint32_t early_tid;	/* of the thread that called cudaProfilerStart before the session; 0: none */
	uint32_t name;		/* hash of the optimizer's whole name */
	const void *open;	/* the op or pass that marks the step, while it is open: nested ones mark no step */
	uint64_t mark;		/* of that pass */
	uint64_t begin_ns;	/* start of that op or pass */
	uint64_t count;		/* of steps that have begun */
	uint64_t first_window;	/* where there are windows: the first one of the pair in which the session began */
	uint64_t window;	/* of the latest step */
	_Atomic uint32_t phase; /* enum gpt_step_phase of the latest */
	struct gpt_agent_step waiting[STEPS_WAITING];
	uint32_t waiting_count, lost;
} schedule = {.lock = PTHREAD_MUTEX_INITIALIZER};

#define FOLLOWED(turn, rests) ((turn) << 1 | (rests))

/* ---- what is done about a step ----------------------------------------------------------------- */

static bool is_recorded(enum gpt_step_phase phase)
{
	return phase == GPT_STEP_WARMUP || phase == GPT_STEP_ACTIVE;
}

static void set_resting(bool rests)
{
	void (*wake)(void) = atomic_load(&schedule.wake_cupti);

	atomic_store(&schedule_resting, rests);
	atomic_fetch_add(&schedule.turns, 1); /* a thread that reads the new turn sees the new state of rest */
	if (wake)
		wake();
}

/*
 * Waits so that an active step has GPU times from its first launch on. The agent's CUPTI thread needs no lock that this
 * thread may hold. False: CUPTI does not record yet.
 */
static bool wait_for_cupti(void)
{
	uint32_t most_ns = schedule.plan.by == GPT_STEP_BY_CAPTURE ? CAPTURE_BEGINS_NS : CUPTI_BEGINS_NS;
	uint64_t end_ns = clock_now_ns() + most_ns;
	uint32_t wanted = FOLLOWED(atomic_load(&schedule.turns), 0), seen;

	while (atomic_load(&schedule.wake_cupti) && (seen = atomic_load(&schedule.followed)) != wanted &&
	       clock_now_ns() < end_ns)
		futex_wait(&schedule.followed, seen, most_ns);
	return !atomic_load(&schedule.wake_cupti) || atomic_load(&schedule.followed) == wanted;
}

static void keep_step(uint64_t time_ns, uint64_t number, enum gpt_step_phase phase, uint32_t cycle, bool late)
{
	struct gpt_agent_step *step = &schedule.waiting[schedule.waiting_count];

	if (schedule.waiting_count == STEPS_WAITING) {
		schedule.lost++;
		return;
	}
	schedule.waiting_count++;
	*step = (struct gpt_agent_step){.time_ns = time_ns,
					.number = number,
					.tid = schedule.tid,
					.cycle = cycle,
					.phase = (uint8_t)phase,
					.by = (uint8_t)schedule.by,
					.late = late,
					.lost = schedule.lost};
	schedule.lost = 0;
}

/* The first step of a window is not compared with others: CUPTI begins or ends in it. */
static enum gpt_step_phase window_phase(uint64_t time_ns, uint32_t *number)
{
	uint64_t window = gpt_schedule_window(&schedule.plan, time_ns);
	bool first = window != schedule.window;

	schedule.window = window;
	*number = (uint32_t)(window - schedule.first_window);
	if (!gpt_schedule_records_window(&schedule.plan, window))
		return GPT_STEP_WAITING;
	return first ? GPT_STEP_WARMUP : GPT_STEP_ACTIVE;
}

/* began_ns: 0: now.  Returns whether what rests has changed. */
static bool step_begins(uint64_t began_ns, uint64_t number)
{
	bool rested = schedule_rests(), rests, late = false;
	uint32_t cycle;
	uint64_t time_ns = began_ns ? began_ns : clock_now_ns();
	enum gpt_step_phase phase = schedule.plan.windows_ms
					    ? window_phase(time_ns, &cycle)
					    : gpt_schedule_phase(&schedule.plan, schedule.count, &cycle);

	schedule.count++;
	rests = !schedule.shared && !is_recorded(phase);
	atomic_store(&schedule.phase, phase);
	if (rests != rested)
		set_resting(rests);
	if (!rests && phase == GPT_STEP_ACTIVE) { /* a warm-up may have been short */
		late = !wait_for_cupti();
		time_ns = began_ns ? began_ns : clock_now_ns();
	}
	keep_step(time_ns, number, phase, cycle, late);
	if (rests != rested)
		schedule.wake();
	return rests != rested;
}

/* ---- what marks steps -------------------------------------------------------------------------- */

static bool is_counted(void)
{
	if (!schedule.begun && points_schedule_begun()) {
		schedule.begun = true;
		schedule.begin_ns = clock_now_ns();
	}
	return schedule.begun;
}

static bool has_begin(const char *name, const char *begin)
{
	return !strncmp(name, begin, strlen(begin));
}

/* How this op marks a step; FIRST: not at all. */
static enum gpt_step_by marks_by(const char *name)
{
	enum gpt_step_by by = schedule.by;

	if ((by == GPT_STEP_BY_FIRST || by == GPT_STEP_BY_PROFILER) && has_begin(name, profiler_name))
		return GPT_STEP_BY_PROFILER;
	if ((by == GPT_STEP_BY_FIRST || by == GPT_STEP_BY_OPTIMIZER) && has_begin(name, optimizer_name))
		return GPT_STEP_BY_OPTIMIZER;
	if (by == GPT_STEP_BY_RANGE && gpt_schedule_hash(name) == schedule.plan.name)
		return GPT_STEP_BY_RANGE;
	return GPT_STEP_BY_FIRST;
}

/* With several optimizers only the first one that was seen counts. */
static bool is_another_optimizer(const char *name)
{
	uint32_t hash = gpt_schedule_hash(name);

	if (!schedule.name)
		schedule.name = hash | 1;
	return schedule.name != (hash | 1);
}

/* Not by the thread's id, which may be reused after the thread has ended and its stack is gone. */
static bool is_counted_thread(void)
{
	return !schedule.thread || schedule.thread == thread_number();
}

bool schedule_op_begins(const void *op, const char *name, uint32_t tid)
{
	enum gpt_step_by by;
	bool changed = false;

	pthread_mutex_lock(&schedule.lock);
	by = atomic_load(&schedule.on) && is_counted() ? marks_by(name) : GPT_STEP_BY_FIRST;
	if (by == GPT_STEP_BY_FIRST || schedule.open || !is_counted_thread() ||
	    (by == GPT_STEP_BY_OPTIMIZER && is_another_optimizer(name)))
		goto unlock;
	schedule.by = by;
	schedule.thread = thread_number();
	schedule.tid = tid;
	schedule.open = op;
	if (by == GPT_STEP_BY_PROFILER)
		changed = step_begins(0, strtoull(name + strlen(profiler_name), NULL, 10));
	else if (by == GPT_STEP_BY_RANGE)
		changed = step_begins(0, schedule.count);
	else if (!schedule.count) /* the first step is under way */
		changed = step_begins(schedule.begin_ns, 0);
unlock:
	pthread_mutex_unlock(&schedule.lock);
	return changed;
}

bool schedule_op_ends(const void *op, uint32_t tid)
{
	bool changed = false;

	pthread_mutex_lock(&schedule.lock);
	if (atomic_load(&schedule.on) && schedule.open == op && is_counted_thread()) {
		schedule.open = NULL;
		if (schedule.by == GPT_STEP_BY_OPTIMIZER)
			changed = step_begins(0, schedule.count);
	}
	pthread_mutex_unlock(&schedule.lock);
	return changed;
}

/* The open pass is this thread's, so its mark, further up the stack, can be read. */
static bool is_in_pass(const volatile uint64_t *mark)
{
	const volatile uint64_t *open = schedule.open;

	return open && (uintptr_t)mark < (uintptr_t)open && *open == schedule.mark;
}

/* Steps end with passes: when the first pass begins, the first step is already under way. */
bool schedule_pass_begins(const volatile uint64_t *mark, uint32_t tid)
{
	bool changed = false;

	if (!atomic_load(&schedule.on)) /* off also in a forked child, where the lock may stay held for ever */
		return false;
	pthread_mutex_lock(&schedule.lock);
	if (!atomic_load(&schedule.on) || schedule.by != GPT_STEP_BY_BACKWARD || !is_counted() ||
	    !is_counted_thread() || is_in_pass(mark))
		goto unlock;
	schedule.thread = thread_number();
	schedule.tid = tid;
	schedule.open = (const void *)mark;
	schedule.mark = *mark;
	if (!schedule.count)
		changed = step_begins(schedule.begin_ns, 0);
unlock:
	pthread_mutex_unlock(&schedule.lock);
	return changed;
}

bool schedule_pass_ends(const volatile uint64_t *mark, uint32_t tid)
{
	bool changed = false;

	if (!atomic_load(&schedule.on))
		return false;
	pthread_mutex_lock(&schedule.lock);
	if (atomic_load(&schedule.on) && schedule.by == GPT_STEP_BY_BACKWARD && schedule.open == (const void *)mark &&
	    is_counted_thread()) {
		schedule.open = NULL;
		changed = step_begins(0, schedule.count);
	}
	pthread_mutex_unlock(&schedule.lock);
	return changed;
}

/*
 * A program may call cudaProfilerStart when the agent, or gputrace, has only just come. If the session of ops does not
 * begin in time, the range begins with the session.
 */
static void wait_for_session(void)
{
	uint64_t end_ns = clock_now_ns() + CAPTURE_BEGINS_NS;

	while (!(atomic_load(&schedule.on) && points_schedule_begun()) && clock_now_ns() < end_ns)
		futex_wait(&schedule.sessions, atomic_load(&schedule.sessions), CAPTURE_LOOK_NS);
}

bool schedule_capture(bool starts, uint32_t tid)
{
	bool changed = false;

	if (points_schedule().by != GPT_STEP_BY_CAPTURE)
		return false;
	if (starts)
		wait_for_session();
	pthread_mutex_lock(&schedule.lock);
	if (!atomic_load(&schedule.on)) {
		schedule.early_tid = starts ? tid : 0;
	} else if (schedule.by == GPT_STEP_BY_CAPTURE && is_counted() && starts == !(schedule.count & 1)) {
		schedule.tid = tid;
		changed = step_begins(0, schedule.count / 2);
	}
	pthread_mutex_unlock(&schedule.lock);
	return changed;
}

bool schedule_is_capture(void)
{
	return atomic_load(&schedule.on) && schedule.plan.by == GPT_STEP_BY_CAPTURE;
}

bool schedule_wants_passes(void)
{
	return atomic_load(&schedule.on) && schedule.plan.by == GPT_STEP_BY_BACKWARD;
}

bool schedule_needs_no_ops(void)
{
	return schedule_wants_passes() || schedule.plan.by == GPT_STEP_BY_CAPTURE ||
	       atomic_load(&schedule.phase) == GPT_STEP_OVER;
}

/* ---- the session of ops ------------------------------------------------------------------------ */

/* If steps end with an optimizer's step or a backward pass, the first step has begun already. */
static bool first_is_recorded(void)
{
	uint32_t cycle;

	return (schedule.plan.by == GPT_STEP_BY_FIRST || schedule.plan.by == GPT_STEP_BY_OPTIMIZER ||
		schedule.plan.by == GPT_STEP_BY_BACKWARD) &&
	       is_recorded(gpt_schedule_phase(&schedule.plan, 0, &cycle));
}

/* Handles a range that began before the session: its first launches are not seen. */
static void begin_early(void)
{
	uint32_t cycle;
	enum gpt_step_phase phase = gpt_schedule_phase(&schedule.plan, schedule.count++, &cycle);

	schedule.tid = schedule.early_tid;
	atomic_store(&schedule.phase, phase);
	set_resting(!is_recorded(phase));
	keep_step(clock_now_ns(), 0, phase, cycle, true);
}

bool schedule_begin(void (*wake)(void))
{
	struct gpt_schedule plan = points_schedule();

	pthread_mutex_lock(&schedule.lock);
	schedule.plan = plan;
	schedule.wake = wake;
	schedule.by = (enum gpt_step_by)plan.by;
	schedule.shared = schedule.shared_sent = schedule.sent = schedule.begun = false;
	schedule.thread = schedule.tid = schedule.name = 0;
	schedule.open = NULL;
	schedule.begin_ns = clock_now_ns();
	schedule.count = 0;
	schedule.waiting_count = schedule.lost = 0;
	schedule.first_window = schedule.window = UINT64_MAX;
	if (plan.windows_ms)
		schedule.first_window = gpt_schedule_window(&plan, schedule.begin_ns) & ~1ull;
	atomic_store(&schedule.phase, GPT_STEP_WAITING);
	atomic_store(&schedule.on, plan.active != 0);
	set_resting(plan.active && !first_is_recorded());
	if (plan.by == GPT_STEP_BY_CAPTURE && schedule.early_tid)
		begin_early();
	schedule.early_tid = 0;
	pthread_mutex_unlock(&schedule.lock);
	atomic_fetch_add(&schedule.sessions, 1);
	futex_wake(&schedule.sessions);
	return plan.active != 0;
}

void schedule_end(void)
{
	pthread_mutex_lock(&schedule.lock);
	if (atomic_exchange(&schedule.on, false))
		set_resting(false);
	pthread_mutex_unlock(&schedule.lock);
}

void schedule_share(void)
{
	pthread_mutex_lock(&schedule.lock);
	if (atomic_load(&schedule.on)) {
		schedule.shared = true;
		set_resting(false);
	}
	pthread_mutex_unlock(&schedule.lock);
}

static void send_schedule(struct batch *batch)
{
	struct gpt_agent_schedule *record = batch_add(batch, GPT_AGENT_SCHEDULE, sizeof(*record));

	record->time_ns = clock_now_ns();
	record->skip_first = schedule.plan.skip_first;
	record->wait = schedule.plan.wait;
	record->warmup = schedule.plan.warmup;
	record->active = schedule.plan.active;
	record->repeat = schedule.plan.repeat;
	record->skip_first_wait = schedule.plan.skip_first_wait;
	record->by = schedule.plan.by;
	record->shared = schedule.shared;
	record->windows_ms = schedule.plan.windows_ms;
	schedule.sent = true;
	schedule.shared_sent = schedule.shared;
}

bool schedule_send(struct batch *batch)
{
	bool any = false;
	uint32_t i;

	if (!atomic_load(&schedule.on))
		return false;
	pthread_mutex_lock(&schedule.lock);
	is_counted();
	if (!schedule.sent || schedule.shared != schedule.shared_sent) {
		send_schedule(batch);
		any = true;
	}
	for (i = 0; i < schedule.waiting_count; i++) {
		struct gpt_agent_step *record = batch_add(batch, GPT_AGENT_STEP, sizeof(*record));
		struct gpt_record header = record->hdr;

		*record = schedule.waiting[i];
		record->hdr = header;
		any = true;
	}
	schedule.waiting_count = 0;
	pthread_mutex_unlock(&schedule.lock);
	return any;
}

void schedule_forked(void)
{
	atomic_store(&schedule.on, false);
	atomic_store(&schedule_resting, 0);
	atomic_store(&schedule.wake_cupti, NULL);
}

/* ---- the session of CUPTI ---------------------------------------------------------------------- */

bool schedule_cupti_rests(uint32_t *turn)
{
	*turn = atomic_load(&schedule.turns);
	return atomic_load(&schedule.on) ? schedule_rests() : points_schedule().active != 0;
}

void schedule_watch_cupti(void (*wake)(void))
{
	atomic_store(&schedule.wake_cupti, wake);
}

void schedule_cupti_follows(bool rests, uint32_t turn)
{
	if (atomic_exchange(&schedule.followed, FOLLOWED(turn, rests)) != FOLLOWED(turn, rests))
		futex_wake(&schedule.followed);
}
