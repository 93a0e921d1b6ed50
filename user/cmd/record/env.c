/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Prints what a shell sets so that programs can be traced later. */
#include <stdio.h>
#include <stdlib.h>

#include <gputrace/agent.h>
#include <gputrace/share.h>

#include "base/msg.h"
#include "cmd/process/agent_path.h"
#include "cmd/record/command.h"
#include "cmd/commands.h"

/* Prints the value in single quotes, for a shell. */
static void print_variable(const char *name, const char *value)
{
	printf("export %s='", name);
	for (; *value; value++)
		fputs(*value == '\'' ? "'\\''" : (const char[]){*value, 0}, stdout);
	puts("'");
}

/* Prints the variable of gputrace's own environment, if it is there. */
static void print_own_variable(const char *name)
{
	const char *value = getenv(name);

	if (value)
		print_variable(name, value);
}

enum exit_code env_command(const struct options *options)
{
	char *agent_path = agent_path_find();

	if (!agent_path) {
		msg_error("%s was not found; gputrace doctor says where it is looked for", GPUTRACE_AGENT_FILE);
		return EXIT_FAILED;
	}
	command_set_injection(agent_path);
	print_variable(COMMAND_INJECTION, agent_path);
	print_own_variable(COMMAND_CHAINED);
	print_variable(GPUTRACE_WAIT, "1");
	print_own_variable(GPUTRACE_FILTERS);
	free(agent_path);
	return fflush(stdout) ? EXIT_FAILED : EXIT_GOOD;
}
