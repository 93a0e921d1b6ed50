/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The command line: what is accepted, and the one-line message about what is not. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/options/format.h"
#include "cmd/options/option_rows.h"
#include "cmd/options/command_line.h"
#include "cmd/process/privileges.h"
#include "cmd/record/session.h"
#include "parsed.h"

static void no_argument_traces_the_whole_machine(void **state)
{
	assert_int_equal(parse_words((const char *const[]){NULL}), 0);
	assert_int_equal(options.subcommand, SUBCOMMAND_RECORD);
	assert_int_equal(options.pids.list.count, 0);
	assert_null(options.command);
	assert_int_equal(options.duration_ns, 0);
	assert_int_equal(options.buffer_bytes, 64u << 20);
	assert_int_equal(options.agent, ATTACH_AGENT_AUTO);
}

static void serve_is_a_flight_recorder_or_a_question_to_one(void **state)
{
	assert_int_equal(PARSE("serve", "-p", "gpu", "--trigger", "idle>2s"), 0);
	assert_null(options.log);
	assert_int_equal(options.recorder_ns, 30000000000);
	assert_int_equal(options.interval_ns, 10000000000);
	assert_int_equal(options.port, 9877);
	assert_false(options.trigger.counts_steps);
	assert_int_equal(PARSE("serve", "--ops", "--flight-recorder", "60s,1G", "--interval", "5s", "--profiles",
			       "/var/log/gpu,keep=60", "-o", "all.gpt"),
			 0);
	assert_true(options.trigger.counts_steps);
	assert_int_equal(options.recorder_bytes, 1000000000);
	assert_string_equal(options.profiles, "/var/log/gpu");
	assert_int_equal(options.profiles_keep, 60);
	assert_int_equal(PARSE("serve", "status", "--socket", "/run/x/y"), 0);
	assert_string_equal(options.log, "status");
	assert_string_equal(options.socket, "/run/x/y");
	assert_refused(PARSE("serve", "start"), "'start'", "status, write and stop");
	assert_refused(PARSE("serve", "stop", "write"), "'stop' and 'write'", "one of");
	assert_refused(PARSE("serve", "write", "-p", "1"), "serve write: asks one that runs",
		       "only --socket goes with it");
	assert_refused(PARSE("serve", "-o", "x.json"), "--output x.json", ".gpt");
	assert_refused(PARSE("serve", "-o", "-"), "--output -", ".gpt");
	assert_refused(PARSE("serve", "-o", "a.gpt", "-o", "b.gpt"), "--output b.gpt", "a.gpt");
	assert_int_equal(PARSE("serve"), 0);
	assert_int_equal(options.sums_limit, 150);
	assert_int_equal(options.recorder_keep, 0);
	assert_int_equal(PARSE("serve", "--flight-recorder", "60s,1G,keep=7"), 0);
	assert_int_equal(options.recorder_bytes, 1000000000);
	assert_int_equal(options.recorder_keep, 7);
	assert_int_equal(PARSE("serve", "--flight-recorder", "60s,keep=3"), 0);
	assert_int_equal(options.recorder_keep, 3);
	assert_refused(PARSE("serve", "--flight-recorder", "60s,keep=0"), "--flight-recorder 60s,keep=0", "keep=20");
	assert_int_equal(PARSE("serve", "--sums-limit", "1.5%"), 0);
	assert_int_equal(options.sums_limit, 1500);
	assert_refused(PARSE("serve", "--sums-limit", "0"), "--sums-limit 0:", "a percentage above 0");
	assert_refused(PARSE("serve", "--interval", "1s"), "--interval: from 2s to 60s is accepted", "60s");
	assert_refused(PARSE("serve", "--interval", "2m"), "--interval: from 2s to 60s is accepted", "60s");
	assert_refused(PARSE("serve", "--profiles", ",keep=2"), "--profiles", "a folder");
	assert_refused(PARSE("serve", "--profiles", "x,keep=0"), "--profiles", "up to 100000");
	assert_refused(PARSE("serve", "--flight-recorder", "30s,0"), "--flight-recorder", "at least 1M");
	assert_refused(PARSE("serve", "--flight-recorder", "5s", "--trigger", "idle>1s,before=20s"), "--trigger",
		       "before=");
	assert_refused(PARSE("serve", "--trigger", "step>0x"), "--trigger step>0x", "accepted");
	assert_refused(PARSE("serve", "--socket", ""), "--socket", "a path");
	assert_refused(PARSE("serve", "--rotate", "1G"), "--rotate", "does not apply to serve");
}

static void a_report_is_text_or_tables_in_a_format(void **state)
{
	assert_int_equal(PARSE("report", "x.gpt", "--format", "json", "--table", "kernels"), 0);
	assert_ptr_equal(options.report_format, &table_format_json);
	assert_string_equal(options.report_table, "kernels");
	assert_int_equal(PARSE("report", "x.gpt", "--format", "text"), 0);
	assert_null(options.report_format);
	assert_int_equal(PARSE("-d", "1", "--format", "md"), 0);
	assert_ptr_equal(options.report_format, &table_format_md);
	assert_int_equal(PARSE("-d", "1", "--format", "json", "-o", "x.json"), 0);
	assert_ptr_equal(options.report_format, &table_format_json);
	assert_refused(PARSE("report", "x.gpt", "--format", "folded"), "--format folded", "text, csv, json and md");
	assert_int_equal(PARSE("report", "x.gpt", "--table", "kernels"), 0);
	assert_null(options.report_format);
	assert_int_equal(PARSE("report", "x.gpt", "--table", "kernels", "--format", "text"), 0);
	assert_refused(PARSE("report", "x.gpt", "--tree", "--table", "kernels"), "--table kernels", "--format");
	assert_refused(PARSE("report", "x.gpt", "--all", "--table", "kernels"), "--all", "without --table");
	assert_int_equal(PARSE("report", "x.gpt", "--ops", "--format", "csv"), 0);
	assert_ptr_equal(options.report_format, &table_format_csv);
}

static void standard_output_has_the_report_or_an_export(void **state)
{
	assert_int_equal(PARSE("-d", "1", "-o", "-", "--format", "json"), 0);
	assert_null(options.report_format);
	assert_refused(PARSE("-d", "1", "-o", "-", "--format", "md"), "--format md", "json.gz");
	assert_refused(PARSE("-d", "1", "-o", "x.json", "--format", "folded"), "--format folded", "--output -");
	assert_refused(PARSE("export", "x.gpt", "-o", "x.json", "--format", "csv"), "--format csv", "json.gz");
}

static void lists_of_activities_go_together_and_with_nothing_else(void **state)
{
	assert_int_equal(PARSE("report", "x.gpt", "--gpu-trace", "--gpu-sum", "--api-sum", "--format", "csv"), 0);
	assert_int_equal(options.lists, LIST_GPU_TRACE | LIST_GPU_SUM | LIST_API_SUM);
	assert_int_equal(PARSE("--api-sum", "--ops", "-p", "7"), 0);
	assert_int_equal(options.lists, LIST_API_SUM);
	assert_refused(PARSE("report", "x.gpt", "--gpu-sum", "--ops"), "--gpu-sum", "instead");
	assert_refused(PARSE("report", "x.gpt", "--gpu-sum", "--tree"), "--gpu-sum", "--tree");
	assert_refused(PARSE("report", "x.gpt", "--gpu-sum", "--lines"), "--gpu-sum", "--lines");
}

static void what_is_for_the_tree_of_calls_goes_with_it(void **state)
{
	assert_int_equal(PARSE("report", "x.gpt", "--tree"), 0);
	assert_true(options.wants_tree);
	assert_int_equal(options.tree.by, TREE_BY_GPU);
	assert_int_equal(options.tree.min_percent, 1000);
	assert_int_equal(
		PARSE("--tree", "--by", "cpu", "--min-percent", "0.5", "--depth", "7", "--show-all", "-p", "7"), 0);
	assert_int_equal(options.tree.by, TREE_BY_CPU);
	assert_int_equal(PARSE("report", "x.gpt", "--tree", "--by", "memory"), 0);
	assert_int_equal(options.tree.by, TREE_BY_MEMORY);
	assert_int_equal(
		PARSE("--tree", "--by", "cpu", "--min-percent", "0.5", "--depth", "7", "--show-all", "-p", "7"), 0);
	assert_int_equal(options.tree.min_percent, 500);
	assert_int_equal(options.tree.depth, 7);
	assert_true(options.tree.all_frames);
	assert_refused(PARSE("report", "x.gpt", "--tree", "--by", "wall"), "--by wall", "gpu, cpu, calls and memory");
	assert_refused(PARSE("report", "x.gpt", "--tree", "--min-percent", "101"), "--min-percent 101", "0 to 100");
	assert_refused(PARSE("report", "x.gpt", "--tree", "--depth", "0"), "--depth 0", "from 1 to");
	assert_refused(PARSE("report", "x.gpt", "--show-all"), "--show-all: is for the tree of calls",
		       "it goes with --tree");
	assert_refused(PARSE("report", "x.gpt", "--depth", "3"), "--depth: is for trees",
		       "it goes with --tree or --layers");
	assert_refused(PARSE("report", "x.gpt", "--tree", "--ops"), "--ops", "one of them");
}

static void periods_are_instead_of_the_report_and_cut_it_by_time(void **state)
{
	assert_int_equal(PARSE("report", "x.gpt", "--every", "1h", "--from", "5", "--gpu", "1"), 0);
	assert_int_equal(options.every_ns, 3600000000000);
	assert_true(options_replace_report(&options));
	options_free(&options);
	assert_refused(PARSE("report", "x.gpt", "--every", "0"), "--every 0: a length of time is accepted", "1h");
	assert_refused(PARSE("report", "x.gpt", "--every", "often"), "--every often", "30s");
	assert_refused(PARSE("report", "x.gpt", "--every", "1s", "--steps", "1..2"), "--every: cuts the trace by time",
		       "--steps");
	assert_refused(PARSE("--every", "1s", "-p", "7"), "--every does not apply to tracing", "--help-all");
}

static void the_layers_of_the_model_are_instead_of_the_report_and_take_what_is_for_trees(void **state)
{
	assert_int_equal(PARSE("report", "x.gpt", "--layers", "--depth", "2", "--min-percent", "5"), 0);
	assert_true(options.wants_layers);
	assert_int_equal(options.tree.depth, 2);
	assert_int_equal(options.tree.min_percent, 5000);
	assert_int_equal(PARSE("report", "x.gpt", "--layers", "--table", "layer_steps"), 0);
	assert_refused(PARSE("report", "x.gpt", "--layers", "--all"), "--all: is of the whole report", "--table");
	assert_int_equal(PARSE("diff", "a.gpt", "b.gpt", "--layers"), 0);
	assert_true(options.wants_layers);
	assert_int_equal(PARSE("--layers", "-p", "7"), 0);
	assert_true(options.wants_layers);
	assert_refused(PARSE("report", "x.gpt", "--layers", "--by", "cpu"), "--by: is for the tree of calls", "--tree");
	assert_refused(PARSE("report", "x.gpt", "--layers", "--tree"), "--layers", "one of them");
	assert_refused(PARSE("report", "x.gpt", "--layers", "--ops"), "--layers", "one of them");
	assert_refused(PARSE("report", "x.gpt", "--layers", "--every", "1h"), "--every", "one of them");
	assert_refused(PARSE("report", "x.gpt", "--api-sum", "--layers"), "--api-sum", "--layers");
	assert_refused(PARSE("--prove-cost", "2s", "-p", "1", "--layers"), "--prove-cost: its report is the cost",
		       "--layers");
}

