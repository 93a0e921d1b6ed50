/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the files of the Chrome trace writer share: the numbers under which processes, threads, streams and
 * calls appear in this one file, and the text of names escaped beforehand.
 *
 * Consumers (HTA, TensorBoard) key on correlation, stream and tid over the whole file although CUDA promises them only
 * within a process, so with several processes in one file they are numbered anew.
 */
#ifndef GPUTRACE_CHROME_H
#define GPUTRACE_CHROME_H

#include <stdbool.h>
#include <stdint.h>

#include "export/sink.h"
#include "export/tracks.h"
#include "model/model.h"

/* Numbers above what Linux gives out (PID_MAX_LIMIT is 2^22), all below 2^31. */
#define CHROME_OVERHEAD_PID 6000000u
#define CHROME_DEVICE_PID 7000000u  /* + device, for ids that no GPU has (HTA takes pids below 64 for GPUs) */
#define CHROME_TRACK_TID 10000000u  /* + index of the track */
#define CHROME_ID_STEP 20000000u    /* added to a pid or tid that was used before */
#define CHROME_SYNC_TID 500000000u  /* + index of a row of synchronisations, or + a stream without operations */
#define CHROME_RANGE_TID 600000000u /* + index of a row of NVTX ranges */
#define CHROME_JIT_TID 700000000u   /* + index of a row of compilations */
#define CHROME_DEVICES 64u
#define CHROME_STREAMS 1000000u /* streams below keep their number */

struct chrome {
	struct sink *out;
	const struct model *model;
	uint64_t base_ns, end_ns; /* what the file spans; ts is since base_ns */

	uint32_t *pids;	      /* by process; 0: not in this file */
	uint32_t *tids;	      /* by thread */
	uint32_t *span_tids;  /* by thread: its row for collections and imports, 0: it had none */
	uint32_t *first_call; /* by thread, NONE */
	uint32_t *next_call;  /* by call: the next one of its thread, NONE */
	bool several;	      /* processes in this file */
	uint32_t gpu_process; /* the process whose streams keep their numbers, NONE */

	bool renumbered;       /* correlation is the index of the call + 1 */
	uint64_t correlations; /* first number that no call has by itself */

	struct tracks streams;	 /* key: process, device, stream */
	uint32_t *track_op;	 /* by track of streams: its first GPU operation */
	uint32_t *gpu_track;	 /* by GPU operation, TRACK_NONE: not plotted */
	struct tracks overheads; /* key: process, tid */
	uint32_t *overhead_order, *overhead_track;
	uint32_t overhead_count;
	uint64_t not_plotted;	  /* GPU operations for which there was no lane */
	uint64_t untimed, unseen; /* GPU operations without times; without a launch */

	struct tracks sync_rows; /* key: process, device, stream or NONE */
	uint32_t *sync_track;	 /* by synchronisation, TRACK_NONE: not plotted */
	uint64_t syncs_not_plotted;

	struct tracks jit_rows; /* key: process, tid */
	uint32_t *jit_row;	/* by compilation, TRACK_NONE: not plotted */
	uint64_t jits_not_plotted;

	struct tracks range_rows; /* key: thread, domain or NONE, started or not */
	uint32_t *range_row;	  /* by NVTX range, TRACK_NONE: not plotted */
	uint64_t ranges_not_plotted;

	struct sink code_text; /* of every code object: file, name, escaped */
	size_t *code_at;       /* begins of file and name in turn, and the end of the last */
};

/* chrome_ids.c: fills the numbers in and frees them. */
void chrome_ids_make(struct chrome *chrome, int process);
void chrome_ids_free(struct chrome *chrome);

/* The correlation of a call, unique in the file. */
uint64_t chrome_correlation(const struct chrome *chrome, uint32_t call);

/* The same for a GPU operation: its call's, or one of its own when its launch was not seen. */
uint64_t chrome_gpu_correlation(const struct chrome *chrome, uint32_t op);

/* And for a synchronisation. */
uint64_t chrome_sync_correlation(const struct chrome *chrome, uint32_t sync);

/* The pid under which a device appears. */
uint32_t chrome_device_pid(uint32_t device);

/* When a call ends in this file: not after the next call of its thread begins. */
uint64_t chrome_call_end(const struct chrome *chrome, uint32_t call);

static inline bool chrome_has_process(const struct chrome *chrome, uint32_t process)
{
	return chrome->pids[process] != 0;
}

static inline bool chrome_has_call(const struct chrome *chrome, const struct model_call *call)
{
	return chrome_has_process(chrome, chrome->model->threads[call->thread].process);
}

/* chrome_head.c: everything in front of the rows, and the metadata rows. */
void chrome_put_head(struct chrome *chrome);
void chrome_put_names(struct chrome *chrome);

/* interpreter.c: collections and imports, on a row of their own beside their thread's. */
void chrome_put_interpreter(struct chrome *chrome);

/* chrome_events.c: one row each, and their arrows. */
void chrome_put_calls(struct chrome *chrome);
void chrome_put_gpu(struct chrome *chrome);
void chrome_put_overheads(struct chrome *chrome);

/* chrome_syncs.c: rows for synchronisations, after those of streams have their numbers; then the slices. */
void chrome_number_syncs(struct chrome *chrome);
void chrome_put_syncs(struct chrome *chrome);
void chrome_name_sync_row(const struct chrome *chrome, const struct track *row, char *text, size_t size);

/* chrome_jit.c: the same for compilations. */
void chrome_number_jits(struct chrome *chrome);
void chrome_put_jits(struct chrome *chrome);
void chrome_name_jit_row(const struct track *row, char *text, size_t size);

/* chrome_ranges.c: rows for NVTX ranges, then the slices. */
void chrome_number_ranges(struct chrome *chrome);
void chrome_put_ranges(struct chrome *chrome);
void chrome_name_range_row(const struct chrome *chrome, const struct track *row, char *text, size_t size);

/* chrome_memory.c */
void chrome_put_memory(struct chrome *chrome);

/* Begins a complete event, up to and with `"args":{`. */
void chrome_put_slice(struct chrome *chrome, const char *head, size_t head_length, uint32_t pid, uint32_t tid,
		      uint64_t start_ns, uint64_t end_ns);

/* chrome_args.c */

/* `,"name":value` */
void chrome_put_number(struct sink *out, const char *name, int64_t value);
void chrome_put_call_args(struct chrome *chrome, uint32_t call);
void chrome_put_gpu_args(struct chrome *chrome, uint32_t op);

/* `file(line): function`, escaped. */
void chrome_put_code(struct chrome *chrome, uint32_t code, uint32_t line);

/* python_slices.c: what the stacks say about when Python functions ran. */
void chrome_put_python(struct chrome *chrome);

#endif
