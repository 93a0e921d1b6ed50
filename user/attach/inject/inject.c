/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The steps of an injection: checks the process, serves the file, chooses the thread, makes the call, checks the
 * result.
 */
#include "attach/inject/inject.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <gputrace/agent.h>

#include "attach/inject/frame.h"
#include "attach/inject/file_server.h"
#include "attach/inject/remote_call.h"
#include "attach/inject/seccomp.h"
#include "attach/inject/seccomp_trial.h"
#include "attach/inject/stop.h"
#include "attach/inject/waiting.h"
#include "base/monotonic.h"
#include "target/halt.h"
#include "target/library.h"

/* A thread has often moved on since it was seen: other threads of a Python wait for its lock 200 times a second. */
#define ATTEMPTS 12
#define SLOW_LOOKS 100 /* until the library is mapped, if the loader was busy: 10 ms each */
#define SECCOMP_STRICT 1

_Static_assert(INJECT_PATH_MAX == FRAME_PATH_MAX, "a path has to fit into the frame");

static const char denied[] = "the kernel does not let it be stopped (kernel.yama.ptrace_scope, a security module)";
static const char at_work[] = "its agent is at work, for another gputrace or still for an earlier trace";

struct injection {
	pid_t pid;
	uint64_t start_ticks;
	struct mappings mappings;
	struct inject_addresses addresses;
	struct safe_codes codes;
	struct entered_process process;
	bool joins; /* as in remote_call */
	struct inject_result *result;
};

__attribute__((format(printf, 3, 4))) static int refuse_injection(struct injection *injection, int error,
								  const char *why, ...)
{
	va_list arguments;

	va_start(arguments, why);
	vsnprintf(injection->result->why, sizeof(injection->result->why), why, arguments);
	va_end(arguments);
	return error;
}

struct other_gputrace {
	pid_t pid; /* 0: none is seen */
	uid_t uid;
};

/* Only for words: any program may have this name. */
static int find_other(pid_t pid, void *context)
{
	struct other_gputrace *other = context;
	struct process_info info;

	if (pid == getpid() || pid == getppid() || process_info_read(pid, &info))
		return 0;
	if (!strcmp(info.comm, "gputrace") && info.parent != getpid())
		*other = (struct other_gputrace){.pid = pid, .uid = info.uid};
	process_info_free(&info);
	return other->pid != 0;
}

#define OTHER_KEPT_NS 10000000000ULL /* a refused process is tried again and again: not each time all are read */

/* Says who that may be, where a process of that name is seen. */
static int refuse_at_work(struct injection *injection)
{
	static struct other_gputrace other;
	static uint64_t found_ns;
	uint64_t now_ns = monotonic_ns();

	if (!found_ns || now_ns - found_ns > OTHER_KEPT_NS) {
		other = (struct other_gputrace){0};
		process_each(find_other, &other);
		found_ns = now_ns;
	}
	if (!other.pid)
		return refuse_injection(injection, -EAGAIN, "%s", at_work);
	return refuse_injection(injection, -EAGAIN, "%s (gputrace runs as pid %d, of user %u)", at_work, (int)other.pid,
				(unsigned)other.uid);
}

static pid_t own_holder;

void inject_know_stopper(pid_t process)
{
	own_holder = process;
}

/* True for a thread of gputrace: status names the tracing thread, not its process. */
static bool is_own_thread(pid_t tid)
{
	char own[64], of_holder[64];

	snprintf(own, sizeof(own), "/proc/self/task/%d", tid);
	snprintf(of_holder, sizeof(of_holder), "/proc/%d/task/%d", own_holder, tid);
	return !access(own, F_OK) || (own_holder && !access(of_holder, F_OK));
}

static int check_process(struct injection *injection)
{
	struct thread_status status;
	int error = thread_status_read(injection->pid, process_thread(injection->pid), &status);

	if (error)
		return refuse_injection(injection, error, "%s", error == -ESRCH ? "it has ended" : strerror(-error));
	if (status.state == 'Z' || status.state == 'X')
		return refuse_injection(injection, -ESRCH, "it has ended");
	if (status.tracer && is_own_thread(status.tracer))
		return refuse_injection(injection, -EAGAIN, "gputrace holds it until a library is probed");
	if (status.tracer)
		return refuse_injection(injection, -EBUSY, "it is held by a debugger (pid %d)", status.tracer);
	if (status.state == 'T' || status.state == 't')
		return refuse_injection(injection, -EAGAIN, "it is stopped");
	if (status.seccomp == SECCOMP_STRICT)
		return refuse_injection(injection, -ENOTSUP, "seccomp allows it nothing");
	if (status.seccomp)
		seccomp_prepare();
	if (!remote_signal(status.caught))
		return refuse_injection(injection, -ENOTSUP,
					"it handles SIGURG, SIGWINCH and SIGCHLD: no signal is free for the way back");
	return 0;
}

