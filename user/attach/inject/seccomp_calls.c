/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/inject/seccomp_calls.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define THREAD_FLAGS                                                                                                   \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |             \
	 CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID)

/* A filter may look at it, and a kernel that gets it starts no thread: do_arch_prctl_64() refuses the address. */
#define NO_TLS UINT64_MAX

const struct seccomp_call seccomp_calls[SECCOMP_CALLS + SECCOMP_JOIN_CALLS] = {
	{SYS_openat, {(uint64_t)-100, 0, 02000000}},
	{SYS_read, {3}},
	{SYS_pread64, {3}},
	{SYS_fstat, {3}},
	{SYS_newfstatat, {3}},
	{SYS_lseek, {3}},
	{SYS_close, {3}},
	{SYS_mmap, {0, 65536, PROT_READ | PROT_EXEC}},
	{SYS_mmap, {0, 8u << 20, PROT_NONE}},
	{SYS_mmap, {0, 65536, PROT_READ | PROT_WRITE}},
	{SYS_mprotect, {0, 4096, PROT_READ}},
	{SYS_mprotect, {0, 4096, PROT_READ | PROT_WRITE}},
	{SYS_munmap, {0}},
	{SYS_madvise, {0}},
	{SYS_brk, {0}},
	{SYS_clone, {THREAD_FLAGS, 0, 0, 0, NO_TLS}},
	{SYS_clone3, {0}},
	{SYS_set_robust_list, {0}},
	{SYS_rseq, {0}},
	{SYS_rt_sigprocmask, {0}},
	{SYS_rt_sigreturn, {0}},
	{SYS_futex, {0}},
	{SYS_tgkill, {0}},
	{SYS_getpid, {0}},
	{SYS_gettid, {0}},
	{SYS_prctl, {PR_SET_NAME}},
	{SYS_clock_nanosleep, {0}},
	{SYS_nanosleep, {0}},
	{SYS_clock_gettime, {0}},
	{SYS_getrandom, {0}},
	{SYS_exit, {0}},
	{SYS_prctl, {PR_GET_SECCOMP}},
	{SYS_prctl, {PR_GET_NO_NEW_PRIVS}},
	{SYS_geteuid, {0}},
	{SYS_setsockopt, {3, SOL_SOCKET, SO_SNDTIMEO}},
	{SYS_getsockopt, {3, SOL_SOCKET, SO_PEERCRED}},
	{SYS_connect, {3}},
	{SYS_sendto, {3, 0, 0, MSG_NOSIGNAL}},
	{SYS_recvmsg, {3, 0, MSG_CMSG_CLOEXEC}},
	{SYS_socket, {AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC}},
};
