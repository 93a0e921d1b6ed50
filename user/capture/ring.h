/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The consumer's end of the BPF ring buffer, or of the rings of agents without BPF: whole records, one after the other,
 * and how full it was.
 */
#pragma once

#include <stdint.h>

#include <gputrace/record.h>

struct ring;

/* The record is only valid during the call; its size is a multiple of 8 and lies within what was sent. */
typedef void (*ring_record)(void *context, const struct gpt_record *record);

/* map_fd is a BPF_MAP_TYPE_RINGBUF and stays the caller's. Returns 0 or -errno. */
int ring_open(int map_fd, ring_record record, void *context, struct ring **out);

struct shares;

/* The same for agents' rings, which stay the caller's. */
int ring_open_shares(struct shares *shares, ring_record record, void *context, struct ring **out);

/*
 * Hands over what is there now and returns how many bytes of the ring that was, or -errno.  What arrives
 * meanwhile is left for the next call, so that a fast producer cannot keep the caller here.
 */
int64_t ring_consume(struct ring *ring);

/* Readable when the BPF side asks for attention (not for every record): for epoll with EPOLLET. -1: no one asks. */
int ring_wait_fd(const struct ring *ring);

uint64_t ring_bytes(const struct ring *ring);	  /* size */
uint64_t ring_bytes_max(const struct ring *ring); /* highest fill seen */
uint64_t ring_fill(const struct ring *ring);	  /* when ring_consume was last called */
uint64_t ring_malformed(const struct ring *ring); /* records dropped for an impossible size */

void ring_close(struct ring *ring);
