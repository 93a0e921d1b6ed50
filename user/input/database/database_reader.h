/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Common parts of the readers of profilers' databases: texts by number, and the tables of CUPTI's records, whose names
 * nsys and nvprof share.  A column that a version lacks reads as NULL.
 */
#pragma once

#include "input/database/database.h"
#include "input/rows/foreign_file.h"

/* A number that a row does not have. */
#define DATABASE_NONE INT64_MIN

#define DATABASE_PROCESSES_MAX 65536u

struct database_string {
	uint32_t text;
	uint16_t api; /* the CUDA call of that name, if has_api */
	bool has_api;
	uint8_t wait; /* enum gpt_agent_sync_kind: what a call of that name waits for, if has_api */
};

struct database_reader {
	struct database base;
	struct foreign_file *file;
	ARRAY(struct database_string) strings;
	int64_t first_string; /* id: strings_in_row ids from this one on are consecutive and need no lookup */
	uint64_t strings_in_row;
	struct lookup string_lookup;  /* (1, id) to string, for all other ids */
	struct lookup stack_lookup;   /* (1, id) to a stack of the file */
	struct lookup numbered_calls; /* (domain, CUPTI's callback id) to api, for calls gputrace does not follow */
	struct lookup waiting_calls;  /* (pid + 1, correlation id) to enum gpt_agent_sync_kind */
	int64_t zero_ns;	      /* added to every time */
	uint32_t first_memory_kind;   /* CUPTI's number of the tool's memory kind 0 */
	uint8_t migrations[MODEL_MIGRATIONS]; /* enum model_migration, by the tool's number */
	bool waits_by_call;		      /* the call says what a wait is for, not syncType */
};

/* False: not a database. */
bool database_reader_open(struct database_reader *reader, int fd, struct foreign_file *file);
void database_reader_close(struct database_reader *reader);

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Reads all texts and their numbers. */
void database_read_strings(struct database_reader *reader, const char *table, const char *id);
/* NULL: no such text. */
struct database_string *database_string(struct database_reader *reader, int64_t id);
/* ROW_NO_TEXT: no such text. */
uint32_t database_string_text(struct database_reader *reader, int64_t id);

/* A 32-bit number, else `unknown`. */
uint32_t database_small(const struct database_rows *rows, unsigned column, uint32_t unknown);

/*
 * Reads start and end from two columns; false: invalid, and counted as bad.  Without an end it is the start, and *ended
 * is false.
 */
bool database_span(struct database_reader *reader, const struct database_rows *rows, unsigned start, unsigned end,
		   struct row *row, bool *ended);

/* Reads one time as start and end; false: invalid. */
bool database_moment(const struct database_reader *reader, const struct database_rows *rows, unsigned column,
		     struct row *row);

/* The pid and tid in nsys' global numbers; 0: not known. */
static inline uint32_t database_pid(int64_t global)
{
	return global > 0 ? (uint32_t)(global >> 24 & 0xffffff) : 0;
}

static inline uint32_t database_tid(int64_t global)
{
	return global > 0 ? (uint32_t)(global & 0xffffff) : 0;
}

/* Notes the thread of a row that needs one; false: not possible, and counted as bad. */
bool database_thread(struct database_reader *reader, const struct row *row);

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

enum {
	DATABASE_DEVICE_ID,
	DATABASE_DEVICE_NAME, /* a text, or a text's number */
	DATABASE_DEVICE_UUID, /* 16 bytes, or a text with their hex digits */
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

/* domain: of calls that are identified by number. */
void database_read_calls(struct database_reader *reader, const char *table, enum gpt_api_domain domain);
void database_read_gpu_work(struct database_reader *reader, const char *table, enum model_gpu_kind kind);
/* One row is a whole graph launch. */
void database_read_graphs(struct database_reader *reader, const char *table);
void database_read_syncs(struct database_reader *reader, const char *table);

/* ---- whose file it is -------------------------------------------------------------------------------------------- */

/*
 * Reads a profiler's database, as kineto_read does (kineto.h).  A damaged or truncated one is read as far as possible
 * (truncated, and a note that names the table).  -EPROTO: not a profiler's database.
 */
int database_read(int fd, struct foreign_file *file, char **why);

/*
 * A file of NVIDIA Nsight Systems (`nsys export --type sqlite`), or gputrace's own .sqlite, which has the same tables.
 * docs/formats.md says what is read of it.
 */
bool nsys_is(struct database_reader *reader);
void nsys_read(struct database_reader *reader);
void nsys_read_ranges(struct database_reader *reader); /* NVTX ranges, marks and domains */

/* A file of nvprof (`nvprof -o FILE`, .nvvp, .prof). */
bool nvprof_is(struct database_reader *reader);
void nvprof_read(struct database_reader *reader);
void nvprof_read_markers(struct database_reader *reader); /* a range's start and end are two rows with one id */

/* CUpti_ActivityObjectKind */
enum {
	NVPROF_PROCESS = 1,
	NVPROF_THREAD = 2,
};

/* Reads columns objectKind and objectId; tid 0: a process alone.  False: neither a process nor a thread. */
bool nvprof_object(struct database_rows *rows, unsigned kind, unsigned id, uint32_t *pid, uint32_t *tid);
