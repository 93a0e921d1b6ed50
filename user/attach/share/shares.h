/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Agents without BPF: the socket to which they connect, the control that they read, a ring for each. One thread lets
 * them in and publishes what is known about them; another one, the drain, takes their records.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <gputrace/share.h>

#include "attach/share/share_door.h"
#include "attach/share/share_ring.h"

struct shares;

/*
 * Listens by that name. uid: whose processes are let in; bytes: of a ring's data, a power of two. 0 or -errno.
 */
int shares_open(const char *name, uid_t uid, uint64_t bytes, struct shares **out);
void shares_close(struct shares *shares);

/* The control that agents read; the caller may write it. */
struct gpt_share_control *shares_control(struct shares *shares);

/* Where agents come in. */
struct share_door *shares_door(struct shares *shares);

/*
 * shares_let_in makes a ring for the agent that waits: its Python can be described before shares_finish, with which it
 * starts. 0 or -errno.
 */
int shares_let_in(struct shares *shares);
int shares_finish(struct shares *shares);

/* The state that the agent of a process reports: enum gpt_agent_state; 0: none, or the process has no ring. */
uint32_t shares_state(struct shares *shares, pid_t pid);

/*
 * shares_given_way: how often another profiler has registered with CUPTI there, 0: the agent records.
 * shares_let_resume: the last of them has finished.
 */
uint32_t shares_given_way(struct shares *shares, pid_t pid);
void shares_let_resume(struct shares *shares, pid_t pid, uint32_t given_way);

/* Whether the process has called exec since its agent reported: the new program does not map its ring. */
bool shares_has_left(struct shares *shares, pid_t pid);

/* Publishes what is known of its Python; NULL: only the state is new. */
void shares_set_python(struct shares *shares, pid_t pid, uint32_t python_state, const struct gpt_python *python,
		       bool several);

/* What the walker recognises calls of modules by (modules.c). */
void shares_set_modules(struct shares *shares, pid_t pid, uint64_t code, uint32_t generation);

/* The process, or its program, has ended. True when all its remaining records were taken, and it is forgotten. */
bool shares_end(struct shares *shares, pid_t pid);

/* Adds the counters of all agents, including agents that are gone. */
void shares_add_counters(struct shares *shares, uint64_t counters[GPT_COUNTER_COUNT]);

/* How many agents there were, ever. Any thread may call it. */
unsigned shares_count(struct shares *shares);

/* ---- for the thread that drains ---------------------------------------------------------------------------------- */

/* Returns how many bytes there were, and sets *most to those of the fullest ring; later records are left for the next
 * call. */
int64_t shares_consume(struct shares *shares, share_record record, void *context, uint64_t *most);
uint64_t shares_bytes(const struct shares *shares); /* of one ring */
uint64_t shares_bytes_max(struct shares *shares);   /* highest fill level of any ring */
uint64_t shares_malformed(struct shares *shares);
