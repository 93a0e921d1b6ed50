/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The thread is stopped, its registers are set to the call, and it runs on. At the end of the call it sends itself a
 * signal that it ignores, which stops it for gputrace once more, and its registers, signal mask, extended state and
 * errno are restored. As ptrace restores them, an interrupted system call goes on as after any stop, with the rest of
 * its time-out.
 *
 * Each step leaves the thread in a state from which it gets back by itself (frame.c), because the kernel lets it run
 * the moment gputrace dies: registers are set last when going in, and last when coming back.
 */
#include "attach/inject/remote_call.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "base/monotonic.h"
#include "attach/inject/frame.h"
#include "attach/inject/seccomp.h"
#include "attach/inject/stack.h"
#include "attach/inject/stop.h"
#include "base/array.h"

/* Chooses among the signals that are ignored by default: the thread may get it if gputrace dies. */
int remote_signal(uint64_t caught)
{
	static const int ignored_by_default[] = {SIGURG, SIGWINCH, SIGCHLD};

	return value_of_first(sizeof(ignored_by_default) / sizeof(ignored_by_default[0]), i,
			      !(caught >> (ignored_by_default[i] - 1) & 1), ignored_by_default[i], 0);
}

#if defined(__x86_64__)

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

/* Results of a system call that was stopped and will be restarted: include/linux/errno.h. */
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516

struct remote {
	struct inject_result *result;
	struct stopped at;
	const struct inject_addresses *addresses;
	const struct entered_process *process;
	uint64_t errno_address;
	uint64_t max_ns;		  /* maximum duration of the call */
	bool joins;			  /* as in remote_call */
	int signal;			  /* the one that the thread sends itself */
	struct user_regs_struct original; /* at the stop */
	struct borrowed thread;
	struct frame frame;
};

/* ---- examining the thread ---------------------------------------------------------------------------- */

/*
 * The number of the call that was interrupted once before: it is in the instruction before the system call (mov
 * $number, %eax).
 */
static long restarted_call(const struct remote *remote)
{
	uint8_t text[7];
	uint32_t number;

	if (process_read_memory(remote->at.pid, remote->original.rip - sizeof(text), text, sizeof(text)) ||
	    text[0] != 0xb8 || text[5] != 0x0f || text[6] != 0x05)
		return -1;
	memcpy(&number, text + 1, sizeof(number));
	return (long)number;
}

static bool is_call_interrupted(const struct user_regs_struct *regs)
{
	switch ((int64_t)regs->rax) {
	case -EINTR: /* the call is not restarted after a stop, signal(7) */
	case -ERESTARTSYS:
	case -ERESTARTNOINTR:
	case -ERESTARTNOHAND:
	case -ERESTART_RESTARTBLOCK:
		return true;
	default:
		return false;
	}
}

/* Checks that the thread is where it was seen, and finds how it would go on by itself. */
static int examine_call(struct remote *remote, const struct safe_thread *seen)
{
	const struct user_regs_struct *regs = &remote->original;
	long number = (long)regs->orig_rax;

	if (seen->descriptor != STACK_OF_PROCESS && seen->descriptor != regs->fs_base)
		return -EAGAIN;
	if (regs->cs != 0x33 || regs->rsp != seen->call.sp || regs->rip != seen->call.pc ||
	    number != seen->call.number || !is_call_interrupted(regs))
		return -EAGAIN;
	if (number == SYSCALL_RESTARTED) {
		struct thread_call before = seen->call;

		number = before.number = restarted_call(remote);
		if (number == SYSCALL_RESTARTED || !safe_point_of_call(&before).rank)
			return -EAGAIN;
	}
	remote->thread.regs = *regs;
	stop_restart_call(&remote->thread.regs, (uint64_t)number);
	return 0;
}

/*
 * A thread in a restartable sequence (rseq(2)) would not notice the interruption: the kernel checks the registers when
 * it lets the thread run, and these are gputrace's then.
 */
static bool in_restartable_sequence(const struct remote *remote)
{
	struct {
		uint64_t address;
		uint32_t size, signature, flags, pad;
	} area = {0}; /* struct ptrace_rseq_configuration, Linux 5.13 */
	uint64_t sequence = 0;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, remote->at.tid, (void *)sizeof(area), &area) < 0 || !area.address)
		return false;
	return process_read_memory(remote->at.pid, area.address + 8, &sequence, sizeof(sequence)) || sequence;
}

