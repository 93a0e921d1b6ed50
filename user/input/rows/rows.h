/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The contents of another tool's file, in order of time: such files have events in any order, and a builder wants them
 * in the order in which they happened.  Rows are added in file order, sorted in pieces that are written to a temporary
 * file, and merged while they are read; memory use does not depend on their number.  Texts are kept once each, in
 * memory.
 *
 *	rows_open(&rows);
 *	(rows_add, rows_text)
 *	err = rows_sort(&rows);
 *	err = rows_again(&rows), then rows_next(&rows) until NULL; any number of times
 *	rows_close(&rows);
 */
#pragma once

#include <sys/types.h>

#include "base/array.h"
#include "base/lookup.h"
#include "model/events.h"

/* Sorted in this order at the same time: enclosing things come first. */
enum row_kind {
	ROW_FUNCTION, /* a Python function */
	ROW_LEAVE,    /* a function ends; start and end are both that time */
	ROW_PAUSE_END,
	ROW_PAUSE, /* a pause of the interpreter */
	ROW_RANGE,
	ROW_OP,
	ROW_CALL,
	ROW_SYNC,
	ROW_MEMORY,
	ROW_CUDA_MEMORY,
	ROW_OVERHEAD,
	ROW_GPU,
};

#define ROW_NO_TEXT UINT32_MAX
#define ROW_MAX 512u /* bytes of a row of any kind */

/* Texts are numbers from rows_text, ROW_NO_TEXT: none; pid 0: not known. */
struct row {
	uint64_t start_ns, end_ns;
	uint32_t size; /* of the whole row, set by rows_add */
	uint32_t pid, tid;
	uint32_t text; /* name */
	uint32_t kind; /* enum row_kind: the struct below that starts with this row */
	uint32_t corr; /* 0: none */
};

/* text: "file(line): function". */
struct row_function {
	struct row row;
	uint32_t called_from; /* line of the enclosing function, 0: not known */
	bool is_frame;	      /* a frame of Python's stack */
	bool is_backward;     /* PyTorch's engine: while it lasts, the engine's threads work for its caller */
};

struct row_op {
	struct row row;
	int64_t sequence; /* -1: none */
	uint64_t forward_thread;
	int64_t collective_sequence; /* in its process group, -1: not known */
	uint32_t inputs;	     /* text of the form of model/op_inputs.h */
	uint32_t collective;	     /* text of the form of model/collectives.h; ROW_NO_TEXT: it is none */
	uint32_t stack;		     /* 1 + index in foreign_file.stacks; 0: only the open functions */
	uint32_t around;	     /* text: the name of the node that it evaluates; ROW_NO_TEXT: none */
	uint8_t scope;		     /* enum gpt_agent_op_scope */
	bool unfinished;
	bool may_be_step; /* written by gputrace: ProfilerStep#N */
};

struct row_call {
	struct row row;
	int32_t result;
	uint32_t stack; /* 1 + index in foreign_file.stacks; 0: only the open functions */
	uint16_t api;
	bool unfinished; /* its return was not seen */
	bool inherited;	 /* the stack is that of the call to backward() */
	bool captured;	 /* it became a node of a graph */
};

/* A garbage collection, or the import of module `text`; start and end are both the time of the start, or of the end. */
struct row_pause {
	struct row row;
	uint64_t frame;	    /* as python_moment has it */
	int32_t generation; /* -1: not known */
	bool is_import;
};

enum row_range_what {
	ROW_RANGE_MARK = GPT_AGENT_RANGE_MARK,
	ROW_RANGE_PUSH = GPT_AGENT_RANGE_PUSHED,
	ROW_RANGE_POP =
		GPT_AGENT_RANGE_POPPED, /* pops ranges that are over by then; start and end are both that time */
	ROW_RANGE_START = GPT_AGENT_RANGE_STARTED,
	ROW_RANGE_END = GPT_AGENT_RANGE_ENDED, /* start and end are both that time; so are those of START, as its end is
						  a row of its own */
	ROW_RANGE_WHOLE = NEW_RANGE_WHOLE,     /* a start with a known end; start and end are both the start time */
};

