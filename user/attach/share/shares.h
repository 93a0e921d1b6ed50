/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Agents without BPF: the socket by which they come, the control that they read, a ring of each.  One thread lets them
 * in and says what is known of them; another one, the drain, takes their records.
 */
#ifndef GPUTRACE_ATTACH_SHARE_SHARES_H
#define GPUTRACE_ATTACH_SHARE_SHARES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <gputrace/share.h>

#include "attach/share/share_ring.h"

struct shares;

/* Of 128 bits by chance, as no one else may have it before gputrace does. Free with free(). */
char *shares_name(void);

/*
 * Listens by that name; nothing of `wanted` is heard of until shares_begin.  uid: whose processes are let in; bytes: of
 * a ring's data, a power of two.  -errno
 */
int shares_open(const char *name, uid_t uid, uint64_t bytes, struct shares **out);
void shares_close(struct shares *shares);

/* What agents read; the caller's to write. */
struct gpt_share_control *shares_control(struct shares *shares);

/* Readable when an agent waits to be let in. */
int shares_fd(const struct shares *shares);

/*
 * The process of the next agent that waits and may come in, 0: none is there.  Until shares_finish or shares_refuse its
 * memory is read by itself (process_read_memory), where the kernel does not let gputrace read it.
 */
pid_t shares_next(struct shares *shares);

/* Makes it a ring: what is known of its Python can be said before shares_finish, with which it begins. -errno */
int shares_let_in(struct shares *shares);
int shares_finish(struct shares *shares);
void shares_refuse(struct shares *shares);

/* What the agent of a process says of itself: enum gpt_agent_state; 0: nothing, or the process has no ring. */
uint32_t shares_state(struct shares *shares, pid_t pid);

/*
 * How often another profiler has registered with CUPTI there, 0: the agent records; and that the last of them has
 * finished.
 */
uint32_t shares_given_way(struct shares *shares, pid_t pid);
void shares_let_resume(struct shares *shares, pid_t pid, uint32_t given_way);

/* Whether the process has executed another program since its agent spoke: that does not map its ring. */
bool shares_has_left(struct shares *shares, pid_t pid);

/* What is known of its Python, NULL: only the state is new. */
void shares_set_python(struct shares *shares, pid_t pid, uint32_t python_state, const struct gpt_python *python,
		       bool several);

/* The process has ended, or its program: true when all that it left was taken, and it is forgotten. */
bool shares_end(struct shares *shares, pid_t pid);

/* Adds what agents have counted, those that are gone included. */
void shares_add_counters(struct shares *shares, uint64_t counters[GPT_COUNTER_COUNT]);

/* Any thread: how many agents there were, ever. */
unsigned shares_count(struct shares *shares);

/* ---- for the thread that drains ---------------------------------------------------------------------------------- */

/* Returns how many bytes there were; what comes meanwhile is left for the next call. */
int64_t shares_consume(struct shares *shares, share_record record, void *context);
uint64_t shares_bytes(const struct shares *shares); /* of one ring */
uint64_t shares_bytes_max(struct shares *shares);   /* highest fill of any */
uint64_t shares_malformed(struct shares *shares);

#endif