static void the_source_to_list_is_the_word_behind_lines(void **state)
{
	assert_int_equal(PARSE("report", "x.gpt", "--lines"), 0);
	assert_true(options.wants_lines);
	assert_null(options.lines.what);
	assert_int_equal(PARSE("report", "x.gpt", "--lines", "train.py"), 0);
	assert_string_equal(options.log, "x.gpt");
	assert_string_equal(options.lines.what, "train.py");
	assert_int_equal(PARSE("report", "--lines", "train.py", "x.gpt"), 0);
	assert_string_equal(options.log, "x.gpt");
	assert_string_equal(options.lines.what, "train.py");
	assert_int_equal(PARSE("report", "--lines", "x.gpt"), 0);
	assert_string_equal(options.log, "x.gpt");
	assert_null(options.lines.what);
	assert_int_equal(PARSE("--lines=train_step", "--", "python", "train.py"), 0);
	assert_string_equal(options.lines.what, "train_step");
	assert_string_equal(options.command[0], "python");
	assert_int_equal(PARSE("--lines", "--", "python", "train.py"), 0);
	assert_null(options.lines.what);
	assert_string_equal(options.command[0], "python");
	assert_refused(PARSE("report", "x.gpt", "--lines="), "--lines=", "a function");
	assert_refused(PARSE("report", "x.gpt", "--lines", "a", "b"), "'b'", "takes one log");
	assert_refused(PARSE("report", "x.gpt", "--lines", "--tree"), "--lines", "one of them");
}

static void durations_are_seconds_or_have_a_unit(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{"500ms", 500000000ull},      {"10s", 10000000000ull}, {"2m", 120000000000ull},
		{"1h", 3600000000000ull},     {"1.5s", 1500000000ull}, {"0.5ms", 500000ull},
		{"10", 10000000000ull},	      {"0.25", 250000000ull},  {"0.000000015", 15},
		{"1.300000063s", 1300000063},
	};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(PARSE("-d", good[i].text), 0);
		assert_int_equal(options.duration_ns, good[i].ns);
	}
}

static void wrong_durations_are_refused_with_their_value(void **state)
{
	static const char *const bad[] = {"0",	 "0s",	   "-5s", "text", "",	  "10x",    "10 s", "1e3s",
					  "+1s", "1.2.3s", "inf", "nan",  "0x1s", "99999h", "1sm",  "s"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_refused(PARSE("-d", bad[i]), "--duration", "10, 500ms, 2m, 1h");
		assert_non_null(strstr(why, bad[i]));
	}
}

static void pids_are_a_list_without_doubles(void **state)
{
	assert_int_equal(PARSE("-p", "12,34,12", "--pid", "34,56"), 0);
	assert_int_equal(options.pids.list.count, 3);
	assert_int_equal(options.pids.list.items[0], 12);
	assert_int_equal(options.pids.list.items[1], 34);
	assert_int_equal(options.pids.list.items[2], 56);
}

static void wrong_pids_are_refused_and_the_wrong_one_is_named(void **state)
{
	static const struct {
		const char *text, *bad;
	} lists[] = {{"0", "'0'"},
		     {"-1", "'-1'"},
		     {"12,", "''"},
		     {",12", "''"},
		     {"12,x", "'x'"},
		     {"", "''"},
		     {"12 34", "'12 34'"},
		     {"99999999", "'99999999'"},
		     {"123456789012345678901234567890", "'1234567890"}};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		assert_refused(PARSE("-p", lists[i].text), lists[i].bad, "-p 41230,41231");
}

static void the_suffix_picks_the_format(void **state)
{
	static const struct {
		const char *path, *format;
	} paths[] = {{"a.json", "json"},      {"a.json.gz", "json.gz"}, {"dir.x/a.folded", "folded"},
		     {"/tmp/a.b.gpt", "gpt"}, {"A.JSON", "json"},	{"rank-%p.json", "json"}};
	struct format format;

	for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
		assert_int_equal(PARSE("-o", paths[i].path), 0);
		assert_true(format_by_path(paths[i].path, &format));
		assert_string_equal(format.name, paths[i].format);
	}
}

static void an_unknown_suffix_is_answered_with_the_known_ones(void **state)
{
	static const char *const bad[] = {"trace.txt", "trace", "json", "dir.json/trace", ".gpt"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_refused(PARSE("-o", bad[i]), bad[i], ".json, .json.gz, .folded");
		assert_non_null(strstr(why, ".gpt"));
	}
}

static void file_names_that_cannot_be_are_refused(void **state)
{
	assert_refused(PARSE("-o", ""), "--output", "file name is missing");
	assert_refused(PARSE("-o", "%p/"), "%p/", "files are named for you");
	assert_refused(PARSE("-o", "%p/a.json"), "%p/a.json", "not in its folder's");
	assert_refused(PARSE("-o", "%p.gpt"), "%p.gpt", "a log holds all processes");
}

static void variables_of_the_environment_are_put_into_names(void **state)
{
	setenv("GPT_RANK", "3", 1);
	setenv("GPT_OTHER", "%q{GPT_RANK}", 1);
	setenv("GPT_EMPTY", "", 1);
	setenv("GPT_SLASH", "../x", 1);
	assert_int_equal(PARSE("-o", "a/%q{GPT_RANK}-%q{GPT_RANK}.gpt", "-o", "%q{GPT_OTHER}.json"), 0);
	assert_string_equal(options.outputs.list.items[0], "a/3-3.gpt");
	assert_string_equal(options.outputs.list.items[1], "%q{GPT_RANK}.json");
	assert_refused(PARSE("-o", "%q{GPT_EMPTY}.gpt"), "%q{GPT_EMPTY}.gpt", "the variable GPT_EMPTY is empty");
	assert_refused(PARSE("-o", "%q{GPT_SLASH}.gpt"), "GPT_SLASH", "has a / in it");
	assert_refused(PARSE("-o", "%q{GPT_RANK.gpt"), "%q{GPT_RANK.gpt", "%q{ has no } after it");
	unsetenv("SUDO_UID");
	assert_refused(PARSE("-o", "%q{GPT_NONE}.gpt"), "no variable GPT_NONE", "export it");
	setenv("SUDO_UID", "1000", 1);
	assert_refused(PARSE("-o", "%q{GPT_NONE}.gpt"), "sudo has not kept the variable GPT_NONE",
		       "sudo --preserve-env=GPT_NONE keeps it");
	unsetenv("SUDO_UID");
}

static void one_file_per_process_has_the_pid_in_its_name(void **state)
{
	char *path = format_path_for_process("a/%p-b-%p.json", "41230.2");

	assert_string_equal(path, "a/41230.2-b-41230.2.json");
	free(path);
	assert_true(format_path_is_per_process("%p.json"));
	assert_false(format_path_is_per_process("p.json"));
}

static void a_folder_gets_the_names_that_torch_profiler_gives(void **state)
{
	char *path = format_path_in_folder("runs/", "node.of.a/cluster", 1767189312000000000);

	assert_string_equal(path, "runs/node_of_a_cluster_%p.1767189312000000000.pt.trace.json.gz");
	assert_true(format_path_is_per_process(path));
	free(path);
	assert_int_equal(PARSE("-o", "runs/"), 0);
	assert_true(format_path_is_folder(options.outputs.list.items[0]));
	assert_false(format_path_is_folder("runs"));
	assert_false(format_path_is_folder(""));
}

static void standard_output_needs_a_format(void **state)
{
	assert_refused(PARSE("-o", "-"), "--output -", "json, json.gz, folded, speedscope");
	assert_int_equal(PARSE("-o", "-", "--format", "folded"), 0);
	assert_true(options_use_stdout(&options));
	assert_string_equal(options.format, "folded");
}

static void a_format_without_standard_output_is_refused(void **state)
{
	assert_refused(PARSE("-o", "a.json", "--format", "folded"), "--format folded", "--output -");
	assert_refused(PARSE("-o", "-", "--format", "xml"), "--format xml", "json, json.gz, folded, speedscope");
}

static void standard_output_is_given_once(void **state)
{
	assert_refused(PARSE("-o", "-", "-o", "-", "--format", "json"), "--output -", "only one");
}

static void a_binary_format_is_not_for_a_terminal(void **state)
{
	struct format format;

	assert_true(format_by_name("json.gz", &format));
	assert_null(format_check_stdout(&format, false));
	assert_non_null(strstr(format_check_stdout(&format, true), "it is binary, and standard output is a terminal"));
	assert_true(format_by_name("gpt", &format));
	assert_non_null(strstr(format_check_stdout(&format, true), "terminal"));
	assert_true(format_by_name("folded", &format));
	assert_null(format_check_stdout(&format, true));
}

static void a_format_that_needs_a_path_is_not_for_a_pipe(void **state)
{
	const struct format format = {.name = "database", .needs_path = true};

	assert_non_null(strstr(format_check_stdout(&format, false), "--output FILE"));
}

static void choices_are_checked(void **state)
{
	assert_int_equal(PARSE("--metric", "launches", "--agent", "require"), 0);
	assert_int_equal(options.metric, METRIC_LAUNCHES);
	assert_int_equal(options.agent, ATTACH_AGENT_REQUIRE);
	assert_refused(PARSE("--metric", "time"), "--metric time", "gpu, launches, cpu and idle");
	assert_refused(PARSE("--metric", ""), "--metric", "gpu, launches, cpu and idle");
	assert_refused(PARSE("--agent", "on"), "--agent on", "auto, require and off");
}

static void percentages_are_at_most_100_and_exact_to_three_decimals(void **state)
{
	static const char *const bad[] = {"101",     "-1",  "x",  "",	     "5%%", "1000",
					  "100.001", "99.", ".5", "99.9999", "9e1"};
	static const struct {
		const char *text;
		unsigned thousandths;
	} good[] = {{"99.9", 99900},	 {"99.999%", 99999}, {"0.001", 1},
		    {"100.000", 100000}, {"0", 0},	     {"099.50", 99500}};

	assert_int_equal(PARSE("--min-complete", "95"), 0);
	assert_true(options.has_min_complete);
	assert_int_equal(options.min_complete, 95000);
	assert_int_equal(PARSE("--min-complete", "100%"), 0);
	assert_int_equal(options.min_complete, 100000);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(PARSE("--min-complete", (char *)good[i].text), 0);
		assert_int_equal(options.min_complete, good[i].thousandths);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused(PARSE("--min-complete", bad[i]), "--min-complete", "0 to 100");
}

