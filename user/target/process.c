/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Facts about a process from files of /proc that do not wait for it.  The process may put anything into its names:
 * control characters are removed here from names that are shown.
 */
#include "target/process.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/monotonic.h"

#define STATUS_MAX 8192
#define PF_KTHREAD 0x00200000u /* include/linux/sched.h */
#define PF_EXITING 0x00000004u
#define PF_FORKNOEXEC 0x00000040u
#define PROC_PID_INIT_INO 0xEFFFFFFCu /* include/linux/proc_ns.h */
#define PROC_USER_INIT_INO 0xEFFFFFFDu
#define NS_PER_S 1000000000ull

ssize_t process_read_file(pid_t pid, const char *name, char *buffer, size_t size)
{
	char path[64];
	size_t done = 0;
	int fd, err = 0;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	while (done < size - 1) {
		ssize_t n = read(fd, buffer + done, size - 1 - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err = -errno;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	close(fd);
	buffer[done] = '\0';
	return err ? err : (ssize_t)done;
}

void process_clean_controls(char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)text[i];
		unsigned char next = i + 1 < bytes ? (unsigned char)text[i + 1] : 0;

		if (c < 0x20 || c == 0x7f)
			text[i] = '?';
		else if (c == 0xc2 && next >= 0x80 && next < 0xa0)
			text[i] = text[i + 1] = '?';
	}
}

/* Fields of /proc/PID/stat (proc(5)), with the numbers of the manual page. */
struct stat_fields {
	const char *comm, *comm_end;	/* 2; may hold blanks and parentheses */
	char state;			/* 3 */
	int parent;			/* 4 */
	unsigned flags;			/* 9 */
	unsigned threads;		/* 20 */
	unsigned long long start_ticks; /* 22, since boot, suspended time included */
};

static int parse_stat(const char *text, struct stat_fields *out)
{
	out->comm = strchr(text, '(');
	out->comm_end = strrchr(text, ')');
	if (!out->comm || !out->comm_end || out->comm_end <= out->comm)
		return -EPROTO;
	out->comm++;
	if (sscanf(out->comm_end + 1, " %c %d %*d %*d %*d %*d %u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %u %*d %llu",
		   &out->state, &out->parent, &out->flags, &out->threads, &out->start_ticks) != 5)
		return -EPROTO;
	return 0;
}

static uint64_t start_monotonic_ns(unsigned long long ticks)
{
	uint64_t hz = (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t since_boot = ticks / hz * NS_PER_S + ticks % hz * NS_PER_S / hz;
	/* In this order the difference is never negative. */
	uint64_t monotonic = monotonic_ns();
	uint64_t suspended = clock_ns(CLOCK_BOOTTIME) - monotonic;

	return since_boot > suspended ? since_boot - suspended : 0;
}

static bool has_ended(char state)
{
	return state == 'Z' || state == 'X';
}

/* 'X': it is gone. */
static char thread_state(pid_t pid, pid_t tid)
{
	char text[STATUS_MAX], name[32];
	struct stat_fields fields;

	snprintf(name, sizeof(name), "task/%d/stat", tid);
	return process_read_file(pid, name, text, sizeof(text)) < 0 || parse_stat(text, &fields) ? 'X' : fields.state;
}

static bool is_exiting(pid_t pid, const char *tid)
{
	char text[STATUS_MAX], name[300];
	struct stat_fields fields;

	snprintf(name, sizeof(name), "task/%s/stat", tid);
	return process_read_file(pid, name, text, sizeof(text)) < 0 || parse_stat(text, &fields) ||
	       has_ended(fields.state) || fields.flags & PF_EXITING;
}

bool process_is_exiting(pid_t pid)
{
	struct dirent *entry;
	bool all = true;
	char path[32];
	DIR *threads;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	while (threads && all && (entry = readdir(threads)))
		all = entry->d_name[0] == '.' || is_exiting(pid, entry->d_name);
	if (threads)
		closedir(threads);
	return all;
}

pid_t process_thread(pid_t pid)
{
	struct dirent *entry;
	pid_t found = 0;
	char path[32];
	DIR *threads;

	if (!has_ended(thread_state(pid, pid)))
		return pid;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	threads = opendir(path);
	while (threads && !found && (entry = readdir(threads))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0 && !has_ended(thread_state(pid, tid)))
			found = tid;
	}
	if (threads)
		closedir(threads);
	return found ? found : pid;
}

