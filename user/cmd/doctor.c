/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs the checks and prints their lines; the checks live in doctor_*.c. */
#include "cmd/doctor.h"

#include <bpf/libbpf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/safe_text.h"

#define COLUMNS 100
#define TEXT_COLUMN 25 /* "%-16s%-9s" */

void doctor_say(enum health health, const char *name, const char *format, ...)
{
	static const char *const words[] = {
		[HEALTH_OK] = "ok", [HEALTH_LIMITED] = "limited", [HEALTH_MISSING] = "missing"};
	char text[512], safe[SAFE_TEXT_MAX(COLUMNS) + 1];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (strlen(text) > COLUMNS - TEXT_COLUMN)
		strcpy(text + COLUMNS - TEXT_COLUMN - 3, "...");
	safe[safe_text_copy(safe, text, strlen(text))] = 0;
	printf("%-16s%-9s%s\n", name, words[health], safe);
}

/* Probing for a feature fails where it is absent; that is no news for the user. */
static int stay_silent(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

enum exit_code doctor_command(const struct options *options)
{
	bool works;

	libbpf_set_print(stay_silent);
	works = doctor_check_kernel();
	works &= doctor_check_software();
	for (size_t i = 0; i < options->pids.list.count; i++)
		works &= doctor_check_process(options->pids.list.items[i], options->cupti);
	fflush(stdout);
	if (!works)
		msg_error("no trace can work here until what is missing above is there");
	return works ? EXIT_GOOD : EXIT_FAILED;
}
