/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The process that lends the agent's file, and its keeper. A process that may follow the path may do all else to the
 * lender that ptrace(2) allows, as that takes the same rights. So the lender contains nothing: its root is a file
 * system of its own, empty except for a program of one system call, its namespaces are the borrower's, its only
 * descriptor is the file on a read-only mount. And no one can make it do anything: it becomes visible by an execve, in
 * which its tracer, the keeper, stops it; a process has no second tracer. It can be killed, but its pid is not free
 * before gputrace allows it.
 *
 * The keeper has the tracer's rights, so that the borrower's user may not look into it. It is gputrace executed again,
 * with nothing of the tracer's memory or descriptors. It ends when the tracer says so or is gone.
 */
#include "attach/inject/lend.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attach/inject/read_only.h"
#include "target/process.h"

#define NUMBER_COUNT 900

/* How long a path that may still be used is kept after the tracer has gone, and how often that is checked. */
#define KEEP_S 600
#define LOOK_MS 100

#ifndef SYS_faccessat2
#define SYS_faccessat2 439 /* Linux 5.8 */
#endif

/* ---- the lender ------------------------------------------------------------------------------------------- */

struct loan {
	int borrower; /* descriptor of its folder in /proc */
	int go, done; /* pipes from and to the keeper */
};

static int enter_namespace(int borrower, int self, const char *name)
{
	char path[32];
	struct stat a, b;
	int fd, error;

	snprintf(path, sizeof(path), "ns/%s", name);
	/* A kernel may be too old for that namespace, or built without it. */
	if (fstatat(self, path, &b, 0) && errno == ENOENT)
		return 0;
	if (fstatat(borrower, path, &a, 0))
		return -errno;
	if (a.st_ino == b.st_ino && a.st_dev == b.st_dev)
		return 0;
	fd = openat(borrower, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	error = setns(fd, 0) ? -errno : 0;
	close(fd);
	return error;
}

/* Entering the mount namespace changes the root, entering the user namespace gives up the rights over the others. */
static int enter_namespaces(int borrower)
{
	static const char *const names[] = {"net", "ipc", "uts", "cgroup", "time", "mnt"};
	static const struct rlimit no_limit = {RLIM_INFINITY, RLIM_INFINITY};
	int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC), error = 0;

	if (self < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !error; i++)
		error = enter_namespace(borrower, self, names[i]);
	if (!error && (fchdir(LEND_NOWHERE) || chroot(".")))
		error = -errno;
	(void)setgroups(0, NULL); /* nothing depends on it */
	(void)setrlimit(RLIMIT_NPROC, &no_limit);
	if (!error)
		error = enter_namespace(borrower, self, "user");
	close(self);
	return error;
}

/* Reads the ids with which the borrower opens files, as numbers of gputrace's user namespace. */
static int read_ids(int borrower, uid_t *uid, gid_t *gid)
{
	bool have_uid = false, have_gid = false;
	int fd = openat(borrower, "status", O_RDONLY | O_CLOEXEC);
	FILE *status = fd < 0 ? NULL : fdopen(fd, "r");
	char line[256];

	if (!status)
		return -errno;
	while (fgets(line, sizeof(line), status)) {
		have_uid |= sscanf(line, "Uid:\t%*u\t%*u\t%*u\t%u", uid) == 1;
		have_gid |= sscanf(line, "Gid:\t%*u\t%*u\t%*u\t%u", gid) == 1;
	}
	fclose(status);
	return have_uid && have_gid ? 0 : -EPROTO;
}

/*
 * The borrower may only look into the lender if it has the same ids and every capability of the lender: ptrace(2).
 * Before the execve no process may; a change of ids would allow it where fs.suid_dumpable is 1.
 */
static int become(int borrower)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};
	uid_t uid = (uid_t)-1;
	gid_t gid = (gid_t)-1;
	int error = read_ids(borrower, &uid, &gid);

	if (error)
		return error;
	/* execve would give all of these to uid 0 */
	for (unsigned long capability = 0; !prctl(PR_CAPBSET_DROP, capability); capability++)
		;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || setresgid(gid, gid, gid) || setresuid(uid, uid, uid) ||
	    prctl(PR_SET_DUMPABLE, 0) || syscall(SYS_capset, &header, none))
		return -errno;
	return 0;
}

/* Checks access with the borrower's ids. */
static bool may(int how)
{
	return !syscall(SYS_faccessat2, LEND_FILE, "", how, AT_EMPTY_PATH | AT_EACCESS);
}

