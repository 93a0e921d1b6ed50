/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The readers, how long gputrace waits for them, and which processes are not read; see reader.h. */
#include "target/reader.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/monotonic.h"
#include "base/user_budget.h"
#include "target/process.h"

#define MS 1000000ull
#define SLICE_MS 50
#define FREE_WAIT_NS (100 * MS)	      /* waits up to this are not charged: a disk may take that long */
#define PATIENCE_NS (250 * MS)	      /* without a step */
#define LONG_PATIENCE_NS (2000 * MS)  /* in all, for a job that makes progress */
#define BUSY_PATIENCE_NS (10000 * MS) /* for a job that runs, or waits for a processor */
#define USER_WAIT_NS (1000 * MS)      /* budget for waits caused by one user's processes ... */
#define USER_WAIT_SHARE 10	      /* ... which regains one part in ten of the time that passes */
#define USER_STUCK_MAX 8	      /* readers blocked by one user's processes */
#define IDLE_MAX 2
#define REPORTED_MAX 16384 /* processes reported; beyond that they may be reported again */
#define READER_NICE (-10)  /* as the thread that waits for it, capture/run.c */

struct reader {
	struct reader *next; /* in the list of idle ones */
	pid_t process;	     /* 0: the work is done in this process */
	pid_t owner;	     /* its parent */
	int socket;
	struct reader_area *area;
	int fd; /* the descriptor received with the last answer */
	pid_t target;
	bool lost;
};

/* A reader that was abandoned or ended, and is not reaped yet. */
struct leaving {
	pid_t reader, target; /* target 0: it was idle */
	uint64_t start_ticks;
	uid_t uid;
};

struct reported {
	pid_t pid;
	uint64_t start_ticks;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reader *idle; /* the lock protects this and all below */
static pid_t owner;	    /* the parent of the readers */
static ARRAY(struct leaving) leaving;
static struct user_budget waited = {.share = USER_WAIT_SHARE};
static ARRAY(struct reported) reported;
static ARRAY(struct reader_silent) silent;
static ARRAY(reader_job) filtered; /* a filter of system calls that gputrace runs under kills who does them */

/* ---- the reader ---------------------------------------------------------------------------------------------- */

/* After the answer the area belongs to the other side, which may ask for the next job at once. */
static void send_answer(int to, struct reader_area *area)
{
	int fd = area->fd;
	char byte = 0;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control = {0};
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	area->fd = -1;
	if (fd >= 0) {
		message.msg_control = control.bytes;
		message.msg_controllen = sizeof(control.bytes);
		control.header = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
	}
	if (sendmsg(to, &message, MSG_NOSIGNAL) < 0)
		_exit(0);
	if (fd >= 0)
		close(fd);
}

/* Ends when the socket's other end is closed: when gputrace ends in any way. */
static void __attribute__((noreturn)) serve_jobs(int socket, struct reader_area *area)
{
	reader_job job;
	sigset_t every;

	sigfillset(&every); /* Ctrl-C must not end it */
	sigprocmask(SIG_SETMASK, &every, NULL);
	prctl(PR_SET_NAME, "gputrace-reader");
	/* No session of its own: the scheduler divides processor time among sessions (autogroup), so the reader would
	 * have to wait. */
	(void)setpriority(PRIO_PROCESS, 0, READER_NICE);
	if (socket > 0)
		syscall(SYS_close_range, 0, socket - 1, 0); /* Linux 5.9 */
	syscall(SYS_close_range, socket + 1, ~0U, 0);
	while (recv(socket, &job, sizeof(job), 0) == sizeof(job)) {
		job(area);
		send_answer(socket, area);
	}
	_exit(0);
}

static void free_reader(struct reader *reader)
{
	if (reader->socket >= 0)
		close(reader->socket);
	if (!reader->process)
		free(reader->area);
	else if (reader->area)
		munmap(reader->area, sizeof(*reader->area));
	free(reader);
}

static int start_reader(struct reader *reader)
{
	int sockets[2];
	void *area;

	area = mmap(NULL, sizeof(*reader->area), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		return -errno;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets)) {
		int error = -errno;

		munmap(area, sizeof(*reader->area));
		return error;
	}
	/* Not fork(): another thread may hold a lock that its handlers wait for. */
	reader->process = (pid_t)syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L);
	if (!reader->process)
		serve_jobs(sockets[1], area);
	close(sockets[1]);
	if (reader->process < 0) {
		int error = -errno;

		close(sockets[0]);
		munmap(area, sizeof(*reader->area));
		reader->process = 0;
		return error;
	}
	reader->socket = sockets[0];
	reader->area = area;
	return 0;
}

/* ---- which processes are not read ---------------------------------------------------------------------------- */

