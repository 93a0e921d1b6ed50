/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Command lines that are mistyped: what was probably meant is said. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/options/subcommands.h"
#include "parsed.h"

static void what_was_meant_by_a_word_is_said(void **state)
{
	assert_refused(PARSE("-v", "why"), "why: a subcommand comes first, its options after it", "gputrace why ...");
	assert_refused(PARSE("-v", "help"), "help comes first, or after a subcommand", "gputrace help");
	assert_refused(PARSE("-p", "12", "report", "a.gpt"), "report: a subcommand comes first", "gputrace report");
	assert_refused(PARSE("version"), "'version'", "gputrace --version");
	assert_refused(PARSE("1234"), "'1234': a process is named with -p:", "gputrace -p 1234");
	assert_refused(PARSE("why", "1234"), "no file '1234'; a process is named with -p", "gputrace why -p 1234");
	assert_refused(PARSE("report", "1234"), "report reads files, and '1234' is none", "gputrace -p 1234");
	assert_refused(PARSE("why", "python", "x.py"),
		       "a program to start goes after two dashes:", "gputrace why -- python x.py");
	assert_refused(PARSE("why", "-v", "python"), "why: there is no file 'python'", "gputrace why -- python");
	assert_refused(PARSE("python", "x.py"), "no subcommand 'python'", "two dashes: gputrace -- python x.py");
	assert_refused(PARSE("train.py", "--lr"), "no subcommand 'train.py'",
		       "two dashes: gputrace -- python3 train.py --lr");
	assert_refused(PARSE("why", "train.py"), "'train.py' is a program", "gputrace why -- python3 train.py");
	assert_refused(PARSE("/proc/self/status.gpt"), "no subcommand '/proc/self/status.gpt'", "gputrace -- ");
}

/* As perf, nsys and py-spy name it. */
static void to_record_needs_no_subcommand(void **state)
{
	assert_refused(PARSE("record", "python", "x.py", "y"), "'record'", ": gputrace -- python x.py ...");
	assert_refused(PARSE("profile", "-o", "x", "--", "python", "x.py"), "'profile'", ": gputrace -- python x.py");
	assert_refused(PARSE("record", "--", "python"), "'record'", ": gputrace -- python");
	assert_refused(PARSE("trace", "1234"), "'trace'", ": gputrace -p 1234");
	assert_refused(PARSE("attach", "-p", "1234"), "'attach'", ": gputrace -p 1234");
	assert_refused(PARSE("record"), "'record'", ": gputrace -p PID, or gputrace -- COMMAND");
	assert_refused(PARSE("top", "1234"), "'1234'", ": gputrace top -p 1234");
}

static void a_slip_is_recognised(void **state)
{
	static const struct slip {
		const char *word, *meant;
	} slips[] = {{"repotr", "report"},
		     {"reprt", "report"},
		     {"dmup", "dump"},
		     {"whyy", "why"},
		     {"htop", "top"},
		     {"--ouput", "--output"},
		     {"--outptu=x", "--output"},
		     {"--durtion", "--duration"},
		     {"--memmory", "--memory"}};
	char wanted[64];

	for (size_t i = 0; i < sizeof(slips) / sizeof(slips[0]); i++) {
		snprintf(wanted, sizeof(wanted), "did you mean %s?", slips[i].meant);
		assert_refused(PARSE(slips[i].word, "a.gpt"),
			       slips[i].word[0] == '-' ? "unknown option" : "there is no subcommand", wanted);
	}
	assert_refused(PARSE("--mem"), "--mem: is the start of --memory, --memory-lines", "name one of them whole");
	assert_refused(PARSE("--x"), "unknown option '--x'; gputrace --help-all", "lists them");
	assert_refused(PARSE("no"), "no subcommand 'no' (there are", "gputrace -- no"); /* all of it is no slip */
}

static void an_option_that_the_subcommand_knows_is_nearer(void **state)
{
	assert_refused(PARSE("report", "a.gpt", "--tere"), "unknown option --tere: did you mean --tree?",
		       "gputrace report --help lists all");
	assert_refused(PARSE("view", "a.gpt", "--prot", "1"), "did you mean --port?", "gputrace view --help");
	assert_refused(PARSE("dump", "--duratoin", "1"), "did you mean --duration?", "gputrace dump --help");
	assert_refused(PARSE("report", "a.gpt", "--nosuch"), "unknown option '--nosuch'; gputrace report --help", "");
}

