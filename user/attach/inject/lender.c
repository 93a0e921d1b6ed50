/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The tracer's side of a loan (lend.h): starts a keeper, reads its answers, ends it; never waits long. */
#include "attach/inject/lend.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attach/inject/stop.h"
#include "attach/inject/read_only.h"
#include "target/process.h"

#define PATIENCE_MS 5000 /* a look-up through the borrower's root may take as long as its user likes */
#define HURRIED_MS 100	 /* when the tracer must end */
#define SLICE_MS 20

/* Uses system calls only, as there may be other threads. */
static void __attribute__((noreturn)) become_keeper(char *borrower, int fds[LEND_DESCRIPTORS])
{
	char *const argv[] = {(char *)INJECT_LENDER, borrower, NULL}, *const environment[] = {NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	for (int i = 0; i < LEND_SOCKET; i++)
		fds[i] = null;
	/* Moves them out of the way of their final numbers. */
	for (int i = LEND_SOCKET; i < LEND_DESCRIPTORS; i++)
		fds[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, LEND_DESCRIPTORS);
	for (int i = 0; i < LEND_DESCRIPTORS; i++)
		if (fds[i] < 0 || dup2(fds[i], i) < 0)
			_exit(127);
	syscall(SYS_close_range, LEND_DESCRIPTORS, ~0U, 0); /* Linux 5.9 */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve("/proc/self/exe", argv, environment);
	_exit(127);
}

static int explain(const struct lend_answer *answer, char *why, size_t why_size)
{
	static const char *const steps[] = {
		[LEND_PROCESS] = "no process can be started to lend it the agent's file",
		[LEND_NAMESPACE] = "its namespaces cannot be entered",
		[LEND_USER] = "its user's rights cannot be taken on",
		[LEND_OPEN] = "its user may not read the agent's file",
		[LEND_WRITABLE] = "its user might write to the agent's file, and that cannot be mounted read-only",
		[LEND_HIDE] = "the process that lends it the agent's file cannot be held",
		[LEND_PATH] = "it has no /proc of its own pid namespace, through which the agent would come",
	};
	bool known = answer->step > 0 && answer->step < (int)(sizeof(steps) / sizeof(steps[0]));

	if (answer->step == LEND_PATH)
		snprintf(why, why_size, "%s", steps[LEND_PATH]);
	else
		snprintf(why, why_size, "%s: %s", known ? steps[answer->step] : "the agent's file cannot be lent",
			 strerror(-answer->error));
	/* It may also have been killed while it was being seized. */
	if (answer->error == -EOWNERDEAD || (answer->step == LEND_HIDE && answer->error == -ESRCH)) {
		snprintf(why, why_size, "%s", LENDER_KILLED);
		return -EAGAIN;
	}
	return answer->error ? answer->error : -EPROTO;
}

static bool receive(const struct lender *lender, struct lend_answer *answer)
{
	struct pollfd socket = {.fd = lender->socket, .events = POLLIN};

	for (int waited = 0; waited < (stop_hurries() ? HURRIED_MS : PATIENCE_MS); waited += SLICE_MS)
		if (poll(&socket, 1, SLICE_MS) == 1)
			return recv(lender->socket, answer, sizeof(*answer), MSG_DONTWAIT) == sizeof(*answer);
	return false;
}

/* If it is not permitted, the keeper decides. */
static void greet(int socket)
{
	const struct ucred us = {.pid = LEND_GREETING_PID, .uid = getuid(), .gid = getgid()};
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(us))];
	} control = {
		.header = {.cmsg_len = CMSG_LEN(sizeof(us)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_CREDENTIALS}};
	char word = LEND_GREETING;
	struct iovec text = {.iov_base = &word, .iov_len = 1};
	const struct msghdr message = {.msg_iov = &text,
				       .msg_iovlen = 1,
				       .msg_control = control.bytes,
				       .msg_controllen = sizeof(control.bytes)};

	memcpy(CMSG_DATA(&control.header), &us, sizeof(us));
	(void)sendmsg(socket, &message, MSG_NOSIGNAL);
}

static int start_keeper(struct lender *lender, pid_t borrower, int file, int nowhere)
{
	int fds[LEND_DESCRIPTORS] = {[LEND_FILE] = file, [LEND_NOWHERE] = nowhere}, ends[2];
	char number[16];

	snprintf(number, sizeof(number), "%d", borrower);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	fds[LEND_SOCKET] = ends[1];
	lender->socket = ends[0];
	lender->pid = fork();
	if (!lender->pid)
		become_keeper(number, fds);
	close(ends[1]);
	if (lender->pid > 0)
		greet(lender->socket);
	return lender->pid < 0 ? -errno : 0;
}

static uint64_t read_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3] = {0};

	if (syscall(SYS_capget, &header, sets))
		return UINT64_MAX;
	return (uint64_t)sets[1].permitted << 32 | sets[0].permitted;
}

