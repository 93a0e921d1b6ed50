/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The events that an input feeds to a builder (builder.h): what happened, in which process image, when.  Events that
 * the agent or the kernel reports have the structs of their records (agent.h, record.h), also where another tool
 * reported them; those with text, or of which the sources know different things, are values below.  Values are as in
 * the source; the builder keeps what it needs and copies all text.
 *
 * A source names things by numbers of its own ("keys"): processes by pid, threads by tid, stacks, code objects and
 * kernel names by any number that is unique in the program.  Keys need not be addresses: a source that knows frames as
 * function, file and line gives each function a key of its own (new_code.is_named).  For what it does not know, a
 * source uses the value that the field's comment calls "not known".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gputrace/agent.h>

#include "model/model.h"

/* Text as the source has it: claimed UTF-8, not terminated, hostile. */
struct text {
	const char *bytes;
	size_t size;
};

/*
 * A process between two execs, to which its keys and ids belong.  Returned by builder_process_image; valid until the
 * next exec or fork that is fed to the builder.
 */
struct process_image {
	uint32_t process; /* model.processes */
	uint32_t epoch;	  /* never 0 */
};

/* The clock of an interval or time.  CLOCK_REALTIME is converted once all its samples are known. */
enum source_clock {
	SOURCE_CLOCK_REALTIME,
	SOURCE_CLOCK_MONOTONIC,
};

/* Where a record comes from. */
struct sender {
	struct process_image program; /* that it is about */
	uint64_t time_ns;	      /* when it was sent; UINT64_MAX: not known */
	enum source_clock clock;      /* of its times named *_wall_ns */
	bool foreign;		      /* from a buffer of another profiler */
};

/* An interval on the source's clock; both 0: it could not be measured. */
struct clock_span {
	uint64_t start_ns, end_ns;
};

/* ---- the recording ----------------------------------------------------------------------------------------------- */

struct new_end {
	uint64_t time_ns;
	uint64_t cpu_ns; /* used by the recorder itself, 0: not known */
	uint64_t ring_bytes, ring_bytes_max;
	enum gpt_end_reason reason;
	uint64_t counters[GPT_COUNTER_COUNT];
};

/* ---- processes and threads --------------------------------------------------------------------------------------- */

struct new_thread {
	uint64_t time_ns;
	uint32_t pid, tid;
	struct text name;
	bool has_other_names; /* the next two fields are valid */
	uint32_t own_tid;     /* in its own pid namespace, 0: not known */
	uint32_t pointer;     /* lower half of pthread_self(), 0: not known */
};

/* The description of a process as of time_ns; empty text, 0: not known. */
struct new_description {
	uint64_t time_ns;
	uint64_t start_ns;
	uint32_t pid, parent;
	uint16_t python; /* major << 8 | minor */
	uint8_t mounts;	 /* enum gpt_mounts */
	struct text name, exe, cmdline, python_path;
	struct text rank, local_rank; /* of a job, digits */
	struct text uid;	      /* digits */
	struct text cgroup, container, container_name, pod, pod_name;
	struct text master, run_id; /* as in model_process */
};

/* ---- code, stacks ------------------------------------------------------------------------------------------------ */

/* A string in CPython's representation. */
struct python_text {
	const void *bytes;
	uint32_t size;	/* bytes */
	uint8_t kind;	/* bytes a character: 1, 2, 4; 0: not known */
	bool truncated; /* its end is missing */
};

/* What a file of generated code says about one of its lines; see struct model_generated_line. */
struct new_generated_line {
	const struct gpt_generated *record;
	struct text file, kernel, nodes, ops, kernel_file;
};

/* See struct model_module; other_names: each with a zero byte at its end. */
struct new_module {
	const struct gpt_module *record;
	struct text name, class, root_class, unnamed, other_names;
};

/* Which module was called. */
struct new_stack_module {
	uint64_t address;
	uint32_t generation;
	uint32_t frame; /* which one is its call */
};

/* See struct model_holder. */
struct new_holder {
	const struct gpt_holder *record;
	struct text place, path, type;
};

/* The code object that a key stands for from now on.  Its line table follows in pieces (builder_add_code_lines). */
struct new_code {
	uint64_t key;
	uint32_t first_line;	  /* of the function, 0: none */
	uint32_t first_traceable; /* bytes; a frame before this instruction has not begun, and Python hides it */
	uint32_t linetable_bytes; /* in all, 0: no lines are known */
	enum gpt_linetable linetable;
	struct python_text name, qualname, file;
	/*
	 * The source has each frame's function, file and line: texts are UTF-8, and new_frame.lasti is the line number,
	 * 0: not known.
	 */
	bool is_named;
};

struct new_frame {
	uint64_t code; /* key */
	int32_t lasti; /* byte offset of the executing instruction; -1: not started */
};

struct new_stack {
	uint64_t key;
	const struct new_frame *frames; /* innermost first */
	uint32_t depth;
	uint32_t gap;	  /* frames are missing before this one (depth: outer ones), where `missing` is not 0 */
	uint32_t missing; /* how many, MODEL_MISSING_UNKNOWN: some */
	const struct new_stack_module *modules; /* innermost first */
	uint32_t module_count;
	bool module_missing; /* a more inner one may be among the frames that are missing */
};

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* The NVTX range or op in which a call was made, where no Python is known: "NVTX range forward", "op aten::mm" */
struct new_enclosing {
	struct text label;
	uint32_t string; /* its index in model.strings, which the builder sets; NONE: not yet known */
};

/* ---- inside the interpreter -------------------------------------------------------------------------------------- */

/* A time and a place in a thread's Python stack: a span starts or ends there. */
struct python_moment {
	uint64_t time_ns;
	uint64_t frame; /* equal at the start and the end of a span; lower for deeper frames */
	uint32_t pid, tid;
};

/* ---- the agent --------------------------------------------------------------------------------------------------- */

struct new_agent_state {
	uint64_t time_ns;
	enum gpt_agent_state state;
	enum gpt_agent_failure failure;
	uint32_t cupti_version, driver_version, runtime_version; /* 0: not known */
	struct text cupti_path, detail;
	bool has_activity_sets;	   /* the next field is valid */
	struct text activity_sets; /* "kernels,cuda,sync" */
};

/* ---- ranges that the program names (NVTX) ------------------------------------------------------------------------ */

#define NEW_RANGE_WHOLE 0 /* with its end: no end event follows */

/* A mark, or the start or end of a range; ends need no names. */
struct new_range {
	uint64_t time_ns;
	union {
		uint64_t id;	 /* of a start/end range, unique in the program */
		uint64_t end_ns; /* NEW_RANGE_WHOLE */
	};
	uint32_t tid;	 /* in the process's own pid namespace */
	uint32_t what;	 /* enum gpt_agent_range_what but LOST, or NEW_RANGE_WHOLE */
	uint16_t domain; /* key, 0: the default one */
	struct text name, domain_name;
	uint32_t *known_name; /* the caller's cache of the name's index in model.strings, NONE: not yet known; NULL: no
			       * cache */
};
