/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Other users of CUPTI's activity API in a followed process, above all torch.profiler: when one starts a session, and
 * when it has all its records. The agent is informed by the two counters of agent.h. CUPTI has one set of buffers:
 * while another client records, CUPTI's records go into that client's buffers (foreign_buffers.h) and not into the
 * agent's.
 */
#pragma once

#include "attach/probes/probes.h"

enum cupti_client_state {
	CUPTI_CLIENT_NONE,
	CUPTI_CLIENT_SUSPECTED, /* one may be in a session from before gputrace came: the agent must keep off */
	CUPTI_CLIENT_RECORDS,	/* CUPTI's buffers are the other client's */
	CUPTI_CLIENT_DONE,	/* the agent was informed and has not registered again yet */
};

struct cupti_client {
	enum cupti_client_state state;
	uint64_t kinds;	     /* activity kinds that it has enabled and not disabled (kinds 1 to 63); bit 0: unknown */
	bool flushes;	     /* it has disabled its kinds and flushed */
	uint64_t last_ns;    /* time of its latest call */
	uint64_t watched_ns; /* CUPTI_CLIENT_SUSPECTED: since when */
	uint64_t asked_ns;   /* when the agent's counters were last changed */
	bool over;	     /* the other client has finished: the agent gets RESUME once it must have seen YIELD */
	unsigned repeats;    /* how often the agent was informed again */
	struct links yield;  /* while attached, the agent's counters are raised in this process */
	struct links resume;
	struct links share;
};

/* Handles a GPT_CUPTI_USE of this process; agent: gputrace's agent file, NULL if there is none. */
void cupti_client_note(struct cupti_client *client, const struct probed_file *agent, const struct gpt_cupti_use *use);

/*
 * For a process that the agent is about to enter: another user of CUPTI may be in a session that began before gputrace
 * came. The agent keeps off until it is known that there is no session, by PyTorch's calls at every op
 * (file_attach_pushes), or that it has ended. -errno: the agent cannot be informed, and must not enter.
 */
int cupti_client_suspect(struct cupti_client *client, const struct probed_file *agent, pid_t pid, uint64_t now_ns);

/*
 * Acts on elapsed time and on pushes; call now and then. calls_ns: when the process was first seen to call CUDA, 0 not
 * yet. True when a suspected client has just been found to record.
 */
bool cupti_client_tick(struct cupti_client *client, const struct files *files, const struct probed_file *agent,
		       pid_t pid, uint64_t calls_ns, uint64_t now_ns);

/* Forgets the client and lowers the counters: the process is gone or runs another program. */
void cupti_client_forget(struct cupti_client *client);
