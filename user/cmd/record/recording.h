/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What one live trace owns, and its main steps, which record.c runs in order. */
#pragma once

#include <signal.h>

#include "capture/run.h"
#include "cmd/record/command.h"
#include "cmd/process/exit_code.h"
#include "cmd/options/options.h"
#include "cmd/record/early_cycles.h"
#include "cmd/record/gap_blame.h"
#include "cmd/record/dated_file.h"
#include "cmd/record/hang_dump.h"
#include "cmd/record/log_file.h"
#include "cmd/record/rotated_files.h"
#include "cmd/record/serve.h"
#include "cmd/record/top.h"

struct attach;
struct drain;
struct gpt_record;
struct log_writer;

struct recording {
	const struct options *options;
	char *agent_path;
	size_t log_output; /* index of the first .gpt among the outputs, which is the log itself; SIZE_MAX: none */
	struct log_file file;
	struct log_writer *log;
	struct rotated_files *rotated;	 /* instead of the file; NULL: none */
	struct history *history;	 /* of the recording, for the ends of these files; NULL: none */
	char *share_name;		 /* without BPF: the name by which agents find this gputrace; else NULL */
	struct default_activity unasked; /* what is recorded of threads without being asked for */
	uid_t owner;			 /* without BPF: the user whose processes are recorded */
	struct caller *caller;		 /* the user that the command runs as, NULL: as gputrace */
	struct command command;
	int signals; /* -1: not open */
	sigset_t old_signals;
	struct early_cycles early;
	struct top_process top;
	struct serve_process serve;
	struct start_request start;
	struct attach *attach;
	struct drain *drain;
	struct trigger *trigger; /* of the flight recorder; NULL: none */
	struct gap_blame blame;
	struct hang_dump hang_dump;
	struct dated_files flight_files; /* of the flight recorder's thread */
	struct run_result result;
	struct recording_search *search; /* NULL: none has begun */
	char why[512];
};

/* Appends a record of gputrace's own to the log; context: the recording. */
void recording_emit(void *context, const struct gpt_record *record);

enum attach_scope recording_scope(const struct options *options);

/* The first .gpt output, which is the log: its index among the outputs, SIZE_MAX; its path, NULL: there is none. */
size_t recording_log_output(const struct options *options);
const char *recording_log_path(const struct options *options);

/* Checks all that can be checked before anything is started.  0, or -errno and a message. */
int recording_check(struct recording *recording);

/* Has the log written into several files (--rotate). */
void recording_rotate(struct recording *recording);

/* Finds when the recording is to begin (--start-at).  0, or -EINVAL and a message: that is past. */
int recording_plan_start(struct recording *recording);

/* Prints when it will begin; how it did not begin when it was to; and why it did not begin at all. */
void recording_say_waits(void *context, const struct start *start);
void recording_say_late(struct recording *recording, const struct start *start);
void recording_say_not_begun(struct recording *recording);

/* Places the probes, after starting the ring's reader.  0, or -errno and a message. */
int recording_attach(struct recording *recording);

/* Whether nothing saw the calls of a process that was named, to the end; then with a message. */
bool recording_lacks_process(const struct recording *recording);

/* Whether --python-calls cannot trace any calls (or, when the recording is `over`, did not); then with a message. */
bool recording_lacks_python_calls(struct recording *recording, bool over);

/*
 * Searches the objects of processes with PyTorch for who holds tensors, and puts what it finds into the log
 * (run_options.search_begin).  context: the recording.
 */
void recording_search_begin(void *context);
bool recording_search_is_over(void *context);
void recording_search_end(struct recording *recording);

/* Prints what is traced, with -v also how; a warning if no CUDA library is there yet. */
void recording_say_target(const struct recording *recording);

/* Prints why the recording is over, and how the command ended if it has. */
void recording_say_end(struct recording *recording);

/* Prints why a command could not be executed. */
void recording_say_not_executed(const char *name, int err);

/* Prints how a command that has ended failed. */
void recording_say_command_end(const struct recording *recording);

/* EXIT_GOOD, or EXIT_FAILED if the recording ended by an error. */
enum exit_code recording_result(const struct recording *recording);

/* After the recording: gives the user's own log its name before anything else can fail, then makes all outputs. */
enum exit_code recording_deliver(struct recording *recording);
