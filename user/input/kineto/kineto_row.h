/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Helpers to make rows of events of all categories.  For kineto_*.c alone. */
#pragma once

#include "input/kineto/kineto_event.h"

static inline uint32_t kineto_text(struct foreign_file *file, const struct json_text *text, text_buffer *scratch)
{
	if (!text->escaped)
		return rows_text(&file->rows, text->bytes, text->size);
	scratch->count = 0;
	json_unescape(scratch, text);
	return rows_text(&file->rows, scratch->items, scratch->count);
}

/* A number if it fits in 32 bits, else `unknown`. */
static inline uint32_t kineto_small(const struct kineto_event *event, enum kineto_number which, uint32_t unknown)
{
	int64_t value = event->numbers[which];

	return value >= 0 && value < UINT32_MAX ? (uint32_t)value : unknown;
}

static inline uint64_t kineto_wide(const struct kineto_event *event, enum kineto_number which)
{
	return event->numbers[which] >= 0 ? (uint64_t)event->numbers[which] : 0;
}

static inline uint32_t kineto_id(int64_t value)
{
	return value > 0 && value < UINT32_MAX ? (uint32_t)value : 0;
}

/* Stands for all threads that the tool had no number for, but that did something on the CPU. */
#define KINETO_NO_THREAD (UINT32_MAX - 1)

/*
 * If Kineto has no thread id it writes the lower half of pthread_self() as a signed number.  0: a thread that it knows
 * nothing of, such as a Python thread that ran no op.
 */
static inline uint32_t kineto_thread(int64_t value)
{
	return value == KINETO_NO_NUMBER || (uint32_t)value == UINT32_MAX ? 0 : (uint32_t)value;
}

static inline struct row kineto_row(const struct kineto_event *event, enum row_kind kind)
{
	return (struct row){.start_ns = (uint64_t)event->start_ns,
			    .end_ns = (uint64_t)(event->start_ns + event->duration_ns),
			    .pid = kineto_id(event->pid),
			    .tid = kineto_thread(event->tid),
			    .text = ROW_NO_TEXT,
			    .kind = kind,
			    .corr = kineto_small(event, KINETO_CORRELATION, 0)};
}

void kineto_add_gpu(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading,
		    enum model_gpu_kind kind);
void kineto_add_sync(struct foreign_file *file, const struct kineto_event *event, const struct kineto_reading *reading);
void kineto_add_overhead(struct foreign_file *file, const struct kineto_event *event);
