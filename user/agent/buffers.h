/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The buffers CUPTI writes its records into.  CUPTI asks for them and gives them back on the application's
 * threads, inside CUDA calls: there nothing is allocated, locked or parsed, only bits and links are moved.
 * The agent's thread takes full buffers, cleans them, and adds more when they become scarce.
 */
#ifndef GPUTRACE_AGENT_BUFFERS_H
#define GPUTRACE_AGENT_BUFFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* NVIDIA recommends 1 to 10 MB; CUPTI 13 keeps one buffer per launching thread, so: many small ones. */
#define BUFFER_BYTES (1u << 20)
#define BUFFERS_FIRST 32u
#define BUFFERS_MAX 256u

/* Reserves address space, and memory for the first buffers (touched only as CUPTI writes). False: no memory. */
bool buffers_open(void);

/* From here on buffers are handed out. may_refuse: this CUPTI survives an empty answer (API 27 and later). */
void buffers_start(bool may_refuse);

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
 * The agent's thread, when CUPTI has forgotten our buffers because somebody else registered, and holds none any more:
 * calls parse for each that did not come back, with its whole size, and readies it.
 */
void buffers_reclaim(void (*parse)(void *user, uint8_t *buffer, size_t valid), void *user);

/* The agent's thread: more buffers when fewer than half of them are free. */
void buffers_grow(void);

unsigned buffers_held(void);	/* by CUPTI */
bool buffers_in_callback(void); /* some thread is inside one of CUPTI's two callbacks now */
uint64_t buffers_refused(void); /* since buffers_start: asked for and not given */

#endif