/* Stopped between two of its own instructions: it goes on with the next one. */
static int examine_running(struct remote *remote, struct safe_thread *thread)
{
	const struct user_regs_struct *regs = &remote->original;

	thread->call.pc = regs->rip;
	remote->thread.regs = *regs;
	if (regs->cs != 0x33 || (int64_t)regs->orig_rax != -1 ||
	    !safe_point_of_stop(remote->process, thread, regs->rip, regs->rsp, regs->fs_base) ||
	    in_restartable_sequence(remote))
		return -EAGAIN;
	return 0;
}

/* Until the thread was stopped, the process could end and its pid be reused; now it cannot. */
static int check_identity(const struct remote *remote)
{
	uint64_t start_ticks;
	int error = process_start_ticks(remote->at.pid, &start_ticks);

	return !error && start_ticks != remote->process->start_ticks ? -ESRCH : error;
}

/* Reads all state that must be restored. */
static int examine_thread(struct remote *remote, struct safe_thread *seen)
{
	struct borrowed *thread = &remote->thread;
	struct iovec state = {thread->xstate, sizeof(thread->xstate)};
	struct thread_status status;
	int error = stop_ptrace(PTRACE_GETREGS, remote->at.tid, NULL, &remote->original);

	if (!error)
		error = seen->call.number == SYSCALL_RUNNING ? examine_running(remote, seen)
							     : examine_call(remote, seen);
	if (!error)
		error = thread_status_read(remote->at.pid, remote->at.tid, &status);
	if (error)
		return error;
	/* It would handle the pending signal now, and its call would end. */
	if (status.pending & ~status.blocked)
		return -EAGAIN;
	remote->signal = remote_signal(status.caught);
	if (!remote->signal)
		return -ENOTSUP;
	error = seccomp_check(remote->at.pid, remote->at.tid, &status, remote->joins, remote->result->why,
			      sizeof(remote->result->why));
	if (error)
		return error;
	error = stop_ptrace(PTRACE_GETSIGMASK, remote->at.tid, (void *)sizeof(thread->blocked), &thread->blocked);
	if (!error)
		error = stop_ptrace(PTRACE_GETREGSET, remote->at.tid, (void *)NT_X86_XSTATE, &state);
	thread->xstate_bytes = state.iov_len;
	remote->errno_address = remote->original.fs_base + (uint64_t)remote->addresses->errno_offset;
	if (!error)
		error = process_read_memory(remote->at.pid, remote->errno_address, &thread->error,
					    sizeof(thread->error));
	return error;
}

/* ---- going in ----------------------------------------------------------------------------------------- */

static int set_mask(const struct remote *remote, uint64_t blocked)
{
	return stop_ptrace(PTRACE_SETSIGMASK, remote->at.tid, (void *)sizeof(blocked), &blocked);
}

/* Once the registers are set nothing fails: the thread comes back in any case. */
static int start_call(struct remote *remote, const struct remote_call *call, uint64_t *gone_ns)
{
	struct user_regs_struct regs = remote->original;
	int error = frame_build(remote->addresses, &remote->thread, call->path, call->loads, remote->signal,
				&remote->frame);

	if (!error)
		error = process_write_memory(remote->at.tid, remote->frame.address, remote->frame.bytes,
					     remote->frame.size);
	if (error)
		return error;
	regs.rip = call->function;
	regs.rsp = remote->frame.address;
	regs.rdi = call->path ? remote->frame.path : 0;
	regs.rsi = RTLD_NOW;
	regs.rax = 0;
	regs.orig_rax = (uint64_t)-1; /* else the kernel would restart the system call with these registers */
	regs.eflags &= ~0x500ULL;     /* trap and direction flags */
	error = stop_ptrace(PTRACE_SETREGS, remote->at.tid, NULL, &regs);
	if (error)
		return error;
	/* No handler of the application may run in the middle of dlopen: it may need a lock that dlopen holds. */
	(void)set_mask(remote, ~(1ULL << (remote->signal - 1)));
	*gone_ns = monotonic_ns();
	(void)stop_ptrace(PTRACE_CONT, remote->at.tid, NULL, NULL);
	return 0;
}

/* ---- coming back ---------------------------------------------------------------------------------------- */

static bool is_our_signal(const struct remote *remote, int status, struct user_regs_struct *regs)
{
	return status >> 16 == 0 && WSTOPSIG(status) == remote->signal &&
	       !stop_ptrace(PTRACE_GETREGS, remote->at.tid, NULL, regs) &&
	       remote->frame.address + 64 - regs->rsp < 8192; /* raise() and its callees */
}