static void the_ring_buffer_is_a_power_of_two(void **state)
{
	static const char *const bad[] = {"0", "63K", "3M", "2G", "-1M", "64X", "", "M", "64MB"};

	assert_int_equal(PARSE("--buffer", "8M"), 0);
	assert_int_equal(options.buffer_bytes, 8u << 20);
	assert_int_equal(PARSE("--buffer", "1g"), 0);
	assert_int_equal(options.buffer_bytes, 1u << 30);
	assert_int_equal(PARSE("--buffer", "65536"), 0);
	assert_int_equal(options.buffer_bytes, 65536);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused(PARSE("--buffer", bad[i]), "--buffer", "64K to 1G");
}

static void the_limit_of_the_cost_is_a_percentage(void **state)
{
	static const char *const bad[] = {"0", "0.0005", "-1", "101", "1e3", "", "%", "0.5x", "half"};

	assert_int_equal(PARSE("--cost-limit", "0.5%", "-p", "1"), 0);
	assert_int_equal(options.cost_limit, 500);
	assert_int_equal(PARSE("--cost-limit", "2", "-p", "1"), 0);
	assert_int_equal(options.cost_limit, 2000);
	assert_int_equal(PARSE("-p", "1"), 0);
	assert_int_equal(options.cost_limit, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused(PARSE("--cost-limit", bad[i], "-p", "1"), "--cost-limit", "above 0");
	assert_refused(PARSE("--cost-limit", "1%", "--prove-cost", "2s", "-p", "1"), "--prove-cost: proves what all",
		       "excludes --cost-limit");
}

static void the_limit_of_memory_bounds_what_was_not_given(void **state)
{
	static const char *const bad[] = {"0", "99M", "-1", "", "M", "lots", "1e9"};

	assert_int_equal(PARSE("--memory-limit", "100M", "--flight-recorder", "30s", "-p", "1"), 0);
	assert_int_equal(options.memory_limit, 100000000);
	assert_int_equal(options.buffer_bytes, 4u << 20);
	assert_int_equal(options.recorder_bytes, 25000000);
	assert_int_equal(PARSE("--memory-limit", "8G", "--flight-recorder", "30s", "-p", "1"), 0);
	assert_int_equal(options.buffer_bytes, 64u << 20);
	assert_int_equal(options.recorder_bytes, 500000000);
	assert_int_equal(PARSE("--memory-limit", "200M", "--buffer", "8M", "--flight-recorder", "1s,99M", "-p", "1"),
			 0);
	assert_int_equal(options.buffer_bytes, 8u << 20);
	assert_int_equal(options.recorder_bytes, 99000000);
	assert_int_equal(PARSE("--flight-recorder", "30s", "-p", "1"), 0);
	assert_int_equal(options.memory_limit, 0);
	assert_int_equal(options.recorder_bytes, 500000000);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused(PARSE("--memory-limit", bad[i], "-p", "1"), "--memory-limit", "from 100M on");
	assert_refused(PARSE("--memory-limit", "100M", "--buffer", "16M", "-p", "1"), "--buffer", "an eighth");
	assert_refused(PARSE("--memory-limit", "100M", "--flight-recorder", "1s,51M", "-p", "1"), "--flight-recorder",
		       "half of --memory-limit");
}

static void python_calls_are_recorded_when_asked_for(void **state)
{
	assert_int_equal(PARSE("-p", "1"), 0);
	assert_false(options.python_calls);
	assert_int_equal(PARSE("-p", "1", "--python-calls"), 0);
	assert_true(options.python_calls);
	assert_refused(PARSE("report", "x.gpt", "--python-calls"), "--python-calls", "report");
}

static void the_cpu_is_sampled_when_asked_for(void **state)
{
	assert_int_equal(PARSE("-p", "1"), 0);
	assert_int_equal(options.cpu_frequency, 0);
	assert_int_equal(PARSE("-p", "1", "--cpu"), 0);
	assert_int_equal(options.cpu_frequency, 99);
	assert_int_equal(PARSE("-p", "1", "-F", "19", "--cpu"), 0);
	assert_int_equal(options.cpu_frequency, 19);
	assert_refused(PARSE("-p", "1", "-F", "0"), "--frequency 0", "from 1 to 10000");
	assert_refused(PARSE("-p", "1", "-F", "10001"), "--frequency 10001", "from 1 to 10000");
	assert_refused(PARSE("report", "x.gpt", "--cpu"), "--cpu", "report");
}

static void waits_are_recorded_when_asked_for(void **state)
{
	assert_int_equal(PARSE("-p", "1"), 0);
	assert_int_equal(options.off_cpu_min_ns, 0);
	assert_int_equal(PARSE("-p", "1", "--off-cpu"), 0);
	assert_int_equal(options.off_cpu_min_ns, 100000);
	assert_int_equal(PARSE("-p", "1", "--off-cpu=20us"), 0);
	assert_int_equal(options.off_cpu_min_ns, 20000);
	assert_refused(PARSE("-p", "1", "--off-cpu=soon"), "--off-cpu=soon", "as 100us or 1ms");
}

static void assert_unasked(bool cpu, bool off_cpu)
{
	struct default_activity unasked = options_default_activity(&options);

	assert_int_equal(unasked.cpu, cpu);
	assert_int_equal(unasked.off_cpu, off_cpu);
}

static void what_runs_and_what_waits_is_recorded_by_default_of_named_programs(void **state)
{
	assert_int_equal(PARSE("-p", "1"), 0);
	assert_unasked(true, true);
	assert_int_equal(PARSE("--", "python"), 0);
	assert_unasked(true, true);
	assert_int_equal(PARSE("why", "-p", "1"), 0);
	assert_unasked(true, true);
	assert_int_equal(PARSE("top", "-p", "1", "--no-cpu"), 0);
	assert_unasked(false, true);
	assert_int_equal(PARSE("why", "--no-off-cpu", "--", "python"), 0);
	assert_unasked(true, false);
	assert_int_equal(PARSE("-d", "1"), 0);
	assert_unasked(false, false);
	assert_int_equal(PARSE("top"), 0);
	assert_unasked(false, false);
}

static void what_was_chosen_is_recorded_as_it_was_chosen(void **state)
{
	assert_int_equal(PARSE("-p", "1", "--cpu"), 0);
	assert_unasked(false, false);
	assert_int_equal(PARSE("-p", "1", "-F", "19"), 0);
	assert_unasked(false, false);
	assert_int_equal(PARSE("-p", "1", "--off-cpu=1ms"), 0);
	assert_unasked(false, false);
	assert_refused(PARSE("-p", "1", "--no-cpu", "-F", "19"), "--no-cpu: excludes --cpu", "samples");
	assert_refused(PARSE("-p", "1", "--no-off-cpu", "--off-cpu"), "--no-off-cpu: excludes --off-cpu", "waits");
}

static void a_trace_for_the_least_cost_or_without_gpu_times_has_neither(void **state)
{
	assert_int_equal(PARSE("-p", "1", "--kernels-only"), 0);
	assert_unasked(false, false);
	assert_int_equal(PARSE("-p", "1", "--agent", "off"), 0);
	assert_unasked(false, false);
	assert_int_equal(PARSE("-p", "1", "--schedule", "active=2"), 0);
	assert_unasked(false, false);
	assert_int_equal(PARSE("-p", "1", "--capture-range", "cudaProfilerApi"), 0);
	assert_unasked(false, false);
	assert_int_equal(PARSE("-p", "1", "--trace", "cuda"), 0);
	assert_unasked(true, true);
}

static void forward_lines_are_recorded_with_ops(void **state)
{
	assert_int_equal(PARSE("-p", "1", "--ops"), 0);
	assert_false(options.forward_lines);
	assert_int_equal(PARSE("-p", "1", "--forward-lines"), 0);
	assert_true(options.forward_lines && options.ops);
	assert_refused(PARSE("report", "x.gpt", "--forward-lines"), "--forward-lines", "report");
	assert_refused(PARSE("-p", "1", "--forward-lines", "--agent", "off"), "--ops", "--agent off");
}

static void where_backward_work_and_that_of_graphs_is_put_can_be_chosen(void **state)
{
	assert_int_equal(PARSE("report", "x.gpt"), 0);
	assert_false(options.attribution.forward);
	assert_int_equal(options.attribution.graphs, GRAPHS_DEFAULT);
	assert_int_equal(PARSE("report", "x.gpt", "--backward", "forward", "--graphs", "capture"), 0);
	assert_true(options.attribution.forward);
	assert_int_equal(options.attribution.graphs, GRAPHS_CAPTURE);
	assert_int_equal(PARSE("export", "x.gpt", "-o", "x.folded", "--backward", "caller", "--graphs", "replay"), 0);
	assert_false(options.attribution.forward);
	assert_int_equal(options.attribution.graphs, GRAPHS_REPLAY);
	assert_refused(PARSE("report", "x.gpt", "--backward", "both"), "--backward both", "caller and forward");
	assert_refused(PARSE("report", "x.gpt", "--graphs", ""), "--graphs", "replay and capture");
}

static void ops_are_recorded_or_their_table_is_asked_for(void **state)
{
	assert_int_equal(PARSE("-p", "1"), 0);
	assert_false(options.ops);
	assert_int_equal(PARSE("-p", "1", "--ops"), 0);
	assert_true(options.ops);
	assert_int_equal(PARSE("report", "x.gpt", "--ops"), 0);
	assert_true(options.ops);
	assert_refused(PARSE("-p", "1", "--ops", "--agent", "off"), "--ops", "--agent off");
	assert_refused(PARSE("export", "x.gpt", "-o", "x.json", "--ops"), "--ops", "export");
}

static void the_table_of_ops_has_options_of_its_own(void **state)
{
	assert_int_equal(PARSE("report", "x.gpt", "--ops", "--sort", "self_cpu_time_total", "--rows", "7"), 0);
	assert_string_equal(options.table.sort->name, "self_cpu_time_total");
	assert_int_equal(options.table.rows, 7);
	assert_int_equal(PARSE("report", "x.gpt", "--ops", "--top-level", "--group-by-stack", "5", "--group-by-shape"),
			 0);
	assert_true(options.table.top_level);
	assert_int_equal(options.table.stack_frames, 5);
	assert_true(options.table.by_shape);
	assert_refused(PARSE("report", "x.gpt", "--ops", "--sort", "speed"), "--sort speed", "cuda_time_total");
	assert_refused(PARSE("report", "x.gpt", "--ops", "--rows", "0"), "--rows 0", "from 1");
	assert_refused(PARSE("report", "x.gpt", "--ops", "--group-by-stack", "33"), "--group-by-stack 33",
		       "from 1 to 32");
	assert_refused(PARSE("export", "x.gpt", "-o", "x.folded", "--rows", "3"), "--rows", "export");
	assert_refused(PARSE("report", "x.gpt", "--top-level"), "--top-level", "--ops");
}

static void folded_stacks_can_be_those_of_ops(void **state)
{
	assert_int_equal(PARSE("export", "x.gpt", "-o", "x.folded"), 0);
	assert_int_equal(options.folded_by, FOLDED_BY_CALLS);
	assert_int_equal(PARSE("export", "x.gpt", "-o", "x.folded", "--folded-by", "self-cuda"), 0);
	assert_int_equal(options.folded_by, FOLDED_BY_SELF_CUDA);
	assert_refused(PARSE("export", "x.gpt", "-o", "x.folded", "--folded-by", "cpu"), "--folded-by cpu",
		       "self-cpu, self-cuda and layer");
	assert_int_equal(PARSE("export", "x.gpt", "-o", "x.folded", "--folded-by", "layer", "--metric", "idle"), 0);
	assert_int_equal(options.folded_by, FOLDED_BY_LAYER);
	assert_refused(PARSE("export", "x.gpt", "-o", "x.folded", "--folded-by", "layer", "--metric", "cpu"),
		       "--folded-by layer", "it excludes --metric cpu");
}

static void a_libcupti_is_named_by_its_whole_path(void **state)
{
	char longest[300] = "/";

	assert_int_equal(PARSE("--cupti", "/opt/cuda/libcupti.so.12", "-p", "1"), 0);
	assert_string_equal(options.cupti, "/opt/cuda/libcupti.so.12");
	assert_int_equal(PARSE("doctor", "-p", "1", "--cupti", "/x"), 0);
	assert_string_equal(options.cupti, "/x");
	assert_int_equal(PARSE("-p", "1"), 0);
	assert_null(options.cupti);
	memset(longest + 1, 'x', 254);
	assert_int_equal(PARSE("--cupti", longest), 0);
	longest[255] = 'x';
	assert_refused(PARSE("--cupti", longest), "--cupti", "255 bytes");
	assert_refused(PARSE("--cupti", "libcupti.so.12"), "--cupti", "whole path");
	assert_refused(PARSE("--cupti", "/x", "--agent", "off"), "--cupti", "--agent off");
	assert_refused(PARSE("doctor", "--cupti", "/x"), "--cupti", "-p PID");
	assert_refused(PARSE("report", "x.gpt", "--cupti", "/x"), "--cupti", "report");
}

static void what_the_agent_records_can_be_chosen(void **state)
{
	static const char *const bad[] = {"",	     ",",    "cuda,", ",sync",	 "cuda,,sync",
					  "kernels", "CUDA", "sync ", "cudasync"};
	const unsigned cuda = 1u << GPT_AGENT_SET_CUDA, sync = 1u << GPT_AGENT_SET_SYNC;

	assert_int_equal(PARSE("-p", "1"), 0);
	assert_int_equal(options.activity_sets, cuda | 1u << GPT_AGENT_SET_MEMORY); /* HTA would count waits as work */
	assert_int_equal(PARSE("--trace", "sync"), 0);
	assert_int_equal(options.activity_sets, sync);
	assert_int_equal(PARSE("--trace=sync,cuda"), 0);
	assert_int_equal(options.activity_sets, cuda | sync);
	assert_int_equal(PARSE("--kernels-only"), 0);
	assert_int_equal(options.activity_sets, 0);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused(PARSE("--trace", bad[i]), "--trace", "cuda sync");
	assert_int_equal(PARSE("--trace", "nvtx", "--", "true"), 0);
	assert_int_equal(options.activity_sets, 1u << GPT_AGENT_SET_NVTX);
	assert_refused(PARSE("--trace", "nvtx", "-p", "1"), "--trace nvtx", "-- COMMAND");
	assert_refused(PARSE("--trace", "nvtx"), "--trace nvtx", "-- COMMAND");
	assert_refused(PARSE("--trace", "cuda", "--kernels-only"), "--kernels-only", "once");
	assert_refused(PARSE("--trace", "cuda", "--trace", "sync"), "--trace", "once");
	assert_refused(PARSE("--agent", "off", "--trace", "sync"), "--trace", "--agent off");
	assert_refused(PARSE("report", "x.gpt", "--trace", "cuda"), "--trace", "report");
}

static void options_after_the_command_belong_to_it(void **state)
{
	assert_int_equal(PARSE("-d", "2s", "--", "python", "-d", "-o", "x"), 0);
	assert_string_equal(options.command[0], "python");
	assert_string_equal(options.command[3], "x");
	assert_null(options.command[4]);
	assert_int_equal(options.outputs.list.count, 0);
}

static void a_word_without_the_two_dashes_is_never_run(void **state)
{
	assert_refused(PARSE("nvtop2"), "no subcommand 'nvtop2'",
		       "top, serve, report, export, diff, merge, why, view, dump, doctor");
	assert_refused(PARSE("-q", "python", "x.py"), "gputrace -- python", "two dashes");
	assert_refused(PARSE("-p", "1", "2"), "'2'", "-p 41230,41231");
	assert_refused(PARSE("-d", "--", "python"), "--", "duration");
}

static void a_word_after_the_two_dashes_is_a_command_whatever_it_says(void **state)
{
	assert_int_equal(PARSE("--", "report", "x.gpt"), 0);
	assert_int_equal(options.subcommand, SUBCOMMAND_RECORD);
	assert_string_equal(options.command[0], "report");
}

static void a_command_and_pids_exclude_each_other(void **state)
{
	assert_refused(PARSE("-p", "12", "--", "python"), "--pid", "exclude");
}

static void dashes_without_a_command_are_refused(void **state)
{
	assert_refused(PARSE("-d", "2s", "--"), "command", "missing");
	assert_refused(PARSE("--", ""), "command", "empty");
}

static void unknown_options_are_named(void **state)
{
	assert_refused(PARSE("--frobnicate"), "'--frobnicate'", "--help");
	assert_refused(PARSE("-z"), "'-z'", "--help");
	assert_refused(PARSE("report", "a.gpt", "--bad"), "'--bad'", "--help");
	assert_refused(PARSE("--quiet=3"), "--quiet", "takes no value");
}

static void a_missing_value_is_shown_what_it_is(void **state)
{
	assert_refused(PARSE("-d"), "--duration", "a time such as 10s");
	assert_refused(PARSE("--pid"), "--pid", "a process id");
	assert_refused(PARSE("report", "a.gpt", "--min-complete"), "--min-complete", "a percentage");
}

static void options_of_another_subcommand_are_refused(void **state)
{
	assert_refused(PARSE("report", "a.gpt", "-d", "5s"), "--duration", "report");
	assert_refused(PARSE("export", "a.gpt", "-p", "5"), "--pid", "export");
	assert_refused(PARSE("doctor", "-o", "a.json"), "--output", "doctor");
}

static void report_takes_one_log_in_any_place(void **state)
{
	assert_int_equal(PARSE("report", "--min-complete", "5", "a.gpt", "-q"), 0);
	assert_int_equal(options.subcommand, SUBCOMMAND_REPORT);
	assert_string_equal(options.log, "a.gpt");
	assert_int_equal(PARSE("report", "--", "-a.gpt"), 0);
	assert_string_equal(options.log, "-a.gpt");
	assert_refused(PARSE("report", "a.gpt", "b.gpt"), "'b.gpt'", "one log");
}

static void without_a_log_the_last_trace_is_read(void **state)
{
	static const char *const read_one[][6] = {
		{"report"},
		{"report", "--tree"},
		{"report", "--lines", "train_step"},
		{"report", "--lines", "nowhere.py"},
		{"why", "-v"},
		{"view"},
		{"diff"},
		{"export", "-o", "x.json"},
	};

	for (size_t i = 0; i < sizeof(read_one) / sizeof(read_one[0]); i++) {
		assert_int_equal(parse_words(read_one[i]), 0);
		assert_true(options.reads_last);
		assert_null(options.log);
	}
	assert_int_equal(PARSE("report", "--lines", "train_step"), 0);
	assert_string_equal(options.lines.what, "train_step");
	assert_int_equal(PARSE("report", "--lines", "x.gpt"), 0); /* the word is the log */
	assert_false(options.reads_last);
	assert_int_equal(PARSE("report", "--lines", "/proc/self/exe"), 0); /* it exists */
	assert_string_equal(options.log, "/proc/self/exe");
	assert_int_equal(PARSE("why", "-p", "12"), 0);
	assert_false(options.reads_last);
	assert_true(options.keeps_log);
	assert_int_equal(PARSE("--no-keep", "-d", "1"), 0);
	assert_false(options.keeps_log);
	assert_refused(PARSE("merge"), "merge needs a log", "gputrace merge FILE.gpt");
	assert_refused(PARSE("diff", "a.gpt"), "diff needs two logs", "gputrace diff a.gpt AFTER.gpt");
	assert_refused(PARSE("export"), "export needs an output", "gputrace export -o trace.json");
}

static void export_takes_outputs_after_the_log(void **state)
{
	assert_int_equal(PARSE("export", "a.gpt", "-o", "x.json", "y.folded", "-o", "z.json.gz"), 0);
	assert_string_equal(options.log, "a.gpt");
	assert_int_equal(options.outputs.list.count, 3);
	assert_string_equal(options.outputs.list.items[1], "y.folded");
	assert_int_equal(PARSE("export", "-o", "x.json", "a.gpt"), 0);
	assert_string_equal(options.log, "a.gpt");
	assert_int_equal(options.outputs.list.count, 1);
}

static void export_never_takes_a_second_log_for_an_output(void **state)
{
	assert_refused(PARSE("export", "a.gpt", "b.gpt", "-o", "x.json"), "'b.gpt'", "one log");
	assert_refused(PARSE("export", "a.gpt", "-o", "x.json", "-q", "b.gpt"), "'b.gpt'", "one log");
	assert_refused(PARSE("export", "a.gpt"), "export", "-o trace.json");
}

static void why_reads_a_log_or_records(void **state)
{
	assert_int_equal(PARSE("why", "a.gpt"), 0);
	assert_int_equal(options.subcommand, SUBCOMMAND_WHY);
	assert_string_equal(options.log, "a.gpt");
	assert_false(options.ops);
	options_free(&options);
	assert_int_equal(PARSE("why", "-p", "12", "-d", "10s"), 0);
	assert_null(options.log);
	assert_true(options.ops);
	options_free(&options);
	assert_int_equal(PARSE("why", "-o", "a.gpt", "--", "python3", "-c", "pass"), 0);
	assert_string_equal(options.command[0], "python3");
	assert_null(options.command[3]);
	options_free(&options);
	assert_int_equal(PARSE("why", "--cpu", "--off-cpu", "-p", "12"), 0);
	assert_int_equal(PARSE("why", "--ops", "--memory", "--shapes", "--forward-lines", "--trace", "cuda,sync",
			       "--native", "-M", "run=17", "--python-calls", "-p", "12"),
			 0);
	assert_true(options.torch_memory && options.shapes && options.native && options.python_calls);
	assert_int_equal(options.labels.list.count, 1);
	assert_int_equal(PARSE("why", "--schedule", "active=2,repeat=1", "-p", "12"), 0);
	assert_int_equal(options.schedule.active, 2);
	assert_int_equal(PARSE("why", "--agent", "off", "-p", "12"), 0);
	assert_false(options.ops);
	options_free(&options);
}

static bool has_row(const char *name, unsigned subcommand)
{
	for (const struct option_row *row = option_rows; row->name; row++)
		if (!strcmp(row->name, name) && (row->where & subcommand))
			return true;
	return false;
}

/* But for what is instead of the report, and what chooses how much of it is shown. */
static void why_takes_what_a_trace_takes(void **state)
{
	static const char *const of_the_report[] = {"all",     "layers",   "tree",	 "by",	      "min-percent",
						    "depth",   "show-all", "lines",	 "gpu-trace", "gpu-sum",
						    "api-sum", "rotate",   "prove-cost", "help-all"};

	for (const struct option_row *row = option_rows; row->name; row++) {
		bool is_of_report = false;

		for (size_t i = 0; i < sizeof(of_the_report) / sizeof(of_the_report[0]); i++)
			is_of_report |= !strcmp(row->name, of_the_report[i]);
		if ((row->where & SUBCOMMAND_RECORD) && is_of_report == has_row(row->name, SUBCOMMAND_WHY))
			fail_msg("--%s: why %s it", row->name, is_of_report ? "takes" : "refuses");
	}
	assert_int_equal(PARSE("why", "-p", "12", "--backward", "forward", "--graphs", "capture"), 0);
	assert_true(options.attribution.forward && options.attribution.graphs == GRAPHS_CAPTURE);
	options_free(&options);
	assert_int_equal(PARSE("why", "a.gpt", "--backward", "forward", "--graphs", "replay"), 0);
	assert_true(options.attribution.forward && options.attribution.graphs == GRAPHS_REPLAY);
	options_free(&options);
	assert_int_equal(PARSE("why", "-p", "12", "-o", "a.folded", "--metric", "cpu"), 0);
	assert_int_equal(options.metric, METRIC_CPU);
	options_free(&options);
	assert_refused(PARSE("why", "a.gpt", "--metric", "cpu"), "--metric: is for what is recorded", "a.gpt");
}

static void why_refuses_what_is_of_the_other_kind(void **state)
{
	assert_refused(PARSE("why", "a.gpt", "-p", "12"), "a.gpt", "-p PID");
	assert_refused(PARSE("why", "a.gpt", "--", "python3"), "a.gpt", "-- COMMAND");
	assert_refused(PARSE("why", "a.gpt", "-d", "1s"), "--duration: is for what is recorded", "why reads a.gpt");
	assert_refused(PARSE("why", "a.gpt", "-o", "b.json"), "--output", "a.gpt");
	assert_refused(PARSE("why", "a.gpt", "--cpu"), "--cpu", "a.gpt");
	assert_refused(PARSE("why", "a.gpt", "--off-cpu"), "--off-cpu", "a.gpt");
	assert_refused(PARSE("why", "a.gpt", "--no-cpu"), "--no-cpu: is for what is recorded", "a.gpt");
	assert_refused(PARSE("why", "a.gpt", "--no-off-cpu"), "--no-off-cpu: is for what is recorded", "a.gpt");
	assert_refused(PARSE("why", "a.gpt", "--no-gpu-counters"), "--no-gpu-counters: is for what is recorded",
		       "a.gpt");
	assert_refused(PARSE("why", "a.gpt", "--ops"), "--ops: is for what is recorded", "a.gpt");
	assert_refused(PARSE("why", "a.gpt", "--memory"), "--memory: is for what is recorded", "a.gpt");
	assert_refused(PARSE("why", "a.gpt", "--trace", "sync"), "--trace: is for what is recorded", "a.gpt");
	assert_refused(PARSE("why", "-M", "run=17"), "--label: is for what is recorded", "-p PID");
	assert_refused(PARSE("why", "-p", "12", "--from", "1"), "--from", "FILE.gpt");
	assert_refused(PARSE("why", "-p", "12", "-o", "-"), "--output -", "answer");
	assert_refused(PARSE("why", "--"), "command", "--");
	assert_refused(PARSE("why", "--duration", "9s"), "--duration: is for what is recorded; why needs a process",
		       "-- COMMAND");
	assert_refused(PARSE("why", "--no-keep"), "--no-keep: is for what is recorded", "-p PID");
}

static void doctor_takes_a_pid_and_no_words(void **state)
{
	assert_int_equal(PARSE("doctor", "-p", "12"), 0);
	assert_int_equal(options.subcommand, SUBCOMMAND_DOCTOR);
	assert_int_equal(options.pids.list.items[0], 12);
	assert_refused(PARSE("doctor", "12"), "'12'", "gputrace doctor -p 12");
}

static void help_and_version_win_over_what_follows(void **state)
{
	assert_int_equal(PARSE("--help", "-d", "nonsense"), 0);
	assert_int_equal(options.subcommand, SUBCOMMAND_HELP);
	assert_int_equal(PARSE("export", "--help"), 0);
	assert_int_equal(options.help_for, SUBCOMMAND_EXPORT);
	assert_int_equal(PARSE("--version"), 0);
	assert_int_equal(options.subcommand, SUBCOMMAND_VERSION);
}

static void the_target_is_named_as_the_user_did(void **state)
{
	char *target;

	PARSE("-p", "12,34");
	target = session_target(&options);
	assert_string_equal(target, "pid 12,34");
	free(target);
	PARSE("--", "python", "train.py", "--lr", "1");
	target = session_target(&options);
	assert_string_equal(target, "python train.py --lr 1");
	free(target);
}

static void the_session_record_says_what_no_one_asked_for(void **state)
{
	static const char unasked[] = GPT_SESSION_UNASKED, both[] = GPT_SESSION_UNASKED "\0" GPT_SESSION_NO_SUDO;
	struct gpt_session *session;

	PARSE("-p", "12", "-M", "run=17", "--step", "backward");
	session = session_record(&options, true, false);
	assert_memory_equal(session->text + session->bytes - sizeof(unasked), unasked, sizeof(unasked));
	free(session);
	session = session_record(&options, true, true);
	assert_memory_equal(session->text + session->bytes - sizeof(both), both, sizeof(both));
	free(session);
	session = session_record(&options, false, false);
	assert_memory_equal(session->text + session->bytes - sizeof("step:backward"), "step:backward",
			    sizeof("step:backward"));
	free(session);
}

static void the_session_record_holds_what_outputs_need(void **state)
{
	struct gpt_session *session;
	const char *text;

	PARSE("--metric", "launches", "--min-complete", "99.9", "--agent", "require", "-p", "12", "-M", "run=17", "-M",
	      "lr=");
	session = session_record(&options, false, false);
	assert_int_equal(session->hdr.type, GPT_SESSION);
	assert_int_equal(session->hdr.size % 8, 0);
	assert_true(session->bytes <= session->hdr.size - sizeof(*session));
	assert_int_equal(session->metric_launches, 1);
	assert_int_equal(session->min_complete, 99);
	assert_true(session->cpus >= 1);
	text = session->text;
	assert_string_equal(text, GPUTRACE_VERSION);
	for (int i = 0; i < 3; i++)
		text += strlen(text) + 1;
	assert_string_equal(text, "pid 12");
	text += strlen(text) + 1;
	assert_string_equal(text, "99900");
	text += strlen(text) + 1;
	assert_string_equal(text, "require");
	text += strlen(text) + 1;
	assert_true(!*text || strlen(text) == 36); /* the boot id */
	text += strlen(text) + 1;
	assert_true(strtoll(text, NULL, 10) >= 0 && strspn(text, "0123456789") == strlen(text)); /* ns slept */
	text += strlen(text) + 1;
	assert_string_equal(text, "run=17");
	text += strlen(text) + 1;
	assert_string_equal(text, "lr=");
	assert_ptr_equal(text + strlen(text) + 1, session->text + session->bytes);
	assert_ptr_equal(text + strlen(text) + 1, session->text + session->bytes);
	free(session);
}

static void missing_capabilities_are_named(void **state)
{
	char text[128];

	assert_string_equal(privileges_missing(0, text, sizeof(text)), "CAP_BPF, CAP_PERFMON, CAP_SYS_PTRACE");
	assert_string_equal(privileges_missing(1ull << 21, text, sizeof(text)), "CAP_SYS_PTRACE");
	assert_string_equal(privileges_missing(1ull << 39 | 1ull << 19, text, sizeof(text)), "CAP_PERFMON");
	assert_string_equal(privileges_missing(UINT64_MAX, text, sizeof(text)), "");
}

static void kernel_versions_are_ordered(void **state)
{
	assert_true(privileges_kernel_version("5.9.16") < PRIVILEGES_KERNEL_MIN);
	assert_true(privileges_kernel_version("5.10.0-33-cloud-amd64") >= PRIVILEGES_KERNEL_MIN);
	assert_true(privileges_kernel_version("6.1") > PRIVILEGES_KERNEL_MIN);
	assert_int_equal(privileges_kernel_version("unknown"), 0);
}

static void a_slice_is_a_span_processes_a_thread_and_a_gpu(void **state)
{
	assert_int_equal(PARSE("report", "a.gpt"), 0);
	assert_false(options_want_slice(&options));
	assert_int_equal(PARSE("export", "a.gpt", "-o", "a.json", "--from", "5", "--to", "1:30", "--process",
			       "41230,train.py", "--thread", "7/8", "--gpu", "0"),
			 0);
	assert_true(options_want_slice(&options));
	assert_int_equal(options.slice.from.ns, 5000000000);
	assert_int_equal(options.slice.to.ns, 90000000000);
	assert_int_equal(options.slice.processes.list.count, 2);
	assert_string_equal(options.slice.processes.list.items[1], "train.py");
	assert_int_equal(options.slice.thread.pid, 7);
	assert_int_equal(options.slice.thread.tid, 8);
	assert_true(options.slice.has_gpu && options.slice.gpu == 0);
	assert_int_equal(PARSE("report", "a.gpt", "--gpu", "3"), 0);
	assert_true(options_want_slice(&options));
}

static void what_is_no_slice_is_refused(void **state)
{
	assert_refused(PARSE("report", "a.gpt", "--from", "soon"), "--from soon", "1:30");
	assert_refused(PARSE("report", "a.gpt", "--to", "25:00:00"), "--to 25:00:00", "14:03:20");
	assert_refused(PARSE("report", "a.gpt", "--from", "5", "--to", "5s"), "--to", "not after --from");
	assert_refused(PARSE("report", "a.gpt", "--process", "1,,2"), "--process 1,,2", "by commas");
	assert_refused(PARSE("report", "a.gpt", "--thread", "x"), "--thread x", "41230/41231");
	assert_refused(PARSE("report", "a.gpt", "--thread", "0"), "--thread 0", "a thread id");
	assert_refused(PARSE("report", "a.gpt", "--gpu", "first"), "--gpu first", "as the report has it");
	assert_refused(PARSE("--from", "5"), "--from", "does not apply to tracing");
	assert_refused(PARSE("export", "a.gpt", "-o", "b.gpt", "--from", "5"), "b.gpt", "a log cannot be cut");
}

static void steps_are_requested_by_what_they_end_or_begin_with(void **state)
{
	assert_int_equal(PARSE("report", "a.gpt"), 0);
	assert_int_equal(options.step.request.source, STEP_FITTING);
	assert_int_equal(PARSE("report", "a.gpt", "--step", "backward"), 0);
	assert_int_equal(options.step.request.source, STEP_BACKWARD);
	assert_int_equal(PARSE("report", "a.gpt", "--step", "range:py:1"), 0);
	assert_int_equal(options.step.request.source, STEP_RANGE);
	assert_string_equal(options.step.request.name, "py:1");
	assert_int_equal(PARSE("report", "a.gpt", "--step", "py:train.py:step"), 0);
	assert_int_equal(options.step.request.source, STEP_FUNCTION);
	assert_string_equal(options.step.request.file, "train.py");
	assert_string_equal(options.step.request.name, "step");
	assert_int_equal(PARSE("report", "a.gpt", "--step", "py:step"), 0);
	assert_null(options.step.request.file);
	assert_int_equal(PARSE("report", "a.gpt", "--step", "py:train.py:81"), 0);
	assert_int_equal(options.step.request.line, 81);
	assert_refused(PARSE("report", "a.gpt", "--step", "py:train.py:0"), "--step py:train.py:0", "range:batch");
	assert_refused(PARSE("report", "a.gpt", "--step", "py:train.py:8x"), "--step py:train.py:8x", "range:batch");
	assert_refused(PARSE("report", "a.gpt", "--step", "epoch"), "--step epoch", "range:batch");
	assert_int_equal(PARSE("report", "a.gpt", "--step", "burst:5ms"), 0);
	assert_int_equal(options.step.request.source, STEP_BURST);
	assert_int_equal(options.step.request.gap_ns, 5000000);
	assert_refused(PARSE("report", "a.gpt", "--step", "burst:"), "--step burst:", "burst:5ms");
	assert_refused(PARSE("report", "a.gpt", "--step", "burst:soon"), "--step burst:soon", "burst:5ms");
	assert_refused(PARSE("report", "a.gpt", "--step", "py:"), "--step py:", "range:batch");
	assert_refused(PARSE("report", "a.gpt", "--step", "py:train.py:"), "--step py:train.py:", "range:batch");
}

static void a_schedule_is_numbers_as_torch_profiler_has_them(void **state)
{
	const struct gpt_schedule *schedule = &options.schedule;

	assert_int_equal(PARSE("-p", "1", "--schedule", "skip_first=5,wait=4,warmup=3,active=2,repeat=1"), 0);
	assert_int_equal(schedule->skip_first, 5);
	assert_int_equal(schedule->wait, 4);
	assert_int_equal(schedule->warmup, 3);
	assert_int_equal(schedule->active, 2);
	assert_int_equal(schedule->repeat, 1);
	assert_true(options.ops);
	assert_int_equal(PARSE("-p", "1", "--schedule", "active=65535,skip_first_wait=1", "--step", "profiler"), 0);
	assert_int_equal(schedule->by, GPT_STEP_BY_PROFILER);
	assert_int_equal(PARSE("--schedule", "active=1", "--step", "range:batch", "--", "true"), 0);
	assert_int_equal(schedule->by, GPT_STEP_BY_RANGE);
	assert_int_equal(schedule->name, gpt_schedule_hash("batch"));
	assert_int_equal(PARSE("-p", "1", "--schedule", "active=1", "--step", "backward"), 0);
	assert_int_equal(schedule->by, GPT_STEP_BY_BACKWARD);
	assert_refused(PARSE("-p", "1", "--schedule", "wait=1"), "--schedule wait=1", "active");
	assert_refused(PARSE("-p", "1", "--schedule", "active=0"), "--schedule active=0", "active");
	assert_refused(PARSE("-p", "1", "--schedule", "active=1,active=2"), "active=1,active=2", "active");
	assert_refused(PARSE("-p", "1", "--schedule", "active=65536"), "active=65536", "65535");
	assert_refused(PARSE("-p", "1", "--schedule", "active=1,"), "active=1,", "skip_first=5");
	assert_refused(PARSE("-p", "1", "--schedule", "active=x"), "active=x", "skip_first=5");
}

static void a_flight_recorder_has_a_span_and_a_size(void **state)
{
	assert_int_equal(PARSE("-p", "1"), 0);
	assert_int_equal(options.recorder_ns, 0);
	assert_int_equal(PARSE("-p", "1", "--flight-recorder", "30s"), 0);
	assert_int_equal(options.recorder_ns, 30000000000);
	assert_int_equal(options.recorder_bytes, 500000000);
	assert_int_equal(PARSE("--flight-recorder", "2m,64M", "--", "python", "train.py"), 0);
	assert_int_equal(options.recorder_ns, 120000000000);
	assert_int_equal(options.recorder_bytes, 64000000);
	assert_refused(PARSE("--flight-recorder", "0"), "--flight-recorder 0", "from 1s to 1h");
	assert_refused(PARSE("--flight-recorder", "0.5s"), "--flight-recorder 0.5s", "from 1s to 1h");
	assert_refused(PARSE("--flight-recorder", "2h"), "--flight-recorder 2h", "from 1s to 1h");
	assert_refused(PARSE("--flight-recorder", "30s,0"), "--flight-recorder 30s,0", "at least 1M");
	assert_refused(PARSE("--flight-recorder", "30s,999K"), "--flight-recorder 30s,999K", "at least 1M");
	assert_refused(PARSE("--flight-recorder", "30s,"), "--flight-recorder 30s,", "at least 1M");
	assert_refused(PARSE("--flight-recorder", ",500M"), "--flight-recorder ,500M", "30s,500M");
	assert_refused(PARSE("--flight-recorder", "soon"), "--flight-recorder soon", "30s,500M");
	assert_refused(PARSE("-p", "1", "--flight-recorder", "30s", "--schedule", "active=1,repeat=1"),
		       "--flight-recorder: keeps the end of what happens", "--schedule says what is recorded");
	assert_refused(PARSE("-p", "1", "--flight-recorder", "30s", "--capture-range", "cudaProfilerApi"),
		       "--flight-recorder: keeps the end of what happens", "--capture-range says what is recorded");
	assert_int_equal(PARSE("why", "-p", "1", "--flight-recorder", "30s"), 0);
	assert_refused(PARSE("why", "a.gpt", "--flight-recorder", "30s"), "--flight-recorder", "why reads a.gpt");
}

static void a_proof_of_the_cost_is_a_schedule_of_windows(void **state)
{
	assert_int_equal(PARSE("--prove-cost", "2s", "-o", "a.gpt", "--", "train"), 0);
	assert_int_equal(options.schedule.windows_ms, 2000);
	assert_int_equal(options.schedule.active, 1);
	assert_true(options.ops);
	assert_false(options_default_activity(&options).cpu);
	assert_int_equal(PARSE("--prove-cost", "1500ms", "--step", "backward", "-p", "1"), 0);
	assert_int_equal(options.schedule.windows_ms, 1500);
	assert_int_equal(options.schedule.by, GPT_STEP_BY_BACKWARD);
	assert_refused(PARSE("--prove-cost", "999ms", "-p", "1"), "--prove-cost 999ms", "from 1s to 5s");
	assert_refused(PARSE("--prove-cost", "6s", "-p", "1"), "--prove-cost 6s", "three steps");
	assert_refused(PARSE("--prove-cost", "2s"), "--prove-cost", "-p PID");
	assert_refused(PARSE("--prove-cost", "2s", "-p", "1", "--schedule", "active=1"), "--prove-cost: chooses what",
		       "--capture-range");
	assert_refused(PARSE("--prove-cost", "2s", "-p", "1", "--tree"), "--prove-cost: its report is the cost",
		       "--cycle");
	assert_refused(PARSE("--prove-cost", "2s", "-p", "1", "--cpu"),
		       "--prove-cost: --cpu and --off-cpu go on in all windows", "--table cost");
	assert_refused(PARSE("--prove-cost", "2s", "-p", "1", "-o", "a.json"), "--output a.json: --prove-cost",
		       "FILE.gpt");
	assert_refused(PARSE("--prove-cost", "2s", "-p", "1", "--step", "burst:1ms"), "--step burst:1ms: --prove-cost",
		       "record without it");
}

static void triggers_make_a_flight_recorder_write(void **state)
{
	static const char *const bad[] = {
		"step>0",      "step>1x",      "step>1.5.2x", "step>2000x",	"idle>0",    "idle=1s",
		"oom,max=0/h", "oom,max=61/h", "oom,max=5",   "oom,after=2m",	"before=1s", "",
		"gap:>50ms",   "gap>50ms",     "gap:line>0",  "gap:line>999us", "gap:line",  "late>",
		"late=1s",     "hang=999ms",   "hang=61m",    "hang>30s",	"xid=79"};
	const struct trigger_options *trigger = &options.trigger;

	assert_int_equal(
		PARSE("-p", "1", "--flight-recorder", "30s", "--trigger", "idle>200ms,before=20s,after=5s,max=20/h"),
		0);
	assert_int_equal(trigger->idle_ns, 200000000);
	assert_int_equal(trigger->before_ns, 20000000000);
	assert_int_equal(trigger->after_ns, 5000000000);
	assert_int_equal(trigger->hourly, 20);
	assert_false(trigger->oom || options.torch_memory);
	assert_int_equal(PARSE("-p", "1", "--trigger", "oom", "--trigger", "idle>2s", "--flight-recorder", "30s"), 0);
	assert_true(trigger->oom && options.torch_memory && options.ops);
	assert_int_equal(trigger->idle_ns, 2000000000);
	assert_int_equal(PARSE("-p", "1", "--trigger", "step>1.5x", "--trigger", "step>2s", "--flight-recorder", "30s"),
			 0);
	assert_true(options.ops && !options.torch_memory);
	assert_int_equal(trigger->step_percent, 150);
	assert_int_equal(trigger->step_ns, 2000000000);
	assert_refused(PARSE("-p", "1", "--trigger", "oom"), "--trigger: makes a flight recorder write",
		       "--flight-recorder TIME");
	assert_refused(PARSE("-p", "1", "--flight-recorder", "5s", "--trigger", "oom,before=6s"),
		       "--trigger: before=", "is longer than what --flight-recorder keeps");
	assert_refused(PARSE("-p", "1", "--flight-recorder", "9s", "--trigger", "idle>1s,before=5s,after=5s"),
		       "--trigger: before= and after= together", "longer than what --flight-recorder keeps");
	assert_refused(PARSE("-p", "1", "--flight-recorder", "9s", "--trigger", "idle>1s,after=9s"),
		       "--trigger: before= and after= together", "longer than what --flight-recorder keeps");
	assert_int_equal(PARSE("-p", "1", "--flight-recorder", "9s", "--trigger", "oom,before=4s,after=5s"), 0);
	assert_false(trigger->compile);
	assert_int_equal(PARSE("-p", "1", "--flight-recorder", "9s", "--trigger", "compile"), 0);
	assert_true(trigger->compile && !options.ops && !options.torch_memory);
	assert_refused(PARSE("-p", "1", "--flight-recorder", "9s", "--trigger", "compile", "--kernels-only"),
		       "--trigger compile: CUDA calls", "--kernels-only");
	assert_refused(PARSE("-p", "1", "--flight-recorder", "5s", "--trigger", "idle>1s", "--agent", "off"),
		       "--trigger: the agent sees", "--agent off");
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_refused(PARSE("-p", "1", "--flight-recorder", "5s", "--trigger", bad[i]), bad[i],
			       "hang=TIME (1s to 1h), oom, compile and xid are accepted");
	assert_refused(PARSE("why", "a.gpt", "--trigger", "oom"), "--trigger", "why reads a.gpt");
}

static void triggers_know_lines_ranks_hangs_and_errors_of_gpus(void **state)
{
	const struct trigger_options *trigger = &options.trigger;

	assert_int_equal(PARSE("-p", "1", "--flight-recorder", "1m", "--trigger", "gap:line>50ms", "--trigger",
			       "late>100ms", "--trigger", "hang=30s", "--trigger", "xid"),
			 0);
	assert_int_equal(trigger->gap_ns, 50000000);
	assert_string_equal(trigger->gap_place, "");
	assert_int_equal(trigger->late_ns, 100000000);
	assert_int_equal(trigger->hang_ns, 30000000000);
	assert_true(trigger->xid && !options.ops);
	assert_int_equal(PARSE("-p", "1", "--flight-recorder", "9s", "--trigger", "gap:a>b.py:41>50ms,after=1s"), 0);
	assert_string_equal(trigger->gap_place, "a>b.py:41");
	assert_int_equal(PARSE("-p", "1", "--flight-recorder", "9s", "--trigger", "xid", "--agent", "off"), 0);
	assert_refused(PARSE("-p", "1", "--flight-recorder", "30s", "--trigger", "hang=30s"),
		       "--trigger hang:", "nothing of before the hang would be left");
	assert_refused(PARSE("-p", "1", "--flight-recorder", "30s", "--trigger", "hang=10s,before=15s,after=5s"),
		       "--trigger hang:", "is not shorter than what --flight-recorder keeps");
	assert_refused(PARSE("-p", "1", "--flight-recorder", "30s", "--trigger", "hang=9s", "--kernels-only"),
		       "--trigger hang: a CUDA call", "--kernels-only");
	assert_refused(PARSE("-p", "1", "--flight-recorder", "30s", "--trigger", "xid", "--no-gpu-counters"),
		       "--trigger xid: NVML", "--no-gpu-counters");
	assert_refused(PARSE("-p", "1", "--flight-recorder", "30s", "--trigger", "late>1s", "--way", "agent"),
		       "--trigger late: calls of NCCL", "--way agent");
}

static void a_log_is_rotated_by_size_or_time(void **state)
{
	assert_int_equal(PARSE("--rotate", "10m,keep=5", "-o", "a.gpt"), 0);
	assert_int_equal(options.rotate.span_ns, 600000000000);
	assert_int_equal(options.rotate.bytes, 0);
	assert_int_equal(options.rotate.keep, 5);
	assert_int_equal(PARSE("--rotate", "10M", "-o", "a.gpt"), 0);
	assert_int_equal(options.rotate.bytes, 10000000);
	assert_int_equal(options.rotate.span_ns, 0);
	assert_int_equal(options.rotate.keep, 0);
	assert_refused(PARSE("--rotate", "0", "-o", "a.gpt"), "--rotate 0", "1M or more");
	assert_refused(PARSE("--rotate", "9s", "-o", "a.gpt"), "--rotate 9s", "10s or more");
	assert_refused(PARSE("--rotate", "500K", "-o", "a.gpt"), "--rotate 500K", "1M or more");
	assert_refused(PARSE("--rotate", "10m,keep=0", "-o", "a.gpt"), "keep=0", "how many are kept");
	assert_refused(PARSE("--rotate", "10m,5", "-o", "a.gpt"), "10m,5", "keep=5");
	assert_refused(PARSE("--rotate", "often", "-o", "a.gpt"), "often", "keep=5");
	assert_refused(PARSE("--rotate", "10m"), "--rotate: makes logs and nothing else", "-o TRACE.gpt");
	assert_refused(PARSE("--rotate", "10m", "-o", "a.json"), "--rotate: makes logs and nothing else",
		       "-o TRACE.gpt");
	assert_refused(PARSE("--rotate", "10m", "-o", "a.gpt", "-o", "b.gpt"), "--rotate: makes logs and nothing else",
		       "one output");
	assert_refused(PARSE("--rotate", "10m", "-o", "a.gpt", "--tree"), "--rotate: makes no report",
		       "gputrace report");
	assert_refused(PARSE("--rotate", "10m", "-o", "a.gpt", "--flight-recorder", "30s"),
		       "--rotate: keeps all there is", "--flight-recorder");
	assert_refused(PARSE("-p", "1", "--rotate", "10m", "-o", "a.gpt", "--capture-range", "cudaProfilerApi"),
		       "--rotate: keeps all there is", "--capture-range");
}

static void ranges_of_the_profilers_api_are_a_schedule(void **state)
{
	const struct gpt_schedule *schedule = &options.schedule;

	assert_int_equal(PARSE("-p", "1", "--capture-range", "cudaProfilerApi", "-o", "a.json"), 0);
	assert_int_equal(schedule->by, GPT_STEP_BY_CAPTURE);
	assert_int_equal(schedule->repeat, 1);
	assert_true(options.ops);
	assert_int_equal(PARSE("-p", "1", "--capture-range", "cudaProfilerApi", "--capture-range-end", "repeat"), 0);
	assert_int_equal(schedule->repeat, 0);
	assert_int_equal(PARSE("-p", "1", "--capture-range", "cudaProfilerApi", "--capture-range-end", "repeat:3", "-o",
			       "a.%c.json"),
			 0);
	assert_int_equal(schedule->repeat, 3);
	assert_refused(PARSE("-p", "1", "--capture-range", "nvtx"), "--capture-range nvtx", "cudaProfilerApi");
	assert_refused(PARSE("-p", "1", "--capture-range", "cudaProfilerApi", "--capture-range-end", "repeat:0"),
		       "--capture-range-end repeat:0", "repeat:N");
	assert_refused(PARSE("-p", "1", "--capture-range", "cudaProfilerApi", "--capture-range-end", "stop-shutdown"),
		       "--capture-range-end stop-shutdown", "stop");
	assert_refused(PARSE("-p", "1", "--capture-range-end", "stop"), "--capture-range-end stop",
		       "needs --capture-range");
	assert_refused(PARSE("--capture-range", "cudaProfilerApi"), "--capture-range", "-p PID");
	assert_refused(PARSE("-p", "1", "--capture-range", "cudaProfilerApi", "--step", "profiler"), "--capture-range",
		       "--step");
	assert_refused(PARSE("-p", "1", "--capture-range", "cudaProfilerApi", "--schedule", "active=1"),
		       "--capture-range", "--schedule");
	assert_refused(
		PARSE("-p", "1", "--capture-range", "cudaProfilerApi", "--capture-range-end", "repeat", "-o", "a.json"),
		"--output a.json", "--capture-range");
}

static void what_cannot_be_scheduled_is_refused(void **state)
{
	assert_refused(PARSE("--schedule", "active=1"), "--schedule", "-p PID");
	assert_refused(PARSE("-p", "1", "--schedule", "active=1", "--step", "py:step"), "--step py:step", "backward");
	assert_refused(PARSE("-p", "1", "--schedule", "active=1", "--step", "burst:5ms"),
		       "--step burst:5ms: --schedule has to know", "--steps N..M");
	assert_refused(PARSE("-p", "1", "--schedule", "active=1", "--step", "py:a.py:step"),
		       "--step py:a.py:step:", "--steps N..M");
	assert_refused(PARSE("-p", "1", "--schedule", "active=1", "--step", "range:b*"), "range:b*", "whole name");
	assert_refused(PARSE("-p", "1", "--schedule", "active=1", "--python-calls"), "--python-calls", "--schedule");
	assert_refused(PARSE("-p", "1", "--schedule", "active=1", "--agent", "off"), "--ops", "--agent off");
}

static void of_several_cycles_each_has_a_file_of_its_own(void **state)
{
	assert_int_equal(PARSE("-p", "1", "--schedule", "active=1", "-o", "a.%c.json", "-o", "all.gpt"), 0);
	assert_int_equal(PARSE("-p", "1", "--schedule", "active=1,repeat=1", "-o", "a.json"), 0);
	assert_int_equal(PARSE("export", "a.gpt", "-o", "a.%p.%c.json", "--cycle", "2"), 0);
	assert_int_equal(options.slice.cycle, 2);
	assert_refused(PARSE("-p", "1", "--schedule", "active=1", "-o", "a.json"), "a.json", "%c");
	assert_refused(PARSE("-p", "1", "--schedule", "active=1", "-o", "a.%c.gpt"), "a.%c.gpt", "all cycles");
	assert_refused(PARSE("-p", "1", "-o", "a.%c.json"), "a.%c.json", "--schedule");
	assert_refused(PARSE("report", "a.gpt", "--cycle", "0"), "--cycle 0", "from 1");
	assert_refused(PARSE("report", "a.gpt", "--cycle", "1", "--steps", "1"), "--cycle", "--steps");
	assert_refused(PARSE("report", "a.gpt", "--cycle", "1", "--from", "1"), "--cycle", "--from");
}

static void steps_are_chosen_by_number(void **state)
{
	assert_int_equal(PARSE("report", "a.gpt", "--steps", "10..12"), 0);
	assert_true(options_want_slice(&options));
	assert_true(options.slice.steps.first == 10 && options.slice.steps.last == 12);
	assert_int_equal(PARSE("report", "a.gpt", "--steps", "7"), 0);
	assert_true(options.slice.steps.first == 7 && options.slice.steps.last == 7);
	assert_int_equal(PARSE("report", "a.gpt", "--steps", "7.."), 0);
	assert_true(options.slice.steps.first == 7 && options.slice.steps.last == UINT64_MAX);
	assert_int_equal(PARSE("report", "a.gpt", "--steps", "..7"), 0);
	assert_true(options.slice.steps.first == 0 && options.slice.steps.last == 7);
	assert_refused(PARSE("report", "a.gpt", "--steps", ".."), "--steps ..", "10..12");
	assert_refused(PARSE("report", "a.gpt", "--steps", "12..10"), "--steps 12..10", "10..12");
	assert_refused(PARSE("report", "a.gpt", "--steps", "1,2"), "--steps 1,2", "10..12");
	assert_refused(PARSE("report", "a.gpt", "--steps", "9999999999999999999"), "--steps 9999999999999999999",
		       "10..12");
	assert_refused(PARSE("report", "a.gpt", "--steps", "1", "--from", "3"),
		       "--steps and --cycle: say which times are wanted", "as --from and --to do; one of them");
}

static void a_greatest_size_is_for_files_that_can_be_cut(void **state)
{
	assert_int_equal(PARSE("export", "a.gpt", "-o", "a.json.gz", "--max-size", "1.5M"), 0);
	assert_int_equal(options.max_size, 1500000);
	assert_refused(PARSE("export", "a.gpt", "-o", "a.json", "--max-size", "0"), "--max-size 0", "200M");
	assert_refused(PARSE("export", "a.gpt", "-o", "a.json", "--max-size", "200T"), "200T", "200M");
	assert_refused(PARSE("export", "a.gpt", "-o", "a.folded", "--max-size", "1M"), "a.folded", ".json.gz");
	assert_refused(PARSE("export", "a.gpt", "-o", "-", "--format", "json", "--max-size", "1M"), "--output -",
		       "several files");
	assert_refused(PARSE("report", "a.gpt", "--max-size", "1M"), "--max-size", "does not apply to report");
}

static void what_cannot_be_done_is_said_with_what_can(void **state)
{
	static const struct {
		const char *words[9], *named, *accepted;
	} cases[] = {
		{{"report", "a.gpt", "b.gpt"}, "takes one log, but got 'a.gpt' and 'b.gpt'", "report"},
		{{"-Z"}, "unknown option '-Z'", "gputrace --help-all lists them"},
		{{"--nosuch"}, "unknown option '--nosuch'", "gputrace --help-all lists them"},
		{{""}, "the command to start is empty", "gputrace -- COMMAND"},
		{{"--", ""}, "the command to start is empty", "gputrace -- COMMAND"},
		{{"-p", "7", "--", "true"},
		 "--pid and a command to start ('true') exclude each other",
		 "one of the two"},
		{{"-o", "trace.xyz", "-p", "7"}, "the suffix says no format", ".pftrace"},
		{{"-o", "all-%p.gpt", "-p", "7"}, "a log holds all processes", "%p is for the other formats"},
		{{"export", "a.gpt", "-o", "-"}, "--output -: say what to write with --format", "pftrace"},
		{{"export", "a.gpt", "-o", "-", "--format", "sqlite"},
		 "it can only be written into a file",
		 "--output FILE"},
		{{"export", "a.gpt", "-o", "-", "--format", "json", "--max-size", "5M"},
		 "--max-size: makes several files",
		 "--output - is one"},
		{{"-p", "7", "--schedule", "wait=1,active=1", "--step", "range:it*"},
		 "--schedule needs the whole name of a range",
		 "range:it*"},
		{{"why", "a.gpt", "-o", "-"}, "--output -: why writes its answer there", "-o all.gpt"},
		{{"why", "-p", "7", "--from", "1s"},
		 "why: --from, --to, --steps and such choose a part of a log",
		 "gputrace why FILE.gpt"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_refused(parse_words(cases[i].words), cases[i].named, cases[i].accepted);
}

/* An option may have several rows, one for each subcommand that takes it differently. */
static void options_of_one_letter_have_one_name(void **state)
{
	for (const struct option_row *row = option_rows; row->name; row++)
		for (const struct option_row *other = row + 1; other->name; other++)
			if (row->letter && row->letter == other->letter && strcmp(row->name, other->name))
				fail_msg("--%s and --%s", row->name, other->name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(steps_are_requested_by_what_they_end_or_begin_with),
		cmocka_unit_test(a_schedule_is_numbers_as_torch_profiler_has_them),
		cmocka_unit_test(a_flight_recorder_has_a_span_and_a_size),
		cmocka_unit_test(triggers_make_a_flight_recorder_write),
		cmocka_unit_test(triggers_know_lines_ranks_hangs_and_errors_of_gpus),
		cmocka_unit_test(a_log_is_rotated_by_size_or_time),
		cmocka_unit_test(ranges_of_the_profilers_api_are_a_schedule),
		cmocka_unit_test(what_cannot_be_scheduled_is_refused),
		cmocka_unit_test(of_several_cycles_each_has_a_file_of_its_own),
		cmocka_unit_test(steps_are_chosen_by_number),
		cmocka_unit_test(no_argument_traces_the_whole_machine),
		cmocka_unit_test(serve_is_a_flight_recorder_or_a_question_to_one),
		cmocka_unit_test(a_report_is_text_or_tables_in_a_format),
		cmocka_unit_test(standard_output_has_the_report_or_an_export),
		cmocka_unit_test(lists_of_activities_go_together_and_with_nothing_else),
		cmocka_unit_test(what_is_for_the_tree_of_calls_goes_with_it),
		cmocka_unit_test(periods_are_instead_of_the_report_and_cut_it_by_time),
		cmocka_unit_test(the_layers_of_the_model_are_instead_of_the_report_and_take_what_is_for_trees),
		cmocka_unit_test(the_source_to_list_is_the_word_behind_lines),
		cmocka_unit_test(durations_are_seconds_or_have_a_unit),
		cmocka_unit_test(wrong_durations_are_refused_with_their_value),
		cmocka_unit_test(pids_are_a_list_without_doubles),
		cmocka_unit_test(wrong_pids_are_refused_and_the_wrong_one_is_named),
		cmocka_unit_test(the_suffix_picks_the_format),
		cmocka_unit_test(an_unknown_suffix_is_answered_with_the_known_ones),
		cmocka_unit_test(file_names_that_cannot_be_are_refused),
		cmocka_unit_test(variables_of_the_environment_are_put_into_names),
		cmocka_unit_test(one_file_per_process_has_the_pid_in_its_name),
		cmocka_unit_test(a_folder_gets_the_names_that_torch_profiler_gives),
		cmocka_unit_test(standard_output_needs_a_format),
		cmocka_unit_test(a_format_without_standard_output_is_refused),
		cmocka_unit_test(standard_output_is_given_once),
		cmocka_unit_test(a_binary_format_is_not_for_a_terminal),
		cmocka_unit_test(a_format_that_needs_a_path_is_not_for_a_pipe),
		cmocka_unit_test(choices_are_checked),
		cmocka_unit_test(percentages_are_at_most_100_and_exact_to_three_decimals),
		cmocka_unit_test(the_ring_buffer_is_a_power_of_two),
		cmocka_unit_test(the_limit_of_the_cost_is_a_percentage),
		cmocka_unit_test(the_limit_of_memory_bounds_what_was_not_given),
		cmocka_unit_test(python_calls_are_recorded_when_asked_for),
		cmocka_unit_test(the_cpu_is_sampled_when_asked_for),
		cmocka_unit_test(what_runs_and_what_waits_is_recorded_by_default_of_named_programs),
		cmocka_unit_test(what_was_chosen_is_recorded_as_it_was_chosen),
		cmocka_unit_test(a_trace_for_the_least_cost_or_without_gpu_times_has_neither),
		cmocka_unit_test(waits_are_recorded_when_asked_for),
		cmocka_unit_test(folded_stacks_can_be_those_of_ops),
		cmocka_unit_test(the_table_of_ops_has_options_of_its_own),
		cmocka_unit_test(ops_are_recorded_or_their_table_is_asked_for),
		cmocka_unit_test(forward_lines_are_recorded_with_ops),
		cmocka_unit_test(where_backward_work_and_that_of_graphs_is_put_can_be_chosen),
		cmocka_unit_test(a_libcupti_is_named_by_its_whole_path),
		cmocka_unit_test(what_the_agent_records_can_be_chosen),
		cmocka_unit_test(options_after_the_command_belong_to_it),
		cmocka_unit_test(a_word_without_the_two_dashes_is_never_run),
		cmocka_unit_test(a_word_after_the_two_dashes_is_a_command_whatever_it_says),
		cmocka_unit_test(a_command_and_pids_exclude_each_other),
		cmocka_unit_test(dashes_without_a_command_are_refused),
		cmocka_unit_test(unknown_options_are_named),
		cmocka_unit_test(a_missing_value_is_shown_what_it_is),
		cmocka_unit_test(a_slice_is_a_span_processes_a_thread_and_a_gpu),
		cmocka_unit_test(what_is_no_slice_is_refused),
		cmocka_unit_test(a_greatest_size_is_for_files_that_can_be_cut),
		cmocka_unit_test(options_of_another_subcommand_are_refused),
		cmocka_unit_test(report_takes_one_log_in_any_place),
		cmocka_unit_test(without_a_log_the_last_trace_is_read),
		cmocka_unit_test(export_takes_outputs_after_the_log),
		cmocka_unit_test(export_never_takes_a_second_log_for_an_output),
		cmocka_unit_test(why_reads_a_log_or_records),
		cmocka_unit_test(why_takes_what_a_trace_takes),
		cmocka_unit_test(why_refuses_what_is_of_the_other_kind),
		cmocka_unit_test(doctor_takes_a_pid_and_no_words),
		cmocka_unit_test(help_and_version_win_over_what_follows),
		cmocka_unit_test(the_target_is_named_as_the_user_did),
		cmocka_unit_test(the_session_record_holds_what_outputs_need),
		cmocka_unit_test(the_session_record_says_what_no_one_asked_for),
		cmocka_unit_test(missing_capabilities_are_named),
		cmocka_unit_test(kernel_versions_are_ordered),
		cmocka_unit_test(options_of_one_letter_have_one_name),
		cmocka_unit_test(what_cannot_be_done_is_said_with_what_can),
		cmocka_unit_test(a_proof_of_the_cost_is_a_schedule_of_windows),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	options_free(&options);
	return failed;
}
