/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The agent's life in its process: its start, its one thread, and its end. It lives only while a collector listens,
 * never prints, never exits, and bounds every wait.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/send/batch_send.h"
#include "agent/cupti/callbacks.h"
#include "agent/process/thread_id.h"
#include "agent/process/cuda_driver.h"
#include "agent/entry.h"
#include "agent/process/fork_gate.h"
#include "agent/process/last_call.h"
#include "agent/torch/backward_passes.h"
#include "agent/torch/ops.h"
#include "agent/process/own_thread.h"
#include "agent/send/points.h"
#include "agent/session.h"
#include "agent/cupti/yield.h"

#define TICK_NS 20000000u /* how late the listener's end is noticed */
/* For kernels that still run when the trace ends: the collector waits for the agent's last batch only for a while. */
#define WAIT_LISTENER_NS 1000000000u
#define REPEAT_NS 250000000u /* between two answers to listeners that come later */
/*
 * How long an answer waits for the end of a schedule: after 100 ms without an answer gputrace takes this agent for an
 * older one.
 */
#define SCHEDULE_ENDS_NS 80000000u
#define WAIT_EXIT_NS 100000000u
#define THREAD_NAME_BYTES 16	/* TASK_COMM_LEN, linux/sched.h */
#define EXIT_MAX_NS 1500000000u /* the longest that the agent delays the end of the process, at worst */

/* What the thread finds when it starts. */
enum start {
	START_DONE,	/* a session that runs */
	START_FRAGILE,	/* CUPTI found, but it may be called only once the driver is up */
	START_DEFERRED, /* nothing: the requesting thread is the application's and must not be delayed */
};

/* Read from outside: see agent.h. */
__attribute__((visibility("default"), used)) struct gpt_agent_status gputrace_agent_status = {
	.bytes = sizeof(struct gpt_agent_status)};

static struct {
	_Atomic uint32_t exiting; /* futex: 1 when the process is at its end */
	_Atomic uint32_t stopped; /* futex: 1 when the thread has left CUPTI */
	_Atomic uint32_t again;	  /* a start was requested while a session was running or ending */
	atomic_flag asking;
	char asked[512]; /* written while `asking`: argument of the latest start, as GPUTRACE_AGENT_START */
	/* The rest belongs to the thread that moved life to GPT_AGENT_STARTING. */
	enum start start;
	char cupti[512];    /* the libcupti that the collector names for the session, "": none */
	char collector[64]; /* the socket of a collector to connect to first, "": none */
	bool fork_registered, exit_registered;
	pid_t pid;			      /* the process for whose end at_exit is registered */
	char callers_name[THREAD_NAME_BYTES]; /* name that the agent's thread started with */
	struct session session;
} agent;

static uint32_t read_life(void)
{
	return __atomic_load_n(&gputrace_agent_status.life, __ATOMIC_SEQ_CST);
}

static void set_life(uint32_t life)
{
	__atomic_store_n(&gputrace_agent_status.life, life, __ATOMIC_SEQ_CST);
}

