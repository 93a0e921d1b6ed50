/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The thread is stopped, its registers are set to the call, and it runs on; at the end of the call it sends itself
 * a signal that it ignores, which stops it for us once more, and its registers, signal mask, extended state and
 * errno are put back.  Put back by ptrace, an interrupted system call goes on as after any stop, with what is left
 * of its time-out.
 *
 * Each step leaves the thread in a state from which it finds back alone (inject_frame.c), because the kernel lets it
 * run the moment we die: registers last when going in, and last when coming back.
 */
#include "attach/inject_remote.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "attach/emit.h"
#include "attach/inject_frame.h"
#include "attach/inject_seccomp.h"

#if defined(__x86_64__)

#define SPIN_NS 300000ULL /* a thread that sleeps stops within 50 us */
#define STOP_MAX_NS 10000000000ULL
#define CALL_MAX_NS 100000000ULL /* dlopen takes 0.2 ms; longer only where another thread holds the loader's lock */
#define PAUSE_NS 50000L
#define STOPS_MAX 1000 /* for signals: no process sends itself so many, but one that wants to keep us */

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

/* What a stop makes of a system call that is to go on: include/linux/errno.h. */
#define ERESTARTSYS 512
#define ERESTARTNOINTR 513
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516

struct remote {
	pid_t pid, tid;
	const struct inject_place *place;
	const struct safe_point_place *where;
	uint64_t errno_address;
	int signal;			  /* that the thread sends itself */
	struct user_regs_struct original; /* as it was stopped */
	struct borrowed thread;
	struct frame frame;
};

static int ptrace_do(enum __ptrace_request request, pid_t tid, void *address, void *data)
{
	return ptrace(request, tid, address, data) < 0 ? -errno : 0;
}

static int detach(const struct remote *remote)
{
	return ptrace_do(PTRACE_DETACH, remote->tid, NULL, NULL);
}

/* The application's own signal with which a thread has stopped, to be passed on. */
static void *signal_of(int status)
{
	return (void *)(uintptr_t)(status >> 16 ? 0 : WSTOPSIG(status));
}

static int let_go(const struct remote *remote, int status)
{
	return ptrace_do(PTRACE_DETACH, remote->tid, NULL, signal_of(status));
}

/* ---- threads that did not stop in time: they may later, and then nobody else would let them run -------- */

static pid_t strays[16];
static unsigned stray_count;

static void remember_stray(pid_t tid)
{
	if (stray_count < sizeof(strays) / sizeof(strays[0]))
		strays[stray_count++] = tid;
}

void remote_release_strays(void)
{
	for (unsigned i = 0; i < stray_count;) {
		const struct remote remote = {.tid = strays[i]};
		int status;
		pid_t got = waitpid(strays[i], &status, __WALL | WNOHANG);

		if (!got) {
			i++;
			continue;
		}
		if (got > 0 && WIFSTOPPED(status))
			(void)let_go(&remote, status);
		strays[i] = strays[--stray_count];
	}
}

/* ---- stopping --------------------------------------------------------------------------------------- */