static int put_back(struct remote *remote)
{
	struct iovec state = {remote->thread.xstate, remote->thread.xstate_bytes};
	struct user_regs_struct regs = remote->original;

	(void)process_write_memory(remote->at.tid, remote->errno_address, &remote->thread.error,
				   sizeof(remote->thread.error));
	if (stop_ptrace(PTRACE_SETREGSET, remote->at.tid, (void *)NT_X86_XSTATE, &state) ||
	    set_mask(remote, remote->thread.blocked))
		return stop_ptrace(PTRACE_DETACH, remote->at.tid, NULL, NULL);
	(void)stop_undo_interruption(&remote->at, &regs);
	(void)stop_ptrace(PTRACE_SETREGS, remote->at.tid, NULL, &regs);
	return stop_ptrace(PTRACE_DETACH, remote->at.tid, NULL, NULL);
}

/* Lets a long call go on without gputrace. */
static int leave_alone(struct remote *remote)
{
	int status, error = stop_ptrace(PTRACE_INTERRUPT, remote->at.tid, NULL, NULL);

	if (!error)
		error = stop_wait(remote->at.tid, STOP_MAX_NS, &status);
	if (error == -ETIMEDOUT)
		remote->result->late_stop = remote->at.tid;
	if (!error)
		error = stop_let_go(&remote->at, status);
	return error ? error : -EINPROGRESS;
}

/* back_ns: when the thread had stopped at the end of the call. */
static int come_back(struct remote *remote, uint64_t *back_ns)
{
	struct user_regs_struct regs;
	int status, error;

	for (int i = 0; i < STOPS_MAX; i++) {
		error = stop_wait(remote->at.tid, remote->max_ns, &status);
		if (error == -ETIMEDOUT)
			return leave_alone(remote);
		if (error)
			return error;
		if (is_our_signal(remote, status, &regs)) {
			*back_ns = monotonic_ns();
			return put_back(remote);
		}
		if (stop_is_group_stop(status)) {
			error = stop_let_go(&remote->at, status);
			return error ? error : -EINPROGRESS;
		}
		error = stop_ptrace(PTRACE_CONT, remote->at.tid, NULL, stop_signal(status));
		if (error)
			return error;
	}
	return leave_alone(remote);
}

static int run_on_thread(struct safe_thread *thread, const struct remote_call *call, struct remote *remote)
{
	struct inject_result *result = remote->result;
	uint64_t begin, gone, back = 0;
	int error;

	remote->at.pid = call->process->pid;
	remote->at.tid = thread->tid;
	remote->addresses = call->addresses;
	remote->process = call->process;
	remote->joins = call->joins;
	remote->max_ns = call->max_ns ? call->max_ns : REMOTE_CALL_MAX_NS;
	begin = monotonic_ns();
	error = stop_thread(&remote->at);
	if (error == -ETIMEDOUT)
		result->late_stop = thread->tid;
	if (error)
		return error;
	error = check_identity(remote);
	if (!error)
		error = examine_thread(remote, thread);
	if (!error)
		error = start_call(remote, call, &gone);
	if (error) {
		(void)stop_undo(&remote->at);
		return error;
	}
	result->tid = thread->tid;
	result->stopped_ns = gone - begin;
	error = come_back(remote, &back);
	result->away_ns = monotonic_ns() - begin;
	result->stopped_ns += back ? begin + result->away_ns - back : 0;
	return error;
}

static pthread_once_t prepared = PTHREAD_ONCE_INIT;

/*
 * Raises gputrace's priority: on a busy machine it would lose the CPU for milliseconds while the thread waits for it.
 */
int remote_call(struct safe_thread *thread, const struct remote_call *call, struct inject_result *result)
{
	int before = getpriority(PRIO_PROCESS, 0), error;
	struct remote *remote = xmalloc(sizeof(*remote)); /* 36 KB, touched before anything is stopped */

	memset(remote, 0, sizeof(*remote));
	remote->result = result;
	pthread_once(&prepared, frame_prepare);
	(void)setpriority(PRIO_PROCESS, 0, -20);
	error = run_on_thread(thread, call, remote);
	(void)setpriority(PRIO_PROCESS, 0, before);
	free(remote);
	return error;
}

#else

int remote_call(struct safe_thread *thread, const struct remote_call *call, struct inject_result *result)
{
	return -ENOTSUP;
}

#endif
