/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The lender executes gputrace anew under another name, so that nothing of the tracer's memory or descriptors is in
 * a process that the borrower's user may look into.  It is two processes: the inner one in the borrower's pid
 * namespace has the file open; the outer one is its parent, or the namespace's init would get a child that it does
 * not know, and ends it even when its user has stopped it.  Both end when the tracer closes its end of the socket, as
 * it does when it is killed.
 */
#include "attach/inject_lend.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/inject.h"

#define SOCKET_FD 3
#define FILE_FD 4
/*
 * The loader takes two libraries of the same name for one: pids come round again, so the descriptor's number tells
 * two gputraces apart.
 */
#define NUMBER_FIRST 16
#define NUMBER_COUNT 900

enum lend_step {
	LEND_OK,
	LEND_NAMESPACE,
	LEND_USER,
	LEND_OPEN,
};

struct lend_answer {
	int32_t step; /* the one that failed: enum lend_step */
	int32_t error;
	int32_t pid; /* of the inner process in its pid namespace */
	int32_t number;
};

/* ---- the lender ------------------------------------------------------------------------------------------- */

static int enter_namespace(pid_t borrower, const char *name, int kind)
{
	char theirs[64], ours[64];
	struct stat a, b;
	int fd, error;

	snprintf(theirs, sizeof(theirs), "/proc/%d/ns/%s", borrower, name);
	snprintf(ours, sizeof(ours), "/proc/self/ns/%s", name);
	if (stat(theirs, &a) || stat(ours, &b))
		return -errno;
	if (a.st_ino == b.st_ino)
		return 0;
	fd = open(theirs, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	error = setns(fd, kind) ? -errno : 0;
	close(fd);
	return error;
}

/* Those with which it opens files, as numbers of our user namespace. */
static int read_ids(pid_t borrower, uid_t *uid, gid_t *gid)
{
	char path[64], line[256];
	bool have_uid = false, have_gid = false;
	FILE *status;

	snprintf(path, sizeof(path), "/proc/%d/status", borrower);
	status = fopen(path, "re");
	if (!status)
		return -errno;
	while (fgets(line, sizeof(line), status)) {
		have_uid |= sscanf(line, "Uid:\t%*u\t%*u\t%*u\t%u", uid) == 1;
		have_gid |= sscanf(line, "Gid:\t%*u\t%*u\t%*u\t%u", gid) == 1;
	}
	fclose(status);
	return have_uid && have_gid ? 0 : -EPROTO;
}

/* To be looked into by the borrower takes the same ids and no capability that it lacks: ptrace(2). */
static int become(pid_t borrower)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};
	uid_t uid = (uid_t)-1;
	gid_t gid = (gid_t)-1;
	int error = read_ids(borrower, &uid, &gid);

	if (error)
		return error;
	(void)setgroups(0, NULL); /* a user namespace may forbid it, and nothing depends on it */
	if (setresgid(gid, gid, gid) || setresuid(uid, uid, uid))
		return -errno;
	if (syscall(SYS_capset, &header, none) || prctl(PR_SET_DUMPABLE, 1))
		return -errno;
	return 0;
}

/* Whether it can be read with these ids, wherever it lies. */
static int try_open(int number)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", number);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

static void lend(pid_t borrower, struct lend_answer *answer)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	answer->pid = (int32_t)getpid();
	answer->number = NUMBER_FIRST + (int32_t)(now.tv_nsec / 1000 % NUMBER_COUNT);
	answer->step = LEND_NAMESPACE;
	answer->error = enter_namespace(borrower, "user", CLONE_NEWUSER);
	if (answer->error)
		return;
	answer->step = LEND_USER;
	answer->error = become(borrower);
	if (answer->error)
		return;
	answer->step = LEND_OPEN;
	if (dup2(FILE_FD, answer->number) < 0)
		answer->error = -errno;
	else
		answer->error = try_open(answer->number);
	close(FILE_FD);
	if (!answer->error)
		answer->step = LEND_OK;
}

static void wait_for_end(void)
{
	char byte;

	while (recv(SOCKET_FD, &byte, 1, 0) < 0 && errno == EINTR)
		;
}

static int answer_and_wait(const struct lend_answer *answer)
{
	if (send(SOCKET_FD, answer, sizeof(*answer), MSG_NOSIGNAL) == sizeof(*answer))
		wait_for_end();
	return 0;
}

