/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The readers, who waits for them how long, and which processes are left alone; see reader.h. */
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
#define FREE_WAIT_NS (100 * MS)	      /* of which no account is kept: a disk may take that long */
#define PATIENCE_NS (250 * MS)	      /* without a step */
#define LONG_PATIENCE_NS (2000 * MS)  /* in all, for a job that gets on */
#define BUSY_PATIENCE_NS (10000 * MS) /* for one that runs, or waits for a processor */
#define USER_WAIT_NS (1000 * MS)      /* what processes of one user may keep readers waiting ... */
#define USER_WAIT_SHARE 10	      /* ... of which that part of the time that passes comes back */
#define USER_STUCK_MAX 8	      /* readers that wait for one user's processes */
#define IDLE_MAX 2
#define REPORTED_MAX 16384 /* processes that were reported: then they may be again */
#define READER_NICE (-10)  /* as the thread that waits for it, capture/run.c */

struct reader {
	struct reader *next; /* idle */
	pid_t process;	     /* 0: the work is done here */
	pid_t owner;	     /* whose child it is */
	int socket;
	struct reader_area *area;
	int fd; /* what came with the last answer */
	pid_t target;
	bool lost;
};

/* A reader that has been given up, or is to end: not reaped yet. */
struct leaving {
	pid_t reader, target; /* target 0: it waited for no one */
	uint64_t start_ticks;
	uid_t uid;
};

struct reported {
	pid_t pid;
	uint64_t start_ticks;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct reader *idle; /* all below is under the lock */
static pid_t owner;	    /* whose children the readers are */
static ARRAY(struct leaving) leaving;
static struct user_budget waited = {.share = USER_WAIT_SHARE};
static ARRAY(struct reported) reported;
static ARRAY(struct reader_silent) silent;

/* ---- the reader ---------------------------------------------------------------------------------------------- */

/* From the answer on the area belongs to the other side, which may ask for the next job at once. */
static void answer(int to, struct reader_area *area)
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

/* Ends with the socket's other end: when gputrace ends, however it does. */
static void __attribute__((noreturn)) serve(int socket, struct reader_area *area)
{
	reader_job job;
	sigset_t every;

	sigfillset(&every); /* Ctrl-C is not for it */
	sigprocmask(SIG_SETMASK, &every, NULL);
	prctl(PR_SET_NAME, "gputrace-reader");
	/* No session of its own: the scheduler would share out processor time by sessions (autogroup), and it would
	 * wait. */
	(void)setpriority(PRIO_PROCESS, 0, READER_NICE);
	if (socket > 0)
		syscall(SYS_close_range, 0, socket - 1, 0); /* Linux 5.9 */
	syscall(SYS_close_range, socket + 1, ~0U, 0);
	while (recv(socket, &job, sizeof(job), 0) == sizeof(job)) {
		job(area);
		answer(socket, area);
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

static int start(struct reader *reader)
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
	/* Not fork(): another thread may hold what its handlers wait for. */
	reader->process = (pid_t)syscall(SYS_clone, SIGCHLD, 0L, 0L, 0L, 0L);
	if (!reader->process)
		serve(sockets[1], area);
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

/* ---- who is left alone --------------------------------------------------------------------------------------- */

static void report_silent(pid_t pid, uint64_t start_ticks, uid_t uid)
{
	struct reader_silent process = {.pid = pid, .uid = uid};

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
	return waitpid(reader, NULL, WNOHANG) != 0; /* also: there is none */
}

static void reap(void)
{
	for (size_t i = 0; i < leaving.count;)
		if (is_reaped(leaving.items[i].reader))
			leaving.items[i] = leaving.items[--leaving.count];
		else
			i++;
}

/* Whether a reader waits for it, or enough of them for its user. */
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
	for (size_t i = 0; i < leaving.count; i++) {
		const struct leaving *one = &leaving.items[i];

		waits |= one->target == pid && one->start_ticks == start_ticks;
		stuck += one->target && one->uid == of.uid;
	}
	if (!waits && stuck < USER_STUCK_MAX && user_budget_used(&waited, of.uid, monotonic_ns()) < USER_WAIT_NS)
		return false;
	report_silent(pid, start_ticks, of.uid);
	return true;
}

static void charge(const struct reader *reader, uint64_t waited_ns)
{
	struct process_owner of;

	if (waited_ns < FREE_WAIT_NS || process_owner(reader->target, &of))
		return;
	pthread_mutex_lock(&lock);
	user_budget_charge(&waited, of.uid, monotonic_ns(), waited_ns);
	pthread_mutex_unlock(&lock);
}

static void give_up(struct reader *reader)
{
	struct leaving one = {.reader = reader->process, .target = reader->target};
	struct process_owner of = {0};

	reader->lost = true;
	kill(reader->process, SIGKILL);
	pthread_mutex_lock(&lock);
	if (!process_start_ticks(one.target, &one.start_ticks) && !process_owner(one.target, &of)) {
		one.uid = of.uid;
		report_silent(one.target, one.start_ticks, one.uid);
	}
	array_push(&leaving, one);
	pthread_mutex_unlock(&lock);
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

/* What readers of another process are is not for its children. */
static void begin_here(void)
{
	if (owner == getpid())
		return;
	owner = getpid();
	idle = NULL;
	leaving.count = waited.rows.count = reported.count = silent.count = 0;
}

/* A child of one that has readers of its own. */
static bool is_copy(void)
{
	return owner && owner != getpid();
}

int reader_borrow(pid_t pid, struct reader **out)
{
	struct reader *reader = NULL;
	int error = 0;

	*out = NULL;
	if (is_copy()) { /* no lock: another thread may have held it at the fork */
		reader = xcalloc(1, sizeof(*reader));
		reader->area = xcalloc(1, sizeof(*reader->area));
		reader->socket = reader->fd = reader->area->fd = -1;
		*out = reader;
		return 0;
	}
	pthread_mutex_lock(&lock);
	begin_here();
	reap();
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
		error = start(reader);
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

/* 0: an answer; -errno: there is none to come. */
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

/* One that has not begun for want of a processor keeps no one waiting. */
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
		charge(reader, waited_ns);
		return -ETIMEDOUT;
	}
	charge(reader, waited_ns);
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
	error = send(reader->socket, &job, sizeof(job), MSG_NOSIGNAL) == sizeof(job) ? wait_answer(reader) : -EIO;
	if (error && error != -EMFILE)
		give_up(reader);
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
	reap();
	pthread_mutex_unlock(&lock);
}

void readers_work_here(void)
{
	owner = -1; /* no one */
}
