/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The subcommands, each a function of the options of its command line, as SUBCOMMANDS (options.h) names them. */
#pragma once

#include "cmd/process/exit_code.h"
#include "cmd/options/options.h"

/* The live trace: record into a log, then deliver from it. Returns the exit status, which may be the command's. */
int record_command(const struct options *options);

/* `gputrace report` and `gputrace export`: outputs from a log. */
enum exit_code report_command(const struct options *options);
enum exit_code export_command(const struct options *options);

/*
 * Opens a log for reading; "-" is standard input, and what comes from a pipe is copied to a temporary file.  -1: a
 * message has said what is wrong.
 */
int from_log_open(const char *path);

/* Its name in messages. */
const char *from_log_name(const char *path);

/* `gputrace diff`: two logs compared. */
enum exit_code diff_command(const struct options *options);

/* `gputrace merge`: logs of several ranks of one job, put on one clock. */
enum exit_code merge_command(const struct options *options);

/* `gputrace serve`: the flight recorder as a service, or a question to one that runs. */
int serve_command(const struct options *options);

/* `gputrace view`: a log in a browser on this machine, until Ctrl-C. */
enum exit_code view_command(const struct options *options);

/* `gputrace dump`: what threads do and wait for, now. */
enum exit_code dump_command(const struct options *options);

/* `gputrace doctor`: one line per thing that a trace needs or can use, with the remedy where it is not there. */
enum exit_code doctor_command(const struct options *options);

/* `gputrace mcp`: answers an assistant's questions until standard input ends. */
enum exit_code mcp_command(const struct options *options);

/* `gputrace env`: shell commands that set the variables by which the driver loads the agent and the agent waits. */
enum exit_code env_command(const struct options *options);
