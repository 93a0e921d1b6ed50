/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opens the log and hands it to deliver; needs no privileges. */
#include "cmd/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/temporary.h"
#include "cmd/output/deliver.h"
#include "cmd/process/interrupt.h"
#include "cmd/output/last_trace.h"
#include "cmd/options/format.h"
#include "cmd/output/outputs.h"
#include "input/foreign_trace.h"

#define PIECE_BYTES (256u << 10)

static bool is_stdin(const char *path)
{
	return !strcmp(path, "-") || !strcmp(path, "/dev/stdin");
}

const char *from_log_name(const char *path)
{
	return is_stdin(path) ? "standard input" : path;
}

/* Waits until there is something to read, which a signal ends (interrupt.h); false: it did. */
static bool wait_for_bytes(int fd)
{
	struct pollfd polled[] = {{.fd = fd, .events = POLLIN}, {.fd = interrupt()->fd, .events = POLLIN}};

	while (poll(polled, 2, -1) < 0 && errno == EINTR && !is_interrupted())
		;
	return !is_interrupted();
}

/* Copies all that comes; returns 0 or -errno. */
static int copy_all(int from, int to)
{
	AUTO_FREE char *piece = xcalloc(1, PIECE_BYTES);
	ssize_t got = 1;
	int err = 0;

	while (got && !err) {
		if (!wait_for_bytes(from)) {
			err = -ECANCELED;
			break;
		}
		got = read(from, piece, PIECE_BYTES);
		if (got > 0)
			err = write_unless(to, piece, (size_t)got, interrupt());
		else if (got < 0 && errno != EINTR && errno != EAGAIN)
			err = -errno;
	}
	return err;
}

/* A log is read at several places and more than once, so what comes from a pipe is copied first. */
static int copy_pipe(int pipe, const char *path)
{
	int fd = temporary_open(), err = fd < 0 ? fd : copy_all(pipe, fd);

	close(pipe);
	if (!err)
		return fd;
	if (fd >= 0)
		close(fd);
	if (err == -ECANCELED)
		msg_warn("%s: interrupted before it had ended", from_log_name(path));
	else
		msg_error("%s: cannot be copied to a temporary file: %s: name a folder with room for it in TMPDIR",
			  from_log_name(path), strerror(-err));
	return -1;
}

#define FIRST_FREE 3 /* the descriptor after the standard ones */

/* A pipe is polled before it is read: O_NONBLOCK lets a signal end the wait for one that writes to it. */
static int open_file(const char *path)
{
	if (last_trace_is(path))
		return last_trace_open(path);
	return is_stdin(path) ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, FIRST_FREE)
			      : open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

int from_log_open(const char *path)
{
	struct stat stat;
	int fd = open_file(path);

	if (fd < 0 || fstat(fd, &stat) < 0) {
		msg_error("%s: %s", from_log_name(path), strerror(errno));
		goto fail;
	}
	if (S_ISREG(stat.st_mode))
		return fd;
	if (S_ISFIFO(stat.st_mode) || S_ISSOCK(stat.st_mode))
		return copy_pipe(fd, path);
	if (S_ISDIR(stat.st_mode))
		msg_error("%s: is a folder: name a file that is in it", from_log_name(path));
	else if (isatty(fd))
		msg_error("%s: is a terminal: name a file, or pipe one to gputrace", from_log_name(path));
	else
		msg_error("%s: is not a regular file, as a log is: gputrace -o FILE.gpt records one",
			  from_log_name(path));
fail:
	if (fd >= 0)
		close(fd);
	return -1;
}

/* A .gpt output is a copy of the log, which another tool's file is not. */
static bool has_wanted_log(const struct options *options, int fd)
{
	for (size_t i = 0; i < options->outputs.list.count; i++) {
		const char *path = options->outputs.list.items[i];
		struct format format;
		bool known = strcmp(path, "-") ? format_by_path(path, &format)
					       : options->format && format_by_name(options->format, &format);

		if (known && !format.writer && foreign_is(fd)) {
			msg_error("%s: no log can be made of %s, which is none of gputrace: leave this output out, or "
				  "name one of another format",
				  path, from_log_name(options->log));
			return false;
		}
	}
	return true;
}

static enum exit_code from_log(const struct options *options, bool report)
{
	AUTO_FREE char *file = is_stdin(options->log) ? NULL : last_trace_word(options->log);
	struct delivery delivery = {
		.options = options,
		.log_name = from_log_name(options->log),
		.file = file,
		.report = report,
		.skip = SIZE_MAX,
	};
	enum exit_code code;
	bool all_written;

	interrupt_watch();
	delivery.log_fd = from_log_open(options->log);
	if (delivery.log_fd < 0)
		return EXIT_FAILED;
	code = !has_wanted_log(options, delivery.log_fd) || outputs_check(options) ? EXIT_FAILED
										   : deliver(&delivery, &all_written);
	close(delivery.log_fd);
	return code;
}

enum exit_code report_command(const struct options *options)
{
	return from_log(options, true);
}

enum exit_code export_command(const struct options *options)
{
	return from_log(options, false);
}