/* A process that exits keeps its memory locked for as long as that takes, which is no fault of its own. */
static void report_silent(pid_t pid, uint64_t start_ticks, uid_t uid, bool itself)
{
	struct reader_silent process = {.pid = pid, .uid = uid, .itself = itself};

	if (process_is_exiting(pid))
		return;

	for (size_t i = 0; i < reported.count; i++)
		if (reported.items[i].pid == pid && reported.items[i].start_ticks == start_ticks)
			return;
	if (reported.count >= REPORTED_MAX)
		reported.count = 0;
	array_push(&reported, ((struct reported){pid, start_ticks}));
	process_name(pid, process.name, sizeof(process.name));
	array_push(&silent, process);
}

static bool is_reaped(pid_t reader)
{
	return waitpid(reader, NULL, WNOHANG) != 0; /* also true if there is no such child */
}

static void reap_readers(void)
{
	for (size_t i = 0; i < leaving.count;)
		if (is_reaped(leaving.items[i].reader))
			leaving.items[i] = leaving.items[--leaving.count];
		else
			i++;
}

/* Whether the process blocks a reader, or its user's processes have blocked enough of them. */
static bool is_left_alone(pid_t pid)
{
	struct process_owner of;
	uint64_t start_ticks;
	unsigned stuck = 0;
	bool waits = false;

	if (!leaving.count && !waited.rows.count)
		return false;
	if (process_start_ticks(pid, &start_ticks) || process_owner(pid, &of))
		return false;
	array_each (one, &leaving) {
		waits |= one->target == pid && one->start_ticks == start_ticks;
		stuck += one->target && one->uid == of.uid;
	}
	if (!waits && stuck < USER_STUCK_MAX && user_budget_used(&waited, of.uid, monotonic_ns()) < USER_WAIT_NS)
		return false;
	report_silent(pid, start_ticks, of.uid, waits);
	return true;
}

static void charge_user(const struct reader *reader, uint64_t waited_ns)
{
	struct process_owner of;

	if (waited_ns < FREE_WAIT_NS || process_owner(reader->target, &of))
		return;
	pthread_mutex_lock(&lock);
	user_budget_charge(&waited, of.uid, monotonic_ns(), waited_ns);
	pthread_mutex_unlock(&lock);
}

/* waits: the target keeps the reader waiting; else the reader has ended, which is no fault of the target's. */
static void give_up(struct reader *reader, bool waits)
{
	struct leaving one = {.reader = reader->process, .target = waits ? reader->target : 0};
	struct process_owner of = {0};

	reader->lost = true;
	kill(reader->process, SIGKILL);
	pthread_mutex_lock(&lock);
	if (waits && !process_start_ticks(one.target, &one.start_ticks) && !process_owner(one.target, &of)) {
		one.uid = of.uid;
		report_silent(one.target, one.start_ticks, one.uid, true);
	}
	array_push(&leaving, one);
	pthread_mutex_unlock(&lock);
}

/* Whether a filter of system calls has ended the reader, whose socket is closed. */
static bool has_been_filtered(pid_t process)
{
	siginfo_t info = {0};

	for (uint64_t waited_ns = 0; waited_ns < PATIENCE_NS && !info.si_pid; waited_ns += MS) {
		if (waitid(P_PID, (id_t)process, &info, WEXITED | WNOHANG | WNOWAIT))
			return false;
		if (!info.si_pid)
			poll(NULL, 0, 1);
	}
	return (info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED) && info.si_status == SIGSYS;
}

/* The filter stays as long as gputrace runs, so no other reader is started for such a job. */
static void note_filtered(reader_job job)
{
	pthread_mutex_lock(&lock);
	array_push(&filtered, job);
	pthread_mutex_unlock(&lock);
}

static bool is_filtered(reader_job job)
{
	bool is = false;

	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < filtered.count && !is; i++)
		is = filtered.items[i] == job;
	pthread_mutex_unlock(&lock);
	return is;
}

bool reader_next_silent(struct reader_silent *out)
{
	bool any;

	pthread_mutex_lock(&lock);
	any = silent.count != 0;
	if (any)
		*out = silent.items[--silent.count];
	pthread_mutex_unlock(&lock);
	return any;
}

/* ---- asking -------------------------------------------------------------------------------------------------- */

/* Readers of the parent process are not usable in its children: starts without any. */
static void begin_here(void)
{
	if (owner == getpid())
		return;
	owner = getpid();
	idle = NULL;
	leaving.count = waited.rows.count = reported.count = silent.count = 0;
}

/* Whether this process is a child of a process that has readers. */
static bool is_copy(void)
{
	return owner && owner != getpid();
}