/* The offset that a time namespace adds to times since boot, in ticks: time_namespaces(7). */
static int64_t namespace_ticks(void)
{
	static int64_t ticks = INT64_MIN;
	char text[STATUS_MAX];
	const char *line;
	long long seconds = 0;
	long nanoseconds = 0;

	if (ticks != INT64_MIN)
		return ticks;
	if (process_read_file(getpid(), "timens_offsets", text, sizeof(text)) >= 0) {
		line = strstr(text, "boottime");
		if (!line || sscanf(line, "boottime %lld %ld", &seconds, &nanoseconds) != 2)
			seconds = nanoseconds = 0;
	}
	ticks = seconds * sysconf(_SC_CLK_TCK) + nanoseconds / (1000000000L / sysconf(_SC_CLK_TCK));
	return ticks;
}

int process_start_ticks(pid_t pid, uint64_t *ticks)
{
	char text[STATUS_MAX];
	struct stat_fields fields;
	ssize_t bytes = process_read_file(pid, "stat", text, sizeof(text));
	int err = bytes < 0 ? (int)bytes : parse_stat(text, &fields);

	if (!err)
		*ticks = (uint64_t)((int64_t)fields.start_ticks - namespace_ticks());
	return err;
}

/* The value after "\nName:" in /proc/PID/status, NULL when there is none. */
static const char *status_value(const char *status, const char *name)
{
	size_t length = strlen(name);

	for (const char *line = status; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, length) == 0 && line[length] == ':')
			return line + length + 1;
	}
	return NULL;
}

static uint64_t capabilities_of(const char *status, const char *name)
{
	const char *value = status_value(status, name);

	return value ? strtoull(value, NULL, 16) : 0;
}

int process_owner(pid_t pid, struct process_owner *out)
{
	char status[STATUS_MAX];
	const char *user, *group;
	unsigned ids[4] = {0};

	if (process_read_file(pid, "status", status, sizeof(status)) < 0)
		return -ESRCH;
	user = status_value(status, "Uid");
	group = status_value(status, "Gid");
	/* real, effective, saved, file system */
	if (!user || !group || sscanf(user, "%u %*u %*u %u", &ids[0], &ids[1]) != 2 ||
	    sscanf(group, "%*u %*u %*u %u", &ids[2]) != 1)
		return -EPROTO;
	*out = (struct process_owner){.uid = ids[0],
				      .file_uid = ids[1],
				      .file_gid = ids[2],
				      .effective = capabilities_of(status, "CapEff"),
				      .permitted = capabilities_of(status, "CapPrm")};
	return 0;
}

/* The kernel gives the files in /proc of a process that is not dumpable to root: proc(5). */
static bool is_undumpable(pid_t pid, const struct process_owner *of)
{
	struct stat file;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return !stat(path, &file) && file.st_uid != of->file_uid;
}

const char *process_explain_refused(pid_t pid)
{
	struct process_owner of = {0}, own = {0};

	if (process_owner(pid, &of) || process_owner(getpid(), &own))
		return "it has ended";
	if (of.file_uid != own.file_uid)
		return "it is another user's, and the capabilities to look into it are missing";
	if (of.permitted & ~own.effective && !of.uid)
		return "it is root with capabilities that gputrace lacks: run gputrace in the same container";
	if (of.permitted & ~own.effective)
		return "its program has capabilities (setcap) that gputrace lacks, so only root may look into it";
	if (is_undumpable(pid, &of))
		return "it is not dumpable (its user may not read its program, as with mode 711, or it has called "
		       "prctl(PR_SET_DUMPABLE)), so only root may look into it";
	return "a security module or its user namespace forbids it";
}

void process_name(pid_t pid, char *out, size_t size)
{
	char text[STATUS_MAX];
	struct stat_fields fields;
	size_t length = 0;

	if (process_read_file(pid, "stat", text, sizeof(text)) >= 0 && !parse_stat(text, &fields)) {
		length = (size_t)(fields.comm_end - fields.comm);
		length = length < size ? length : size - 1;
		memcpy(out, fields.comm, length);
		process_clean_controls(out, length);
	}
	out[length] = '\0';
}

char process_state(pid_t pid)
{
	char text[STATUS_MAX];
	struct stat_fields fields;

	if (process_read_file(pid, "stat", text, sizeof(text)) < 0 || parse_stat(text, &fields))
		return 0;
	return fields.state;
}

int process_filters(pid_t pid)
{
	char status[STATUS_MAX];
	const char *value = NULL;

	if (process_read_file(pid, "status", status, sizeof(status)) >= 0)
		value = status_value(status, "Seccomp_filters");
	return value ? atoi(value) : -1;
}

