/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Opens files of a process (process.h), by a reader.  The process that serves a FUSE file can block any operation on
 * it: open, stat, even close.  So a descriptor of such a file never leaves the reader; a copy of the file does.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "target/process.h"
#include "target/reader.h"

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

#define COPY_MAX (64ull << 20)

/* ---- whose file it is, in the reader --------------------------------------------------------------------------- */

/*
 * A user chooses the names of a mount's place, its type's second half and its source, which may hold commas, but no
 * blanks: these are escaped.  So only the last field has the options of FUSE itself.
 */
bool mount_is_served_by_root(const char *line, dev_t device)
{
	const char *type = strstr(line, " - "), *options = strrchr(line, ' ');
	unsigned major, minor;

	return type && options > type + 2 && sscanf(line, "%*u %*u %u:%u", &major, &minor) == 2 &&
	       makedev(major, minor) == device &&
	       (strstr(options, ",user_id=0,") || !strncmp(type, " - virtiofs ", strlen(" - virtiofs ")));
}

/*
 * Only gputrace's own mounts tell which FUSE file systems are root's.  Mounts of another user namespace do not count:
 * anyone can be root there.
 */
static bool is_served_by_root(struct reader_area *area, dev_t device)
{
	int fd = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	char *text = (char *)area->data, *line, *rest = text;
	size_t count = 0;
	ssize_t got = 1;
	bool is = false;

	while (fd >= 0 && got > 0 && count < sizeof(area->data) - 1) {
		got = read(fd, text + count, sizeof(area->data) - 1 - count);
		count += got > 0 ? (size_t)got : 0;
	}
	if (fd >= 0)
		close(fd);
	text[count] = '\0';
	while (!is && (line = strsep(&rest, "\n")))
		is = mount_is_served_by_root(line, device);
	return is;
}

static int set_ids(uid_t uid, gid_t gid)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct caps[_LINUX_CAPABILITY_U32S_3];

	/* Not by libc, which would make other threads do the same: there are none in a reader. */
	if (prctl(PR_SET_KEEPCAPS, 1) || syscall(SYS_setresgid, gid, gid, gid) || syscall(SYS_setresuid, uid, uid, uid))
		return -errno;
	if (syscall(SYS_capget, &header, caps))
		return -errno;
	for (unsigned i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
		caps[i].effective = caps[i].permitted;
	return syscall(SYS_capset, &header, caps) ? -errno : 0;
}

/* By default FUSE admits only the user who mounted it, not even root. */
static void with_ids_of_process(struct reader_area *area, reader_job job)
{
	struct process_owner of;
	int error = area->error;

	if (process_owner(area->pid, &of) || (!of.file_uid && !of.file_gid) || geteuid())
		return;
	if (!set_ids(of.file_uid, of.file_gid))
		job(area);
	else
		area->error = error;
	if (set_ids(0, 0))
		_exit(0); /* the reader must not go on with another user's ids */
}

/* ---- a file, in the reader ------------------------------------------------------------------------------------- */

static int copy_file(struct reader_area *area, int from)
{
	int to = (int)syscall(SYS_memfd_create, "gputrace-copy", MFD_CLOEXEC), error = to < 0 ? -errno : 0;
	uint64_t count = 0;
	ssize_t got = 1;

	while (!error && got > 0) {
		got = read(from, area->data, sizeof(area->data));
		if (got < 0)
			error = -errno;
		else if ((count += (uint64_t)got) > COPY_MAX)
			error = -EFBIG;
		else if (write(to, area->data, (size_t)got) != got)
			error = -ENOSPC;
		area->steps++;
	}
	if (error && to >= 0)
		close(to);
	return error ? error : to;
}

/*
 * Opens the file of an O_PATH descriptor for reading, if it is a regular file: opening a device or a FIFO that
 * the target's owner has put there could have an effect, or block.  Closes `path_fd`.
 */
static void open_regular(struct reader_area *area, int path_fd, bool check)
{
	char path[64];
	struct statfs system = {0};
	int fd = -1;

	area->error = 0;
	area->copied = false;
	if (fstat(path_fd, &area->stat) || fstatfs(path_fd, &system))
		area->error = -errno;
	else if (!S_ISREG(area->stat.st_mode))
		area->error = -ENOEXEC;
	else if (check && (area->stat.st_ino != area->inode || area->stat.st_dev != area->device))
		area->error = -ESTALE;
	if (!area->error) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			area->error = -errno;
	}
	close(path_fd);
	if (fd >= 0 && system.f_type == FUSE_SUPER_MAGIC && !is_served_by_root(area, area->stat.st_dev)) {
		int copied = copy_file(area, fd);

		area->copied = true;
		close(fd);
		fd = copied;
		if (copied == -EFBIG)
			fd = -1;
		else if (copied < 0)
			area->error = copied;
	}
	area->fd = area->error ? -1 : fd;
}

static void open_mapped(struct reader_area *area)
{
	int fd = open(area->path, O_PATH | O_CLOEXEC);

	if (fd >= 0) {
		open_regular(area, fd, false);
		return;
	}
	area->error = -ENOENT;
	if (!*area->other_path)
		return;
	/* Needed without CAP_CHECKPOINT_RESTORE, or when the mapping was split since. */
	fd = open(area->other_path, O_PATH | O_CLOEXEC);
	if (fd >= 0)
		open_regular(area, fd, true);
	else
		area->error = -errno;
}

static bool is_refused(const struct reader_area *area)
{
	return area->error == -EACCES || area->error == -EPERM;
}

static void open_mapping(struct reader_area *area)
{
	open_mapped(area);
	if (is_refused(area))
		with_ids_of_process(area, open_mapped);
}

