/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What readers of profilers' databases have in common: texts by number, and the tables that are CUPTI's records, which
 * nsys and nvprof name alike.  A column that a version lacks is as one without a value.
 */
#ifndef GPUTRACE_INPUT_DATABASE_READER_H
#define GPUTRACE_INPUT_DATABASE_READER_H

#include "input/database/database.h"
#include "input/rows/foreign_file.h"

/* Of a number that a row does not have. */
#define DATABASE_NONE INT64_MIN

#define DATABASE_PROCESSES_MAX 65536u

struct database_string {
	uint32_t text;
	uint16_t api; /* the CUDA call of that name, where has_api */
	bool has_api;
	uint8_t wait; /* enum gpt_agent_sync_kind: what a call of that name waits for, where has_api */
};

struct database_reader {
	struct database base;
	struct foreign_file *file;
	ARRAY(struct database_string) strings;
	int64_t first_string; /* id: this many follow it, each one more, and are not looked up */
	uint64_t strings_in_row;
	struct lookup string_lookup;  /* (1, id) to string, of the others */
	struct lookup stack_lookup;   /* (1, id) to one of the file's stacks */
	struct lookup numbered_calls; /* (domain, CUPTI's callback id) to api, of those that gputrace does not follow */
	struct lookup waiting_calls;  /* (pid + 1, correlation id) to enum gpt_agent_sync_kind */
	int64_t zero_ns;	      /* what is added to every time */
	uint32_t first_memory_kind;   /* CUPTI's number of their memory kind 0 */
	bool waits_by_call;	      /* what a wait is for is not what syncType says */
};

/* False: no database. */
bool database_reader_open(struct database_reader *reader, int fd, struct foreign_file *file);
void database_reader_close(struct database_reader *reader);

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* All texts by their numbers. */
void database_read_strings(struct database_reader *reader, const char *table, const char *id);
/* NULL: there is none. */
struct database_string *database_string(struct database_reader *reader, int64_t id);
/* ROW_NO_TEXT: there is none. */
uint32_t database_string_text(struct database_reader *reader, int64_t id);

/* A number of 32 bits, else `unknown`. */
uint32_t database_small(const struct database_rows *rows, unsigned column, uint32_t unknown);

/* Of two columns; false: it is none, and counts as bad.  end: where there is none it is the start, *ended is false. */
bool database_span(struct database_reader *reader, const struct database_rows *rows, unsigned start, unsigned end,
		   struct row *row, bool *ended);

/* Of one, which is start and end; false: it is none. */
bool database_moment(const struct database_reader *reader, const struct database_rows *rows, unsigned column,
		     struct row *row);

/* nsys' numbers of processes and threads, 0: not known. */
static inline uint32_t database_pid(int64_t global)
{
	return global > 0 ? (uint32_t)(global >> 24 & 0xffffff) : 0;
}

static inline uint32_t database_tid(int64_t global)
{
	return global > 0 ? (uint32_t)(global & 0xffffff) : 0;
}

/* For a row that needs a thread; false: it cannot, and counts as bad. */
bool database_thread(struct database_reader *reader, const struct row *row);

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

enum {
	DATABASE_DEVICE_ID,
	DATABASE_DEVICE_NAME, /* a text, or the number of one */
	DATABASE_DEVICE_UUID, /* 16 bytes, or a text with their digits */
	DATABASE_DEVICE_MEMORY,
	DATABASE_DEVICE_SMS,
	DATABASE_DEVICE_MAJOR,
	DATABASE_DEVICE_MINOR,
	DATABASE_DEVICE_WARP,
	DATABASE_DEVICE_WARPS,
	DATABASE_DEVICE_BLOCKS,
	DATABASE_DEVICE_THREADS,
	DATABASE_DEVICE_SM_REGISTERS,
	DATABASE_DEVICE_REGISTERS,
	DATABASE_DEVICE_SM_SHARED,
	DATABASE_DEVICE_SHARED,
	DATABASE_DEVICE_COLUMNS,
};

#define DATABASE_DEVICES_MAX 1024u

void database_read_gpus(struct database_reader *reader, const char *table,
			const char *const columns[DATABASE_DEVICE_COLUMNS]);

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* domain: of calls that are known by number. */
void database_read_calls(struct database_reader *reader, const char *table, enum gpt_api_domain domain);
void database_read_gpu_work(struct database_reader *reader, const char *table, enum model_gpu_kind kind);
/* One row is a whole replay. */
void database_read_graphs(struct database_reader *reader, const char *table);
void database_read_syncs(struct database_reader *reader, const char *table);

/* ---- whose file it is -------------------------------------------------------------------------------------------- */

/*
 * All that a profiler's database says; as kineto_read (kineto.h).  What is damaged or cut is read as far as that can be
 * done (truncated, and a note with the table).  -EPROTO: it is no profiler's.
 */
int database_read(int fd, struct foreign_file *file, char **why);

/*
 * A file of NVIDIA Nsight Systems (`nsys export --type sqlite`), and the .sqlite of gputrace's own, which has the same
 * tables.  docs/formats.md says what is taken of it.
 */
bool nsys_is(struct database_reader *reader);
void nsys_read(struct database_reader *reader);
void nsys_read_ranges(struct database_reader *reader); /* NVTX ranges, marks and domains */

/* A file of nvprof (`nvprof -o FILE`, .nvvp, .prof). */
bool nvprof_is(struct database_reader *reader);
void nvprof_read(struct database_reader *reader);
void nvprof_read_markers(struct database_reader *reader); /* a range's start and end are rows of their own, of one id */

/* CUpti_ActivityObjectKind */
enum {
	NVPROF_PROCESS = 1,
	NVPROF_THREAD = 2,
};

/* Columns objectKind and objectId; tid 0: of the process alone.  False: it is neither. */
bool nvprof_object(struct database_rows *rows, unsigned kind, unsigned id, uint32_t *pid, uint32_t *tid);

#endif
