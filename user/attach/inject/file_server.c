/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The process that serves the agent's file, and its tracer. A process that may follow the path may do all else to the
 * file server that ptrace(2) allows, as that takes the same rights. So the file server contains nothing: its root is a
 * file system of its own, empty except for a program of one system call, its namespaces are the target's, its only
 * descriptor is the file on a read-only mount. And no one can make it do anything: it becomes visible by an execve, in
 * which its tracer, the parent, stops it; a process has no second tracer. It can be killed, but its pid is not free
 * before gputrace allows it.
 *
 * The parent has the tracer's rights, so that the target's user may not look into it. It is gputrace executed again,
 * with nothing of the tracer's memory or descriptors. It ends when the tracer says so or is gone.
 */
#include "attach/inject/file_server.h"

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

/* ---- the file server ------------------------------------------------------------------------------------------- */

struct request {
	int target;   /* descriptor of its folder in /proc */
	int go, done; /* pipes from and to the parent */
};

static int enter_namespace(int target, int self, const char *name)
{
	char path[32];
	struct stat a, b;
	int fd, error;

	snprintf(path, sizeof(path), "ns/%s", name);
	/* A kernel may be too old for that namespace, or built without it. */
	if (fstatat(self, path, &b, 0) && errno == ENOENT)
		return 0;
	if (fstatat(target, path, &a, 0))
		return -errno;
	if (a.st_ino == b.st_ino && a.st_dev == b.st_dev)
		return 0;
	fd = openat(target, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	error = setns(fd, 0) ? -errno : 0;
	close(fd);
	return error;
}

/* Entering the mount namespace changes the root, entering the user namespace gives up the rights over the others. */
static int enter_namespaces(int target)
{
	static const char *const names[] = {"net", "ipc", "uts", "cgroup", "time", "mnt"};
	static const struct rlimit no_limit = {RLIM_INFINITY, RLIM_INFINITY};
	int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC), error = 0;

	if (self < 0)
		return -errno;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !error; i++)
		error = enter_namespace(target, self, names[i]);
	if (!error && (fchdir(SERVE_NOWHERE) || chroot(".")))
		error = -errno;
	(void)setgroups(0, NULL); /* nothing depends on it */
	(void)setrlimit(RLIMIT_NPROC, &no_limit);
	if (!error)
		error = enter_namespace(target, self, "user");
	close(self);
	return error;
}