static bool same_user_namespace(pid_t borrower)
{
	struct stat own, its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/user", (int)process_thread(borrower));
	return !stat("/proc/self/ns/user", &own) && !stat(path, &its) && own.st_ino == its.st_ino &&
	       own.st_dev == its.st_dev;
}

/*
 * Whether the borrower may follow a path through gputrace's own folder in /proc: it has gputrace's ids, and every
 * capability of gputrace. Then it may also trace gputrace, and a lender would keep nothing from it.
 */
static bool may_follow(pid_t borrower)
{
	struct process_owner its;
	uid_t uids[3];
	gid_t gids[3];

	if (process_owner(borrower, &its) || !same_user_namespace(borrower) || read_capabilities() & ~its.effective ||
	    getresuid(&uids[0], &uids[1], &uids[2]) || getresgid(&gids[0], &gids[1], &gids[2]))
		return false;
	for (int i = 0; i < 3; i++)
		if (uids[i] != its.file_uid || gids[i] != its.file_gid)
			return false;
	return true;
}

/* A look-up through the borrower's root shows whether the borrower can reach the file. */
static int lend_without_lender(struct lender *lender, pid_t borrower, int file_fd, char *why, size_t why_size)
{
	struct stat reached, file;
	int error;
	char path[80];

	lender->own_file = fcntl(file_fd, F_DUPFD_CLOEXEC, lend_number());
	if (lender->own_file < 0) {
		error = -errno;
		snprintf(why, why_size, "the agent's file cannot be lent: %s", strerror(-error));
		return error;
	}
	snprintf(lender->path, sizeof(lender->path), "/proc/%d/fd/%d", (int)getpid(), lender->own_file);
	snprintf(path, sizeof(path), "/proc/%d/root%s", (int)process_thread(borrower), lender->path);
	if (!process_stat(borrower, path, &reached) && !fstat(lender->own_file, &file) &&
	    reached.st_ino == file.st_ino && reached.st_dev == file.st_dev)
		return 0;
	lender_stop(lender);
	snprintf(why, why_size,
		 "gputrace is not in its /proc, through which the agent would come: run gputrace in its "
		 "container");
	return -ENOTSUP;
}

static int lend_by_lender(struct lender *lender, pid_t borrower, int file_fd, char *why, size_t why_size)
{
	struct lend_answer answer = {.step = LEND_PROCESS};
	int nowhere, file;
	char path[32];

	nowhere = read_only_nowhere();
	if (nowhere < 0) {
		snprintf(why, why_size, "nothing can be mounted for the process that lends it the agent's file: %s",
			 strerror(-nowhere));
		return nowhere;
	}
	/* Opened without the right to read: the borrower opens it again, and its rights are checked then. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
	file = open(path, O_PATH | O_CLOEXEC);
	answer.error = file < 0 ? -errno : start_keeper(lender, borrower, file, nowhere);
	if (!answer.error && !receive(lender, &answer))
		answer.error = -ETIMEDOUT;
	close(nowhere);
	close(file);
	snprintf(lender->path, sizeof(lender->path), "/proc/%d/fd/%d", answer.pid, answer.number);
	if (!answer.error && answer.step == LEND_OK)
		return 0;
	lender_stop(lender);
	return explain(&answer, why, why_size);
}

/* A lender takes rights that a container lacks, even root there. */
int lender_start(struct lender *lender, pid_t borrower, int file_fd, char *why, size_t why_size)
{
	bool capable = read_capabilities();
	int error = 0;

	*lender = (struct lender){.socket = -1, .own_file = -1};
	if (capable)
		error = lend_by_lender(lender, borrower, file_fd, why, why_size);
	if (!capable || ((error == -EPERM || error == -EACCES) && may_follow(borrower)))
		error = lend_without_lender(lender, borrower, file_fd, why, why_size);
	return error;
}

static void say(const struct lender *lender, char word)
{
	if (lender->socket >= 0)
		(void)send(lender->socket, &word, 1, MSG_NOSIGNAL);
}

void lender_use(struct lender *lender)
{
	say(lender, LEND_USED);
}

int lender_stop(struct lender *lender)
{
	struct lend_answer end = {0};

	if (lender->socket >= 0) {
		say(lender, LEND_END);
		/* Its end also kills the lender: PTRACE_O_EXITKILL. */
		if (lender->pid > 0 && !receive(lender, &end))
			kill(lender->pid, SIGKILL);
		close(lender->socket);
	}
	if (lender->pid > 0)
		waitpid(lender->pid, NULL, 0);
	if (lender->own_file >= 0)
		close(lender->own_file);
	*lender = (struct lender){.socket = -1, .own_file = -1};
	return end.error;
}

void lender_leave(struct lender *lender)
{
	if (lender->socket >= 0)
		close(lender->socket);
	*lender = (struct lender){.socket = -1, .own_file = -1}; /* own_file stays open as long as gputrace runs */
}
