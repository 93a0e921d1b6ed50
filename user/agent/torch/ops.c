/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/torch/ops.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/torch/backward_passes.h"
#include "agent/send/batch_send.h"
#include "agent/process/clock.h"
#include "agent/process/fork_gate.h"
#include "agent/torch/observer.h"
#include "agent/process/old_glibc.h"
#include "agent/torch/op_clock.h"
#include "agent/torch/op_buffer.h"
#include "agent/torch/op_names.h"
#include "agent/torch/ops_memory.h"
#include "agent/torch/ops_send.h"
#include "agent/process/own_thread.h"
#include "agent/send/points.h"
#include "agent/torch/schedule.h"
#include "agent/torch/torch.h"
#include "agent/process/own_maps.h"

#define TICK_NS 20000000u     /* how late the listener's end is noticed */
#define BUSY_TICK_NS 1000000u /* while a ring fills up: at 2 million ops a second that is 2,000 of 100,000 */
#define BUSY_PART 16u	      /* the part of a ring that, filled in one tick, makes ticks shorter */
#define SAMPLE_NS 250000000u  /* agent.h requires twice a second */
#define OPEN_REPORT_NS OP_CLOCK_SETTLED_NS
#define EXIT_MAX_NS 1500000000u /* the longest that the agent delays the end of the process, at worst */

static struct {
	_Atomic uint32_t alive;	  /* the thread exists */
	_Atomic uint32_t dead;	  /* in the child of a fork */
	_Atomic uint32_t exiting; /* futex */
	_Atomic uint32_t stopped; /* futex: the thread has ended */
	/* The rest is the thread's. */
	bool fork_registered, exit_registered, early_exit_registered, clock_chosen;
	bool no_thread;	  /* it could not be made, which was reported */
	pid_t pid;	  /* the process for whose end at_exit is registered */
	uint32_t state;	  /* enum gpt_agent_ops_state, 0: none sent */
	uint32_t session; /* number of the session, counted in the process */
	unsigned listeners;
	bool asked_again;		 /* as last seen */
	uint64_t lost_before;		 /* lost before this session began */
	uint64_t inputs_lost_before;	 /* lost by other threads before this session began */
	bool inputs_checked, can_inputs; /* inputs of this PyTorch: checked, readable */
	struct observed observed;
	bool scheduled;
	uint32_t listener; /* gpt_schedule.listener for which this session began; 0: several share it */
	uint64_t next_sample_ns;
	uint64_t libraries; /* number of libraries loaded at the latest search for PyTorch */
	char why[256];
	struct torch torch;
	struct ops_sender sender;
} ops;

static bool are_ops_wanted(void)
{
	return points_take_ops() && points_batch_listening() && !atomic_load(&ops.exiting);
}

/* ---- what is sent ------------------------------------------------------------------------------ */

static void send_state(void)
{
	size_t path = strlen(ops.torch.path) + 1, why = strlen(ops.why) + 1;
	uint64_t lost_ns, lost = op_buffers_lost(&lost_ns);
	struct gpt_agent_ops *record = batch_add(&ops.sender.batch, GPT_AGENT_OPS, sizeof(*record) + path + why);

	record->time_ns = clock_now_ns();
	record->reported = ops.sender.sent;
	record->lost = lost - ops.lost_before;
	record->lost_ns = lost_ns;
	record->state = ops.state;
	record->version = ops.torch.version;
	record->inputs_lost = (uint32_t)(op_buffers_inputs_lost() - ops.inputs_lost_before + ops.sender.inputs_lost);
	record->bytes = (uint32_t)(path + why);
	memcpy(record->text, ops.torch.path, path);
	memcpy(record->text + path, ops.why, why);
}

static void enter_state(uint32_t state)
{
	ops.state = state;
	send_state();
	batch_flush(&ops.sender.batch);
}

/* ---- a session --------------------------------------------------------------------------------- */

static void at_exit(void)
{
	uint64_t end = clock_now_ns() + EXIT_MAX_NS;

	if (ops.pid != getpid()) /* a child that shares the memory: its end is not the process's */
		return;
	futex_set(&ops.exiting);
	while (atomic_load(&ops.alive) && clock_now_ns() < end)
		futex_wait(&ops.stopped, 0, EXIT_MAX_NS / 10);
}

/* Registered again once PyTorch is loaded, after PyTorch's own handler: the last one registered runs first. */
static void register_exit(bool *registered)
{
	ops.pid = getpid();
	if (!*registered)
		atexit(at_exit);
	*registered = true;
}

static void wake_thread(void)
{
	futex_wake(&ops.exiting);
}

/* Whether inputs are wanted and can be read, which is checked only once a listener wants them. */
static bool takes_inputs(void)
{
	if (!points_take_shapes())
		return false;
	if (!ops.inputs_checked)
		ops.can_inputs = torch_inputs_check(&ops.torch, ops.why, sizeof(ops.why));
	ops.inputs_checked = true;
	return ops.can_inputs;
}

