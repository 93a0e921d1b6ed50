/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tracer's side of a request (file_server.h): starts a parent, reads its answers, ends it; never waits long. */
#include "attach/inject/file_server.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/inject/stop.h"
#include "attach/inject/read_only.h"
#include "base/array.h"
#include "base/monotonic.h"
#include "target/process.h"

#define PATIENCE_MS 5000 /* a look-up through the target's root may take as long as its user likes */
#define HURRIED_MS 100	 /* when the tracer must end */
#define SLICE_MS 20

static unsigned patience_ms(void)
{
	return stop_hurries() ? HURRIED_MS : PATIENCE_MS;
}

/* Uses system calls only, as there may be other threads. */
static void __attribute__((noreturn)) become_parent(char *target, int fds[SERVE_DESCRIPTORS])
{
	char *const argv[] = {(char *)INJECT_FILE_SERVER, target, NULL}, *const environment[] = {NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	for (int i = 0; i < SERVE_SOCKET; i++)
		fds[i] = null;
	/* Moves them out of the way of their final numbers. */
	for (int i = SERVE_SOCKET; i < SERVE_DESCRIPTORS; i++)
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, SERVE_DESCRIPTORS);
	for (int i = 0; i < SERVE_DESCRIPTORS; i++)
		if (fds[i] < 0 || dup2(fds[i], i) < 0)
			_exit(127);
	syscall(SYS_close_range, SERVE_DESCRIPTORS, ~0U, 0); /* Linux 5.9 */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve("/proc/self/exe", argv, environment);
	_exit(127);
}

static int explain_answer(const struct file_server_answer *answer, char *why, size_t why_size)
{
	static const char *const steps[] = {
		[SERVE_PROCESS] = "no process can be started to serve it the agent's file",
		[SERVE_NAMESPACE] = "its namespaces cannot be entered",
		[SERVE_USER] = "its user's rights cannot be taken on",
		[SERVE_OPEN] = "its user may not read the agent's file",
		[SERVE_WRITABLE] = "its user might write to the agent's file, and that cannot be mounted read-only",
		[SERVE_HIDE] = "the process that serves it the agent's file cannot be held",
		[SERVE_PATH] = "it has no /proc of its own pid namespace, through which the agent would come",
	};
	bool known = answer->step > 0 && answer->step < (int)(sizeof(steps) / sizeof(steps[0]));

	if (answer->step == SERVE_PATH)
		snprintf(why, why_size, "%s", steps[SERVE_PATH]);
	else
		snprintf(why, why_size, "%s: %s", known ? steps[answer->step] : "the agent's file cannot be served",
			 strerror(-answer->error));
	/* It may also have been killed while it was being seized. */
	if (answer->error == -EOWNERDEAD || (answer->step == SERVE_HIDE && answer->error == -ESRCH)) {
		snprintf(why, why_size, "%s", FILE_SERVER_KILLED);
		return -EAGAIN;
	}
	return answer->error ? answer->error : -EPROTO;
}

/* Whether the parent, or the file server that it waits for, is only waiting for a processor. */
static bool is_runnable(pid_t parent)
{
	char name[48], children[32] = "";

	if (process_state(parent) == 'R')
		return true;
	snprintf(name, sizeof(name), "task/%d/children", (int)parent);
	return process_read_file(parent, name, children, sizeof(children)) > 0 &&
	       process_state((pid_t)strtol(children, NULL, 10)) == 'R';
}

/*
 * 0; -EPIPE: the parent has ended; -EAGAIN: it mostly got no processor, and may be in time at the next try;
 * -ETIMEDOUT: something else keeps it, as a root that does not answer, and would again.
 */
static int receive_answer(const struct file_server *file_server, struct file_server_answer *answer)
{
	struct pollfd socket = {.fd = file_server->socket, .events = POLLIN};
	uint64_t start_ns = monotonic_ns();
	unsigned looks, runnable = 0;

	for (looks = 0; monotonic_ns() - start_ns < patience_ms() * 1000000ULL; looks++) {
		if (poll(&socket, 1, SLICE_MS) == 1)
			return recv(file_server->socket, answer, sizeof(*answer), MSG_DONTWAIT) == sizeof(*answer)
				       ? 0
				       : -EPIPE;
		runnable += is_runnable(file_server->pid);
	}
	return runnable > looks / 2 ? -EAGAIN : -ETIMEDOUT;
}