static int open_injection(struct injection *injection, pid_t pid, int agent_fd, struct inject_result *result)
{
	int error;

	*injection = (struct injection){.pid = pid, .result = result};
	memset(result, 0, sizeof(*result));
#if !defined(__x86_64__)
	return refuse_injection(injection, -ENOTSUP, "not on this kind of machine yet");
#endif
	error = check_process(injection);
	if (error)
		return error;
	error = mappings_read(pid, &injection->mappings);
	if (error)
		return refuse_injection(injection, error, "%s", strerror(-error));
	return inject_addresses_find(pid, &injection->mappings, agent_fd, &injection->addresses, result->why,
				     sizeof(result->why));
}

/* Reads the mappings again: the thread's stack pointer is looked up in them. */
static int refresh_mappings(struct injection *injection)
{
	mappings_free(&injection->mappings);
	return mappings_read(injection->pid, &injection->mappings);
}

/* Chooses a blocked thread, else a running one, which will often be stopped in the wrong place. */
static int choose_thread(struct injection *injection, struct safe_thread *thread)
{
	const char *why;
	int error;

	injection->process = (struct entered_process){
		.pid = injection->pid,
		.start_ticks = injection->start_ticks,
		.mappings = &injection->mappings,
		.codes = &injection->codes,
		.restorer = injection->addresses.restorer,
		.fork = injection->addresses.fork,
		.fork_end = injection->addresses.fork_end,
	};
	if (!inject_loader_idle(injection->pid, &injection->addresses))
		return refuse_injection(injection, -EAGAIN, "it is loading a library");
	error = safe_point_choose(&injection->process, thread, &why);
	if (error == -EAGAIN && !safe_point_choose_running(&injection->process, thread))
		return 0;
	return error ? refuse_injection(injection, error, "%s", error == -ESRCH ? "it has ended" : why) : 0;
}

/* Waits 0.5 to 1.5 ms, not in step with anything that the process does. */
static void wait_a_little(void)
{
	struct timespec pause;

	clock_gettime(CLOCK_MONOTONIC, &pause);
	pause = (struct timespec){.tv_nsec = 500000 + pause.tv_nsec / 64 % 1000 * 1000};
	nanosleep(&pause, NULL);
}

static bool is_held_by_gputrace(const struct injection *injection, const struct safe_thread *thread)
{
	struct thread_status status;

	return !thread_status_read(injection->pid, thread->tid, &status) && status.tracer &&
	       is_own_thread(status.tracer);
}

static int try_call(struct injection *injection, struct remote_call *call)
{
	struct safe_thread thread;
	int error = choose_thread(injection, &thread);

	if (error)
		return error;
	call->process = &injection->process;
	call->joins = injection->joins;
	injection->result->why[0] = '\0';
	error = remote_call(&thread, call, injection->result);
	/* A debugger was noticed earlier: this is gputrace itself, which now holds the thread. */
	if (error == -EPERM && is_held_by_gputrace(injection, &thread))
		error = -EAGAIN;
	if (error == -EAGAIN && thread.call.number == SYSCALL_RUNNING) {
		thread_code_record(&injection->process, thread.call.pc);
		wait_a_little();
	}
	if (error == -EAGAIN)
		refuse_injection(injection, error, "no thread of it could be caught at a safe point");
	else if (error && error != -EINPROGRESS && !injection->result->why[0])
		refuse_injection(injection, error, "%s",
				 error == -EPERM       ? denied
				 : error == -ESRCH     ? "it has ended"
				 : error == -ETIMEDOUT ? "a thread of it did not stop when it was asked to"
						       : strerror(-error));
	return error;
}

static int make_call(struct injection *injection, struct remote_call *call)
{
	int error = refuse_injection(injection, -EAGAIN, "the trace ended before its turn came");

	for (int i = 0; i < ATTEMPTS && error == -EAGAIN && !stop_hurries(); i++) {
		error = i ? refresh_mappings(injection) : 0;
		if (!error)
			error = try_call(injection, call);
	}
	return error;
}