/* False: it is not idle. */
static bool begin_life(void)
{
	uint32_t idle = GPT_AGENT_IDLE;

	if (!__atomic_compare_exchange_n(&gputrace_agent_status.life, &idle, GPT_AGENT_STARTING, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		return false;
	__atomic_add_fetch(&gputrace_agent_status.sessions, 1, __ATOMIC_SEQ_CST);
	return true;
}

/* session.wake: wakes the agent's thread if it waits. */
static void wake_thread(void)
{
	futex_wake(&agent.exiting);
}

static void send_state(uint32_t state)
{
	if (points_listening())
		points_state(state);
}

/* ---- the thread's name: threads that CUPTI makes in its first calls inherit it, and stay when we are gone ---- */

static void take_name(void)
{
	prctl(PR_SET_NAME, "gputrace-agent");
}

static void give_back_name(void)
{
	prctl(PR_SET_NAME, agent.callers_name);
}

/* ---- starting a session ------------------------------------------------------------------------ */

static void report_failure(struct session *session)
{
	session_hello(session, GPT_AGENT_FAILED);
	batch_flush(&session->batch);
	send_state(GPT_AGENT_FAILED);
}

/* Once CUPTI is found: subscribes and reports it. */
static bool start_session(struct session *session)
{
	bool started;

	yield_lock();
	started = session_start(session);
	if (started) {
		session_hello(session, session_state(session));
		batch_flush(&session->batch);
		send_state(session_state(session));
	}
	yield_unlock();
	return started;
}

/* For a CUPTI that crashes without a usable driver: checks for one first. */
static bool start_fragile(struct session *session)
{
	if (cuda_works() && session->cupti.get_version(&session->cupti.version) == CUPTI_OK)
		return start_session(session);
	session->failure = GPT_AGENT_NO_CUDA;
	strcpy(session->detail, "the driver does not initialise");
	return false;
}

/*
 * CUPTI would initialise CUDA by itself, and a process that has done so can no longer fork workers which use it: so the
 * application must do it first. False: there is no listener any more.
 */
static bool wait_for_cuda(struct session *session)
{
	bool reported = false;

	take_name();
	while (points_listening() && !atomic_load(&agent.exiting)) {
		if (cuda_started())
			return true;
		ops_start();
		if (!reported) {
			session_hello(session, GPT_AGENT_LOADED);
			batch_flush(&session->batch);
		}
		reported = true;
		fork_gate_wait(&agent.exiting, 0, TICK_NS);
	}
	return false;
}

static void find_cupti(struct session *session)
{
	session->detail[0] = '\0';
	session->result = 0;
	session->failure =
		cupti_find(&session->cupti, &session->cuda, agent.cupti, session->detail, sizeof(session->detail));
}

static void register_exit(void);
static void at_exit(void);

/* Everything from the search on, on the agent's own thread. False: no session; the reason was sent to the collector. */
static bool start_deferred(struct session *session)
{
	memset(&session->cupti, 0, sizeof(session->cupti));
	session->detail[0] = '\0';
	session->result = session->failure = 0;
	if (agent.collector[0]) {
		fork_gate_leave();
		share_join(agent.collector);
		fork_gate_enter();
		send_state(GPT_AGENT_LOADED);
	}
	if (!wait_for_cuda(session))
		return false;
	give_back_name();
	find_cupti(session);
	register_exit();
	if (session->failure == GPT_AGENT_OK &&
	    (session->cupti.fragile ? start_fragile(session) : start_session(session)))
		return true;
	report_failure(session);
	return false;
}

/* ---- the thread -------------------------------------------------------------------------------- */

struct answering {
	uint64_t asked_ns, repeat_ns; /* 0: no request; when the next answer is due */
};

/*
 * Repeats one-time records for a new listener. A new listener ends a schedule, which the thread of ops notices: while
 * CUPTI still rests by it, the session cannot report that it records.
 */
static void repeat_records(struct session *session, struct answering *answering)
{
	uint64_t now = clock_now_ns();

	if (!points_asked_again()) {
		answering->asked_ns = 0;
		return;
	}
	if (!answering->asked_ns)
		answering->asked_ns = now;
	if (now < answering->repeat_ns || (session->rests && now - answering->asked_ns < SCHEDULE_ENDS_NS))
		return;
	yield_lock();
	session_repeat(session);
	send_state(session_state(session));
	yield_unlock();
	answering->repeat_ns = clock_now_ns() + REPEAT_NS;
}

static void run_session(struct session *session)
{
	struct answering answering = {0};
	uint64_t wait_ns;

	while (points_listening() && !atomic_load(&agent.exiting)) {
		last_call_follow(at_exit);
		repeat_records(session, &answering);
		session_tick(session);
		ops_start();
		backward_passes_follow_alone(clock_now_ns());
		fork_gate_wait(&agent.exiting, 0, TICK_NS);
	}
	if (atomic_load(&agent.exiting))
		wait_ns = WAIT_EXIT_NS;
	else
		wait_ns = points_batch_listening() ? WAIT_LISTENER_NS : 0;
	session_stop(session, wait_ns);
	send_state(GPT_AGENT_STOPPED);
}

static bool have_session(struct session *session)
{
	switch (agent.start) {
	case START_DONE:
		return true;
	case START_DEFERRED:
		return start_deferred(session);
	default:
		if (start_fragile(session))
			return true;
		report_failure(session);
		return false;
	}
}

/*
 * Keeps the argument of the latest gputrace_agent_start. Of two concurrent calls the first one's argument is used for
 * both.
 */
static void keep_request(const char *asked)
{
	if (atomic_flag_test_and_set(&agent.asking))
		return;
	agent.asked[0] = '\0';
	if (asked && strnlen(asked, sizeof(agent.asked)) < sizeof(agent.asked))
		strcpy(agent.asked, asked);
	atomic_flag_clear(&agent.asking);
}

static bool asks_to_join(const char *asked)
{
	return asked && *asked == GPUTRACE_AGENT_JOIN;
}

static void take_asked(void)
{
	const char *path = agent.asked, *colon;

	if (atomic_flag_test_and_set(&agent.asking))
		return;
	colon = asks_to_join(agent.asked) ? strchr(agent.asked, ':') : NULL;
	agent.collector[0] = '\0';
	if (colon && (size_t)(colon - agent.asked) <= sizeof(agent.collector)) {
		memcpy(agent.collector, agent.asked + 1, (size_t)(colon - agent.asked) - 1);
		agent.collector[colon - agent.asked - 1] = '\0';
		path = colon + 1;
	}
	strcpy(agent.cupti, path);
	atomic_flag_clear(&agent.asking);
}

/* For a session that no one has requested by a call: nothing is kept of the latest request but its libcupti. */
static void forget_collector(void)
{
	agent.collector[0] = '\0';
}

/*
 * Runs one session, as far as it gets; true if another was requested meanwhile, or a listener has come while this one
 * was ending, which a session that has failed does not count.
 */
static bool run_once(struct session *session)
{
	bool ran = have_session(session), asked;

	if (ran) {
		set_life(GPT_AGENT_RUNNING);
		take_name();
		run_session(session);
		backward_passes_end_alone();
	}
	last_call_end();
	share_leave();
	set_life(GPT_AGENT_IDLE);
	/*
	 * agent_start_deferred does this in the opposite order, as does a collector, which listens and then looks
	 * whether the agent is idle: so one of the two sees the other's write.
	 */
	asked = atomic_exchange(&agent.again, 0);
	if (!(asked || (ran && points_listening())) || atomic_load(&agent.exiting) || !begin_life())
		return false;
	agent.start = START_DEFERRED;
	if (asked)
		take_asked();
	else
		forget_collector();
	return true;
}

static void register_fork(void);

static void agent_thread(void)
{
	prctl(PR_GET_NAME, agent.callers_name);
	agent.session.batch.own_thread = true;
	register_fork();
	while (run_once(&agent.session))
		;
	futex_set(&agent.stopped);
}

static bool start_thread(void)
{
	atomic_store(&agent.stopped, 0);
	return own_thread_start(agent_thread);
}

/* ---- the process ends, or forks ---------------------------------------------------------------- */

static void at_exit(void)
{
	uint64_t end = clock_now_ns() + EXIT_MAX_NS;

	if (agent.pid != getpid()) /* a child that shares the memory: its end is not the process's */
		return;
	futex_set(&agent.exiting);
	if (read_life() != GPT_AGENT_RUNNING && read_life() != GPT_AGENT_STARTING)
		return;
	while (!atomic_load(&agent.stopped) && clock_now_ns() < end)
		futex_wait(&agent.stopped, 0, EXIT_MAX_NS / 10);
}

static void at_fork_in_child(void)
{
	set_life(GPT_AGENT_DEAD);
	thread_id_forked();
	callbacks_forked();
	yield_forked();
}

static void register_fork(void)
{
	if (!agent.fork_registered)
		fork_gate_in_child(at_fork_in_child);
	agent.fork_registered = true;
}

/* Called after CUPTI was opened: the handler registered last runs first, so the agent's runs before CUPTI's. */
static void register_exit(void)
{
	agent.pid = getpid();
	if (!agent.exit_registered)
		atexit(at_exit);
	agent.exit_registered = true;
	last_call_follow(at_exit);
}

/* ---- start ------------------------------------------------------------------------------------- */

/* The end of a start that failed on the caller's thread. */
static void give_up(struct session *session)
{
	report_failure(session);
	set_life(GPT_AGENT_IDLE);
}

static void give_up_thread(struct session *session)
{
	session->failure = GPT_AGENT_NO_RESOURCES;
	session->result = 0;
	strcpy(session->detail, own_thread_why_not());
	give_up(session);
}

/* On the requesting thread, which is the program's. */
static void begin_start(struct session *session)
{
	session->batch.send = batch_to_collector;
	session->batch.own_thread = false;
	session->wake = wake_thread;
	send_state(GPT_AGENT_LOADED);
}

static void start_here(struct session *session)
{
	begin_start(session);
	find_cupti(session);
	/* Here and not on the agent's thread, so that the very first launch is seen. */
	if (session->failure != GPT_AGENT_OK || (!session->cupti.fragile && !start_session(session))) {
		give_up(session);
		return;
	}
	register_fork();
	register_exit();
	agent.start = session->cupti.fragile ? START_FRAGILE : START_DONE;
	if (agent.start == START_DONE)
		set_life(GPT_AGENT_RUNNING);
	if (start_thread())
		return;
	if (agent.start == START_DONE)
		session_stop(session, 0);
	give_up_thread(session);
}

void agent_start(void)
{
	ops_start();
	if (!points_listening() || !begin_life())
		return;
	fork_gate_open();
	fork_gate_enter();
	start_here(&agent.session);
	fork_gate_leave();
}

void agent_start_deferred(const char *asked)
{
	ops_start();
	if (!points_listening() && !asks_to_join(asked))
		return;
	keep_request(asked);
	atomic_store(&agent.again, 1);
	if (!begin_life())
		return;
	atomic_store(&agent.again, 0);
	begin_start(&agent.session);
	take_asked();
	agent.start = START_DEFERRED;
	if (start_thread())
		return;
	memset(&agent.session.cupti, 0, sizeof(agent.session.cupti));
	give_up_thread(&agent.session);
}

bool agent_start_asked(const char *asked)
{
	if (read_life() != GPT_AGENT_IDLE)
		return false;
	agent_start_deferred(asked);
	return true;
}