/* ---- parents that do not end ------------------------------------------------------------------------------------- */

static struct {
	pthread_mutex_t lock;
	ARRAY(pid_t) list;
} left = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void reap_left(void)
{
	size_t kept = 0;

	pthread_mutex_lock(&left.lock);
	for (size_t i = 0; i < left.list.count; i++)
		if (!waitpid(left.list.items[i], NULL, WNOHANG))
			left.list.items[kept++] = left.list.items[i];
	left.list.count = kept;
	pthread_mutex_unlock(&left.lock);
}

/* Not even SIGKILL ends one that waits for a root which does not answer: such a one is left, and reaped later. */
static void reap_parent(pid_t pid)
{
	struct pollfd end = {.fd = (int)syscall(SYS_pidfd_open, pid, 0), .events = POLLIN}; /* Linux 5.3 */

	(void)poll(&end, 1, (int)patience_ms());
	if (end.fd >= 0)
		close(end.fd);
	if (waitpid(pid, NULL, WNOHANG))
		return;
	pthread_mutex_lock(&left.lock);
	array_push(&left.list, pid);
	pthread_mutex_unlock(&left.lock);
}

/* If it is not permitted, the parent decides. */
static void send_hello(int socket)
{
	const struct ucred us = {.pid = SERVE_GREETING_PID, .uid = getuid(), .gid = getgid()};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(us))];
	} control = {
		.header = {.cmsg_len = CMSG_LEN(sizeof(us)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_CREDENTIALS}};
	char word = SERVE_GREETING;
	struct iovec text = {.iov_base = &word, .iov_len = 1};
	const struct msghdr message = {.msg_iov = &text,
				       .msg_iovlen = 1,
				       .msg_control = control.bytes,
				       .msg_controllen = sizeof(control.bytes)};

	memcpy(CMSG_DATA(&control.header), &us, sizeof(us));
	(void)sendmsg(socket, &message, MSG_NOSIGNAL);
}

static int start_parent(struct file_server *file_server, pid_t target, int file, int nowhere)
{
	int fds[SERVE_DESCRIPTORS] = {[SERVE_FILE] = file, [SERVE_NOWHERE] = nowhere}, ends[2];
	char number[16];

	snprintf(number, sizeof(number), "%d", target);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	fds[SERVE_SOCKET] = ends[1];
	file_server->socket = ends[0];
	file_server->pid = fork();
	if (!file_server->pid)
		become_parent(number, fds);
	close(ends[1]);
	if (file_server->pid > 0)
		send_hello(file_server->socket);
	return file_server->pid < 0 ? -errno : 0;
}

static uint64_t read_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, sets))
		return UINT64_MAX;
	return (uint64_t)sets[1].permitted << 32 | sets[0].permitted;
}

static bool same_user_namespace(pid_t target)
{
	struct stat own, its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)process_thread(target));
	return !stat("/proc/self/ns/user", &own) && !stat(path, &its) && own.st_ino == its.st_ino &&
	       own.st_dev == its.st_dev;
}

/*
 * Whether the target may follow a path through gputrace's own folder in /proc: it has gputrace's ids, and every
 * capability of gputrace. Then it may also trace gputrace, and a file server would keep nothing from it.
 */
static bool may_follow(pid_t target)
{
	struct process_owner its;
	uid_t uids[3];
	gid_t gids[3];

	if (process_owner(target, &its) || !same_user_namespace(target) || read_capabilities() & ~its.effective ||
	    getresuid(&uids[0], &uids[1], &uids[2]) || getresgid(&gids[0], &gids[1], &gids[2]))
		return false;
	return !any_of(3, i, uids[i] != its.file_uid || gids[i] != its.file_gid);
}

