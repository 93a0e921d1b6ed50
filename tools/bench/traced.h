/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A program that measures itself on request, and a trace of it whose records are only counted. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "attach/attach.h"

void die(const char *what, const char *why) __attribute__((noreturn));

/* Prints "ready", then answers each line with one number. */
struct target {
	pid_t pid;
	FILE *to, *from;
};

void target_start(struct target *target, char *const argv[]);
double target_ask(struct target *target, const char *format, ...) __attribute__((format(printf, 2, 3)));
void target_end(struct target *target);

struct tracer {
	void (*count)(struct tracer *tracer, const struct gpt_record *record); /* called on the tracer's thread */
	uint64_t seen[2];						       /* for use by count */
	struct attach *attach;
	pthread_t thread;
	atomic_bool stop;
};

/* Traces launches and Python stacks of one process, without the agent. */
void tracer_start(struct tracer *tracer, pid_t pid, bool python_calls);
void tracer_stop(struct tracer *tracer, uint64_t counters[GPT_COUNTER_COUNT]);

/* Also sorts the values. */
double median(double *values, size_t count);
