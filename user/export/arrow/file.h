/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A file that is being written: its columns, the rows of the current batch, what its parts share. */
#pragma once

#include "base/array.h"
#include "base/tally.h"
#include "export/arrow/flat.h"
#include "export/file/sink.h"
#include "export/file/texts.h"
#include "timeline/timeline.h"

/* Dictionaries: texts that rows refer to by number. */
#define ARROW_DICTIONARIES(X)                                                                                          \
	X(KINDS)                                                                                                       \
	X(NAMES)                                                                                                       \
	X(FUNCTIONS)                                                                                                   \
	X(FILES)                                                                                                       \
	X(STACKS)

enum arrow_dictionary {
#define ARROW_DICTIONARY_ENUMERATOR(name) ARROW_##name,
	ARROW_DICTIONARIES(ARROW_DICTIONARY_ENUMERATOR)
#undef ARROW_DICTIONARY_ENUMERATOR
		ARROW_DICTIONARY_COUNT,
	ARROW_NUMBERS = ARROW_DICTIONARY_COUNT, /* the column holds plain numbers */
};

/* All columns: X(ENUMERATOR, name, bytes of a value, signed, dictionary).  Times are ns. */
#define ARROW_COLUMNS(X)                                                                                               \
	X(KIND, "kind", 1, true, ARROW_KINDS)                                                                          \
	X(NAME, "name", 4, true, ARROW_NAMES)                                                                          \
	X(START, "start", 8, true, ARROW_NUMBERS) /* since the start */                                                \
	X(DURATION, "duration", 8, true, ARROW_NUMBERS)                                                                \
	X(PID, "pid", 4, true, ARROW_NUMBERS)                                                                          \
	X(TID, "tid", 4, true, ARROW_NUMBERS)                                                                          \
	X(DEVICE, "device", 4, true, ARROW_NUMBERS)                                                                    \
	X(CONTEXT, "context", 4, true, ARROW_NUMBERS)                                                                  \
	X(STREAM, "stream", 4, true, ARROW_NUMBERS)                                                                    \
	X(CORRELATION, "correlation", 8, false, ARROW_NUMBERS)                                                         \
	X(RESULT, "result", 4, true, ARROW_NUMBERS)                                                                    \
	X(BYTES, "bytes", 8, true, ARROW_NUMBERS) /* negative: memory that was given back */                           \
	X(GRID_X, "grid_x", 4, false, ARROW_NUMBERS)                                                                   \
	X(GRID_Y, "grid_y", 4, false, ARROW_NUMBERS)                                                                   \
	X(GRID_Z, "grid_z", 4, false, ARROW_NUMBERS)                                                                   \
	X(BLOCK_X, "block_x", 4, false, ARROW_NUMBERS)                                                                 \
	X(BLOCK_Y, "block_y", 4, false, ARROW_NUMBERS)                                                                 \
	X(BLOCK_Z, "block_z", 4, false, ARROW_NUMBERS)                                                                 \
	X(REGISTERS, "registers", 4, false, ARROW_NUMBERS)                                                             \
	X(SHARED, "shared_memory", 8, false, ARROW_NUMBERS)                                                            \
	X(GRAPH_NODE, "graph_node", 8, false, ARROW_NUMBERS)                                                           \
	X(OP, "op", 8, false, ARROW_NUMBERS) /* PyTorch's op, from 1: the op itself, or the one around */              \
	X(SEQUENCE, "sequence", 8, true, ARROW_NUMBERS)                                                                \
	X(FUNCTION, "function", 4, true, ARROW_FUNCTIONS) /* the innermost Python frame */                             \
	X(FILE, "file", 4, true, ARROW_FILES)                                                                          \
	X(LINE, "line", 4, false, ARROW_NUMBERS)                                                                       \
	X(STACK, "stack", 4, true, ARROW_STACKS) /* "file(line): function;...", innermost first */

enum arrow_column {
#define ARROW_COLUMN_ENUMERATOR(enumerator, name, bytes, is_signed, dictionary) ARROW_COLUMN_##enumerator,
	ARROW_COLUMNS(ARROW_COLUMN_ENUMERATOR)
#undef ARROW_COLUMN_ENUMERATOR
		ARROW_COLUMN_COUNT
};

#define ARROW_ROWS 32768u /* rows in a batch */

/*
 * Limit for the characters of all different stacks in a file; beyond it, rows with new stacks have the innermost frame
 * only.
 */
#define ARROW_STACKS_MAX (256u << 20)

struct arrow_values {
	char *data;
	unsigned char *valid; /* validity bits, the lowest first */
	uint64_t count;	      /* of values that are set */
};

/* The position of a message in the file, for the footer. */
struct arrow_block {
	int64_t offset;
	int32_t head_bytes, padding;
	int64_t body_bytes;
};

struct arrow {
	struct sink *out;
	uint64_t written; /* bytes of the file so far */
	const struct timeline *timeline;
	struct flat flat;
	struct arrow_values columns[ARROW_COLUMN_COUNT];
	uint32_t rows; /* of the current batch */
	struct texts dictionaries[ARROW_DICTIONARY_COUNT];
	struct tally stacks; /* number of a stack; more: its text + 1, 0: none, ns: its innermost frame in frames + 1,
				0: none */
	struct tally frames; /* key: code, line; ns, count: function and file */
	struct sink text;    /* text of a stack */
	ARRAY(uint32_t) code_names; /* by code of the timeline: 1 + its name in NAMES; 0: none yet */
	ARRAY(struct arrow_block) batches;
	struct arrow_block dictionary_blocks[ARROW_DICTIONARY_COUNT];
};

static inline void arrow_set(struct arrow *arrow, enum arrow_column column, size_t bytes, uint64_t value)
{
	struct arrow_values *values = &arrow->columns[column];

	memcpy(values->data + bytes * arrow->rows, &value, bytes); /* little-endian, as gputrace's machines are */
	values->valid[arrow->rows / 8] |= (unsigned char)(1u << arrow->rows % 8);
	values->count++;
}

#define ARROW_BYTES_OF(enumerator, name, bytes, is_signed, dictionary) ARROW_BYTES_##enumerator = (bytes),
enum { ARROW_COLUMNS(ARROW_BYTES_OF) };
#undef ARROW_BYTES_OF

#define ARROW_SET(arrow, column, value) arrow_set(arrow, ARROW_COLUMN_##column, ARROW_BYTES_##column, (uint64_t)(value))

/* ---- messages.c -----------------------------------------------------------------------------------------------------
 */

/* Write the start of the file with its schema; the collected rows as a batch; the dictionaries and the end. */
void arrow_put_begin(struct arrow *arrow);
void arrow_put_batch(struct arrow *arrow);
int arrow_put_end(struct arrow *arrow);

/* ---- rows.c ---------------------------------------------------------------------------------------------------------
 */

void arrow_rows_begin(struct arrow *arrow);
void arrow_rows_free(struct arrow *arrow);

/* Visitors of a timeline; context: struct arrow. */
bool arrow_put_slice(void *context, const struct timeline_slice *slice);
bool arrow_put_memory(void *context, const struct timeline_memory *memory);
