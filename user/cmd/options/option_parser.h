/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The parsers of options, which the rows of option_rows.c name, and what they share.
 */
#pragma once

#include "cmd/options/options.h"

/* What a parser works on. */
struct parse {
	struct options *options;
	char *why;
	size_t why_size;
	bool after_output; /* export: the last thing read was an output file */
};

/* Puts the message, one line, into parse->why; returns -EINVAL. */
int option_fail(struct parse *parse, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Fails because the option has no such value; names: the list of its values, as in "gpu, cpu and idle". */
int option_refuse(struct parse *parse, const char *option, const char *value, const char *names);

/*
 * Checks the options together, once the whole command line is read: which need, exclude or imply one another.  Fills in
 * options that follow from others.  0 or -EINVAL
 */
int option_rules_check(struct parse *parse);

/* A part of that: the options that choose when to record, and into how many files. */
int schedule_rules_check(struct parse *parse);

/* What is recorded, of which processes, and for how long. */
int parse_pid(struct parse *parse, const char *value);
int parse_label(struct parse *parse, const char *value);
int parse_duration(struct parse *parse, const char *value);
int parse_start_at(struct parse *parse, const char *value);
int parse_trigger(struct parse *parse, const char *value);
int parse_rotate(struct parse *parse, const char *value);
int parse_flight_recorder(struct parse *parse, const char *value);
int parse_interval(struct parse *parse, const char *value);
int parse_cupti(struct parse *parse, const char *value);
int parse_buffer(struct parse *parse, const char *value);
int parse_sums_limit(struct parse *parse, const char *value);
int parse_cost_limit(struct parse *parse, const char *value);
int parse_memory_limit(struct parse *parse, const char *value);
int parse_cpu(struct parse *parse, const char *value);
int parse_frequency(struct parse *parse, const char *value);
int parse_off_cpu(struct parse *parse, const char *value);
int parse_trace(struct parse *parse, const char *value);
int parse_kernels_only(struct parse *parse, const char *value);
int parse_capture_range(struct parse *parse, const char *value);
int parse_capture_range_end(struct parse *parse, const char *value);
int parse_schedule(struct parse *parse, const char *value);
int parse_prove_cost(struct parse *parse, const char *value);

/* What is written, in which format, and what its numbers count. */
int parse_folded_output(struct parse *parse, const char *value);
int parse_merge_output(struct parse *parse, const char *value);
int parse_format(struct parse *parse, const char *value);
int parse_report_format(struct parse *parse, const char *value);
int parse_gpu_trace(struct parse *parse, const char *value);
int parse_gpu_sum(struct parse *parse, const char *value);
int parse_api_sum(struct parse *parse, const char *value);
int parse_table(struct parse *parse, const char *value);
int parse_backward(struct parse *parse, const char *value);
int parse_min_complete(struct parse *parse, const char *value);
int parse_fail_above(struct parse *parse, const char *value);
int parse_comm_kernel(struct parse *parse, const char *value);
int parse_max_size(struct parse *parse, const char *value);

/* Adds an output of the command line, from -o or from a further word of export. 0 or -EINVAL */
int option_add_output(struct parse *parse, const char *path);

/* Which part of a recording is wanted. */
int parse_from(struct parse *parse, const char *value);
int parse_to(struct parse *parse, const char *value);
int parse_process(struct parse *parse, const char *value);
int parse_user(struct parse *parse, const char *value);
int parse_comm(struct parse *parse, const char *value);
int parse_cgroup(struct parse *parse, const char *value);
int parse_container(struct parse *parse, const char *value);
int parse_pod(struct parse *parse, const char *value);
int parse_thread(struct parse *parse, const char *value);
int parse_gpu(struct parse *parse, const char *value);
int parse_step(struct parse *parse, const char *value);
int parse_steps(struct parse *parse, const char *value);
int parse_cycle(struct parse *parse, const char *value);

/* gputrace serve: its word, its options, and what goes with what. */
int parse_serve_word(struct parse *parse, const char *word);
int parse_log_output(struct parse *parse, const char *value);
int parse_profiles(struct parse *parse, const char *value);
int parse_socket(struct parse *parse, const char *value);
int serve_rules_check(struct parse *parse);

/* Options of the table of ops (report --ops). */
int parse_sort(struct parse *parse, const char *value);
int parse_rows(struct parse *parse, const char *value);
int parse_group_by_stack(struct parse *parse, const char *value);

/* Options of the tree of calls (--tree) and of the source (--lines). */
int parse_min_percent(struct parse *parse, const char *value);
int parse_depth(struct parse *parse, const char *value);
int parse_every(struct parse *parse, const char *value);

/* --lines: the word after it says which file or function, if there is another word for the log. */
int parse_lines(struct parse *parse, const char *value);
bool take_lines_word(struct parse *parse, const char *word);