static int wait_mapped(struct injection *injection, int agent_fd, bool slow)
{
	struct timespec pause = {.tv_nsec = 10000000};
	const char *halted;

	for (int i = 0; i < (slow && !stop_hurries() ? SLOW_LOOKS : 1); i++) {
		if (inject_agent_is_mapped(injection->pid, agent_fd))
			return refresh_mappings(injection);
		if (slow)
			nanosleep(&pause, NULL);
	}
	halted = slow ? process_halted(injection->pid) : NULL;
	if (halted)
		return refuse_injection(injection, -ETIMEDOUT, "it is %s", halted);
	if (slow)
		return refuse_injection(injection, -ETIMEDOUT,
					"its loader does not answer: another thread keeps it busy");
	return refuse_injection(injection, -EACCES,
				"its loader refused the agent (a security module, seccomp or a limit of memory?)");
}

/* asleep: the agent does not start a session by itself. */
static int load_agent(struct injection *injection, int agent_fd, bool asleep)
{
	struct file_server file_server;
	char path[sizeof(file_server.path) + 1];
	struct remote_call call = {.addresses = &injection->addresses,
				   .function = injection->addresses.dlopen,
				   .path = path,
				   .loads = true};
	int error = file_server_start(&file_server, injection->pid, agent_fd, injection->result->why,
				      sizeof(injection->result->why));

	if (error)
		return error;
	/* GPUTRACE_AGENT_ASLEEP */
	snprintf(path, sizeof(path), "%s%s", asleep ? "/" : "", file_server.path);
	file_server_use(&file_server);
	error = make_call(injection, &call);
	if (!error || error == -EINPROGRESS)
		error = wait_mapped(injection, agent_fd, error == -EINPROGRESS);
	if (error == -ETIMEDOUT)
		file_server_leave(&file_server); /* the path will still be opened: its pid must not be reused */
	else if (file_server_stop(&file_server) == -EOWNERDEAD && error)
		error = refuse_injection(injection, -EAGAIN, FILE_SERVER_KILLED);
	return error;
}

/*
 * Reads the state that the agent reports. If it lies, the only effect is whether this process is left alone or its own
 * agent called. An agent without a report (older, or unreadable) is called, which does no harm to an agent at work.
 */
static uint32_t read_life(const struct injection *injection)
{
	struct gpt_agent_status status = {};

	if (!injection->addresses.agent_status ||
	    process_read_memory(injection->pid, injection->addresses.agent_status, &status, sizeof(status)))
		return GPT_AGENT_IDLE;
	return status.life;
}

static int check_alive(struct injection *injection)
{
	if (read_life(injection) != GPT_AGENT_DEAD)
		return 0;
	return refuse_injection(injection, -ENOTSUP, "its agent came with a fork, and cannot start over");
}

static int check_idle(struct injection *injection)
{
	uint32_t life = read_life(injection);

	if (life == GPT_AGENT_STARTING || life == GPT_AGENT_RUNNING)
		return refuse_at_work(injection);
	return check_alive(injection);
}

static int wake_agent(struct injection *injection, const char *asked)
{
	struct remote_call call = {
		.addresses = &injection->addresses, .function = injection->addresses.agent_start, .path = asked};
	int error = check_idle(injection);

	if (error)
		return error;
	error = make_call(injection, &call);
	return error == -EINPROGRESS ? 0 : error;
}

static int check_file(struct injection *injection, int agent_fd)
{
	struct statvfs files;

	if (!injection->addresses.agent_start && !fstatvfs(agent_fd, &files) && files.f_flag & ST_NOEXEC)
		return refuse_injection(injection, -ENOEXEC,
					"the agent's file lies on a file system that is mounted noexec");
	return 0;
}

/* What can be checked before anything is started for the process. */
static int prepare_injection(struct injection *injection, pid_t pid, uint64_t start_ticks, int agent_fd,
			     struct safe_thread *thread, struct inject_result *result)
{
	int error = open_injection(injection, pid, agent_fd, result);

	injection->start_ticks = start_ticks;
	if (!error)
		error = check_file(injection, agent_fd);
	return error ? error : choose_thread(injection, thread);
}

/* An agent that is already loaded sees by itself that ops are wanted. */
static int enter_observer(struct injection *injection, int agent_fd)
{
	if (injection->addresses.agent_start)
		return check_alive(injection);
	return load_agent(injection, agent_fd, true);
}