/* The next stop of the thread; -ETIMEDOUT, -ESRCH. */
static int wait_stop(pid_t tid, uint64_t timeout_ns, int *status)
{
	uint64_t begin = monotonic_ns();
	struct timespec pause = {.tv_nsec = PAUSE_NS};

	for (;;) {
		pid_t got = waitpid(tid, status, __WALL | WNOHANG);
		uint64_t waited = monotonic_ns() - begin;

		if (got == tid)
			return WIFSTOPPED(*status) ? 0 : -ESRCH;
		if (got < 0 && errno != EINTR)
			return -ESRCH;
		if (waited > timeout_ns)
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

static bool is_group_stop(int status)
{
	return status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP;
}

/* Signals that come first are the application's, and passed on. Leaves it stopped (0), or let go. */
static int stop(const struct remote *remote)
{
	int status, error;

	error = ptrace_do(PTRACE_SEIZE, remote->tid, NULL, NULL);
	if (error)
		return error;
	error = ptrace_do(PTRACE_INTERRUPT, remote->tid, NULL, NULL);
	for (int i = 0; !error; i++) {
		error = wait_stop(remote->tid, STOP_MAX_NS, &status);
		if (error || is_interrupt_stop(status))
			break;
		if (is_group_stop(status) || i >= STOPS_MAX) { /* Ctrl-Z: it stays stopped */
			error = let_go(remote, status);
			return error ? error : -EAGAIN;
		}
		error = ptrace_do(PTRACE_CONT, remote->tid, NULL, signal_of(status));
	}
	if (error == -ETIMEDOUT)
		remember_stray(remote->tid);
	return error;
}

/* ---- what it was doing ------------------------------------------------------------------------------- */

/* The call that was interrupted once before: its number stands in the instruction in front (mov $number, %eax). */
static long restarted_call(const struct remote *remote)
{
	uint8_t text[7];
	uint32_t number;

	if (process_read_memory(remote->pid, remote->original.rip - sizeof(text), text, sizeof(text)) ||
	    text[0] != 0xb8 || text[5] != 0x0f || text[6] != 0x05)
		return -1;
	memcpy(&number, text + 1, sizeof(number));
	return (long)number;
}

static bool is_interrupted(const struct user_regs_struct *regs)
{
	switch ((int64_t)regs->rax) {
	case -EINTR: /* of a call that does not go on after a stop, signal(7) */
	case -ERESTARTSYS:
	case -ERESTARTNOINTR:
	case -ERESTARTNOHAND:
	case -ERESTART_RESTARTBLOCK:
		return true;
	default:
		return false;
	}
}

/* Registers with which the interrupted call is made anew. */
static void begin_anew(struct user_regs_struct *regs, uint64_t number)
{
	regs->rip -= 2; /* the syscall instruction */
	regs->rax = number;
	regs->orig_rax = (uint64_t)-1;
}

/* Whether it stands where it was seen; then how it would go on by itself. */
static int examine_call(struct remote *remote, const struct safe_thread *seen)
{
	const struct user_regs_struct *regs = &remote->original;
	long number = (long)regs->orig_rax;

	if (regs->cs != 0x33 || regs->rsp != seen->call.sp || regs->rip != seen->call.pc ||
	    number != seen->call.number || !is_interrupted(regs))
		return -EAGAIN;
	if (number == SYSCALL_RESTARTED) {
		struct thread_call before = seen->call;

		number = before.number = restarted_call(remote);
		if (number == SYSCALL_RESTARTED || !safe_point_of_call(&before).rank)
			return -EAGAIN;
	}
	remote->thread.regs = *regs;
	begin_anew(&remote->thread.regs, (uint64_t)number);
	return 0;
}

/*
 * A thread in a restartable sequence (rseq(2)) would not be told that it was interrupted: the kernel looks at the
 * registers when it lets it run, and they are ours then.
 */
static bool in_restartable_sequence(const struct remote *remote)
{
	struct {
		uint64_t address;
		uint32_t size, signature, flags, pad;
	} area = {0}; /* struct ptrace_rseq_configuration, Linux 5.13 */
	uint64_t sequence = 0;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, remote->tid, (void *)sizeof(area), &area) < 0 || !area.address)
		return false;
	return process_read_memory(remote->pid, area.address + 8, &sequence, sizeof(sequence)) || sequence;
}

/* Stopped between two instructions of its own: it goes on with the next. */
static int examine_running(struct remote *remote, struct safe_thread *thread)
{
	const struct user_regs_struct *regs = &remote->original;

	thread->call.pc = regs->rip;
	remote->thread.regs = *regs;
	if (regs->cs != 0x33 || (int64_t)regs->orig_rax != -1 ||
	    !safe_point_of_stop(remote->where, remote->tid, regs->rip, regs->rsp) || in_restartable_sequence(remote))
		return -EAGAIN;
	return 0;
}

