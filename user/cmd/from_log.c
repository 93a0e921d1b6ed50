/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Opens the log and hands it to deliver; needs no privileges. */
#include "cmd/commands.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/deliver.h"
#include "cmd/options/format.h"
#include "cmd/outputs.h"
#include "input/foreign_trace.h"

int from_log_open(const char *path)
{
	struct stat stat;
	/* O_NONBLOCK: does not wait for a pipe that no one writes to */
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &stat) < 0) {
		msg_error("%s: %s", path, strerror(errno));
		goto fail;
	}
	if (S_ISDIR(stat.st_mode)) {
		msg_error("%s: is a folder: name a file that is in it", path);
		goto fail;
	}
	if (!S_ISREG(stat.st_mode)) {
		msg_error("%s: is not a regular file, as a log is: gputrace -o FILE.gpt records one", path);
		goto fail;
	}
	return fd;
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
				  path, options->log);
			return false;
		}
	}
	return true;
}

static enum exit_code from_log(const struct options *options, bool report)
{
	struct delivery delivery = {
		.options = options,
		.log_name = options->log,
		.report = report,
		.skip = SIZE_MAX,
	};
	enum exit_code code;
	bool all_written;

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