/* Only a loaded agent can get a request. */
static int load_and_ask(struct injection *injection, int agent_fd, const char *asked)
{
	int error;

	if (injection->addresses.agent_start)
		return wake_agent(injection, asked);
	error = load_agent(injection, agent_fd, asked != NULL);
	if (error || !asked)
		return error;
	error = inject_addresses_find(injection->pid, &injection->mappings, agent_fd, &injection->addresses,
				      injection->result->why, sizeof(injection->result->why));
	if (!error && !injection->addresses.agent_start)
		error = refuse_injection(injection, -EAGAIN, "the agent was loaded and is not there");
	return error ? error : wake_agent(injection, asked);
}

static bool asks_to_join(const char *asked)
{
	return asked && *asked == GPUTRACE_AGENT_JOIN;
}

static int inject_once(pid_t pid, uint64_t start_ticks, int agent_fd, const char *asked, bool observer,
		       struct inject_result *result)
{
	struct injection injection;
	struct safe_thread thread;
	int error = prepare_injection(&injection, pid, start_ticks, agent_fd, &thread, result);

	injection.joins = asks_to_join(asked);
	if (!error)
		error = observer ? enter_observer(&injection, agent_fd) : load_and_ask(&injection, agent_fd, asked);
	mappings_free(&injection.mappings);
	return error;
}

/* A filter that came after the agent: it answers nobody, but a way in by a stop asks the filter first. */
static bool has_filter(pid_t pid)
{
	struct thread_status status;

	return !thread_status_read(pid, process_thread(pid), &status) && status.seccomp;
}

/* Only a collector without BPF asks a waiting agent: a collector that may probe it can stop a thread as well. */
static int ask_waiting(pid_t pid, const char *asked, struct inject_result *result)
{
	int error = asks_to_join(asked) ? waiting_agent_ask(pid, asked) : -ENOENT;

	memset(result, 0, sizeof(*result));
	if (error == -EAGAIN && has_filter(pid))
		return -ENOENT;
	if (error == -EAGAIN)
		snprintf(result->why, sizeof(result->why), "the agent that waits there does not answer");
	return error == -EBUSY ? refuse_at_work(&(struct injection){.pid = pid, .result = result}) : error;
}

int inject_agent(pid_t pid, uint64_t start_ticks, int agent_fd, const char *asked, struct inject_result *result)
{
	int error = ask_waiting(pid, asked, result);

	return error != -ENOENT ? error : inject_once(pid, start_ticks, agent_fd, asked, false, result);
}

int inject_observer(pid_t pid, uint64_t start_ticks, int agent_fd, struct inject_result *result)
{
	return inject_once(pid, start_ticks, agent_fd, NULL, true, result);
}

bool inject_driver_brings(pid_t pid)
{
	AUTO_FREE char *path = process_variable(pid, "CUDA_INJECTION64_PATH"), *there = NULL;
	struct stat file;

	if (!path || library_kind_of_name(path) != LIBRARY_AGENT)
		return false;
	there = xasprintf("/proc/%d/%s/%s", process_thread(pid), path[0] == '/' ? "root" : "cwd", path);
	return !process_stat(pid, there, &file) && S_ISREG(file.st_mode);
}

/* Asks the kernel, and the thread's filter. */
static int check_thread(struct injection *injection, const struct safe_thread *thread)
{
	struct thread_status status;
	int error = stop_ask(thread->tid);

	if (error)
		return refuse_injection(injection, error, "%s",
					error == -EPERM	  ? denied
					: error == -ESRCH ? "it has ended"
							  : strerror(-error));
	error = thread_status_read(injection->pid, thread->tid, &status);
	injection->result->why[0] = '\0';
	return error ? error
		     : seccomp_foresee(injection->pid, &status, injection->result->why, sizeof(injection->result->why));
}

int inject_check(pid_t pid, int agent_fd, struct inject_result *result)
{
	struct injection injection;
	struct safe_thread thread = {0};
	struct file_server file_server;
	int error = prepare_injection(&injection, pid, 0, agent_fd, &thread, result);

	if (!error && injection.addresses.agent_start)
		error = check_alive(&injection);
	if (!error && !injection.addresses.agent_start) {
		error = file_server_start(&file_server, pid, agent_fd, result->why, sizeof(result->why));
		if (!error)
			file_server_stop(&file_server);
	}
	if (!error)
		error = check_thread(&injection, &thread);
	result->tid = thread.tid;
	mappings_free(&injection.mappings);
	return error;
}

void inject_wait_late_stop(pid_t pid, const struct inject_result *result)
{
	const struct stopped late = {.pid = pid, .tid = result->late_stop};

	if (result->late_stop)
		stop_wait_late(&late);
}
