/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is known of another tool's file once it has been read: its rows, and what it says of processes, threads, GPUs
 * and itself.
 */
#ifndef GPUTRACE_INPUT_FOREIGN_FILE_H
#define GPUTRACE_INPUT_FOREIGN_FILE_H

#include "input/rows/rows.h"

struct foreign_thread {
	uint32_t pid, tid;
	bool has_nodes; /* of backward passes */
};

struct foreign_process {
	uint32_t pid;
	uint32_t name;	  /* text, ROW_NO_TEXT */
	uint32_t python;  /* major << 8 | minor, 0 */
	uint32_t command; /* text, ROW_NO_TEXT */
	bool has_ops, has_torch_memory;
};

struct foreign_device {
	struct new_device device; /* but for its name */
	uint32_t name;		  /* text */
};

/* Stacks that a file has as such: innermost first. */
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
	uint32_t next; /* of the same call, NONE */
};

#define FOREIGN_PROCESS (1ull << 32)

/* All that is known of a file as a whole; texts are those of its rows. */
struct foreign_file {
	struct rows rows;
	ARRAY(struct foreign_thread) threads;
	ARRAY(struct foreign_process) processes;
	ARRAY(struct foreign_device) devices;
	ARRAY(struct foreign_code) codes;
	ARRAY(struct foreign_frame) frames;
	ARRAY(struct foreign_stack) stacks;
	ARRAY(struct foreign_node) nodes;
	struct lookup node_lookup; /* (pid + 1, node) to nodes */
	struct lookup node_calls;  /* (pid + 1, correlation id) to the first of nodes */
	const char *tool;	   /* whose file it is, a literal; see model_source.tool */
	uint32_t host;		   /* text, ROW_NO_TEXT: not recorded */
	int64_t wall_offset_ns;	   /* CLOCK_REALTIME - its times */
	uint64_t start_ns, end_ns; /* of the recording, where it says so (has_span, or end_ns); else 0 */
	uint32_t rank, world;	   /* of a job, where is_rank; world 0: not known */
	bool is_rank;
	bool has_span;
	bool drops_steps; /* ProfilerStep#N are gputrace's: they are found again in what they were found in */
	bool truncated;
	uint64_t bad;				     /* events that make no sense */
	ARRAY(char *) notes;			     /* what the report must show */
	struct lookup thread_lookup, process_lookup; /* (pid + 1, tid), (1, pid) to index */
	struct lookup torch_threads; /* (pid + 1, tid) to PyTorch's number of the thread, where it is known */
	bool prefers_stacks;	     /* that it has as such to those of open functions: only they have lines */
	struct lookup names;	     /* (pid + 1, tid) to text; those of processes have the tid FOREIGN_PROCESS */
};

void foreign_file_open(struct foreign_file *file, const char *tool);
void foreign_file_close(struct foreign_file *file);

/* Made when they are new; valid until the next one is. */
struct foreign_process *foreign_process(struct foreign_file *file, uint32_t pid);
struct foreign_thread *foreign_thread(struct foreign_file *file, uint32_t pid, uint32_t tid);

/* Something that the report must show; takes the text. */
void foreign_note(struct foreign_file *file, char *text);

/* What a thread, or a process, is called; also before it is met. */
void foreign_name(struct foreign_file *file, uint32_t pid, uint64_t tid, uint32_t text);

/* A node that has run, and the correlation id of the call that it was captured from. */
void foreign_node(struct foreign_file *file, uint32_t pid, uint64_t node, uint32_t corr);

/* As epochs of lookups, which 0 is none of. */
static inline uint32_t foreign_epoch(uint32_t pid)
{
	return pid == UINT32_MAX ? pid : pid + 1;
}

#endif