static int try_file(struct lend_answer *answer)
{
	struct stat file;

	answer->step = LEND_OPEN;
	if (fstat(LEND_FILE, &file) || !may(R_OK))
		return -errno;
	answer->step = LEND_WRITABLE;
	if (!read_only_is(LEND_FILE) && (file.st_uid == geteuid() || may(W_OK)))
		return -EROFS;
	return 0;
}

/* The execve closes every descriptor except the file. */
static int hide(int number)
{
	char *const argv[] = {(char *)READ_ONLY_PROGRAM, NULL}, *const environment[] = {NULL};

	if (dup2(LEND_FILE, number) < 0)
		return -errno;
	for (int i = 0; i < LEND_NUMBER_FIRST; i++)
		(void)fcntl(i, F_SETFD, FD_CLOEXEC);
	execve("/" READ_ONLY_PROGRAM, argv, environment);
	return -errno;
}

int lend_number(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return LEND_NUMBER_FIRST + (int)(now.tv_nsec / 1000 % NUMBER_COUNT);
}

static void lend(const struct loan *loan, struct lend_answer *answer)
{
	answer->pid = (int32_t)getpid();
	answer->number = lend_number();
	answer->step = LEND_NAMESPACE;
	answer->error = enter_namespaces(loan->borrower);
	if (answer->error)
		return;
	answer->step = LEND_USER;
	answer->error = become(loan->borrower);
	if (!answer->error)
		answer->error = try_file(answer);
	if (answer->error)
		return;
	answer->step = LEND_OK; /* read once the lender has stopped after the execve */
	(void)!write(loan->done, answer, sizeof(*answer));
	answer->step = LEND_HIDE;
	answer->error = hide(answer->number);
}

static void __attribute__((noreturn)) lender_main(const struct loan *loan)
{
	struct lend_answer answer = {0};
	char byte;

	if (read(loan->go, &byte, 1) == 1) {
		lend(loan, &answer);
		(void)!write(loan->done, &answer, sizeof(answer));
	}
	_exit(0);
}

/* ---- its keeper ----------------------------------------------------------------------------------------------- */

/* Waits until the lender has stopped at the end of its execve, where it stays; false: it has ended. */
static bool wait_hidden(pid_t lender)
{
	int status;

	for (;;) {
		if (waitpid(lender, &status, __WALL) != lender) {
			if (errno == EINTR)
				continue;
			return false;
		}
		if (!WIFSTOPPED(status))
			return false;
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			return true;
		/* Signals from the borrower's user are dropped. */
		ptrace(PTRACE_CONT, lender, NULL, NULL);
	}
}

/* Looks up the path through the borrower's root, as the borrower will. */
static int check_path(int borrower, const struct lend_answer *answer)
{
	struct stat lent, file;
	char path[64];

	snprintf(path, sizeof(path), "root/proc/%d/fd/%d", answer->pid, answer->number);
	if (!fstatat(borrower, path, &lent, 0) && !fstat(LEND_FILE, &file) && lent.st_ino == file.st_ino &&
	    lent.st_dev == file.st_dev)
		return 0;
	return -ENOTSUP;
}

/* Reads the last answer: a failed execve comes after a good one. */
static void hear(int done, struct lend_answer *answer)
{
	struct pollfd pipe = {.fd = done, .events = POLLIN};

	while (poll(&pipe, 1, 0) == 1 && read(done, answer, sizeof(*answer)) == sizeof(*answer))
		;
}

/* Whether the lender is still stopped there: a killed one is not, and loses its files before it dies. */
static bool is_held(pid_t lender)
{
	unsigned long message;

	return !ptrace(PTRACE_GETEVENTMSG, lender, NULL, &message);
}

