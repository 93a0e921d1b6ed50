/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * The buffers CUPTI writes its records into. CUPTI asks for them and gives them back on the application's threads,
 * inside CUDA calls: there nothing is allocated, locked or parsed, only bits and links are moved. The agent's thread
 * takes full buffers, cleans them, and returns unused memory to the system.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Many small buffers, 64 MB in all: from 13.0 on CUPTI keeps one open for each thread that calls CUDA. NVIDIA
 * recommends 1 to 10 MB for clients that flush seldom; the agent flushes at least ten times a second. A kernel's record
 * has about 200 bytes. Another reason: what CUPTI still writes into an agent's buffer after another client has
 * registered is lost to that client.
 */
#define BUFFER_BYTES (16u << 10)
#define BUFFERS_MAX 4096u

/* Reserves address space; memory is allocated as CUPTI writes. False: no address space. */
bool buffers_open(void);

/*
 * Starts handing out buffers. may_refuse: this CUPTI survives an empty answer (API 27 and later). scarce: called on any
 * thread when a quarter of the buffers is in use, again at half, ...: wakes the agent's thread.
 */
void buffers_start(bool may_refuse, void (*scarce)(void));

/* Stops handing out buffers (CUPTI may still request them). Returned ones are kept for buffers_take. */
void buffers_stop(void);

/* Returns to the kernel the memory of all buffers that CUPTI does not hold. */
void buffers_release(void);

/* CUPTI's callbacks; on any thread, also concurrently. */
void buffers_request(uint8_t **buffer, size_t *size, size_t *max_records);
void buffers_done(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid);

/* On the agent's thread: calls parse_records for each returned buffer, then prepares it for the next use. */
void buffers_take(void (*parse_records)(void *user, uint8_t *buffer, size_t valid), void *user);

/*
 * On the agent's thread, when CUPTI has forgotten the agent's buffers because another client registered, and holds none
 * any more: calls parse_records for each one that was not returned, with its whole size, and prepares it for the next
 * use.
 */
void buffers_reclaim(void (*parse_records)(void *user, uint8_t *buffer, size_t valid), void *user);

/*
 * On the agent's thread, now and then: returns the memory of buffers that were not used since the call before the last.
 */
void buffers_trim(void);

/* True if most buffers in use are partly filled ones that CUPTI holds: flush them. */
bool buffers_scarce(void);

unsigned buffers_held(void);	/* by CUPTI */
bool buffers_in_callback(void); /* a thread is inside one of CUPTI's two callbacks */
uint64_t buffers_refused(void); /* requests refused since buffers_start */
