/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What one live trace owns, and its larger steps; record.c has their order. */
#ifndef GPUTRACE_RECORDING_H
#define GPUTRACE_RECORDING_H

#include <signal.h>

#include "capture/run.h"
#include "cmd/command.h"
#include "cmd/exit_code.h"
#include "cmd/options/options.h"
#include "cmd/early_cycles.h"
#include "cmd/log_file.h"
#include "cmd/top.h"

struct attach;
struct drain;
struct gpt_record;
struct log_writer;

struct recording {
	const struct options *options;
	char *agent_path;
	size_t log_output; /* the first .gpt among the outputs is the log itself, SIZE_MAX: none */
	struct log_file file;
	struct log_writer *log;
	char *share_name;      /* by which agents find this gputrace where it records without BPF, else NULL */
	uid_t owner;	       /* the same: of the processes that are recorded */
	struct caller *caller; /* as whom the command runs, NULL: as gputrace */
	struct command command;
	int signals; /* -1: not open */
	sigset_t old_signals;
	struct early_cycles early;
	struct top_process top;
	struct attach *attach;
	struct drain *drain;
	struct run_result result;
	char why[512];
};

/* A record of gputrace's, after those that are in the log: the context is the recording. */
void recording_emit(void *context, const struct gpt_record *record);

enum attach_scope recording_scope(const struct options *options);

/* Places the probes, with the ring's reader running before the first of them.  0, or -errno and a message. */
int recording_attach(struct recording *recording);

/* Whether --python-calls will not get (or when all is `over` did not get) what it asks for; with a message. */
bool recording_lacks_python_calls(struct recording *recording, bool over);

/* With -v whom and what is traced; a warning where no CUDA library is there yet. */
void recording_say_target(const struct recording *recording);

/* Why the recording is over, and how the command ended. */
void recording_say_end(struct recording *recording);

/* Whether the recording went as it should. */
enum exit_code recording_result(const struct recording *recording);

/* With the recording over, the user's own log gets its name before anything else can fail; then all outputs. */
enum exit_code recording_deliver(struct recording *recording);

#endif
