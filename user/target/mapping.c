/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files a process has mapped (process.h), and how to open the very file behind a mapping. */
#include "target/process.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* vm.max_map_count defaults to 65,530 and a line has at most PATH_MAX and 73 bytes, most of them far fewer. */
#define MAPS_BYTES_MAX (64u << 20)
#define MAPS_BYTES_FIRST (32u << 10)

static int read_text(pid_t pid, char **out)
{
	size_t capacity = 0, count = 0;
	char path[64], *text = NULL;
	int fd, err = 0;

	snprintf(path, sizeof(path), "/proc/%d/maps", process_thread(pid));
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	while (count < MAPS_BYTES_MAX) {
		ssize_t n;

		text = array_reserve(text, 1, count, MAPS_BYTES_FIRST, &capacity);
		n = read(fd, text + count, capacity - count - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			err = -errno;
		if (n <= 0)
			break;
		count += (size_t)n;
	}
	close(fd);
	if (err) {
		free(text);
		return err;
	}
	text[count] = '\0';
	*out = text;
	return 0;
}

/* The kernel writes a newline in a path as \012 and nothing else that way (show_map_vma, fs/proc/task_mmu.c). */
static void decode_path(char *path)
{
	char *to = path;

	for (const char *from = path; *from;) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

static bool cut_suffix(char *text, const char *suffix)
{
	size_t length = strlen(text), suffix_length = strlen(suffix);

	if (length < suffix_length || strcmp(text + length - suffix_length, suffix))
		return false;
	text[length - suffix_length] = '\0';
	return true;
}

/* "start-end rwxp offset major:minor inode      path", blanks before the path; false: not such a line. */
static bool parse_line(char *line, struct mapping *out)
{
	unsigned device_major, device_minor;
	unsigned long long start, end, offset, inode;
	char permissions[5];
	int used = 0;
	char *path;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu%n", &start, &end, permissions, &offset, &device_major,
		   &device_minor, &inode, &used) != 7 ||
	    start >= end || strlen(permissions) != 4)
		return false;
	path = line + used + strspn(line + used, " ");
	*out = (struct mapping){
		.start = start,
		.end = end,
		.offset = offset,
		.inode = inode,
		.device = makedev(device_major, device_minor),
		.readable = permissions[0] == 'r',
		.writable = permissions[1] == 'w',
		.executable = permissions[2] == 'x',
		.path = "",
	};
	if (inode == 0) { /* [heap], [vdso] and the like are no files */
		out->first_stack = !strcmp(path, "[stack]");
		return true;
	}
	out->deleted = cut_suffix(path, " (deleted)");
	decode_path(path);
	out->path = path;
	return true;
}

int mappings_read(pid_t pid, struct mappings *out)
{
	char *line, *rest;
	int err;

	memset(out, 0, sizeof(*out));
	err = read_text(pid, &out->text);
	if (err)
		return err;
	rest = out->text;
	while ((line = strsep(&rest, "\n"))) {
		struct mapping mapping;

		if (parse_line(line, &mapping))
			array_push(&out->list, mapping);
	}
	return 0;
}

const struct mapping *mappings_at(const struct mappings *mappings, uint64_t address)
{
	for (size_t i = 0; i < mappings->list.count; i++)
		if (address >= mappings->list.items[i].start && address < mappings->list.items[i].end)
			return &mappings->list.items[i];
	return NULL;
}

const struct mapping *mappings_of_file(const struct mappings *mappings, dev_t device, uint64_t inode)
{
	for (size_t i = 0; i < mappings->list.count; i++)
		if (mappings->list.items[i].inode == inode && mappings->list.items[i].device == device)
			return &mappings->list.items[i];
	return NULL;
}

void mappings_free(struct mappings *mappings)
{
	array_free(&mappings->list);
	free(mappings->text);
	mappings->text = NULL;
}