static void stat_mapped(struct reader_area *area)
{
	area->error = stat(area->path, &area->stat) ? -errno : 0;
}

static void stat_mapping(struct reader_area *area)
{
	stat_mapped(area);
	if (is_refused(area))
		with_ids_of_process(area, stat_mapped);
}

static void open_in_root(struct reader_area *area)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	struct process_owner of = {0};
	struct stat file;
	int root = open(area->other_path, O_PATH | O_DIRECTORY | O_CLOEXEC), fd;

	area->error = root < 0 ? -errno : process_owner(area->pid, &of);
	fd = area->error ? -1 : (int)syscall(SYS_openat2, root, area->path, &how, sizeof(how));
	if (!area->error && fd < 0)
		area->error = -errno;
	if (root >= 0)
		close(root);
	if (area->error)
		return;
	if (fstat(fd, &file) || (file.st_uid != of.uid && !(file.st_mode & S_IROTH))) {
		close(fd);
		area->error = -EACCES;
		return;
	}
	open_regular(area, fd, false);
}

static void open_named(struct reader_area *area)
{
	open_in_root(area);
	if (is_refused(area))
		with_ids_of_process(area, open_in_root);
}

/* By the file, not by its path, in which the user may put links: to a device, or to what only root may read. */
static void open_of_user(struct reader_area *area)
{
	int fd = open(area->path, O_PATH | O_CLOEXEC);
	struct stat file;

	area->error = fd < 0 || fstat(fd, &file) ? -errno : file.st_uid != area->uid ? -EACCES : 0;
	if (!area->error)
		open_regular(area, fd, false);
	else if (fd >= 0)
		close(fd);
}

/* ---- the caller's side ---------------------------------------------------------------------------------------- */

/* A link in map_files leads to the inode itself, even if its path names another file by now or in another namespace. */
static void name_mapping(struct reader_area *area, pid_t pid, const struct mapping *mapping)
{
	area->pid = pid;
	area->device = mapping->device;
	area->inode = mapping->inode;
	snprintf(area->path, sizeof(area->path), "/proc/%d/map_files/%llx-%llx", pid,
		 (unsigned long long)mapping->start, (unsigned long long)mapping->end);
	area->other_path[0] = '\0';
	if (!mapping->deleted && mapping->path[0] == '/')
		snprintf(area->other_path, sizeof(area->other_path), "/proc/%d/root%s", pid, mapping->path);
}

/* Retries through a live thread when the first one has ended.  That is rare, so one is searched only after a failure.
 */
static bool may_try_by_another(int error, pid_t pid, pid_t *thread)
{
	pid_t first = *thread;

	if (error && error != -ETIMEDOUT && first == pid)
		*thread = process_thread(pid);
	return *thread != first;
}

static int stat_by_thread(pid_t pid, const struct mapping *mapping, struct stat *out)
{
	struct reader *reader;
	int error = reader_share(pid, &reader);

	if (error)
		return error;
	name_mapping(reader_area(reader), pid, mapping);
	error = reader_run(reader, stat_mapping);
	if (!error)
		error = reader_area(reader)->error;
	if (!error)
		*out = reader_area(reader)->stat;
	reader_return(reader);
	return error;
}

int mapping_stat(pid_t pid, const struct mapping *mapping, struct stat *out)
{
	pid_t thread = pid;
	int error;

	do
		error = stat_by_thread(thread, mapping, out);
	while (may_try_by_another(error, pid, &thread));
	return error;
}

/* Runs the job and returns the reader. */
static int open_by(struct reader *reader, reader_job job, struct opened_file *out)
{
	int error = reader_run(reader, job);

	if (!error)
		error = reader_area(reader)->error;
	if (!error)
		*out = (struct opened_file){.fd = reader_take_fd(reader),
					    .copied = reader_area(reader)->copied,
					    .stat = reader_area(reader)->stat};
	reader_return(reader);
	return error;
}

int mapping_open_file(pid_t pid, const struct mapping *mapping, struct opened_file *out)
{
	struct reader *reader;
	pid_t thread = pid;
	int error;

	if (!mapping->path[0])
		return -ENOENT;
	do {
		error = reader_share(thread, &reader);
		if (error)
			return error;
		name_mapping(reader_area(reader), thread, mapping);
		error = open_by(reader, open_mapping, out);
	} while (may_try_by_another(error, pid, &thread));
	return error;
}

static int content_of(const struct opened_file *file)
{
	return file->fd < 0 ? -EFBIG : file->fd;
}

int mapping_open(pid_t pid, const struct mapping *mapping)
{
	struct opened_file file;
	int error = mapping_open_file(pid, mapping, &file);

	return error ? error : content_of(&file);
}

int process_open_file(pid_t pid, const char *path)
{
	struct opened_file file;
	struct reader *reader;
	int error = strlen(path) < READER_PATH ? reader_share(pid, &reader) : -ENAMETOOLONG;

	if (error)
		return error;
	reader_area(reader)->pid = pid;
	snprintf(reader_area(reader)->path, READER_PATH, "%s", path);
	snprintf(reader_area(reader)->other_path, READER_PATH, "/proc/%d/root", process_thread(pid));
	error = open_by(reader, open_named, &file);
	return error ? error : content_of(&file);
}

int user_open_file(pid_t pid, uid_t uid, const char *path)
{
	struct opened_file file;
	struct reader *reader;
	int error = strlen(path) < READER_PATH ? reader_share(pid, &reader) : -ENAMETOOLONG;

	if (error)
		return error;
	reader_area(reader)->pid = pid;
	reader_area(reader)->uid = uid;
	snprintf(reader_area(reader)->path, READER_PATH, "%s", path);
	error = open_by(reader, open_of_user, &file);
	return error ? error : content_of(&file);
}