int inject_lend_main(int argc, char **argv)
{
	pid_t borrower = argc == 2 ? (pid_t)strtol(argv[1], NULL, 10) : 0, inner;
	struct lend_answer answer = {.step = LEND_NAMESPACE};

	if (borrower <= 0)
		return 2;
	prctl(PR_SET_NAME, INJECT_LENDER);
	setsid(); /* Ctrl-C is not for us */
	answer.error = enter_namespace(borrower, "pid", CLONE_NEWPID);
	if (answer.error)
		return answer_and_wait(&answer);
	inner = fork();
	if (inner < 0) {
		answer.error = -errno;
		return answer_and_wait(&answer);
	}
	if (!inner) {
		lend(borrower, &answer);
		_exit(answer_and_wait(&answer));
	}
	close(FILE_FD);
	wait_for_end();
	kill(inner, SIGKILL);
	waitpid(inner, NULL, 0);
	return 0;
}

/* ---- the tracer's side -------------------------------------------------------------------------------------- */

static void __attribute__((noreturn)) become_lender(pid_t borrower, int socket, int file_fd)
{
	char number[16];
	char *const argv[] = {(char *)INJECT_LENDER, number, NULL}, *const environment[] = {NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	sigset_t none;

	/* Out of the way of the numbers they get. */
	socket = fcntl(socket, F_DUPFD_CLOEXEC, 16);
	file_fd = fcntl(file_fd, F_DUPFD_CLOEXEC, 16);
	if (null < 0 || socket < 0 || file_fd < 0)
		_exit(127);
	for (int i = 0; i < 3; i++)
		dup2(null, i);
	if (dup2(socket, SOCKET_FD) < 0 || dup2(file_fd, FILE_FD) < 0)
		_exit(127);
	syscall(SYS_close_range, FILE_FD + 1, ~0U, 0); /* Linux 5.9 */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	snprintf(number, sizeof(number), "%d", borrower);
	execve("/proc/self/exe", argv, environment);
	_exit(127);
}

static int explain(const struct lend_answer *answer, char *why, size_t why_size)
{
	static const char *const steps[] = {
		[LEND_NAMESPACE] = "its namespaces cannot be entered",
		[LEND_USER] = "its user's rights cannot be taken on",
		[LEND_OPEN] = "its user may not read the agent's file",
	};

	snprintf(why, why_size, "%s: %s",
		 answer->step > 0 && answer->step <= LEND_OPEN ? steps[answer->step]
							       : "the agent's file cannot be lent",
		 strerror(-answer->error));
	return answer->error ? answer->error : -EPROTO;
}

/* Looks through the borrower's root, as it will itself. */
static int check_path(const struct lender *lender, pid_t borrower, int file_fd, char *why, size_t why_size)
{
	char path[96];
	struct stat lent, file;

	snprintf(path, sizeof(path), "/proc/%d/root%s", borrower, lender->path);
	if (!stat(path, &lent) && !fstat(file_fd, &file) && lent.st_ino == file.st_ino && lent.st_dev == file.st_dev)
		return 0;
	snprintf(why, why_size, "it has no /proc of its own pid namespace, through which the agent would come");
	return -ENOTSUP;
}

int lender_start(struct lender *lender, pid_t borrower, int file_fd, char *why, size_t why_size)
{
	struct lend_answer answer = {.step = LEND_NAMESPACE};
	struct timeval patience = {.tv_sec = 5};
	int ends[2], error;

	lender->pid = 0;
	lender->socket = -1;
	snprintf(why, why_size, "no process can be started");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	lender->pid = fork();
	if (!lender->pid)
		become_lender(borrower, ends[1], file_fd);
	error = lender->pid < 0 ? -errno : 0;
	close(ends[1]);
	lender->socket = ends[0];
	if (error)
		goto cleanup;
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	answer.error = -EPROTO;
	if (recv(ends[0], &answer, sizeof(answer), 0) != sizeof(answer) || answer.step != LEND_OK) {
		error = explain(&answer, why, why_size);
		goto cleanup;
	}
	snprintf(lender->path, sizeof(lender->path), "/proc/%d/fd/%d", answer.pid, answer.number);
	error = check_path(lender, borrower, file_fd, why, why_size);
cleanup:
	if (error)
		lender_stop(lender);
	return error;
}

void lender_stop(struct lender *lender)
{
	if (lender->socket >= 0)
		close(lender->socket);
	if (lender->pid > 0)
		waitpid(lender->pid, NULL, 0);
	lender->socket = -1;
	lender->pid = 0;
}