/* A signal that the process has no use for: it may be seen by the thread, should we die. */
static int choose_signal(uint64_t caught)
{
	static const int ignored_by_default[] = {SIGURG, SIGWINCH, SIGCHLD};

	for (size_t i = 0; i < sizeof(ignored_by_default) / sizeof(ignored_by_default[0]); i++)
		if (!(caught >> (ignored_by_default[i] - 1) & 1))
			return ignored_by_default[i];
	return 0;
}

/* Reads all that has to be put back. */
static int examine(struct remote *remote, struct safe_thread *seen)
{
	struct borrowed *thread = &remote->thread;
	struct iovec state = {thread->xstate, sizeof(thread->xstate)};
	struct thread_status status;
	int error = ptrace_do(PTRACE_GETREGS, remote->tid, NULL, &remote->original);

	if (!error)
		error = seen->call.number == SYSCALL_RUNNING ? examine_running(remote, seen)
							     : examine_call(remote, seen);
	if (!error)
		error = thread_status_read(remote->pid, remote->tid, &status);
	if (error)
		return error;
	/* It would handle the signal now, and its call would end. */
	if (status.pending & ~status.blocked)
		return -EAGAIN;
	remote->signal = choose_signal(status.caught);
	if (!remote->signal)
		return -ENOTSUP;
	if (status.seccomp && seccomp_check(remote->tid))
		return -EACCES;
	error = ptrace_do(PTRACE_GETSIGMASK, remote->tid, (void *)sizeof(thread->blocked), &thread->blocked);
	if (!error)
		error = ptrace_do(PTRACE_GETREGSET, remote->tid, (void *)NT_X86_XSTATE, &state);
	thread->xstate_bytes = state.iov_len;
	remote->errno_address = remote->original.fs_base + (uint64_t)remote->place->errno_offset;
	if (!error)
		error = process_read_memory(remote->pid, remote->errno_address, &thread->error, sizeof(thread->error));
	return error;
}

/* ---- going in ----------------------------------------------------------------------------------------- */

static int write_memory(pid_t pid, uint64_t address, const void *data, size_t bytes)
{
	struct iovec local = {(void *)(uintptr_t)data, bytes}, there = {(void *)(uintptr_t)address, bytes};
	ssize_t wrote = process_vm_writev(pid, &local, 1, &there, 1, 0);

	if (wrote < 0)
		return -errno;
	return (size_t)wrote == bytes ? 0 : -EFAULT;
}

static int set_mask(const struct remote *remote, uint64_t blocked)
{
	return ptrace_do(PTRACE_SETSIGMASK, remote->tid, (void *)sizeof(blocked), &blocked);
}

/* After the registers are set there is no failure: the thread comes back in any case. */
static int go(struct remote *remote, const struct remote_call *call, uint64_t *gone_ns)
{
	struct user_regs_struct regs = remote->original;
	int error =
		frame_build(remote->place, &remote->thread, call->path, call->loads, remote->signal, &remote->frame);

	if (!error)
		error = write_memory(remote->pid, remote->frame.address, remote->frame.bytes, remote->frame.size);
	if (error)
		return error;
	regs.rip = call->function;
	regs.rsp = remote->frame.address;
	regs.rdi = call->path ? remote->frame.path : 0;
	regs.rsi = RTLD_NOW;
	regs.rax = 0;
	regs.orig_rax = (uint64_t)-1; /* or the kernel would begin the system call anew with these registers */
	regs.eflags &= ~0x500ULL;     /* trap and direction */
	error = ptrace_do(PTRACE_SETREGS, remote->tid, NULL, &regs);
	if (error)
		return error;
	/* No handler of the application may run in the middle of dlopen: it may want what dlopen holds. */
	(void)set_mask(remote, ~(1ULL << (remote->signal - 1)));
	*gone_ns = monotonic_ns();
	(void)ptrace_do(PTRACE_CONT, remote->tid, NULL, NULL);
	return 0;
}

/* ---- coming back ---------------------------------------------------------------------------------------- */

