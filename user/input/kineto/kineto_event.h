/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One event of a Kineto trace: its members as values, and the row that it becomes. */
#pragma once

#include "base/json/json.h"
#include "input/kineto/kineto_stacks.h"
#include "input/kineto/kineto_threads.h"
#include "input/rows/row_feed.h"

/* A number that an event does not have. */
#define KINETO_NO_NUMBER INT64_MIN

/* The numbers of args that are read. */
enum kineto_number {
	KINETO_CORRELATION,
	KINETO_CBID,
	KINETO_DEVICE,
	KINETO_CONTEXT,
	KINETO_STREAM,
	KINETO_BYTES,
	KINETO_REGISTERS,
	KINETO_SHARED,
	KINETO_GRAPH,
	KINETO_GRAPH_NODE,
	KINETO_PRIORITY,
	KINETO_CHANNEL,
	KINETO_CHANNEL_TYPE,
	KINETO_SEQUENCE,
	KINETO_FORWARD_THREAD,
	KINETO_ADDRESS,
	KINETO_ALLOCATED,
	KINETO_RESERVED,
	KINETO_DEVICE_TYPE,
	KINETO_DEVICE_ID,
	KINETO_MODULE,
	KINETO_WAIT_STREAM,
	KINETO_EVENT,
	KINETO_SORT_INDEX,
	KINETO_IN_ELEMENTS,
	KINETO_OUT_ELEMENTS,
	KINETO_RANK,
	KINETO_GROUP_SIZE,
	KINETO_RANK_START,
	KINETO_RANK_STRIDE,
	KINETO_SOURCE_RANK,
	KINETO_TARGET_RANK,
	KINETO_GROUP_SEQUENCE,
	/* of gputrace's own */
	KINETO_RESULT,
	KINETO_CAPTURED_BY,
	KINETO_STATIC_SHARED,
	KINETO_LOCAL,
	KINETO_CUPTI_STREAM,
	KINETO_OF_CALL,
	KINETO_GENERATION,
	KINETO_THREAD,
	KINETO_NUMBERS,
};

/*
 * Texts of a collective, in the order of the first fields of its text (enum gpt_collective_field); the last one (DTYPE)
 * follows the numbers there.
 */
enum kineto_collective_text {
	KINETO_COLLECTIVE_TEXTS = GPT_COLLECTIVE_OUT_SPLIT + 2,
	KINETO_COLLECTIVE_DTYPE = GPT_COLLECTIVE_OUT_SPLIT + 1,
};

struct kineto_event {
	char phase; /* '\0': none */
	struct json_text category, name;
	int64_t start_ns, duration_ns, pid, tid;
	int64_t id; /* of an arrow */
	int64_t numbers[KINETO_NUMBERS];
	int64_t grid[3], block[3];
	struct json_text dims, types, strides, concrete; /* size 0: absent */
	struct json_text call_stack;
	struct json_text called_from, text; /* text: args.name or args.labels of metadata */
	struct json_text collective[KINETO_COLLECTIVE_TEXTS];
	/* of gputrace's own */
	struct json_text range_kind, domain, module, memory_kind, from;
	bool inherited; /* the stack is that of the call to backward() */
	bool captured;

	bool unfinished;
	int8_t async; /* collective: 1, 0; -1: not reported */
};

/* False: the reader has stopped. */
bool kineto_event_read(struct json *json, struct kineto_event *event);

/* State for events that only gputrace writes. */
struct kineto_own {
	struct lookup domains; /* (1, text) to the number of an NVTX domain */
	uint64_t ranges, steps;
	bool has_ops;	   /* other than its steps */
	bool one_is_first; /* it has one step only, with number 0 */
};

#define KINETO_UNREAD 6u /* categories that are counted separately; the last also has all others */
#define KINETO_UNREAD_NAME 32u

struct kineto_unread {
	char name[KINETO_UNREAD_NAME];
	uint64_t count;
};

/* State that is kept from event to event. */
struct kineto_reading {
	text_buffer scratch; /* for texts */
	struct kineto_stacks stacks;
	struct kineto_threads threads;
	struct kineto_own own;
	uint32_t near_pid;			    /* process of the latest event on a thread, 0: none */
	uint32_t calling_pid;			    /* process of the latest call, 0: none */
	struct lookup callers;			    /* (pid + 1, 0): processes of earlier calls */
	bool read;				    /* an event of a supported kind was read */
	bool is_xla;				    /* a process has a name that JAX and TensorFlow use */
	bool has_schema;			    /* the document has the version that torch.profiler writes */
	struct kineto_unread unread[KINETO_UNREAD]; /* unsupported kinds, counted until an event of a supported one */
	struct lookup apis;			    /* (1, hash of a call's name) to its number */
	uint64_t lost_functions;		    /* Python functions on threads whose number Kineto does not know */
	uint64_t lost_memories;			    /* [memory] without an address: PyTorch before 1.11 */
};

/* Adds the event. */
void kineto_event_add(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading);

/* ---- kineto_own.c ------------------------------------------------------------------------------------------------ */

/*
 * Process ids below 64 are numbers of GPUs in a Chrome trace, so there gputrace raises those of processes, such as the
 * first of a container (export/chrome/numbers.c).  Linux has none so high.
 */
static inline int64_t kineto_own_pid(int64_t pid)
{
	const int64_t step = 22000000, gpus = 64;

	return pid > step && pid < step + gpus ? pid - step : pid;
}

/*
 * Parts that only gputrace's Chrome trace has: NVTX ranges, memory from CUDA, collections and imports, nodes of graphs
 * and the calls that they were captured from, steps that gputrace found, facts about processes.  Reads the document's
 * "gputrace" member.  False: the reader has stopped.
 */
bool kineto_own_head(struct json *json, struct foreign_file *file, text_buffer *scratch);

/* Whether the event is one that only gputrace writes; if so, its row is added. */
bool kineto_own_event(struct foreign_file *file, const struct kineto_event *event, struct kineto_reading *reading);

/* Whether an op may be a step that gputrace found. */
bool kineto_own_step(const struct kineto_event *event, struct kineto_own *own);

/* Adds what gputrace alone reports of a call, or of GPU work. */
void kineto_own_call(const struct kineto_event *event, struct row_call *call);
void kineto_own_gpu(struct foreign_file *file, const struct kineto_event *event, struct row_gpu *gpu);

/* The end of the file. */
void kineto_own_finish(struct kineto_own *own, struct foreign_file *file);

/* The collective that an op stands for, as a text of the form of model/collectives.h; ROW_NO_TEXT: it is not one. */
uint32_t kineto_collective(struct foreign_file *file, const struct kineto_event *event, text_buffer *scratch);
