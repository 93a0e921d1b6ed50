/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The buffers CUPTI writes its records into.  CUPTI asks for them and gives them back on the application's
 * threads, inside CUDA calls: there nothing is allocated, locked or parsed, only bits and links are moved.
 * The agent's thread takes full buffers, cleans them, and gives memory that is not used back to the system.
 */
#ifndef GPUTRACE_AGENT_BUFFERS_H
#define GPUTRACE_AGENT_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * From 13.0 on CUPTI keeps one open for each thread that calls CUDA, so: many small ones, 64 MB in all.  NVIDIA
 * recommends 1 to 10 MB, for clients that flush seldom; here it is done ten times a second at least.  A kernel's record
 * has about 200 bytes.  What CUPTI goes on writing into one when another client has registered is lost to that one: a
 * second reason.
 */
#define BUFFER_BYTES (16u << 10)
#define BUFFERS_MAX 4096u

/* Reserves address space; memory comes as CUPTI writes. False: there is none. */
bool buffers_open(void);

/*
 * From here on buffers are handed out. may_refuse: this CUPTI survives an empty answer (API 27 and later).
 * scarce: called, on any thread, when a quarter of the buffers is on its way, again when half is, ...: makes the
 * agent's thread look at once.
 */
void buffers_start(bool may_refuse, void (*scarce)(void));

/* No more buffers are handed out (CUPTI may still ask), those that come back are kept for buffers_take. */
void buffers_stop(void);

/* Gives the memory of all buffers that CUPTI does not hold back to the kernel. */
void buffers_release(void);

/* CUPTI's callbacks; any thread, also at once. */
void buffers_request(uint8_t **buffer, size_t *size, size_t *max_records);
void buffers_done(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

/* The agent's thread: calls parse for each buffer that came back, then readies it for the next use. */
void buffers_take(void (*parse)(void *user, uint8_t *buffer, size_t valid), void *user);

/*
 * The agent's thread, when CUPTI has forgotten our buffers because someone else registered, and holds none any more:
 * calls parse for each that did not come back, with its whole size, and readies it.
 */
void buffers_reclaim(void (*parse)(void *user, uint8_t *buffer, size_t valid), void *user);

/* The agent's thread, now and then: the memory of buffers that were not needed since the call before the last goes
 * back. */
void buffers_trim(void);

/* Most of what is on its way lies in partly filled buffers in CUPTI: flush them. */
bool buffers_scarce(void);

unsigned buffers_held(void);	/* by CUPTI */
bool buffers_in_callback(void); /* some thread is inside one of CUPTI's two callbacks now */
uint64_t buffers_refused(void); /* since buffers_start: asked for and not given */

#endif
