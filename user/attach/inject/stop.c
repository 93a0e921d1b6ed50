/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A program can notice a stop: the kernel ends some calls with EINTR for it, which programs do not expect without a
 * signal handler. So a thread that is left unused goes on with its call restarted.
 */
#include "attach/inject/stop.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/monotonic.h"
#include "attach/inject/thread_state.h"

static atomic_bool hurry;

void stop_hurry(void)
{
	atomic_store(&hurry, true);
}

bool stop_hurries(void)
{
	return atomic_load(&hurry);
}

#if defined(__x86_64__)

#define HURRY_NS 100000000ULL
#define SPIN_NS 300000ULL /* a thread that sleeps stops within 50 us */
#define PAUSE_NS 50000L

int stop_ptrace(enum __ptrace_request request, pid_t tid, void *address, void *data)
{
	return ptrace(request, tid, address, data) < 0 ? -errno : 0;
}

void *stop_signal(int status)
{
	return (void *)(uintptr_t)(status >> 16 ? 0 : WSTOPSIG(status));
}

int stop_let_go(const struct stopped *thread, int status)
{
	return stop_ptrace(PTRACE_DETACH, thread->tid, NULL, stop_signal(status));
}

/*
 * waitpid for a thread that may also be gputrace's child: its end is left to the code that waits for the child.
 * -EAGAIN: not yet; -ESRCH: there is nothing to wait for any more.
 */
static int wait_stopped(pid_t tid, int *status, int flags)
{
	siginfo_t info = {};

	if (waitid(P_PID, (id_t)tid, &info, WEXITED | WSTOPPED | __WALL | WNOWAIT | flags))
		return errno == EINTR ? -EAGAIN : -ESRCH;
	if (!info.si_pid)
		return -EAGAIN;
	if (info.si_code == CLD_EXITED || info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED)
		return -ESRCH;
	return waitpid(tid, status, __WALL | WNOHANG) == tid ? 0 : -EAGAIN;
}

int stop_wait(pid_t tid, uint64_t timeout_ns, int *status)
{
	uint64_t begin = monotonic_ns();
	struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (;;) {
		int error = wait_stopped(tid, status, WNOHANG);
		uint64_t waited = monotonic_ns() - begin;

		if (error != -EAGAIN)
			return error;
		if (waited > (stop_hurries() ? HURRY_NS : timeout_ns))
			return -ETIMEDOUT;
		if (waited < SPIN_NS)
			sched_yield();
		else
			nanosleep(&pause, NULL);
	}
}

static bool is_interrupt_stop(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGTRAP;
}

bool stop_is_group_stop(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP;
}

int stop_ask(pid_t tid)
{
	pid_t child = fork();
	int status;

	/* The kernel lets the thread go when the child ends. */
	if (!child)
		_exit(ptrace(PTRACE_SEIZE, tid, NULL, NULL) ? errno : 0);
	if (child < 0)
		return -errno;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	return WIFEXITED(status) ? -WEXITSTATUS(status) : -EPERM; /* a filter of system calls may have killed it */
}

/* ---- restarting its system call --------------------------------------------------------------------- */

/*
 * Calls that the kernel ends with EINTR at any stop (signal(7)), and that have done nothing by then: made again they do
 * the same, except that a time-out starts over.
 */
static bool may_be_restarted(long number)
{
	static const long numbers[] = {
		SYS_epoll_wait,
		SYS_epoll_pwait,
		SYS_epoll_pwait2,
		SYS_semop,
		SYS_semtimedop,
		SYS_io_getevents,
		SYS_io_pgetevents,
		SYS_io_uring_enter,
		SYS_rt_sigtimedwait,
		/* With SO_RCVTIMEO or SO_SNDTIMEO: sock_intr_errno(), include/net/sock.h */
		SYS_read,
		SYS_readv,
		SYS_recvfrom,
		SYS_recvmsg,
		SYS_recvmmsg,
		SYS_accept,
		SYS_accept4,
		SYS_connect,
		SYS_write,
		SYS_writev,
		SYS_sendto,
		SYS_sendmsg,
		SYS_sendmmsg,
	};

	return any_of(sizeof(numbers) / sizeof(numbers[0]), i, numbers[i] == number);
}

void stop_restart_call(struct user_regs_struct *regs, uint64_t number)
{
	regs->rip -= 2; /* the syscall instruction */
	regs->rax = number;
	regs->orig_rax = (uint64_t)-1;
}

bool stop_undo_interruption(const struct stopped *thread, struct user_regs_struct *regs)
{
	struct thread_status status;

	if ((int64_t)regs->rax != -EINTR || !may_be_restarted((long)regs->orig_rax) ||
	    thread_status_read(thread->pid, thread->tid, &status) || status.pending & ~status.blocked)
		return false;
	stop_restart_call(regs, regs->orig_rax);
	return true;
}

int stop_undo(const struct stopped *thread)
{
	struct user_regs_struct regs;

	if (!stop_ptrace(PTRACE_GETREGS, thread->tid, NULL, &regs) && stop_undo_interruption(thread, &regs))
		(void)stop_ptrace(PTRACE_SETREGS, thread->tid, NULL, &regs);
	return stop_ptrace(PTRACE_DETACH, thread->tid, NULL, NULL);
}

int stop_leave(const struct stopped *thread, int status)
{
	return is_interrupt_stop(status) ? stop_undo(thread) : stop_let_go(thread, status);
}

/* ---- a thread that did not stop in time: it may later, and then no one else would let it run ---------------- */

void stop_wait_late(const struct stopped *thread)
{
	int status, error;

	do
		error = wait_stopped(thread->tid, &status, 0);
	while (error == -EAGAIN);
	if (!error)
		(void)stop_leave(thread, status);
}

/* ---- stopping --------------------------------------------------------------------------------------- */

int stop_thread(const struct stopped *thread)
{
	int status, error;

	error = stop_ptrace(PTRACE_SEIZE, thread->tid, NULL, NULL);
	if (error)
		return error;
	error = stop_ptrace(PTRACE_INTERRUPT, thread->tid, NULL, NULL);
	for (int i = 0; !error; i++) {
		error = stop_wait(thread->tid, STOP_MAX_NS, &status);
		if (error || is_interrupt_stop(status))
			break;
		if (stop_is_group_stop(status) || i >= STOPS_MAX) { /* Ctrl-Z: it stays stopped */
			error = stop_let_go(thread, status);
			return error ? error : -EAGAIN;
		}
		error = stop_ptrace(PTRACE_CONT, thread->tid, NULL, stop_signal(status));
	}
	return error;
}

#else

int stop_ask(pid_t tid)
{
	return -ENOTSUP;
}

void stop_wait_late(const struct stopped *thread)
{
}

#endif
