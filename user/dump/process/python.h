/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The Python stacks of all threads of a process, and which thread holds the GIL. */
#pragma once

#include "base/array.h"
#include "base/lookup.h"
#include "dump/process/arena.h"
#include "dump/process/dump.h"
#include "base/linetable.h"
#include "target/python/python.h"

/* A frame by its addresses in the process. */
struct raw_frame {
	uint64_t frame, code;
	int32_t lasti; /* byte offset of the instruction */
};

struct raw_stack {
	unsigned count, depth; /* frames kept, frames walked */
	bool unreadable;
	uint64_t hash;
	struct raw_frame frames[DUMP_FRAMES_MAX]; /* innermost first; if depth > count, the last ones are the
						   * DUMP_FRAMES_OUTER outermost */
};

/* A code object, as read. */
struct python_code {
	const char *function, *file;
	uint32_t first_line, first_traceable;
	bool whole;    /* its line table was read */
	bool no_one_s; /* _Py_InitCleanup (bpf/python_code.bpf.h) */
	line_ranges lines;
	bool has_shape; /* the rest is read; only of code whose frames are searched for locks */
	uint32_t local_count, stack_size;
	uint8_t *exceptions; /* co_exceptiontable, NULL: none, or it cannot be read */
	size_t exception_bytes;
};

struct python_gil {
	uint64_t address; /* 0: not known */
	uint64_t holder;  /* a thread state, 0: it is free */
};

/* Private to the process that looks, and lives as long as it does; the texts are in the arena. */
struct python_look {
	pid_t pid; /* a thread id through which the memory is read */
	struct arena *arena;
	struct python_info info;
	struct lookup code_places;
	ARRAY(struct python_code) codes;
	struct lookup by_tid; /* index of a thread, by its tid in its own pid namespace */
	size_t text_left;     /* bytes of the arena still free for names */
	struct python_gil gil;
	bool locals;		  /* values of local variables are wanted, too */
	struct raw_stack *stacks; /* one for each thread of the process, in their order */
};

/* 0, or an error as python_find; `why`: the reason unless -ENOENT. */
int python_look_begin(struct python_look *look, pid_t pid, const struct mappings *mappings, struct arena *arena,
		      char *why, size_t why_size);

/* Frees what is not in the arena. */
void python_look_end(struct python_look *look);

/* Sets each thread's thread state and raw stack, which is read until two reads agree. */
void python_look_threads(struct python_look *look, struct dump_process *process);

/* Reads a frame at an address; copy: GPT_PY_FRAME_BYTES_MAX bytes that receive its fixed part. */
bool python_frame_read(const struct python_look *look, uint64_t address, uint8_t *copy, struct raw_frame *out);

/* Sets names and lines in the stack of the thread `index`. */
void python_look_names(struct python_look *look, struct dump_process *process, unsigned index);

const struct python_code *python_code(struct python_look *look, uint64_t address);
uint32_t python_line(const struct python_look *look, const struct python_code *code, int32_t lasti);
