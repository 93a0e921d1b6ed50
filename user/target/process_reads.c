/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads with which a process can block others (process.h): its memory, files of /proc that come from it, its paths. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/array.h"
#include "target/process.h"
#include "target/reader.h"

#define MEMORY_PIECE (64u << 10)
#define CMDLINE_MAX 4096
#define ENVIRON_MAX (256u << 10) /* the kernel allows a quarter of the stack, 2 MB; most have a few KB */

/* Reads the next READER_DATA bytes of the file at area->path: from its start, or where the last run ended. */
static void read_text(struct reader_area *area)
{
	static int fd = -1; /* in the reader */
	ssize_t got = 1;

	area->error = 0;
	area->bytes = 0;
	if (area->first) {
		if (fd >= 0)
			close(fd);
		fd = open(area->path, O_RDONLY | O_CLOEXEC);
		if (fd < 0) {
			area->error = errno == ENOENT ? -ESRCH : -errno;
			return;
		}
		if (area->address)
			(void)lseek(fd, (off_t)area->address, SEEK_SET);
	}
	while (got && area->bytes < sizeof(area->data)) {
		got = read(fd, area->data + area->bytes, sizeof(area->data) - area->bytes);
		if (got < 0 && errno != EINTR) {
			area->error = -errno;
			break;
		}
		area->bytes += got > 0 ? (uint64_t)got : 0;
		area->steps++;
	}
	area->end = !got;
	if (!got || area->error) {
		close(fd);
		fd = -1;
	}
}

ssize_t process_read_text(pid_t pid, const char *name, uint64_t at, size_t most, char **out)
{
	struct reader_area *area;
	struct reader *reader;
	size_t count = 0, capacity = 0;
	char *text = NULL;
	int error = reader_share(pid, &reader);

	if (error)
		return error;
	area = reader_area(reader);
	snprintf(area->path, sizeof(area->path), "/proc/%d/%s", process_thread(pid), name);
	area->address = at;
	area->first = true;
	do {
		size_t fresh;

		error = reader_run(reader, read_text);
		if (!error)
			error = area->error;
		if (error)
			break;
		fresh = area->bytes < most - count ? (size_t)area->bytes : most - count;
		text = array_reserve(text, 1, count, fresh + 1, &capacity);
		memcpy(text + count, area->data, fresh);
		count += fresh;
		area->first = false;
	} while (!area->end && count < most);
	reader_return(reader);
	if (error) {
		free(text);
		return error;
	}
	text[count] = '\0';
	*out = text;
	return (ssize_t)count;
}

char *process_cmdline(pid_t pid)
{
	char *text;
	ssize_t bytes = process_read_text(pid, "cmdline", 0, CMDLINE_MAX, &text);

	if (bytes < 0)
		return xstrdup("");
	while (bytes && text[bytes - 1] == '\0')
		bytes--;
	for (ssize_t i = 0; i < bytes; i++)
		if (text[i] == '\0')
			text[i] = ' ';
	text[bytes] = '\0';
	process_clean_controls(text, (size_t)bytes);
	return text;
}

/* The variable's value in the text of an environment, NULL: not set. */
static const char *variable_in(const char *text, ssize_t bytes, const char *name)
{
	size_t length = strlen(name);

	if (!text)
		return NULL;
	for (ssize_t at = 0; at < bytes; at += (ssize_t)strlen(text + at) + 1)
		if (!strncmp(text + at, name, length) && text[at + (ssize_t)length] == '=')
			return text + at + length + 1;
	return NULL;
}

char *process_variable(pid_t pid, const char *name)
{
	char *text = NULL;
	ssize_t bytes = process_read_text(pid, "environ", 0, ENVIRON_MAX, &text);
	const char *found = variable_in(text, bytes, name);
	char *value = found ? xstrdup(found) : NULL;

	free(text);
	return value;
}

static void copy_rank(char out[PROCESS_RANK_MAX], const char *value)
{
	if (value && strlen(value) < PROCESS_RANK_MAX && strspn(value, "0123456789") == strlen(value))
		strcpy(out, value);
}