/* A look-up through the target's root shows whether the target can reach the file. */
static int serve_by_own_descriptor(struct file_server *file_server, pid_t target, int file_fd, char *why,
				   size_t why_size)
{
	struct stat reached, file;
	int error;
	char path[80];

	file_server->own_file = fcntl(file_fd, F_DUPFD_CLOEXEC, file_server_number());
	if (file_server->own_file < 0) {
		error = -errno;
		snprintf(why, why_size, "the agent's file cannot be served: %s", strerror(-error));
		return error;
	}
	snprintf(file_server->path, sizeof(file_server->path), "/proc/%d/fd/%d", (int)getpid(), file_server->own_file);
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)process_thread(target), file_server->path);
	if (!process_stat(target, path, &reached) && !fstat(file_server->own_file, &file) &&
	    reached.st_ino == file.st_ino && reached.st_dev == file.st_dev)
		return 0;
	file_server_stop(file_server);
	snprintf(why, why_size,
		 "gputrace is not in its /proc, through which the agent would come: run gputrace in its "
		 "container");
	return -ENOTSUP;
}

/* A parent that did not answer: it gets no more time for its end.  error: of receive_answer. */
static int end_silent(struct file_server *file_server, int error, char *why, size_t why_size)
{
	if (error == -EAGAIN)
		snprintf(why, why_size, "the process that serves it the agent's file gets no processor");
	else if (error == -ETIMEDOUT)
		snprintf(why, why_size,
			 "the process that serves it the agent's file does not answer: its root may be on a file "
			 "system that hangs");
	else
		snprintf(why, why_size, "the process that serves it the agent's file ended before it answered");
	kill(file_server->pid, SIGKILL);
	close(file_server->socket);
	file_server->socket = -1;
	file_server_stop(file_server);
	return error;
}

static int serve_by_process(struct file_server *file_server, pid_t target, int file_fd, char *why, size_t why_size)
{
	struct file_server_answer answer = {.step = SERVE_PROCESS};
	int nowhere, file, silent = 0;
	char path[32];

	nowhere = read_only_nowhere();
	if (nowhere < 0) {
		snprintf(why, why_size, "nothing can be mounted for the process that serves it the agent's file: %s",
			 strerror(-nowhere));
		return nowhere;
	}
	/* Opened without the right to read: the target opens it again, and its rights are checked then. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
	file = open(path, O_PATH | O_CLOEXEC);
	answer.error = file < 0 ? -errno : start_parent(file_server, target, file, nowhere);
	if (!answer.error)
		silent = receive_answer(file_server, &answer);
	close(nowhere);
	close(file);
	if (silent)
		return end_silent(file_server, silent, why, why_size);
	snprintf(file_server->path, sizeof(file_server->path), "/proc/%d/fd/%d", answer.pid, answer.number);
	if (!answer.error && answer.step == SERVE_OK)
		return 0;
	file_server_stop(file_server);
	return explain_answer(&answer, why, why_size);
}

/* A file server takes rights that a container lacks, even root there. */
int file_server_start(struct file_server *file_server, pid_t target, int file_fd, char *why, size_t why_size)
{
	bool capable = read_capabilities();
	int error = 0;

	*file_server = (struct file_server){.socket = -1, .own_file = -1};
	reap_left();
	if (capable)
		error = serve_by_process(file_server, target, file_fd, why, why_size);
	if (!capable || ((error == -EPERM || error == -EACCES) && may_follow(target)))
		error = serve_by_own_descriptor(file_server, target, file_fd, why, why_size);
	return error;
}

static void send_word(const struct file_server *file_server, char word)
{
	if (file_server->socket >= 0)
		(void)send(file_server->socket, &word, 1, MSG_NOSIGNAL);
}

void file_server_use(struct file_server *file_server)
{
	send_word(file_server, SERVE_USED);
}

int file_server_stop(struct file_server *file_server)
{
	struct file_server_answer end = {0};

	if (file_server->socket >= 0) {
		send_word(file_server, SERVE_END);
		/* Its end also kills the file server: PTRACE_O_EXITKILL. */
		if (file_server->pid > 0 && receive_answer(file_server, &end))
			kill(file_server->pid, SIGKILL);
		close(file_server->socket);
	}
	if (file_server->pid > 0)
		reap_parent(file_server->pid);
	if (file_server->own_file >= 0)
		close(file_server->own_file);
	*file_server = (struct file_server){.socket = -1, .own_file = -1};
	return end.error;
}

void file_server_leave(struct file_server *file_server)
{
	if (file_server->socket >= 0)
		close(file_server->socket);
	*file_server =
		(struct file_server){.socket = -1, .own_file = -1}; /* own_file stays open as long as gputrace runs */
}
