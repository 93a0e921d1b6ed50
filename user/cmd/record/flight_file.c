/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names go by the wall clock: a later run must not replace what an earlier one wrote. */
#include "cmd/record/flight_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/msg.h"
#include "cmd/output/output.h"
#include "cmd/record/recording.h"

#define SUFFIX ".gpt"

/* More files of one second, or more that were there after the clock was set back, replace the last one. */
#define SAME_SECOND_MOST 100

static char *name_file(const char *path, const char *moment, unsigned number)
{
	size_t length = path ? strlen(path) : 0, suffix = strlen(SUFFIX);
	char again[16] = "";

	if (number > 1)
		snprintf(again, sizeof(again), "-%u", number);
	if (!path)
		return xasprintf("gputrace-%s%s" SUFFIX, moment, again);
	length -= length > suffix && !strcmp(path + length - suffix, SUFFIX) ? suffix : 0;
	return xasprintf("%.*s.%s%s" SUFFIX, (int)length, path, moment, again);
}

static char *name_free_file(const char *path)
{
	char moment[32] = "", *name = NULL;
	time_t now = time(NULL);
	struct stat there;
	struct tm local;

	if (localtime_r(&now, &local))
		strftime(moment, sizeof(moment), "%Y%m%d-%H%M%S", &local);
	for (unsigned number = 1; number <= SAME_SECOND_MOST; number++) {
		free(name);
		name = name_file(path, moment, number);
		if (lstat(name, &there) < 0)
			break;
	}
	return name;
}

int flight_file_check(const char *path)
{
	char *name = name_free_file(path);
	int err = output_probe(name);

	if (err)
		msg_error("--flight-recorder: %s: cannot be written: %s: name a log in another folder with -o", name,
			  output_error(err));
	free(name);
	return err;
}

void flight_file_say(const struct recording *recording)
{
	const struct options *options = recording->options;

	if (options->recorder_ns)
		msg_info("only the last %.0f s are kept: kill -USR1 %d writes them into a file",
			 (double)options->recorder_ns / 1e9, (int)getpid());
}

void flight_file_write(void *context, const struct recent_log *recent, const struct recent_writing *writing,
		       struct gpt_end *end, const char *why)
{
	const struct recording *recording = context;
	double lasts = (double)(end->time_ns - writing->start_ns) / 1e9;
	char *name = name_free_file(recording->file.output.path);
	struct output output;
	int err = output_open(name, &output);

	if (!err)
		err = recent_log_write(recent, output.fd, writing, end);
	if (!err)
		err = output_commit(&output);
	output_close(&output);
	if (err)
		msg_error("%s (%s): not written: %s; the recording goes on: make that possible and send SIGUSR1 again",
			  name, why, output_error(err));
	else
		msg_info("%s: written, the last %.1f s: %s", name, lasts, why);
	free(name);
}