/* Longer values are left out. */
static void copy_job(char out[PROCESS_JOB_MAX], const char *value, const char *more)
{
	int length = value ? snprintf(out, PROCESS_JOB_MAX, "%s%s%s", value, more ? ":" : "", more ? more : "") : 0;

	if (length >= PROCESS_JOB_MAX)
		length = 0;
	out[length] = '\0';
	process_clean_controls(out, (size_t)length);
}

void process_read_ranks(struct process_info *info)
{
	char *text = NULL;
	ssize_t bytes = process_read_text(info->pid, "environ", 0, ENVIRON_MAX, &text);
	const char *port, *run_id;

	copy_rank(info->rank, variable_in(text, bytes, "RANK"));
	copy_rank(info->local_rank, variable_in(text, bytes, "LOCAL_RANK"));
	port = variable_in(text, bytes, "MASTER_PORT");
	copy_job(info->master, port ? variable_in(text, bytes, "MASTER_ADDR") : NULL, port);
	run_id = variable_in(text, bytes, "TORCHELASTIC_RUN_ID");
	copy_job(info->run_id, run_id && strcmp(run_id, "none") != 0 ? run_id : NULL, NULL); /* torchrun's default */
	free(text);
}

static void stat_path(struct reader_area *area)
{
	area->error = stat(area->path, &area->stat) ? -errno : 0;
}

int process_stat(pid_t pid, const char *path, struct stat *out)
{
	struct reader *reader;
	int error = reader_share(pid, &reader);

	if (error)
		return error;
	snprintf(reader_area(reader)->path, READER_PATH, "%s", path);
	error = reader_run(reader, stat_path);
	if (!error)
		error = reader_area(reader)->error;
	if (!error)
		*out = reader_area(reader)->stat;
	reader_return(reader);
	return error;
}

/* Copies piece by piece, counting steps: pages may have to come from a disk. */
static void copy_memory(struct reader_area *area, bool out)
{
	uint64_t done = 0;

	area->error = 0;
	while (done < area->bytes && !area->error) {
		uint64_t bytes = area->bytes - done < MEMORY_PIECE ? area->bytes - done : MEMORY_PIECE;
		struct iovec here = {area->data + done, bytes};
		struct iovec there = {(void *)(uintptr_t)(area->address + done), bytes};
		ssize_t got = out ? process_vm_writev(area->pid, &here, 1, &there, 1, 0)
				  : process_vm_readv(area->pid, &here, 1, &there, 1, 0);

		if (got < 0)
			area->error = -errno;
		else if ((uint64_t)got != bytes)
			area->error = -EFAULT;
		done += bytes;
		area->steps++;
	}
}

static void read_memory(struct reader_area *area)
{
	copy_memory(area, false);
}

static void write_memory(struct reader_area *area)
{
	copy_memory(area, true);
}

static int read_by_thread(pid_t pid, uint64_t address, void *buffer, size_t bytes)
{
	struct reader_area *area;
	struct reader *reader;
	int error = reader_share(pid, &reader);

	if (error)
		return error;
	area = reader_area(reader);
	for (size_t done = 0; done < bytes && !error; done += area->bytes) {
		area->pid = pid;
		area->address = address + done;
		area->bytes = bytes - done < READER_DATA ? bytes - done : READER_DATA;
		error = reader_run(reader, read_memory);
		if (!error)
			error = area->error;
		if (!error)
			memcpy((char *)buffer + done, area->data, area->bytes);
	}
	reader_return(reader);
	return error;
}

static __thread struct {
	pid_t pid;
	int (*read)(void *context, uint64_t address, void *buffer, size_t bytes);
	void *context;
} by_itself;

void process_read_by(pid_t pid, int (*read)(void *context, uint64_t address, void *buffer, size_t bytes), void *context)
{
	by_itself.pid = pid;
	by_itself.read = read;
	by_itself.context = context;
}

int process_read_memory(pid_t pid, uint64_t address, void *buffer, size_t bytes)
{
	int error;

	if (by_itself.pid && pid == by_itself.pid)
		return by_itself.read(by_itself.context, address, buffer, bytes);
	error = read_by_thread(pid, address, buffer, bytes);
	return error == -ESRCH ? read_by_thread(process_thread(pid), address, buffer, bytes) : error;
}