static struct observed wanted_now(void)
{
	return (struct observed){.with_inputs = takes_inputs(), .only_named = !points_take_all_ops()};
}

static void follow_passes(uint64_t now)
{
	if (!backward_passes_follow(&ops.torch, now) && !ops.why[0])
		strcpy(ops.why, "its libtorch_python starts backward passes in a way that is not known: they mark no "
				"steps");
}

static bool start_observing(void)
{
	uint64_t unused;

	op_clock_open();
	op_buffers_empty();
	ops.lost_before = op_buffers_lost(&unused);
	ops.inputs_lost_before = op_buffers_inputs_lost();
	ops.sender.sent = ops.sender.inputs_lost = 0;
	ops.observed = wanted_now();
	ops_memory_follow(&ops.torch, &ops.sender.batch,
			  clock_now_ns()); /* a listener that sees OBSERVING may rely on it */
	follow_passes(clock_now_ns());
	return observer_begin(&ops.torch, ++ops.session, ops.observed, ops.scheduled, ops.why, sizeof(ops.why));
}

static void refuse_torch(void)
{
	backward_passes_end();
	ops_memory_stop();
	torch_close(&ops.torch);
	enter_state(GPT_AGENT_OPS_REFUSED);
}

static void note_others(void)
{
	if (!ops.why[0] && torch_copies() > 1)
		strcpy(ops.why, "there is another PyTorch in the process, whose ops are not seen");
}

/* Called while a PyTorch is observed. */
static void look_for_others(void)
{
	uint64_t libraries = own_libraries_loaded();

	if (libraries == ops.libraries)
		return;
	ops.libraries = libraries;
	note_others();
}

static void look_for_torch(void)
{
	uint64_t libraries = own_libraries_loaded();

	if (libraries == ops.libraries)
		return;
	ops.libraries = libraries;
	switch (torch_open(&ops.torch, ops.why, sizeof(ops.why))) {
	case TORCH_NONE:
		ops.why[0] = '\0';
		enter_state(GPT_AGENT_OPS_WAITING);
		return;
	case TORCH_REFUSED:
		refuse_torch();
		return;
	case TORCH_READY:
		break;
	}
	ops.why[0] = '\0';
	ops.inputs_checked = false;
	if (!op_buffers_open(wake_thread) || !op_names_open())
		strcpy(ops.why, "no memory");
	else if (start_observing()) {
		register_exit(&ops.exit_registered);
		note_others();
		enter_state(GPT_AGENT_OPS_OBSERVING);
		return;
	}
	refuse_torch();
}

/* Listeners that want inputs may come and go during the session, and lower their detail. */
static void follow_options(void)
{
	struct observed now = wanted_now();

	if (now.with_inputs == ops.observed.with_inputs && now.only_named == ops.observed.only_named)
		return;
	ops.observed = now;
	observer_change(now);
}

/* The only listener's number; 0: there are several, or one is coming or leaving. */
static uint32_t valid_listener(void)
{
	uint32_t listener = points_schedule().listener;

	return gpt_listener_is_valid(listener) ? listener : 0;
}

/*
 * Whether a listener is still raising its counters: the bits of its options come one by one, its number last. More bits
 * than one number has mean several listeners, whose options are all set: the kernel counts listeners that probed a file
 * before it is mapped as one.
 */
static bool is_half_there(void)
{
	unsigned bits = (unsigned)__builtin_popcount(points_schedule().listener);

	return points_take_ops() == 1 && bits && bits < GPT_LISTENER_BITS / 2;
}

/*
 * Whether the present listener is not the one for which this session began: that one has left, and another came between
 * two ticks. The new one's schedule must not be mixed with the old one's.
 */
static bool has_successor(void)
{
	return (ops.listener & ~points_schedule().listener) &&
	       are_ops_wanted(); /* a listener lowers its counter of ops before its number */
}

/* Whether a new listener came, to which everything must be repeated. A new listener ends a schedule. */
static bool somebody_came(void)
{
	unsigned listeners = points_take_ops();
	bool again = points_asked_again(), came = listeners > ops.listeners || (again && !ops.asked_again);

	if (came && ops.scheduled) {
		schedule_share();
		observer_follow_schedule();
	}
	ops.listeners = listeners;
	ops.asked_again = again;
	if (listeners > 1)
		ops.listener = 0;
	else if (!ops.listener)
		ops.listener = valid_listener();
	return came;
}