/* Reads the ids with which the target opens files, as numbers of gputrace's user namespace. */
static int read_ids(int target, uid_t *uid, gid_t *gid)
{
	bool have_uid = false, have_gid = false;
	int fd = openat(target, "status", O_RDONLY | O_CLOEXEC);
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
 * The target may only look into the file server if it has the same ids and every capability of the file server:
 * ptrace(2). Before the execve no process may; a change of ids would allow it where fs.suid_dumpable is 1.
 */
static int take_on_ids(int target)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {0};
	uid_t uid = (uid_t)-1;
	gid_t gid = (gid_t)-1;
	int error = read_ids(target, &uid, &gid);

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

/* Checks access with the target's ids. */
static bool may_access(int how)
{
	return !syscall(SYS_faccessat2, SERVE_FILE, "", how, AT_EMPTY_PATH | AT_EACCESS);
}

static int try_file(struct file_server_answer *answer)
{
	struct stat file;

	answer->step = SERVE_OPEN;
	if (fstat(SERVE_FILE, &file) || !may_access(R_OK))
		return -errno;
	answer->step = SERVE_WRITABLE;
	if (!read_only_is(SERVE_FILE) && (file.st_uid == geteuid() || may_access(W_OK)))
		return -EROFS;
	return 0;
}

/* The execve closes every descriptor except the file. */
static int execute_nothing(int number)
{
	char *const argv[] = {(char *)READ_ONLY_PROGRAM, NULL}, *const environment[] = {NULL};

	if (dup2(SERVE_FILE, number) < 0)
		return -errno;
	for (int i = 0; i < SERVE_NUMBER_FIRST; i++)
		(void)fcntl(i, F_SETFD, FD_CLOEXEC);
	execve("/" READ_ONLY_PROGRAM, argv, environment);
	return -errno;
}

int file_server_number(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return SERVE_NUMBER_FIRST + (int)(now.tv_nsec / 1000 % NUMBER_COUNT);
}

static void serve_file(const struct request *request, struct file_server_answer *answer)
{
	answer->pid = (int32_t)getpid();
	answer->number = file_server_number();
	answer->step = SERVE_NAMESPACE;
	answer->error = enter_namespaces(request->target);
	if (answer->error)
		return;
	answer->step = SERVE_USER;
	answer->error = take_on_ids(request->target);
	if (!answer->error)
		answer->error = try_file(answer);
	if (answer->error)
		return;
	answer->step = SERVE_OK; /* read once the file server has stopped after the execve */
	(void)!write(request->done, answer, sizeof(*answer));
	answer->step = SERVE_HIDE;
	answer->error = execute_nothing(answer->number);
}

static void __attribute__((noreturn)) file_server_main(const struct request *request)
{
	struct file_server_answer answer = {0};
	char byte;

	if (read(request->go, &byte, 1) == 1) {
		serve_file(request, &answer);
		(void)!write(request->done, &answer, sizeof(answer));
	}
	_exit(0);
}

/* ---- its parent ----------------------------------------------------------------------------------------------- */

/* Waits until the file server has stopped at the end of its execve, where it stays; false: it has ended. */
static bool wait_hidden(pid_t file_server)
{
	int status;

	for (;;) {
		if (waitpid(file_server, &status, __WALL) != file_server) {
			if (errno == EINTR)
				continue;
			return false;
		}
		if (!WIFSTOPPED(status))
			return false;
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
			return true;
		/* Signals from the target's user are dropped. */
		ptrace(PTRACE_CONT, file_server, NULL, NULL);
	}
}

/* Looks up the path through the target's root, as the target will. */
static int check_path(int target, const struct file_server_answer *answer)
{
	struct stat served, file;
	char path[64];

	snprintf(path, sizeof(path), "root/proc/%d/fd/%d", answer->pid, answer->number);
	if (!fstatat(target, path, &served, 0) && !fstat(SERVE_FILE, &file) && served.st_ino == file.st_ino &&
	    served.st_dev == file.st_dev)
		return 0;
	return -ENOTSUP;
}

/* Reads the last answer: a failed execve comes after a good one. */
static void receive_answer(int done, struct file_server_answer *answer)
{
	struct pollfd pipe = {.fd = done, .events = POLLIN};

	while (poll(&pipe, 1, 0) == 1 && read(done, answer, sizeof(*answer)) == sizeof(*answer))
		;
}

/* Whether the file server is still stopped there: a killed one is not, and loses its files before it dies. */
static bool is_stopped(pid_t file_server)
{
	unsigned long message;

	return !ptrace(PTRACE_GETEVENTMSG, file_server, NULL, &message);
}

/* Returns the file server's pid, 0 if it could not be created, with the reason in the answer. */
static pid_t start_server(int target, struct file_server_answer *answer)
{
	int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC), go[2], done[2];
	pid_t file_server;

	answer->step = SERVE_NAMESPACE;
	answer->error = self < 0 ? -errno : enter_namespace(target, self, "pid");
	close(self);
	if (answer->error)
		return 0;
	answer->step = SERVE_PROCESS;
	file_server = pipe2(go, O_CLOEXEC) || pipe2(done, O_CLOEXEC) ? -1 : fork();
	if (file_server < 0) {
		answer->error = -errno;
		return 0;
	}
	if (!file_server) {
		close(go[1]);
		file_server_main(&(struct request){.target = target, .go = go[0], .done = done[1]});
	}
	close(go[0]);
	close(done[1]);
	if (ptrace(PTRACE_SEIZE, file_server, NULL, (void *)(PTRACE_O_EXITKILL | PTRACE_O_TRACEEXEC))) {
		answer->step = SERVE_HIDE;
		answer->error = -errno;
	} else if (write(go[1], "", 1) != 1 || !wait_hidden(file_server)) {
		receive_answer(done[0], answer);
		if (!answer->error)
			*answer = (struct file_server_answer){.step = SERVE_PROCESS, .error = -EOWNERDEAD};
	} else {
		receive_answer(done[0], answer);
		if (check_path(target, answer))
			*answer = (struct file_server_answer){
				.step = SERVE_PATH, .error = is_stopped(file_server) ? -ENOTSUP : -EOWNERDEAD};
	}
	close(go[1]);
	close(done[0]);
	return file_server;
}

