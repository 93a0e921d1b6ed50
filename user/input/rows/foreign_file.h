/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The contents of another tool's file after reading: its rows, and facts about processes, threads, GPUs and the file
 * itself.
 */
#pragma once

#include "base/owned_spans.h"
#include "input/rows/rows.h"

struct foreign_thread {
	uint32_t pid, tid;
	bool has_nodes; /* nodes of backward passes */
};

struct foreign_process {
	uint32_t pid;
	uint32_t name;	   /* text, ROW_NO_TEXT */
	uint32_t python;   /* major << 8 | minor, 0 */
	uint32_t command;  /* text, ROW_NO_TEXT */
	uint64_t start_ns; /* in the file's times; 0: not known, or before the file */
	bool has_ops, has_torch_memory;
};

struct foreign_device {
	struct model_device device; /* all but its name */
	uint32_t name;		    /* text */
};

/* Stacks that a file holds as such: innermost first. */
struct foreign_code {
	uint32_t function, file; /* texts */
	uint32_t first_line;	 /* 0: not known */
};

struct foreign_frame {
	uint32_t code; /* index */
	uint32_t line; /* 0: not known */
};

struct foreign_stack {
	uint32_t first, depth; /* of frames */
	uint32_t gap, missing; /* as new_stack has them */
};

/* The call that a node of a CUDA graph was captured from. */
struct foreign_node {
	uint64_t node;
	uint32_t pid; /* 0: not reported, correlation ids are unique in the file */
	uint32_t corr;
	uint32_t next; /* next node of the same call, or NONE */
};

/* A call by which a thread begins or ends to capture a stream into a graph (row_captures.c). */
struct foreign_capture {
	uint64_t time_ns; /* when the capture begins or ends */
	uint32_t pid, tid;
	bool begins;
};

#define FOREIGN_PROCESS (1ull << 32)

/* Everything known of a file as a whole; text numbers are those of its rows. */
/* The tools whose files are read. */
#define FOREIGN_KINETO "torch.profiler (Kineto)"
#define FOREIGN_NSYS "Nsight Systems (nsys)"
#define FOREIGN_NVPROF "nvprof"

struct foreign_file {
	struct rows rows;
	ARRAY(struct foreign_thread) threads;
	ARRAY(struct foreign_process) processes;
	ARRAY(struct foreign_device) devices;
	ARRAY(struct foreign_code) codes;
	ARRAY(struct foreign_frame) frames;
	ARRAY(struct foreign_stack) stacks;
	ARRAY(struct foreign_node) nodes;
	ARRAY(struct foreign_capture) capture_calls; /* until the last row */
	struct owned_spans captures;		     /* of pids, after the last row */
	struct lookup node_lookup;		     /* (pid + 1, node) to nodes */
	struct lookup node_calls;		     /* (pid + 1, correlation id) to the first of nodes */
	const char *tool;			     /* the tool that wrote it, a literal; see model_source.tool */
	char *tool_text;			     /* where `tool` is no literal: its memory */
	uint32_t host;				     /* text, ROW_NO_TEXT: not recorded */
	int64_t wall_offset_ns;			     /* CLOCK_REALTIME - the file's times */
	uint64_t start_ns, end_ns; /* of the recording, if the file says so (has_span, or end_ns); else 0 */
	uint32_t rank, world;	   /* of a job, if is_rank; world 0: not known */
	bool is_rank;
	bool has_span;
	bool drops_steps; /* ProfilerStep#N are gputrace's: they will be found again in the events */
	bool is_mixed;	  /* calls of a process stand before and after those of another */
	bool truncated;
	uint64_t bad[BAD_REASONS];		     /* malformed events */
	ARRAY(char *) notes;			     /* notes that the report must show */
	struct lookup thread_lookup, process_lookup; /* (pid + 1, tid), (1, pid) to index */
	struct lookup torch_threads;		     /* (pid + 1, tid) to PyTorch's number of the thread, if known */
	bool prefers_stacks; /* use the file's stacks, not those of open functions: only they have lines */
	struct lookup names; /* (pid + 1, tid) to text; a process has the tid FOREIGN_PROCESS */
};

void foreign_file_open(struct foreign_file *file, const char *tool);

/*
 * The file is one that gputrace wrote, in that form.  from: the tool that recorded what it was made from, as the file
 * names it; it counts if it is one whose files are read.
 */
void foreign_set_form(struct foreign_file *file, const char *form, struct text from);
void foreign_file_close(struct foreign_file *file);

/* Whether it was gputrace that recorded it. */
bool foreign_is_of_gputrace(const struct foreign_file *file);

/* Finds or adds one; valid until the next one is added. */
struct foreign_process *foreign_process(struct foreign_file *file, uint32_t pid);
struct foreign_thread *foreign_thread(struct foreign_file *file, uint32_t pid, uint32_t tid);

/* Adds a note that the report must show; takes ownership of the text. */
void foreign_note(struct foreign_file *file, char *text);

/* Sets the name of a thread or a process, also before its first event. */
void foreign_name(struct foreign_file *file, uint32_t pid, uint64_t tid, uint32_t text);

/* Adds a node that has run, and the correlation id of the call that it was captured from. */
void foreign_node(struct foreign_file *file, uint32_t pid, uint64_t node, uint32_t corr);

/* The pid as an epoch of a lookup, which must not be 0. */
static inline uint32_t foreign_epoch(uint32_t pid)
{
	return pid == UINT32_MAX ? pid : pid + 1;
}
