/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The state of a process, from /proc: for tests that wait until it reaches a certain point. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

static inline void pause_a_little(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* The beginning of /proc/PID/NAME, "" when the process is gone. */
static inline const char *proc_text(pid_t pid, const char *name, char text[2048])
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	text[0] = '\0';
	file = fopen(path, "re");
	if (!file)
		return text;
	text[fread(text, 1, 2047, file)] = '\0';
	fclose(file);
	return text;
}

/* The state letter of proc(5); 0 when the process is gone. */
static inline char state_of(pid_t pid)
{
	char text[2048], *end = strrchr(proc_text(pid, "stat", text), ')');

	return end ? end[2] : '\0';
}

/* The number of the system call in which it is blocked, -1 when it runs or is gone. */
static inline long blocked_in(pid_t pid)
{
	char text[2048], *end;
	long number = strtol(proc_text(pid, "syscall", text), &end, 10);

	return end == text || state_of(pid) == 'R' ? -1 : number;
}

/* How often its first thread has begun to wait (voluntary context switches). */
static inline unsigned long waits_of(pid_t pid)
{
	static const char key[] = "\nvoluntary_ctxt_switches:\t";
	char text[2048], *line = strstr(proc_text(pid, "status", text), key);

	return line ? strtoul(line + strlen(key), NULL, 10) : 0;
}