/* True if the file is mapped, or the process has ended. */
static bool is_settled(pid_t target, int target_folder)
{
	return faccessat(target_folder, "maps", F_OK, 0) || process_maps_file(target, SERVE_FILE);
}

/* Keeps the file server when the tracer has gone without a message. */
static void keep_for_target(pid_t target, int target_folder)
{
	for (int i = 0; i < KEEP_S * 1000 / LOOK_MS && !is_settled(target, target_folder); i++)
		poll(NULL, 0, LOOK_MS);
}

static void serve_until_used(pid_t file_server, pid_t target, int target_folder)
{
	struct file_server_answer end = {.step = SERVE_OK};
	bool used = false;
	char word = 0;

	for (;;) {
		ssize_t got = recv(SERVE_SOCKET, &word, 1, 0);

		if (got < 0 && errno == EINTR)
			continue;
		if (got != 1)
			break;
		if (word == SERVE_END) {
			end.error = is_stopped(file_server) ? 0 : -EOWNERDEAD;
			(void)send(SERVE_SOCKET, &end, sizeof(end), MSG_NOSIGNAL);
			return;
		}
		used |= word == SERVE_USED;
	}
	if (used)
		keep_for_target(target, target_folder);
}

static void end_server(pid_t file_server)
{
	int status;

	/*
	 * The file server has another user's ids: kill(2) needs CAP_KILL. Before Linux 5.19 PTRACE_KILL only lets it
	 * continue, to its end.
	 */
	do
		if (kill(file_server, SIGKILL))
			ptrace(PTRACE_KILL, file_server, NULL, NULL);
	while (waitpid(file_server, &status, __WALL) == file_server && WIFSTOPPED(status));
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
	if (setsockopt(SERVE_SOCKET, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ||
	    recvmsg(SERVE_SOCKET, &message, MSG_CMSG_CLOEXEC) != 1 || word != SERVE_GREETING)
		return false;
	header = CMSG_FIRSTHDR(&message);
	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_CREDENTIALS ||
	    header->cmsg_len != CMSG_LEN(sizeof(from)))
		return false;
	memcpy(&from, CMSG_DATA(header), sizeof(from));
	return from.pid == SERVE_GREETING_PID && from.uid == getuid() && process_in_initial_pid_namespace();
}

int inject_file_server_main(int argc, char **argv)
{
	struct file_server_answer answer = {.step = SERVE_PROCESS};
	pid_t target = argc == 2 ? (pid_t)strtol(argv[1], NULL, 10) : 0, file_server = 0;
	char path[32];
	int folder;

	if (target <= 0 || !is_for_gputrace())
		return 2;
	prctl(PR_SET_NAME, INJECT_FILE_SERVER);
	setsid(); /* Ctrl-C must not reach the parent */
	snprintf(path, sizeof(path), "/proc/%d", process_thread(target));
	folder = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	answer.error = folder < 0 ? -ESRCH : 0;
	if (!answer.error)
		file_server = start_server(folder, &answer);
	if (send(SERVE_SOCKET, &answer, sizeof(answer), MSG_NOSIGNAL) == sizeof(answer))
		serve_until_used(file_server, target, folder);
	if (file_server > 0)
		end_server(file_server);
	return 0;
}
