/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "capture/nvml_process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Compiled with the path of the program (Makefile). */
__asm__(".pushsection .rodata\n.globl nvml_program\nnvml_program:\n.incbin \"" NVML_PROGRAM
	"\"\n.globl nvml_program_end\nnvml_program_end:\n.popsection\n");
extern const char nvml_program[], nvml_program_end[];

#define END_WAIT_MS 100

#ifndef MFD_EXEC
#define MFD_EXEC 0x10u /* Linux 6.3 */
#endif

/* ---- which library ----------------------------------------------------------------------------------------------- */

#define LIBRARY "libnvidia-ml.so.1"
/* Where the loader need not look: distributions' folders, NixOS, and the folder of NVIDIA's driver container. */
#define FOLDERS(X)                                                                                                     \
	X("/usr/lib/x86_64-linux-gnu/")                                                                                \
	X("/usr/lib/aarch64-linux-gnu/")                                                                               \
	X("/usr/lib64/")                                                                                               \
	X("/usr/lib/wsl/lib/")                                                                                         \
	X("/run/opengl-driver/lib/")                                                                                   \
	X("/run/nvidia/driver/usr/lib/x86_64-linux-gnu/")                                                              \
	X("/run/nvidia/driver/usr/lib64/")

const char *const *nvml_libraries(void)
{
	static const char *const libraries[] = {
		LIBRARY,
#define PATH(folder) folder LIBRARY,
		FOLDERS(PATH)
#undef PATH
			NULL,
	};

	return libraries;
}

bool nvml_driver_loaded(void)
{
	return access("/proc/driver/nvidia", F_OK) == 0 || access("/dev/nvidiactl", F_OK) == 0 ||
	       access("/dev/dxg", F_OK) == 0; /* Windows' driver, in WSL */
}

/* ---- the process ------------------------------------------------------------------------------------------------- */

static int write_all(int fd, const char *bytes, size_t size)
{
	while (size) {
		ssize_t written = write(fd, bytes, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written ? -errno : -EIO;
		bytes += written;
		size -= (size_t)written;
	}
	return 0;
}

/*
 * A descriptor of the program, which nobody can change any more, nor read without CAP_DAC_OVERRIDE: a process that
 * executes what it cannot read is closed to ptrace(2) from its first instruction on.
 */
static int open_program(void)
{
	int fd = memfd_create("gputrace-nvml", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_EXEC), err;

	if (fd < 0 && errno == EINVAL) /* before Linux 6.3 all are executable */
		fd = memfd_create("gputrace-nvml", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	err = write_all(fd, nvml_program, (size_t)((uintptr_t)nvml_program_end - (uintptr_t)nvml_program));
	if (!err &&
	    (fchmod(fd, 0111) || fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/*
 * In the child.  All capabilities, for good: the program gains none when it is executed, also as root.  Before that it
 * is closed to ptrace(2): uid 0 of a container has no capability either, and must not get into it.
 */
static int drop_rights(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}, {0}};

	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_capset, &header, none))
		return -errno;
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return 0;
}

/* In the child, after a fork of a process with threads: only system calls. */
static _Noreturn void execute_program(int program, int socket, char *const *arguments, char *const *environment)
{
	sigset_t every;

	sigfillset(&every); /* Ctrl-C is for gputrace, which ends the program */
	sigprocmask(SIG_SETMASK, &every, NULL);
	/* The socket is 0, the program 1, which is closed when it is executed; the rest is closed now. */
	if (dup2(socket, 0) < 0)
		_exit(errno);
	if (program != 1 && dup2(program, 1) < 0)
		_exit(errno);
	if (syscall(SYS_close_range, 2u, ~0u, 0u))
		for (int fd = 2; fd < 1024; fd++)
			close(fd);
	(void)setpriority(PRIO_PROCESS, 0, 0); /* gputrace runs before the targets, which NVML is not to delay */
	if (fcntl(1, F_SETFD, FD_CLOEXEC) || drop_rights())
		_exit(errno);
	syscall(SYS_execveat, 1, "", arguments, environment, AT_EMPTY_PATH);
	_exit(errno);
}

/* Is reported where the program never ran: it says nothing then. */
static pid_t fork_program(int program, int socket, char *const *arguments, char *const *environment)
{
	pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L);

	if (!child)
		execute_program(program, socket, arguments, environment);
	return child < 0 ? -errno : child;
}

int nvml_process_start(const char *const *libraries, const char *library_path, struct nvml_process_of *process)
{
	char variable[PATH_MAX + 32] = "";
	char *environment[] = {NULL, NULL};
	const char *arguments[32] = {"gputrace-nvml"};
	int ends[2], program = open_program(), high = -1;
	pid_t child;

	*process = (struct nvml_process_of){.socket = -1};
	if (program < 0)
		return program;
	for (size_t i = 0; i + 2 < sizeof(arguments) / sizeof(*arguments) && libraries[i]; i++)
		arguments[i + 1] = libraries[i];
	if (library_path && strlen(library_path) < PATH_MAX) {
		snprintf(variable, sizeof(variable), "LD_LIBRARY_PATH=%s", library_path);
		environment[0] = variable;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
		close(program);
		return -errno;
	}
	/* Neither may be 0 or 1 in the child, where those numbers are taken. */
	high = fcntl(ends[1], F_DUPFD_CLOEXEC, 2);
	child = high < 0 ? -errno : fork_program(program, high, (char *const *)arguments, environment);
	close(program);
	close(ends[1]);
	if (high >= 0)
		close(high);
	if (child < 0) {
		close(ends[0]);
		return (int)child;
	}
	*process = (struct nvml_process_of){.pid = child, .socket = ends[0]};
	return 0;
}

int nvml_process_receive(const struct nvml_process_of *process, struct nvml_message *message)
{
	ssize_t got;

	if (process->socket < 0)
		return -EPIPE;
	got = recv(process->socket, message, sizeof(*message), MSG_DONTWAIT | MSG_TRUNC);
	if (got > 0 && got != (ssize_t)sizeof(*message))
		*message = (struct nvml_message){0};
	if (got > 0)
		return 1;
	return got < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -EPIPE;
}

void nvml_process_end(struct nvml_process_of *process)
{
	if (process->socket >= 0)
		close(process->socket);
	if (process->pid) {
		kill(process->pid, SIGKILL);
		for (int i = 0; i < END_WAIT_MS && waitpid(process->pid, NULL, WNOHANG) == 0; i++)
			nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	*process = (struct nvml_process_of){.socket = -1};
}