static void read_status(pid_t pid, struct process_info *out)
{
	char status[STATUS_MAX];
	const char *value;

	out->ns_pid = pid;
	if (process_read_file(pid, "status", status, sizeof(status)) < 0)
		return;
	value = status_value(status, "Uid");
	if (value)
		out->uid = (uid_t)strtoul(value, NULL, 10);
	value = status_value(status, "Seccomp");
	if (value)
		out->seccomp = atoi(value);
	/* One number per nested pid namespace: gputrace's first, the process's own last. */
	value = status_value(status, "NSpid");
	while (value && *value && *value != '\n') {
		char *end;
		long number = strtol(value, &end, 10);

		if (end == value)
			break;
		out->ns_pid = (pid_t)number;
		value = end + strspn(end, " \t");
	}
}

/* Whether the process is in gputrace's own mount namespace or another one. */
static enum gpt_mounts find_mounts(pid_t pid)
{
	struct stat own, its;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/ns/mnt", pid);
	if (stat(path, &its) < 0 || stat("/proc/self/ns/mnt", &own) < 0)
		return GPT_MOUNTS_UNKNOWN;
	return its.st_ino == own.st_ino && its.st_dev == own.st_dev ? GPT_MOUNTS_SAME : GPT_MOUNTS_OTHER;
}

static char *read_exe(pid_t pid)
{
	char path[64], *target = xmalloc(PATH_MAX + 1);
	ssize_t bytes;

	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	bytes = readlink(path, target, PATH_MAX);
	target[bytes > 0 ? bytes : 0] = '\0';
	return target;
}

int process_info_read(pid_t pid, struct process_info *out)
{
	char text[STATUS_MAX];
	struct stat_fields fields;
	ssize_t bytes;
	pid_t thread;
	size_t length;
	int err;

	memset(out, 0, sizeof(*out));
	bytes = process_read_file(pid, "stat", text, sizeof(text));
	if (bytes < 0)
		return (int)bytes;
	err = parse_stat(text, &fields);
	if (err)
		return err;
	out->pid = pid;
	out->parent = fields.parent;
	out->threads = fields.threads;
	thread = has_ended(fields.state) ? process_thread(pid) : pid;
	out->zombie = has_ended(fields.state) && thread == pid;
	out->kernel_thread = fields.flags & PF_KTHREAD;
	out->forked = fields.flags & PF_FORKNOEXEC;
	out->start_ns = start_monotonic_ns(fields.start_ticks);
	out->start_ticks = (uint64_t)((int64_t)fields.start_ticks - namespace_ticks());
	length = (size_t)(fields.comm_end - fields.comm);
	if (length >= sizeof(out->comm))
		length = sizeof(out->comm) - 1;
	memcpy(out->comm, fields.comm, length);
	process_clean_controls(out->comm, length);
	read_status(pid, out);
	out->mounts = find_mounts(thread);
	out->exe = read_exe(thread);
	return 0;
}

void process_info_free(struct process_info *info)
{
	free(info->exe);
	free(info->cmdline);
	info->exe = info->cmdline = NULL;
}

static bool is_kernel_thread(pid_t pid)
{
	char text[STATUS_MAX];
	struct stat_fields fields;

	if (process_read_file(pid, "stat", text, sizeof(text)) < 0 || parse_stat(text, &fields))
		return false;
	return fields.flags & PF_KTHREAD;
}

pid_t process_parent(pid_t pid)
{
	char text[STATUS_MAX];
	struct stat_fields fields;

	return process_read_file(pid, "stat", text, sizeof(text)) < 0 || parse_stat(text, &fields) ? 0 : fields.parent;
}

int process_each(int (*fn)(pid_t pid, void *context), void *context)
{
	DIR *directory = opendir("/proc");
	struct dirent *entry;
	int stop = 0;

	if (!directory)
		return -errno;
	while (!stop && (entry = readdir(directory))) {
		char *end;
		long pid;

		if (!isdigit((unsigned char)entry->d_name[0]))
			continue;
		pid = strtol(entry->d_name, &end, 10);
		if (*end || pid <= 0 || pid > INT_MAX || is_kernel_thread((pid_t)pid))
			continue;
		stop = fn((pid_t)pid, context);
	}
	closedir(directory);
	return stop;
}

static bool is_in_namespace(const char *path, ino_t number)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_ino == number;
}

bool process_in_initial_pid_namespace(void)
{
	return is_in_namespace("/proc/self/ns/pid", PROC_PID_INIT_INO);
}

bool process_in_initial_user_namespace(void)
{
	return is_in_namespace("/proc/self/ns/user", PROC_USER_INIT_INO);
}
