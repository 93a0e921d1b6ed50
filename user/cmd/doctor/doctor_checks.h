/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The doctor's checks, and the lines that they print. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum health {
	HEALTH_OK,
	HEALTH_LIMITED, /* a trace works, with less or slower */
	HEALTH_MISSING,
};

/* Prints one line, wrapped at the terminal's width; nothing is cut. */
void doctor_say(enum health health, const char *name, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Checks the machine; returns false when no trace can work here. */
bool doctor_check_kernel(void);

/* Checks the installed agent, CUPTI, driver and Pythons; returns false when no trace can work. */
bool doctor_check_software(void);

/* Checks recording by the agent alone, without BPF; returns false when a command cannot be traced that way either. */
bool doctor_check_alone(void);

/*
 * Checks one process, with the libcupti that is named for it (NULL: none); returns false when it cannot be traced. Sets
 * *enters to false when the agent cannot enter it.
 */
bool doctor_check_process(pid_t pid, const char *cupti, bool *enters);