/* An NVTX range; pushed ranges nest in their thread and domain. */
struct row_range {
	struct row row;
	union {
		uint64_t id;	    /* START, END */
		uint64_t closes_ns; /* WHOLE */
	};
	uint32_t named; /* text: the domain's name */
	uint16_t domain;
	uint8_t what;	 /* enum row_range_what */
	bool unfinished; /* PUSH: its end was not seen */
};

/*
 * near_pid: where the file does not say whose work it is (row.pid 0), the process whose calls and ops stand before it
 * in the file, as each of several appended traces has its own; 0: not known (row_owners.h).
 */
struct row_gpu {
	struct row row;
	struct model_gpu work; /* all but its times, corr and texts; device: as in the file */
	uint32_t near_pid;
};

struct row_sync {
	struct row row;
	struct gpt_agent_sync sync; /* all but its times and corr */
	uint32_t device;
	uint32_t near_pid;
};

struct row_overhead {
	struct row row;
	uint32_t overhead; /* CUpti_ActivityOverheadKind */
};

struct row_memory {
	struct row row;
	struct gpt_agent_torch_memory memory; /* all but its time and tid */
	uint32_t stack;			      /* as row_op has it */
};

/* Memory that CUDA handed out or took back. */
struct row_cuda_memory {
	struct row row;
	struct gpt_agent_memory memory; /* all but its time and corr */
};

struct row_place; /* where a row of the current piece is */
struct row_run;	  /* a piece that was written out */

struct rows {
	uint8_t *piece;
	size_t piece_bytes; /* sorted at once; smaller pieces are for tests */
	size_t used, capacity;
	uint64_t before; /* bytes of rows before the piece */
	/* The latest row; while rows arrive in order, no places are kept. */
	uint64_t latest_start_ns, latest_end_ns;
	uint32_t latest_kind;
	bool disordered;
	ARRAY(struct row_place) places; /* rows of a piece that is out of order */
	ARRAY(struct row_run) runs;
	struct row_place *heap;	 /* runs by their next row, the earliest first */
	size_t heap_count, next; /* next: without runs, the next of places or, in order, the next byte */
	int fd;			 /* -1: nothing was written out */
	uint64_t written;
	int error; /* -errno of the temporary file, or 0 */

	uint64_t count, bytes;	   /* of all rows */
	bool has_ownerless;	   /* there is GPU work, or a wait, that names no process */
	bool has_functions;	   /* there is a ROW_FUNCTION */
	uint64_t start_ns, end_ns; /* of everything with a time; start_ns UINT64_MAX: nothing */

	struct lookup text_lookup;
	ARRAY(struct text) texts;
	ARRAY(char *) text_blocks;
	size_t text_used, text_bytes;
};

void rows_open(struct rows *rows);
void rows_close(struct rows *rows);

/* Copies a row; size: of its own struct.  Errors are kept.  Returns the row's position, for rows_kept. */
uint64_t rows_add(struct rows *rows, const struct row *row, size_t size);

/* A row that was added, to change fields that it is not sorted by; NULL: it has been written out. */
struct row *rows_kept(struct rows *rows, uint64_t at);

/* Notes the end of something inside a row. */
void rows_see_end(struct rows *rows, uint64_t end_ns);

/* The number of a text; ROW_NO_TEXT: too many texts. */
uint32_t rows_text(struct rows *rows, const char *bytes, size_t size);

/* The same for a text that is assumed to be new: it is not looked up. */
uint32_t rows_new_text(struct rows *rows, const char *bytes, size_t size);

/* 0 or -errno. */
int rows_sort(struct rows *rows);
int rows_again(struct rows *rows);

/* The next row, valid until the next call; NULL: no more, or error. */
const struct row *rows_next(struct rows *rows);
