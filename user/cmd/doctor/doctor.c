/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs the checks, which are in doctor_*.c. */
#include "cmd/commands.h"

#include <bpf/libbpf.h>
#include <stdio.h>

#include "cmd/doctor/doctor_checks.h"
#include "report/table/text.h"

/* Probing for an absent feature fails, as expected: libbpf must not print that. */
static int stay_silent(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

enum exit_code doctor_command(const struct options *options)
{
	bool works, there = true, alone;

	libbpf_set_print(stay_silent);
	text_begin();
	works = doctor_check_kernel();
	works &= doctor_check_software();
	alone = doctor_check_alone();
	for (size_t i = 0; i < options->pids.list.count; i++)
		there &= doctor_check_process(options->pids.list.items[i], options->cupti, &alone);
	text_end();
	fflush(stdout);
	if (!works && alone && there) {
		msg_warn("only the agent alone works here, for %s; what is missing above opens other users' processes "
			 "and the whole machine",
			 options->pids.list.count ? "these processes" : "gputrace -- COMMAND and your own processes");
		return EXIT_GOOD;
	}
	if (!works || !there)
		msg_error("no trace can work here until what is missing above is there");
	return works && there ? EXIT_GOOD : EXIT_FAILED;
}
