/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * How agent and collector connect without BPF: by memory that both map.
 *
 * The collector listens on an abstract socket, whose name is in the environment of the command (GPUTRACE_SHARE). The
 * agent connects when its library is entered, says hello and answers questions about its own memory, from which the
 * collector finds the Python of the process. It then gets two descriptors: the collector's control, which the agent can
 * only read (F_SEAL_FUTURE_WRITE), and a ring of its own. It maps both and closes both and the socket: no descriptor is
 * left that a program could close, and no name is left in a file system.
 *
 * Neither side trusts what the other writes. Seals fix the ring's size.
 */
#pragma once

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <gputrace/details.h>
#include <gputrace/record.h>
#include <gputrace/python.h>
#include <gputrace/schedule.h>

#define GPUTRACE_SHARE "GPUTRACE_SHARE" /* environment: the socket's name, without the NUL that it begins with */
/*
 * Environment: how many filters of system calls (seccomp) gputrace has. An agent joins nobody by itself in a process
 * that has more, as they may kill it for that (gpt_agent_status.declined).
 */
#define GPUTRACE_FILTERS "GPUTRACE_FILTERS"

/* Raised by each change of this header. */
#define GPT_SHARE_ABI 8

/* ---- connecting: messages of a SOCK_SEQPACKET socket ------------------------------------------------------------ */

struct gpt_share_hello {
	__u32 bytes;
	__u32 abi;	 /* GPT_SHARE_ABI */
	__u32 agent_abi; /* GPT_AGENT_ABI */
	__u32 pad;
};

enum gpt_share_question {
	GPT_SHARE_READ = 1,   /* answered by `bytes` bytes of the process's memory, or by an empty answer */
	GPT_SHARE_JOIN = 2,   /* with the descriptors of control and ring; the last message */
	GPT_SHARE_REFUSE = 3, /* the last message */
};

#define GPT_SHARE_READ_MAX 32768u

struct gpt_share_message {
	__u32 what; /* enum gpt_share_question */
	__u32 bytes;
	__u64 address;
	__u32 by_call; /* 1: no seccomp filter forbids process_vm_readv(2); 0: it is not called */
	__u32 pad;
};

struct gpt_share_answer {
	__u64 bytes; /* of data[], 0: it cannot be read */
	__u8 data[];
};

/*
 * ---- asking an agent that waits: for gputrace -p PID where no thread of the process may be stopped -----------------
 *
 * An agent that finds GPUTRACE_WAIT in its environment (`gputrace env`) listens on an abstract SOCK_SEQPACKET socket:
 * GPUTRACE_WAIT_NAME with the process's number in its own pid namespace, and the first of GPUTRACE_WAIT_NAMES numbers
 * that is free. Any user can take these for coming processes: then it is a number that no one can foresee, of
 * GPUTRACE_WAIT_NAMES or more, and /proc/net/unix has it. The client sends the argument of gputrace_agent_start
 * (agent.h) in one message of less than GPT_SHARE_ASK_MAX bytes. The reply is GPT_SHARE_ASKED once that function was
 * called, or GPT_SHARE_AT_WORK where the agent is not idle. SO_PEERCRED says who is at each end.
 */
#define GPUTRACE_WAIT "GPUTRACE_WAIT"
#define GPUTRACE_WAIT_PREFIX "gputrace-agent-%u-"
#define GPUTRACE_WAIT_NAME GPUTRACE_WAIT_PREFIX "%llu"
#define GPUTRACE_WAIT_NAMES 8u

/* The abstract address of a name (unix(7)) for bind and connect, and its length; 0: the name is empty or too long. */
static inline socklen_t gpt_share_address(struct sockaddr_un *address, const char *name)
{
	size_t length = strlen(name);

	if (!length || length >= sizeof(address->sun_path) - 1)
		return 0;
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(address->sun_path + 1, name, length);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}
#define GPT_SHARE_ASK_MAX 256u
#define GPT_SHARE_ASKED 'a'
#define GPT_SHARE_AT_WORK 'w'

/* ---- the control: what the collector wants of all agents --------------------------------------------------------- */

/*
 * The values that semaphores have where there is BPF (agent.h), by the same names. `owner` is a robust futex of the
 * collector: the id of its thread; the kernel sets FUTEX_OWNER_DIED when that thread ends in any way.
 */
struct gpt_share_control {
	__u32 bytes;
	__u32 owner;
	__u32 session, batch, ops;
	__u32 activity_sets; /* 1 << enum gpt_agent_activity_set */
	__u32 shapes, forward_lines, torch_memory, memory_lines, schedule_begun;
	__u32 detail_level; /* details.h; where there is BPF the semaphores of OPS_OFF and SHAPES_OFF */
	struct gpt_schedule schedule;
};

/* ---- the ring of a process ----------------------------------------------------------------------------------------
 */

#define GPT_SHARE_PAGE 4096u

/* The collector's page. */
struct gpt_share_reader {
	__u64 consumed; /* bytes, ever growing */
	__u64 pad[6];
	__u32 resume; /* the given_way whose other profiler's session is over: CUPTI's activity API is free again */
	__u32 pad3;
	/* What is known of the process's Python: consistent while news is even; read it again when news has changed. */
	__u32 updates;
	__u32 python_state; /* enum gpt_stack_state */
	__u32 several;	    /* as gpt_process_state */
	__u32 pid;	    /* of the process, as the collector sees it */
	__u32 module_generation, pad4;
	__u64 module_code; /* both as gpt_process_state */
	struct gpt_python python;
};

/* The agent's page. */
struct gpt_share_writer {
	__u64 produced; /* bytes, ever growing */
	__u64 pad[7];
	__u32 state;	 /* enum gpt_agent_state of the latest gputrace_agent_state */
	__u32 given_way; /* how often another profiler registered its buffers; 0: the agent records */
	__u64 counters[GPT_COUNTER_COUNT];
};

/*
 * The start of the shared memory; the data, a power of two of bytes, follows. A head precedes each record, at a
 * multiple of 8. It is 0 where nothing was written yet (the collector clears what it has taken), then BUSY with the
 * length, then the same without BUSY.
 */
struct gpt_share_ring {
	union {
		struct gpt_share_reader reader;
		__u8 reader_page[GPT_SHARE_PAGE];
	};
	union {
		struct gpt_share_writer writer;
		__u8 writer_page[GPT_SHARE_PAGE];
	};
	__u8 data[];
};

struct gpt_share_head {
	__u32 bytes; /* of the record, not padded; never 0 */
	__u32 flags;
};

#define GPT_SHARE_SET 1u     /* flags: set in every written head */
#define GPT_SHARE_BUSY 2u    /* its record is being written */
#define GPT_SHARE_DISCARD 4u /* no record: to be skipped */

#define GPT_SHARE_BYTES_MAX (1u << 30) /* of data */

_Static_assert(sizeof(struct gpt_share_ring) == 2 * GPT_SHARE_PAGE, "data begins on a page");
_Static_assert(sizeof(struct gpt_share_reader) <= GPT_SHARE_PAGE && sizeof(struct gpt_share_writer) <= GPT_SHARE_PAGE,
	       "a page each");