int reader_share(pid_t pid, struct reader **out)
{
	struct reader *reader = NULL;
	int error = 0;

	*out = NULL;
	if (is_copy()) { /* no lock: another thread may have held it at the fork */
		reader = xcalloc(1, sizeof(*reader));
		reader->area = xmalloc(sizeof(*reader->area)); /* not cleared: much is read in a few bytes at a time */
		memset(reader->area, 0, offsetof(struct reader_area, data));
		reader->socket = reader->fd = reader->area->fd = -1;
		*out = reader;
		return 0;
	}
	pthread_mutex_lock(&lock);
	begin_here();
	reap_readers();
	if (is_left_alone(pid)) {
		error = -ETIMEDOUT;
	} else if (idle) {
		reader = idle;
		idle = reader->next;
	}
	pthread_mutex_unlock(&lock);
	if (error)
		return error;
	if (!reader) {
		reader = xcalloc(1, sizeof(*reader));
		reader->socket = -1;
		error = start_reader(reader);
		if (error) {
			free(reader);
			return error;
		}
	}
	reader->target = pid;
	reader->fd = reader->area->fd = -1;
	*out = reader;
	return 0;
}

struct reader_area *reader_area(struct reader *reader)
{
	return reader->area;
}

/* 0: received an answer; -errno: no answer will come. */
static int take_answer(struct reader *reader)
{
	char byte;
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr header;
	} control = {0};
	struct iovec part = {&byte, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	const struct cmsghdr *header;

	if (recvmsg(reader->socket, &message, MSG_CMSG_CLOEXEC) != 1)
		return -EIO;
	header = CMSG_FIRSTHDR(&message);
	if (header && header->cmsg_type == SCM_RIGHTS)
		memcpy(&reader->fd, CMSG_DATA(header), sizeof(int));
	return message.msg_flags & MSG_CTRUNC ? -EMFILE : 0;
}

/* Whether the reader is only waiting for a processor: then the target does not block it. */
static bool is_runnable(pid_t process)
{
	return process_state(process) == 'R';
}

static int wait_answer(struct reader *reader)
{
	struct pollfd coming = {.fd = reader->socket, .events = POLLIN};
	uint64_t waited_ns = 0, busy_ns = 0, stepped_ns = 0, steps = reader->area->steps;
	int got;

	while ((got = poll(&coming, 1, SLICE_MS)) <= 0) {
		if (got < 0 && errno != EINTR)
			return -errno;
		if (got < 0)
			continue;
		if (is_runnable(reader->process)) {
			busy_ns += SLICE_MS * MS;
		} else {
			waited_ns += SLICE_MS * MS;
			stepped_ns = reader->area->steps == steps ? stepped_ns + SLICE_MS * MS : 0;
			steps = reader->area->steps;
		}
		if (stepped_ns < PATIENCE_NS && waited_ns < LONG_PATIENCE_NS && busy_ns < BUSY_PATIENCE_NS)
			continue;
		charge_user(reader, waited_ns);
		return -ETIMEDOUT;
	}
	charge_user(reader, waited_ns);
	return take_answer(reader);
}

int reader_run(struct reader *reader, reader_job job)
{
	int error;

	if (!reader->process) {
		job(reader->area);
		reader->fd = reader->area->fd;
		reader->area->fd = -1;
		return 0;
	}
	if (reader->lost)
		return -ETIMEDOUT;
	if (is_filtered(job))
		return -EPERM;
	error = send(reader->socket, &job, sizeof(job), MSG_NOSIGNAL) == sizeof(job) ? wait_answer(reader) : -EIO;
	if (error == -EIO && has_been_filtered(reader->process)) {
		note_filtered(job);
		error = -EPERM;
	}
	if (error && error != -EMFILE)
		give_up(reader, error == -ETIMEDOUT);
	return error;
}

int reader_take_fd(struct reader *reader)
{
	int fd = reader->fd;

	reader->fd = -1;
	return fd;
}

static void end_reader(struct reader *reader)
{
	kill(reader->process, SIGKILL);
	array_push(&leaving, ((struct leaving){.reader = reader->process}));
	free_reader(reader);
}

void reader_return(struct reader *reader)
{
	unsigned count = 0;

	if (reader->fd >= 0)
		close(reader->fd);
	if (!reader->process || reader->lost) {
		free_reader(reader);
		return;
	}
	pthread_mutex_lock(&lock);
	for (const struct reader *other = idle; other; other = other->next)
		count++;
	if (count < IDLE_MAX) {
		reader->next = idle;
		idle = reader;
	} else {
		end_reader(reader);
	}
	pthread_mutex_unlock(&lock);
}

void readers_end(void)
{
	if (is_copy())
		return;
	pthread_mutex_lock(&lock);
	while (idle) {
		struct reader *reader = idle;

		idle = reader->next;
		end_reader(reader);
	}
	for (size_t i = 0; i < leaving.count; i++)
		if (!leaving.items[i].target)
			waitpid(leaving.items[i].reader, NULL, 0); /* it was idle: it dies at once */
	reap_readers();
	pthread_mutex_unlock(&lock);
}

void readers_work_here(void)
{
	owner = -1; /* no process has this id */
}