/* Returns the time until the next tick, ns. */
static uint64_t run_tick(void)
{
	uint64_t now = clock_now_ns(), filled = 0;
	bool observing = ops.state == GPT_AGENT_OPS_OBSERVING, came = somebody_came(), stepped;

	if (observing) {
		follow_options();
		ops_memory_follow(&ops.torch, &ops.sender.batch, now);
		follow_passes(now);
		filled = ops_send_buffers(&ops.sender);
		if (came)
			op_names_repeat(&ops.sender.batch);
	}
	stepped = ops.scheduled && schedule_send(&ops.sender.batch);
	if (came || now >= ops.next_sample_ns) {
		ops.next_sample_ns = now + SAMPLE_NS;
		if (observing) {
			ops_send_open(&ops.sender, ops.session, now - OPEN_REPORT_NS, false);
			look_for_others();
		}
		send_state();
		ops_memory_send_state(&ops.sender.batch);
		stepped = true;
	}
	if (stepped)
		batch_flush(&ops.sender.batch);
	return filled > OP_BUFFER_RING_BYTES / BUSY_PART ? BUSY_TICK_NS : TICK_NS;
}

/* Called before listeners hear that the session is over: a range that begins from then on is the next session's. */
static void send_schedule_and_end(void)
{
	if (ops.scheduled)
		schedule_send(&ops.sender.batch);
	schedule_end();
}

static void send_last(void)
{
	ops_send_buffers(&ops.sender);
	send_schedule_and_end();
	ops_send_open(&ops.sender, ops.session, UINT64_MAX, true);
	ops_memory_send_state(&ops.sender.batch);
	look_for_others();
	enter_state(GPT_AGENT_OPS_STOPPED);
}

static void finish_ops(bool heard)
{
	observer_end();
	backward_passes_end();
	ops_memory_stop();
	if (heard)
		send_last();
	op_names_release();
	op_buffers_release();
	torch_close(&ops.torch);
}

static void run_ops(void)
{
	bool heard = true;

	while (are_ops_wanted() && is_half_there())
		fork_gate_wait(&ops.exiting, 0, BUSY_TICK_NS);
	ops.state = 0;
	ops.libraries = 0;
	ops.next_sample_ns = 0;
	ops.listeners = points_take_ops();
	ops.asked_again = points_asked_again();
	ops.why[0] = '\0';
	ops.scheduled = schedule_begin(wake_thread);
	if (schedule_is_capture()) /* ranges need no PyTorch */
		register_exit(&ops.early_exit_registered);
	ops.listener = valid_listener();
	while (are_ops_wanted()) {
		heard = !has_successor();
		if (!heard)
			break;
		if (ops.state != GPT_AGENT_OPS_OBSERVING)
			look_for_torch();
		fork_gate_wait(&ops.exiting, 0, run_tick());
	}
	if (ops.state == GPT_AGENT_OPS_OBSERVING)
		finish_ops(heard);
	else if (ops.state == GPT_AGENT_OPS_WAITING && heard) {
		send_schedule_and_end();
		enter_state(GPT_AGENT_OPS_STOPPED);
	}
	schedule_end();
}

/* ---- the thread -------------------------------------------------------------------------------- */

static void at_fork_in_child(void)
{
	observer_forked();
	ops_memory_forked();
	schedule_forked();
	atomic_store(&ops.dead, 1);
}

static void register_fork(void)
{
	if (!ops.fork_registered)
		fork_gate_in_child(at_fork_in_child);
	ops.fork_registered = true;
}

/* Called while no thread has stamps of the other clock. */
static void choose_clock(void)
{
	if (!ops.clock_chosen)
		op_clock_choose();
	ops.clock_chosen = true;
}

static bool begin_life(void)
{
	uint32_t none = 0;

	return atomic_compare_exchange_strong(&ops.alive, &none, 1);
}

static void begin_batches(bool own_thread)
{
	ops.sender.batch.send = batch_to_collector;
	ops.sender.batch.own_thread = own_thread;
}

static void ops_thread(void)
{
	prctl(PR_SET_NAME, "gputrace-ops");
	ops.no_thread = false;
	choose_clock();
	register_fork();
	begin_batches(true);
	ops.sender.types = &ops.torch.types;
	do {
		run_ops();
		atomic_store(&ops.alive, 0);
	} while (are_ops_wanted() &&
		 begin_life()); /* wanted again meanwhile: a listener that came then saw the session alive */
	futex_set(&ops.stopped);
}

/* Reports once to the present listeners: starting the thread is retried all the time. */
static void refuse_without_thread(void)
{
	if (!ops.no_thread) {
		begin_batches(false);
		strcpy(ops.why, own_thread_why_not());
		enter_state(GPT_AGENT_OPS_REFUSED);
	}
	ops.no_thread = true;
}

void ops_start(void)
{
	if (!points_take_ops() || atomic_load(&ops.dead) || !are_ops_wanted() || !begin_life())
		return;
	atomic_store(&ops.stopped, 0);
	if (own_thread_start(ops_thread))
		return;
	refuse_without_thread();
	atomic_store(&ops.alive, 0);
}