static bool is_our_signal(const struct remote *remote, int status, struct user_regs_struct *regs)
{
	return status >> 16 == 0 && WSTOPSIG(status) == remote->signal &&
	       !ptrace_do(PTRACE_GETREGS, remote->tid, NULL, regs) &&
	       remote->frame.address + 64 - regs->rsp < 8192; /* raise() and below */
}

static int put_back(struct remote *remote)
{
	struct iovec state = {remote->thread.xstate, remote->thread.xstate_bytes};
	struct user_regs_struct regs = remote->original;
	struct thread_status status;

	(void)write_memory(remote->pid, remote->errno_address, &remote->thread.error, sizeof(remote->thread.error));
	if (ptrace_do(PTRACE_SETREGSET, remote->tid, (void *)NT_X86_XSTATE, &state) ||
	    set_mask(remote, remote->thread.blocked))
		return detach(remote);
	/* Calls that a stop ends with EINTR: only a signal may. All others the kernel takes up itself. */
	if ((int64_t)regs.rax == -EINTR && (int64_t)regs.orig_rax != -1 &&
	    !thread_status_read(remote->pid, remote->tid, &status) && !(status.pending & ~remote->thread.blocked))
		begin_anew(&regs, remote->original.orig_rax);
	(void)ptrace_do(PTRACE_SETREGS, remote->tid, NULL, &regs);
	return detach(remote);
}

/* It goes on without us: for a call that takes long. */
static int leave_alone(struct remote *remote)
{
	int status, error = ptrace_do(PTRACE_INTERRUPT, remote->tid, NULL, NULL);

	if (!error)
		error = wait_stop(remote->tid, STOP_MAX_NS, &status);
	if (error == -ETIMEDOUT)
		remember_stray(remote->tid);
	if (!error)
		error = let_go(remote, status);
	return error ? error : -EINPROGRESS;
}

/* back_ns: when it had stopped at the end of the call. */
static int come_back(struct remote *remote, uint64_t *back_ns)
{
	struct user_regs_struct regs;
	int status, error;

	for (int i = 0; i < STOPS_MAX; i++) {
		error = wait_stop(remote->tid, CALL_MAX_NS, &status);
		if (error == -ETIMEDOUT)
			return leave_alone(remote);
		if (error)
			return error;
		if (is_our_signal(remote, status, &regs)) {
			*back_ns = monotonic_ns();
			return put_back(remote);
		}
		if (is_group_stop(status)) {
			error = let_go(remote, status);
			return error ? error : -EINPROGRESS;
		}
		error = ptrace_do(PTRACE_CONT, remote->tid, NULL, signal_of(status));
		if (error)
			return error;
	}
	return leave_alone(remote);
}

static int borrow(struct safe_thread *thread, const struct remote_call *call, struct inject_result *result)
{
	static struct remote remote; /* 36 KB, and one thread is borrowed at a time */
	uint64_t begin, gone, back = 0;
	int error;

	remote.pid = call->where->pid;
	remote.tid = thread->tid;
	remote.place = call->place;
	remote.where = call->where;
	frame_prepare();
	begin = monotonic_ns();
	error = stop(&remote);
	if (error)
		return error;
	error = examine(&remote, thread);
	if (!error)
		error = go(&remote, call, &gone);
	if (error) {
		detach(&remote);
		return error;
	}
	result->tid = thread->tid;
	result->stopped_ns = gone - begin;
	error = come_back(&remote, &back);
	result->away_ns = monotonic_ns() - begin;
	result->stopped_ns += back ? begin + result->away_ns - back : 0;
	return error;
}

/* On a busy machine we would lose the CPU while the thread waits for us, for milliseconds. */
int remote_call(struct safe_thread *thread, const struct remote_call *call, struct inject_result *result)
{
	int before = getpriority(PRIO_PROCESS, 0), error;

	(void)setpriority(PRIO_PROCESS, 0, -20);
	error = borrow(thread, call, result);
	(void)setpriority(PRIO_PROCESS, 0, before);
	return error;
}

#else

void remote_release_strays(void)
{
}

int remote_call(struct safe_thread *thread, const struct remote_call *call, struct inject_result *result)
{
	return -ENOTSUP;
}

#endif
