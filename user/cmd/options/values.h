/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parsers of option values.  Each returns 0, or -EINVAL when the text is not exactly such a value; none prints
 * anything.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <gputrace/schedule.h>

#include "base/array.h"
#include "model/steps/steps.h"

struct pid_list {
	ARRAY(pid_t) list;
};

struct name_list {
	ARRAY(char *) list;
};

/* A thread, by its id alone or with the id of its process. */
struct thread_value {
	uint32_t pid; /* 0: any */
	uint32_t tid;
};

/* "10" and "10s", "500ms", "1.5m", "1h": above 0, at most a year. */
int value_duration(const char *text, uint64_t *ns);

/* "64M", "1G", "512K": a power of two from VALUE_BUFFER_MIN to VALUE_BUFFER_MAX. */
int value_buffer(const char *text, size_t *bytes);

/* The kernel wants whole pages (64 KiB on some arm64); libbpf 1.1 maps the data twice: below 4 GiB in all. */
#define VALUE_BUFFER_MIN (64u << 10)
#define VALUE_BUFFER_MAX (1u << 30)

/* "95", "99.9" or "99.999%": thousandths of a percent, 0 to 100,000. */
int value_percent(const char *text, unsigned *thousandths);

/* "123" or "123,456": adds the ids that are not in the list yet. *bad, *bad_length: the element that is wrong. */
int value_pids(const char *text, struct pid_list *pids, const char **bad, int *bad_length);

/* "123,train.py": adds each name; none may be empty. */
int value_names(const char *text, struct name_list *names);
void name_list_free(struct name_list *names);

/* "41231" or "41230/41231". */
int value_thread(const char *text, struct thread_value *thread);

/* "10": from 1 to `most`. */
int value_count(const char *text, uint64_t most, uint64_t *count);

/* "0" */
int value_gpu(const char *text, uint32_t *gpu);

/* Which steps: by number, both included; has_any false: all. */
struct steps_value {
	bool has_any;
	uint64_t first, last;
};

/* How steps are found; the strings in `request` are parts of `text`. */
struct step_value {
	struct step_request request;
	const char *given; /* the caller's string */
	char *text;	   /* NULL: none */
};

/* "10..12", "10", "10..", "..12" */
int value_steps(const char *text, struct steps_value *steps);

/* "optimizer", "backward", "profiler", "range:batch", "py:train_step", "py:train.py:train_step", "py:train.py:81",
 * "burst:5ms". */
int value_step(const char *text, struct step_value *step);
void step_value_free(struct step_value *step);

/*
 * "skip_first=5,wait=5,warmup=2,active=2,repeat=1,skip_first_wait=1": each once, in any order; active is needed, the
 * others default to 0.
 */
int value_schedule(const char *text, struct gpt_schedule *schedule);

/* "200M", "500K", "1G", "1.5G", in steps of 1,000; at least 1. */
int value_size(const char *text, uint64_t *bytes);
