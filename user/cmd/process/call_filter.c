/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/process/call_filter.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#define OLDER                                                                                                          \
	, SYS_open, SYS_access, SYS_stat, SYS_lstat, SYS_readlink, SYS_rename, SYS_link, SYS_unlink, SYS_dup2,         \
		SYS_poll, SYS_epoll_wait, SYS_fork, SYS_vfork, SYS_time
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#define OLDER
#endif

/* What libc, the server, and the reading and writing of logs and profiles take. */
static const unsigned short allowed[] = {
	/* descriptors */
	SYS_read, SYS_write, SYS_readv, SYS_writev, SYS_pread64, SYS_pwrite64, SYS_lseek, SYS_close, SYS_close_range,
	SYS_dup, SYS_dup3, SYS_fcntl, SYS_fstat, SYS_newfstatat, SYS_statx, SYS_ppoll, SYS_epoll_pwait, SYS_epoll_ctl,
	SYS_eventfd2, SYS_timerfd_settime,
	/* the sockets that it has */
	SYS_accept4, SYS_recvfrom, SYS_recvmsg, SYS_sendto, SYS_sendmsg, SYS_shutdown, SYS_getsockopt, SYS_getsockname,
	SYS_getpeername,
	/* files, as far as Landlock lets it */
	SYS_openat, SYS_faccessat, SYS_readlinkat, SYS_getcwd, SYS_getdents64, SYS_ftruncate, SYS_fallocate, SYS_fsync,
	SYS_fdatasync, SYS_fchmod, SYS_fchown, SYS_renameat, SYS_renameat2, SYS_linkat, SYS_unlinkat, SYS_umask,
	SYS_fstatfs,
	/* memory */
	SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise, SYS_brk,
	/* threads and children */
	SYS_clone, SYS_clone3, SYS_wait4, SYS_waitid, SYS_pidfd_open, SYS_exit, SYS_exit_group, SYS_futex,
	SYS_set_robust_list, SYS_set_tid_address, SYS_rseq, SYS_sched_yield, SYS_sched_getaffinity, SYS_setpriority,
	SYS_getpriority, SYS_setrlimit, SYS_prlimit64, SYS_getrusage, SYS_prctl,
	/* signals, clocks and numbers */
	SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_rt_sigreturn, SYS_sigaltstack, SYS_tgkill, SYS_clock_gettime,
	SYS_clock_getres, SYS_clock_nanosleep, SYS_nanosleep, SYS_gettimeofday, SYS_restart_syscall, SYS_getpid,
	SYS_getppid, SYS_gettid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_getrandom, SYS_uname,
	SYS_sysinfo OLDER};

#define ALLOWED (sizeof(allowed) / sizeof(allowed[0]))
#define DATA(member) ((unsigned)offsetof(struct seccomp_data, member))
#define STEP(code, value, yes, no)                                                                                     \
	(struct sock_filter)                                                                                           \
	{                                                                                                              \
		(code), (yes), (no), (value)                                                                           \
	}
#define LOAD(member) STEP(BPF_LD | BPF_W | BPF_ABS, DATA(member), 0, 0)
#define IS(value, yes, no) STEP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define RETURN(action) STEP(BPF_RET | BPF_K, action, 0, 0)

_Static_assert(ALLOWED < 250, "a jump reaches the end");

bool call_filter_set(void)
{
	const unsigned refuse = SECCOMP_RET_ERRNO | EPERM;
	struct sock_filter steps[ALLOWED + 12];
	struct sock_fprog program = {.filter = steps};
	unsigned at = 0;

	steps[at++] = LOAD(arch);
	steps[at++] = IS(ARCH, 1, 0);
	steps[at++] = RETURN(refuse);
	steps[at++] = LOAD(nr);
	for (size_t i = 0; i < ALLOWED; i++)
		steps[at++] = IS(allowed[i], (unsigned char)(ALLOWED - i + 3), 0);
	steps[at++] = IS(SYS_kill, 0, 2);
	steps[at++] = LOAD(args[1]);
	steps[at++] = IS(SIGKILL, 1, 0);
	steps[at++] = RETURN(refuse);
	steps[at++] = RETURN(SECCOMP_RET_ALLOW);
	program.len = (unsigned short)at;
	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
