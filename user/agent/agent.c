/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The agent's life in its process: how it is entered, its one thread, and its end.  It lives only while
 * somebody listens, never prints, never exits, and waits for nothing without a bound.
 */
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "agent/callbacks.h"
#include "agent/entry.h"
#include "agent/old_glibc.h"
#include "agent/points.h"
#include "agent/session.h"

#define TICK_NS 20000000u /* how late the end of listening is noticed */
/* For kernels that still run when the trace ends: the collector waits for our last batch a while, not for ever. */
#define WAIT_LISTENER_NS 300000000u
#define WAIT_EXIT_NS 100000000u
#define EXIT_MAX_NS 1500000000u /* how long the end of the process may be held up by us, if all goes wrong */

enum life {
	LIFE_IDLE,
	LIFE_STARTING,
	LIFE_RUNNING,
	LIFE_DEAD, /* in the child of a fork: no thread, and CUDA does not survive it either */
};

static struct {
	_Atomic uint32_t life;
	_Atomic uint32_t exiting; /* futex: 1 when the process is at its end */
	_Atomic uint32_t stopped; /* futex: 1 when the thread has left CUPTI */
	bool registered;	  /* by the thread that moved life to LIFE_STARTING */
	struct session session;
} agent;

static void futex_wait(_Atomic uint32_t *word, uint32_t value, uint64_t ns)
{
	struct timespec t = {.tv_sec = (time_t)(ns / 1000000000u), .tv_nsec = (long)(ns % 1000000000u)};

	syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, &t, NULL, 0);
}

static void futex_set(_Atomic uint32_t *word)
{
	atomic_store(word, 1);
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

static void tell_state(uint32_t state)
{
	if (points_listening())
		gputrace_agent_state(state, GPT_AGENT_ABI);
}

/* ---- starting a session ------------------------------------------------------------------------ */

static void report_failure(struct session *session)
{
	session_hello(session, GPT_AGENT_FAILED);
	batch_flush(&session->batch);
	tell_state(GPT_AGENT_FAILED);
}

/* CUPTI is found: subscribes and says so. */
static bool start_session(struct session *session)
{
	if (!session_start(session))
		return false;
	session_hello(session, GPT_AGENT_READY);
	batch_flush(&session->batch);
	tell_state(GPT_AGENT_READY);
	return true;
}

/* For a CUPTI that crashes without a usable driver: first see that there is one. */
static bool start_fragile(struct session *session)
{
	if (cuda_works() && session->cupti.get_version(&session->cupti.version) == CUPTI_OK)
		return start_session(session);
	session->failure = GPT_AGENT_NO_CUDA;
	strcpy(session->detail, "the driver does not initialise");
	return false;
}

/* ---- the thread -------------------------------------------------------------------------------- */

static void run_session(struct session *session)
{
	uint64_t wait_ns;

	while (points_listening() && !atomic_load(&agent.exiting)) {
		session_tick(session);
		futex_wait(&agent.exiting, 0, TICK_NS);
	}
	if (atomic_load(&agent.exiting))
		wait_ns = WAIT_EXIT_NS;
	else
		wait_ns = points_batch_listening() ? WAIT_LISTENER_NS : 0;
	session_stop(session, wait_ns);
	tell_state(GPT_AGENT_STOPPED);
}

static void *agent_thread(void *unused)
{
	struct session *session = &agent.session;

	prctl(PR_SET_NAME, "gputrace-agent");
	if (atomic_load(&agent.life) == LIFE_RUNNING || start_fragile(session))
		run_session(session);
	else
		report_failure(session);
	atomic_store(&agent.life, LIFE_IDLE);
	futex_set(&agent.stopped);
	return unused;
}

/* Detached, and deaf: no signal of the application may be handled on a thread it does not know. */
static bool start_thread(void)
{
	sigset_t all, before;
	pthread_t thread;
	int error;

	atomic_store(&agent.stopped, 0);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&thread, NULL, agent_thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		return false;
	pthread_detach(thread);
	return true;
}

/* ---- the process ends, or forks ---------------------------------------------------------------- */

/* Before CUPTI's own destructors: it was loaded before this was registered. */
static void at_exit(void)
{
	uint64_t end = clock_now_ns() + EXIT_MAX_NS;

	if (atomic_load(&agent.life) != LIFE_RUNNING && atomic_load(&agent.life) != LIFE_STARTING)
		return;
	futex_set(&agent.exiting);
	while (!atomic_load(&agent.stopped) && clock_now_ns() < end)
		futex_wait(&agent.stopped, 0, EXIT_MAX_NS / 10);
}

static void at_fork_in_child(void)
{
	atomic_store(&agent.life, LIFE_DEAD);
	callbacks_forked();
}

static void register_once(void)
{
	if (agent.registered)
		return;
	agent.registered = true;
	atexit(at_exit);
	pthread_atfork(NULL, NULL, at_fork_in_child);
}

/* ---- entry ------------------------------------------------------------------------------------- */

/* The end of a start that failed on the caller's thread. */
static void give_up(struct session *session)
{
	report_failure(session);
	atomic_store(&agent.life, LIFE_IDLE);
}

void agent_start(void)
{
	struct session *session = &agent.session;
	uint32_t idle = LIFE_IDLE;

	if (!points_listening() || !atomic_compare_exchange_strong(&agent.life, &idle, LIFE_STARTING))
		return;
	tell_state(GPT_AGENT_LOADED);
	session->detail[0] = '\0';
	session->result = 0;
	session->failure = cupti_find(&session->cupti, &session->cuda, session->detail, sizeof(session->detail));
	/* Here, and not on the thread: so that the very first launch is seen. */
	if (session->failure != GPT_AGENT_OK || (!session->cupti.fragile && !start_session(session))) {
		give_up(session);
		return;
	}
	register_once();
	if (!session->cupti.fragile)
		atomic_store(&agent.life, LIFE_RUNNING);
	if (start_thread())
		return;
	if (!session->cupti.fragile)
		session_stop(session, 0);
	session->failure = GPT_AGENT_NO_RESOURCES;
	give_up(session);
}

/*
 * CUDA_INJECTION64_PATH holds one library; the collector puts ours there and keeps the user's own in this
 * variable.  It goes first and gets what it wants: if it takes CUPTI, we find it occupied and say so.
 */
static int chain_load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*initialize)(void);

	if (!library)
		return 1;
	*(void **)&initialize = dlsym(library, "InitializeInjection");
	return initialize && initialize != InitializeInjection ? initialize() : 1;
}

__attribute__((visibility("default"))) int InitializeInjection(void)
{
	const char *chained = secure_getenv("GPUTRACE_CHAINED_INJECTION");
	int result = chained && *chained ? chain_load(chained) : 1;

	agent_start();
	return result;
}