#define PIECES_MOST 1024u /* of a system call: IOV_MAX */
#define PIECES_BYTES (READER_DATA - PIECES_MOST * sizeof(struct process_piece))

/* The pieces stand at the start of the data, what is read behind them; a piece that cannot be read gets 0 bytes. */
static void read_pieces(struct reader_area *area)
{
	struct process_piece *pieces = (struct process_piece *)(void *)area->data;
	unsigned char *to = area->data + PIECES_MOST * sizeof(*pieces);
	struct iovec there[PIECES_MOST], here;
	size_t count = area->bytes, done = 0, left;
	ssize_t got;

	area->error = 0;
	while (done < count) {
		here = (struct iovec){to, 0};
		for (size_t i = done; i < count; i++) {
			there[i - done] = (struct iovec){(void *)(uintptr_t)pieces[i].address, pieces[i].bytes};
			here.iov_len += pieces[i].bytes;
		}
		got = process_vm_readv(area->pid, &here, 1, there, count - done, 0);
		area->steps++;
		if (got < 0 && errno != EFAULT) {
			area->error = -errno;
			return;
		}
		left = got < 0 ? 0 : (size_t)got;
		while (done < count && left >= pieces[done].bytes) {
			left -= pieces[done].bytes;
			to += pieces[done++].bytes;
		}
		if (done < count) {
			to += pieces[done].bytes;
			pieces[done++].bytes = 0;
		}
	}
}

static int run_pieces(pid_t pid, struct process_piece *pieces, size_t count, unsigned char *buffer, size_t bytes)
{
	struct reader_area *area;
	struct reader *reader;
	int error = reader_share(pid, &reader);

	if (error)
		return error;
	area = reader_area(reader);
	area->pid = pid;
	area->bytes = count;
	memcpy(area->data, pieces, count * sizeof(*pieces));
	error = reader_run(reader, read_pieces);
	if (!error)
		error = area->error;
	if (!error) {
		memcpy(pieces, area->data, count * sizeof(*pieces));
		memcpy(buffer, area->data + PIECES_MOST * sizeof(*pieces), bytes);
	}
	reader_return(reader);
	return error;
}

/* The process sends its own memory: one piece at a time, unless one comes too late. */
static int read_each_piece(struct process_piece *pieces, size_t count, unsigned char *buffer)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t bytes = pieces[i].bytes;
		int error = by_itself.read(by_itself.context, pieces[i].address, buffer, bytes);

		if (error == -ETIMEDOUT)
			return error;
		if (error)
			pieces[i].bytes = 0;
		buffer += bytes;
	}
	return 0;
}

int process_read_pieces(pid_t pid, struct process_piece *pieces, size_t count, void *buffer)
{
	unsigned char *to = buffer;
	int error = 0;

	if (by_itself.pid && pid == by_itself.pid)
		return read_each_piece(pieces, count, to);
	for (size_t done = 0, some; done < count && !error; done += some) {
		size_t bytes = 0;

		for (some = 0; some < PIECES_MOST && done + some < count; some++) {
			if (bytes + pieces[done + some].bytes > PIECES_BYTES)
				break;
			bytes += pieces[done + some].bytes;
		}
		if (!some)
			return -E2BIG;
		error = run_pieces(pid, pieces + done, some, to, bytes);
		if (error == -ESRCH)
			error = run_pieces(process_thread(pid), pieces + done, some, to, bytes);
		to += bytes;
	}
	return error;
}

int process_write_memory(pid_t pid, uint64_t address, const void *data, size_t bytes)
{
	struct reader_area *area;
	struct reader *reader;
	int error = bytes > READER_DATA ? -E2BIG : reader_share(pid, &reader);

	if (error)
		return error;
	area = reader_area(reader);
	area->pid = pid;
	area->address = address;
	area->bytes = bytes;
	memcpy(area->data, data, bytes);
	error = reader_run(reader, write_memory);
	if (!error)
		error = area->error;
	reader_return(reader);
	return error;
}