/*
 * Opens for reading what an O_PATH descriptor stands for, if it is a regular file: opening a device or a FIFO
 * that the target's owner has put there could have an effect, or block.  Closes `path_fd`.
 */
static int open_regular(int path_fd, const struct mapping *same_as)
{
	char path[64];
	struct stat st;
	int fd = -1, err = 0;

	if (fstat(path_fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode))
		err = -ENOEXEC;
	else if (same_as && (st.st_ino != same_as->inode || st.st_dev != same_as->device))
		err = -ESTALE;
	if (!err) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", path_fd);
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		if (fd < 0)
			err = -errno;
	}
	close(path_fd);
	return err ? err : fd;
}

int process_open_file(pid_t pid, const char *path)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
	struct process_info process;
	struct stat file;
	char root[64];
	int root_fd, fd, error = process_info_read(pid, &process);

	if (error)
		return error;
	process_info_free(&process);
	snprintf(root, sizeof(root), "/proc/%d/root", process_thread(pid));
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	if (fd < 0)
		fd = -errno;
	close(root_fd);
	if (fd < 0)
		return fd;
	if (fstat(fd, &file) || (file.st_uid != process.uid && !(file.st_mode & S_IROTH))) {
		close(fd);
		return -EACCES;
	}
	return open_regular(fd, NULL);
}

/* The link follows to the inode itself, whatever the name means by now and wherever it means it. */
static char *map_files_path(pid_t pid, const struct mapping *mapping)
{
	return xasprintf("/proc/%d/map_files/%llx-%llx", pid, (unsigned long long)mapping->start,
			 (unsigned long long)mapping->end);
}

/* By a thread that lives, where the first one has ended: seldom, and looked for only when that one did not serve. */
static bool may_try_by_another(pid_t pid, pid_t *thread)
{
	pid_t first = *thread;

	if (first == pid)
		*thread = process_thread(pid);
	return *thread != first;
}

int mapping_stat(pid_t pid, const struct mapping *mapping, struct stat *out)
{
	pid_t thread = pid;
	int error;

	do {
		char *path = map_files_path(thread, mapping);

		error = stat(path, out) ? -errno : 0;
		free(path);
	} while (error && may_try_by_another(pid, &thread));
	return error;
}

static int open_by_thread(pid_t pid, const struct mapping *mapping)
{
	char *path = map_files_path(pid, mapping);
	int fd = open(path, O_PATH | O_CLOEXEC);

	free(path);
	if (fd >= 0)
		return open_regular(fd, NULL);
	if (mapping->deleted || mapping->path[0] != '/')
		return -ENOENT;
	/* Without CAP_CHECKPOINT_RESTORE, or when the mapping was split since. */
	path = xasprintf("/proc/%d/root%s", pid, mapping->path);
	fd = open(path, O_PATH | O_CLOEXEC);
	free(path);
	return fd < 0 ? -errno : open_regular(fd, mapping);
}

int mapping_open(pid_t pid, const struct mapping *mapping)
{
	pid_t thread = pid;
	int fd;

	if (!mapping->path[0])
		return -ENOENT;
	do
		fd = open_by_thread(thread, mapping);
	while (fd < 0 && may_try_by_another(pid, &thread));
	return fd;
}

bool process_maps_file(pid_t pid, int file_fd)
{
	struct mappings mappings;
	struct stat file, mapped;
	bool found = false;

	if (fstat(file_fd, &file) || mappings_read(pid, &mappings))
		return false;
	for (size_t i = 0; i < mappings.list.count && !found; i++) {
		const struct mapping *mapping = &mappings.list.items[i];
		int fd = mapping->executable && mapping->inode == file.st_ino ? mapping_open(pid, mapping) : -1;

		/* Some file systems show other device numbers in maps than in stat. */
		found = fd >= 0 && !fstat(fd, &mapped) && mapped.st_ino == file.st_ino && mapped.st_dev == file.st_dev;
		if (fd >= 0)
			close(fd);
	}
	mappings_free(&mappings);
	return found;
}
