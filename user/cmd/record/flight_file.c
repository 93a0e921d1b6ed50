/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/record/flight_file.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/msg.h"
#include "cmd/output/output.h"
#include "cmd/record/dated_file.h"
#include "cmd/record/recording.h"

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
	struct recording *recording = context;
	uint64_t end_ns = end->time_ns;
	double lasts = (double)(end->time_ns - writing->start_ns) / 1e9;
	char *name = dated_file_name(recording->file.output.path);
	struct output output;
	int err = output_open(name, &output);

	if (!err)
		err = recent_log_write(recent, output.fd, writing, end);
	if (!err)
		err = dated_file_commit(&output);
	if (err)
		msg_error("%s (%s): not written: %s; the recording goes on: make that possible and send SIGUSR1 again",
			  name, why, output_error(err));
	else
		msg_info("%s: written, the last %.1f s: %s", output.path, lasts, why);
	serve_process_file(&recording->serve, err ? name : output.path, end_ns, why, err ? output_error(err) : NULL);
	if (!err)
		hang_dump_write(&recording->hang_dump, output.path, end_ns);
	recording->flight_files.keep = recording->options->recorder_keep;
	if (!err)
		dated_files_add(&recording->flight_files, output.path);
	output_close(&output);
	free(name);
}
