/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A database that is being written: what its parts share. */
#pragma once

#include <sqlite3.h>

#include "base/array.h"
#include "base/tally.h"
#include "export/file/texts.h"
#include "model/model.h"

/* X(ENUMERATOR, name, columns): values are bound in the order of the columns.  Times are ns since the start. */
#define SQLITE_TABLES(X)                                                                                               \
	X(STRINGS, "StringIds", "id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL")                                \
	X(PROCESSES, "PROCESSES", "globalPid INTEGER, pid INTEGER, name TEXT, command TEXT")                           \
	X(THREADS, "ThreadNames", "nameId INTEGER NOT NULL, priority INTEGER, globalTid INTEGER")                      \
	X(GPUS, "TARGET_INFO_GPU",                                                                                     \
	  "id INTEGER NOT NULL, name TEXT, totalMemory INTEGER, smCount INTEGER, uuid TEXT, computeMajor INTEGER, "    \
	  "computeMinor INTEGER, threadsPerWarp INTEGER, maxWarpsPerSm INTEGER, maxBlocksPerSm INTEGER, "              \
	  "maxThreadsPerBlock INTEGER, maxRegistersPerSm INTEGER, maxRegistersPerBlock INTEGER, "                      \
	  "maxShmemPerSm INTEGER, maxShmemPerBlock INTEGER")                                                           \
	X(SESSION, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs INTEGER, utcTime TEXT, localTime TEXT")               \
	X(DETAILS, "ANALYSIS_DETAILS",                                                                                 \
	  "globalVid INTEGER NOT NULL, duration INTEGER NOT NULL, startTime INTEGER NOT NULL, stopTime INTEGER NOT "   \
	  "NULL")                                                                                                      \
	X(META, "META_DATA_EXPORT", "name TEXT NOT NULL, value TEXT")                                                  \
	X(CALLS, "CUPTI_ACTIVITY_KIND_RUNTIME",                                                                        \
	  "start INTEGER NOT NULL, end INTEGER, eventClass INTEGER NOT NULL, globalTid INTEGER, correlationId "        \
	  "INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER, callchainId INTEGER, captured INTEGER, "             \
	  "ofBackward INTEGER")                                                                                        \
	X(KERNELS, "CUPTI_ACTIVITY_KIND_KERNEL",                                                                       \
	  "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "      \
	  "greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, "              \
	  "demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, launchType INTEGER, "      \
	  "cacheConfig INTEGER, registersPerThread INTEGER, gridX INTEGER, gridY INTEGER, gridZ INTEGER, blockX "      \
	  "INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, dynamicSharedMemory INTEGER, "         \
	  "localMemoryPerThread INTEGER, localMemoryTotal INTEGER, gridId INTEGER, sharedMemoryExecuted INTEGER, "     \
	  "graphNodeId INTEGER, "                                                                                      \
	  "sharedMemoryLimitConfig INTEGER, graphId INTEGER, capturedBy INTEGER")                                      \
	X(MEMCPYS, "CUPTI_ACTIVITY_KIND_MEMCPY",                                                                       \
	  "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "      \
	  "greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes "        \
	  "INTEGER, copyKind INTEGER NOT NULL, deprecatedSrcId INTEGER, srcKind INTEGER, dstKind INTEGER, "            \
	  "srcDeviceId INTEGER, srcContextId INTEGER, dstDeviceId INTEGER, dstContextId INTEGER, migrationCause "      \
	  "INTEGER, graphNodeId INTEGER, virtualAddress INTEGER, graphId INTEGER, capturedBy INTEGER")                 \
	X(MEMSETS, "CUPTI_ACTIVITY_KIND_MEMSET",                                                                       \
	  "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, "      \
	  "greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, value "        \
	  "INTEGER, bytes INTEGER, graphNodeId INTEGER, memKind INTEGER, graphId INTEGER, capturedBy INTEGER")         \
	X(SYNCS, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",                                                                \
	  "start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER, contextId INTEGER NOT NULL, "               \
	  "greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER NOT "  \
	  "NULL, eventId INTEGER")                                                                                     \
	X(MEMORY, "CUDA_GPU_MEMORY_USAGE_EVENTS",                                                                      \
	  "start INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER, "         \
	  "address INTEGER NOT NULL, pc INTEGER, bytes INTEGER NOT NULL, memKind INTEGER, memoryOperationType "        \
	  "INTEGER NOT NULL, correlationId INTEGER, streamId INTEGER")                                                 \
	X(RANGES, "NVTX_EVENTS",                                                                                       \
	  "start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, rangeId INTEGER, category INTEGER, color " \
	  "INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, "            \
	  "uint64Value "                                                                                               \
	  "INTEGER, int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL, "  \
	  "jsonTextId INTEGER, jsonText TEXT, binaryData TEXT")                                                        \
	X(STACKS, "CUDA_CALLCHAINS",                                                                                   \
	  "id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, unresolved INTEGER, originalIP "     \
	  "INTEGER, stackDepth INTEGER NOT NULL, line INTEGER, firstLine INTEGER")                                     \
	X(COPY_KINDS, "ENUM_CUDA_MEMCPY_OPER", "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT")               \
	X(MEMORY_KINDS, "ENUM_CUDA_MEM_KIND", "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT")                \
	X(SYNC_KINDS, "ENUM_CUPTI_SYNC_TYPE", "id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT")