static void a_value_that_is_nearly_a_name_is_recognised(void **state)
{
	static const struct {
		const char *words[6], *option, *meant;
	} cases[] = {
		{{"--metric", "idel"}, "--metric idel: accepted are gpu, launches, cpu and idle", "idle"},
		{{"--agent", "requier"}, "--agent requier: accepted are auto, require and off", "require"},
		{{"--way", "agnet"}, "--way agnet: accepted are", "agent"},
		{{"--backward", "foward"}, "--backward foward: accepted are", "forward"},
		{{"--graphs", "repaly"}, "--graphs repaly: accepted are", "replay"},
		{{"--tree", "--by", "memmory"}, "--by memmory: accepted are", "memory"},
		{{"--format", "jsno"}, "--format jsno: accepted are", "json"},
		{{"--trace", "cuda,snyc"}, "--trace cuda,snyc: 'snyc' is not known; accepted, by commas, are", "sync"},
		{{"export", "a.gpt", "--folded-by", "self-gpu"}, "--folded-by self-gpu: accepted are", "self-cpu"},
		{{"report", "a.gpt", "--format", "csc"}, "--format csc: accepted are text, csv, json and md", "csv"},
		{{"report", "a.gpt", "--sort", "cuont"}, "--sort cuont: accepted are", "count"},
	};
	char wanted[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(wanted, sizeof(wanted), ": did you mean %s?", cases[i].meant);
		assert_refused(parse_words(cases[i].words), cases[i].option, wanted);
	}
	assert_int_equal(PARSE("--metric", "wall"), -EINVAL);
	assert_null(strstr(why, "did you mean"));
	assert_int_equal(PARSE("--agent", "an"), -EINVAL); /* no name, but a word of the list */
	assert_null(strstr(why, "did you mean"));
}

static void a_long_option_with_one_dash_is_recognised(void **state)
{
	static const char *const names[] = {"-pid", "-duration", "-output", "-memory", "-ops", "-verbose"};
	char wanted[64];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(wanted, sizeof(wanted), "%s: a long option has two dashes: -%s", names[i], names[i]);
		assert_refused(PARSE(names[i], "12"), wanted, "");
	}
	assert_int_equal(PARSE("-p12", "-d10", "-qv"), 0);
	assert_int_equal(PARSE("-p", "12", "-o", "x.json", "-M", "-pid=1", "-qv"), 0);
}

static void help_is_a_word_too(void **state)
{
	assert_int_equal(PARSE("help"), 0);
	assert_int_equal(options.subcommand, SUBCOMMAND_HELP);
	assert_int_equal(options.help_for, SUBCOMMAND_RECORD);
	assert_false(options.help_all);
	assert_int_equal(PARSE("help", "all"), 0);
	assert_true(options.help_all);
	for (size_t i = 0; i < SUBCOMMAND_COUNT; i++) {
		if (!subcommand_rows[i].name)
			continue;
		assert_int_equal(PARSE("help", subcommand_rows[i].name), 0);
		assert_int_equal(options.help_for, subcommand_rows[i].subcommand);
	}
	assert_refused(PARSE("help", "reprot"), "help reprot: did you mean report?", "");
	assert_refused(PARSE("help", "me"), "help me: there is no such subcommand", "gputrace help all lists all");
}

static void each_subcommand_has_a_row_and_each_word_its_help(void **state)
{
	for (unsigned number = 0; number < SUBCOMMAND_COUNT; number++) {
		const struct subcommand_row *row = subcommand_row_of((enum subcommand)(1 << number));

		if (!row)
			fail_msg("subcommand %u has no row", number);
		if (row->name && (!row->question || !row->summary || !row->examples || !row->synopsis ||
				  !row->exit_status || strncmp(row->synopsis, row->name, strlen(row->name)) != 0))
			fail_msg("the help of %s is not whole", row->name);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_meant_by_a_word_is_said),
		cmocka_unit_test(to_record_needs_no_subcommand),
		cmocka_unit_test(a_slip_is_recognised),
		cmocka_unit_test(an_option_that_the_subcommand_knows_is_nearer),
		cmocka_unit_test(a_value_that_is_nearly_a_name_is_recognised),
		cmocka_unit_test(a_long_option_with_one_dash_is_recognised),
		cmocka_unit_test(help_is_a_word_too),
		cmocka_unit_test(each_subcommand_has_a_row_and_each_word_its_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
