# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs a command under a seccomp filter like Docker's default.

docker_seccomp.py [--runtime] [--kill CALL] COMMAND [ARGUMENT...]
--runtime: without NoNewPrivs, as a runtime that has CAP_SYS_ADMIN.
--kill: kills a process that makes that call.
The numbers of calls are from the kernel's headers (x86-64).
"""

import ctypes
import os
import pathlib
import re
import struct
import sys

# The calls that Docker allows a container without capabilities on x86-64, with any arguments; clone3 returns ENOSYS,
# every other call EPERM: seccomp/default.json of github.com/moby/profiles.
ALLOWED = """
_llseek _newselect accept accept4 access adjtimex alarm arch_prctl bind brk cachestat capget capset chdir chmod chown
chown32 clock_adjtime clock_adjtime64 clock_getres clock_getres_time64 clock_gettime clock_gettime64 clock_nanosleep
clock_nanosleep_time64 clone close close_range connect copy_file_range creat dup dup2 dup3 epoll_create epoll_create1
epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old eventfd eventfd2 execve execveat exit
exit_group faccessat faccessat2 fadvise64 fadvise64_64 fallocate fanotify_mark fchdir fchmod fchmodat fchmodat2 fchown
fchown32 fchownat fcntl fcntl64 fdatasync fgetxattr flistxattr flock fork fremovexattr fsetxattr fstat fstat64
fstatat64 fstatfs fstatfs64 fsync ftruncate ftruncate64 futex futex_requeue futex_time64 futex_wait futex_waitv
futex_wake futimesat get_robust_list get_thread_area getcpu getcwd getdents getdents64 getegid getegid32 geteuid
geteuid32 getgid getgid32 getgroups getgroups32 getitimer getpeername getpgid getpgrp getpid getppid getpriority
getrandom getresgid getresgid32 getresuid getresuid32 getrlimit getrusage getsid getsockname getsockopt gettid
gettimeofday getuid getuid32 getxattr getxattrat inotify_add_watch inotify_init inotify_init1 inotify_rm_watch
io_cancel io_destroy io_getevents io_pgetevents io_pgetevents_time64 io_setup io_submit ioctl ioprio_get ioprio_set
ipc kill landlock_add_rule landlock_create_ruleset landlock_restrict_self lchown lchown32 lgetxattr link linkat listen
listmount listxattr listxattrat llistxattr lremovexattr lseek lsetxattr lstat lstat64 madvise map_shadow_stack
membarrier memfd_create memfd_secret mincore mkdir mkdirat mknod mknodat mlock mlock2 mlockall mmap mmap2 modify_ldt
mprotect mq_getsetattr mq_notify mq_open mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64
mq_unlink mremap mseal msgctl msgget msgrcv msgsnd msync munlock munlockall munmap name_to_handle_at nanosleep
newfstatat open openat openat2 pause personality pidfd_open pidfd_send_signal pipe pipe2 pkey_alloc pkey_free
pkey_mprotect poll ppoll ppoll_time64 prctl pread64 preadv preadv2 prlimit64 process_mrelease process_vm_readv
process_vm_writev pselect6 pselect6_time64 ptrace pwrite64 pwritev pwritev2 read readahead readlink readlinkat readv
recv recvfrom recvmmsg recvmmsg_time64 recvmsg remap_file_pages removexattr removexattrat rename renameat renameat2
restart_syscall riscv_hwprobe rmdir rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo rt_sigreturn
rt_sigsuspend rt_sigtimedwait rt_sigtimedwait_time64 rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min
sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval sched_rr_get_interval_time64
sched_setaffinity sched_setattr sched_setparam sched_setscheduler sched_yield seccomp select semctl semget semop
semtimedop semtimedop_time64 send sendfile sendfile64 sendmmsg sendmsg sendto set_robust_list set_thread_area
set_tid_address setfsgid setfsgid32 setfsuid setfsuid32 setgid setgid32 setgroups setgroups32 setitimer setpgid
setpriority setregid setregid32 setresgid setresgid32 setresuid setresuid32 setreuid setreuid32 setrlimit setsid
setsockopt setuid setuid32 setxattr setxattrat shmat shmctl shmdt shmget shutdown sigaltstack signalfd signalfd4
sigprocmask sigreturn socket socketcall socketpair splice stat stat64 statfs statfs64 statmount statx symlink
symlinkat sync sync_file_range syncfs sysinfo tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime
timer_gettime64 timer_settime timer_settime64 timerfd_create timerfd_gettime timerfd_gettime64 timerfd_settime
timerfd_settime64 times tkill truncate truncate64 ugetrlimit umask uname unlink unlinkat uretprobe utime utimensat
utimensat_time64 utimes vfork vmsplice wait4 waitid waitpid write writev
""".split()
HEADERS = ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "/usr/include/asm/unistd_64.h")
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, FILTER = 38, 22, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # BPF_LD | BPF_W | BPF_ABS, BPF_JMP | BPF_JEQ | BPF_K, BPF_RET | BPF_K
KILL, ALLOW, EPERM, ENOSYS = 0x80000000, 0x7fff0000, 0x00050001, 0x00050026  # SECCOMP_RET_*


def numbers():
    header = next(path for path in map(pathlib.Path, HEADERS) if path.exists()).read_text()
    return {name: int(number) for name, number in re.findall(r"#define __NR_(\w+) (\d+)", header)}


def program(killed):
    known = numbers()
    code = struct.pack("HBBI", LOAD, 0, 0, 0)  # seccomp_data.nr
    for name, answer in [*((name, KILL) for name in killed), *((name, ALLOW) for name in ALLOWED), ("clone3", ENOSYS)]:
        if name in known:
            code += struct.pack("HBBI", EQUAL, 0, 1, known[name]) + struct.pack("HBBI", RETURN, 0, 0, answer)
    return code + struct.pack("HBBI", RETURN, 0, 0, EPERM)


def run(*command):
    runtime = command[0] == "--runtime"
    command = command[runtime:]
    killed = command[1:2] if command[0] == "--kill" else ()
    command = command[2 * len(killed):]
    code = ctypes.create_string_buffer(program(killed))
    libc = ctypes.CDLL(None, use_errno=True)
    head = struct.pack("HxxxxxxQ", (len(code) - 1) // 8, ctypes.addressof(code))
    assert runtime or libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(PR_SET_SECCOMP, FILTER, head) == 0, os.strerror(ctypes.get_errno())
    os.execvp(command[0], command)


if __name__ == "__main__":
    run(*sys.argv[1:])