enum sqlite_table {
#define SQLITE_ENUMERATOR(enumerator, name, columns) SQLITE_##enumerator,
	SQLITE_TABLES(SQLITE_ENUMERATOR)
#undef SQLITE_ENUMERATOR
		SQLITE_TABLE_COUNT
};

/* String ids of a kernel's two names, 0: none yet. */
struct kernel_names {
	uint32_t whole, bare;
};

struct database {
	sqlite3 *handle;
	sqlite3_stmt *inserts[SQLITE_TABLE_COUNT];
	int result;  /* the first error of SQLite */
	int column;  /* current column of the row that is being bound */
	int process; /* index of the process, -1: all */
	uint64_t start_ns;
	struct texts texts;		    /* StringIds: numbers start at 1 */
	ARRAY(struct kernel_names) kernels; /* by model.strings */
	struct tally stacks;		    /* key: the model's stacks that calls have */
	struct tally domains;		    /* key: model.strings of NVTX domains */
};

/* ---- file_system.c --------------------------------------------------------------------------------------------------
 */

struct sink;

/*
 * Opens a database that is written to the sink's file descriptor and read from it, by a file system of its own for
 * SQLite: nothing is opened by name, and no other file is made.  close: returns the first error of the file, 0 or
 * -errno.
 */
struct sqlite_file;
struct sqlite_file *sqlite_file_open(struct sink *sink, sqlite3 **handle);
int sqlite_file_close(struct sqlite_file *file);

/* ---- tables.c -------------------------------------------------------------------------------------------------------
 */

void sqlite_make_tables(struct database *base);

/* Write what is known before the events, and what is known only after them.  model: the first part, and the last. */
void sqlite_put_enumerations(struct database *base);
void sqlite_put_tables(struct database *base, const struct model *model);

/* ---- events.c -------------------------------------------------------------------------------------------------------
 */

void sqlite_put_part(struct database *base, const struct model *part);

/* ---- rows -----------------------------------------------------------------------------------------------------------
 */

/* Columns are bound one after the other. */
static inline void row_number(struct database *base, enum sqlite_table table, uint64_t value)
{
	sqlite3_bind_int64(base->inserts[table], ++base->column, (sqlite3_int64)value);
}

/* Columns that are never bound stay NULL. */
static inline void row_skip(struct database *base, int columns)
{
	base->column += columns;
}

static inline void row_number_if(struct database *base, enum sqlite_table table, bool is_known, uint64_t value)
{
	if (is_known)
		row_number(base, table, value);
	else
		sqlite3_bind_null(base->inserts[table], ++base->column);
}

static inline void row_number_unless(struct database *base, enum sqlite_table table, uint64_t value, uint64_t none)
{
	row_number_if(base, table, value != none, value);
}

/* text must stay valid until the row ends. */
static inline void row_text(struct database *base, enum sqlite_table table, const char *text)
{
	sqlite3_bind_text(base->inserts[table], ++base->column, text, -1, SQLITE_STATIC);
}

static inline void row_end(struct database *base, enum sqlite_table table)
{
	int result = sqlite3_step(base->inserts[table]);

	sqlite3_reset(base->inserts[table]);
	base->column = 0;
	if (result != SQLITE_DONE && !base->result)
		base->result = result;
}

/* A time since the start; negative before the start. */
static inline uint64_t since_start(const struct database *base, uint64_t time_ns)
{
	return time_ns - base->start_ns;
}

/* nsys' global numbers of processes and threads. */
static inline uint64_t global_pid(uint32_t pid)
{
	return (uint64_t)(pid & 0xffffff) << 24;
}

static inline uint64_t global_tid(uint32_t pid, uint32_t tid)
{
	return global_pid(pid) | (tid & 0xffffff);
}

static inline uint64_t string_id(struct database *base, const char *text)
{
	return texts_id(&base->texts, "", text) + 1ull;
}
