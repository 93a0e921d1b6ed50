/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory from CUDA: how much was held at most, and by which lines.  Only memory that was handed out during the trace
 * counts: older blocks are not known.  Blocks are not kept: each caller has what it holds now, and what it held at the
 * latest peak.
 */
#pragma once

#include "analyze/events/events.h"
#include "analyze/events/lines.h"

enum memory_space {
	MEMORY_SPACE_HOST, /* pinned */
	MEMORY_SPACE_MANAGED,
	MEMORY_SPACE_DEVICE,
};

struct memory_peak {
	uint32_t space;	 /* enum memory_space */
	uint32_t device; /* model_device.id of MEMORY_SPACE_DEVICE, else 0 */
	uint64_t now, most;
	uint64_t time_ns; /* when most was first reached */
};

struct memory_row {
	uint32_t line, space, device;
	uint32_t process;		/* as in line_tally_row */
	uint32_t user_line, user_lines; /* as in line_tally_row */
	uint64_t at_peak, unreleased;	/* bytes */
	uint64_t blocks;		/* handed out */
};

/* The memory of a space that one caller of one process holds. */
struct memory_holder {
	uint64_t now, at_peak;
	uint64_t unreleased, blocks;
	uint64_t changed_ns; /* when now last changed */
	uint32_t peak;
	uint32_t next; /* holder of the same process, NONE */
};

struct memory_peaks {
	struct tally spaces;  /* space, device; more: index in peaks */
	struct tally callers; /* caller_place, space, device, process; numbered like holders */
	ARRAY(struct memory_holder) holders;
	uint32_t *first;   /* by model.processes: its latest holder, NONE */
	uint64_t *exit_ns; /* by model.processes: exit time, UINT64_MAX: not yet */
	ARRAY(struct memory_peak) peaks;
	struct memory_row *rows; /* most at the peak first */
	size_t count;
};

void memory_peaks_init(struct memory_peaks *all, const struct model *model);
void memory_peaks_free(struct memory_peaks *all);
void memory_peaks_add_memory(struct memory_peaks *all, const struct memory_event *event);
void memory_peaks_add_exit(struct memory_peaks *all, const struct exit_event *event);
void memory_peaks_finish(struct memory_peaks *all, struct lines *lines);

/* The hooks of this analysis (analyses.h). */
#define ANALYSIS_MEMORY_PEAKS(X)                                                                                       \
	X(MEMORY_PEAKS, begin, memory_peaks_init(&all->memory, event->first))                                          \
	X(MEMORY_PEAKS, memory, memory_peaks_add_memory(&all->memory, event))                                          \
	X(MEMORY_PEAKS, exit, memory_peaks_add_exit(&all->memory, event))                                              \
	X(MEMORY_PEAKS, finish, memory_peaks_finish(&all->memory, event->lines))                                       \
	X(MEMORY_PEAKS, free, memory_peaks_free(&all->memory))