/* Returns the lender's pid, 0 if it could not be created, with the reason in the answer. */
static pid_t make_lender(int borrower, struct lend_answer *answer)
{
	int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC), go[2], done[2];
	pid_t lender;

	answer->step = LEND_NAMESPACE;
	answer->error = self < 0 ? -errno : enter_namespace(borrower, self, "pid");
	close(self);
	if (answer->error)
		return 0;
	answer->step = LEND_PROCESS;
	lender = pipe2(go, O_CLOEXEC) || pipe2(done, O_CLOEXEC) ? -1 : fork();
	if (lender < 0) {
		answer->error = -errno;
		return 0;
	}
	if (!lender) {
		close(go[1]);
		lender_main(&(struct loan){.borrower = borrower, .go = go[0], .done = done[1]});
	}
	close(go[0]);
	close(done[1]);
	if (ptrace(PTRACE_SEIZE, lender, NULL, (void *)(PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC))) {
		answer->step = LEND_HIDE;
		answer->error = -errno;
	} else if (write(go[1], "", 1) != 1 || !wait_hidden(lender)) {
		hear(done[0], answer);
		if (!answer->error)
			*answer = (struct lend_answer){.step = LEND_PROCESS, .error = -EOWNERDEAD};
	} else {
		hear(done[0], answer);
		if (check_path(borrower, answer))
			*answer = (struct lend_answer){.step = LEND_PATH,
						       .error = is_held(lender) ? -ENOTSUP : -EOWNERDEAD};
	}
	close(go[1]);
	close(done[0]);
	return lender;
}

/* True if the file is mapped, or the process has ended. */
static bool is_settled(pid_t borrower, int borrower_folder)
{
	return faccessat(borrower_folder, "maps", F_OK, 0) || process_maps_file(borrower, LEND_FILE);
}

/* Keeps the lender when the tracer has gone without a message. */
static void keep_for_borrower(pid_t borrower, int borrower_folder)
{
	for (int i = 0; i < KEEP_S * 1000 / LOOK_MS && !is_settled(borrower, borrower_folder); i++)
		poll(NULL, 0, LOOK_MS);
}

static void keep(pid_t lender, pid_t borrower, int borrower_folder)
{
	struct lend_answer end = {.step = LEND_OK};
	bool used = false;
	char word = 0;

	for (;;) {
		ssize_t got = recv(LEND_SOCKET, &word, 1, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got != 1)
			break;
		if (word == LEND_END) {
			end.error = is_held(lender) ? 0 : -EOWNERDEAD;
			(void)send(LEND_SOCKET, &end, sizeof(end), MSG_NOSIGNAL);
			return;
		}
		used |= word == LEND_USED;
	}
	if (used)
		keep_for_borrower(borrower, borrower_folder);
}

static void end_lender(pid_t lender)
{
	int status;

	/*
	 * The lender has another user's ids: kill(2) needs CAP_KILL. Before Linux 5.19 PTRACE_KILL only lets it
	 * continue, to its end.
	 */
	do
		if (kill(lender, SIGKILL))
			ptrace(PTRACE_KILL, lender, NULL, NULL);
	while (waitpid(lender, &status, __WALL) == lender && WIFSTOPPED(status));
}

/* Whether a gputrace with the same rights has started this: a caller with fewer rights is refused. */
static bool is_for_gputrace(void)
{
	char word = 0, control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec text = {.iov_base = &word, .iov_len = 1};
	struct msghdr message = {
		.msg_iov = &text, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control)};
	struct cmsghdr *header;
	struct ucred from;
	int on = 1;

	if (!geteuid() || !getauxval(AT_SECURE))
		return true;
	if (setsockopt(LEND_SOCKET, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	    recvmsg(LEND_SOCKET, &message, MSG_CMSG_CLOEXEC) != 1 || word != LEND_GREETING)
		return false;
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS ||
	    header->cmsg_len != CMSG_LEN(sizeof(from)))
		return false;
	memcpy(&from, CMSG_DATA(header), sizeof(from));
	return from.pid == LEND_GREETING_PID && from.uid == getuid() && process_in_initial_pid_namespace();
}

int inject_lend_main(int argc, char **argv)
{
	struct lend_answer answer = {.step = LEND_PROCESS};
	pid_t borrower = argc == 2 ? (pid_t)strtol(argv[1], NULL, 10) : 0, lender = 0;
	char path[32];
	int folder;

	if (borrower <= 0 || !is_for_gputrace())
		return 2;
	prctl(PR_SET_NAME, INJECT_LENDER);
	setsid(); /* Ctrl-C must not reach the keeper */
	snprintf(path, sizeof(path), "/proc/%d", process_thread(borrower));
	folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	answer.error = folder < 0 ? -ESRCH : 0;
	if (!answer.error)
		lender = make_lender(folder, &answer);
	if (send(LEND_SOCKET, &answer, sizeof(answer), MSG_NOSIGNAL) == sizeof(answer))
		keep(lender, borrower, folder);
	if (lender > 0)
		end_lender(lender);
	return 0;
}
