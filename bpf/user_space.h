/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Replaces the BPF functions of the Python stack walker where it is compiled into a program: the same source, two
 * builds.  The including file defines GPT_USER_SPACE and, before the walker, these functions:
 *
 *     long memory_read(void *to, __u64 bytes, __u64 from);     of the walked process's memory; not 0: cannot be read
 *     void *record_reserve(__u64 bytes);                       room for a record, NULL: no room
 *     void record_submit(void *record), record_discard(void *record);
 *     long record_send(const void *record, __u64 bytes);       a whole record; not 0: no room
 *     int ring_is_short(void);                                 as in common.bpf.h
 *     void count_one(__u32 which);                           enum gpt_counter
 *     __u64 own_thread_pointer(void);                        pthread_self()
 *     __u64 first_stack_end(void);                           end of the first thread's C stack
 *     bool stack_is_known(__u64 id);                         sent, and not forgotten
 *     void stack_remember(const struct gpt_pystack *stack);
 *     code_is_known, code_remember, code_read_again, code_forget(const struct code_key *key)
 *     __u32 *code_mark(__u64 code, __u64 program);           as in python_code.bpf.h
 *
 * and the variables code_age and code_descriptions, and CODE_MARKS_AGE: the descriptions after which all marks expire.
 * These need the headers of include/gputrace/ and, for code_key, common.bpf.h.  The caller owns the slots.
 */
#pragma once

#include <linux/types.h>
#include <stdbool.h>
#include <stddef.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#define __noinline __attribute__((noinline))

#define bpf_probe_read_user(to, bytes, from) memory_read(to, bytes, (__u64)(from))
#define RING_RESERVE(bytes) record_reserve(bytes)
#define bpf_ringbuf_submit(record, flags) record_submit(record)
#define bpf_ringbuf_discard(record, flags) record_discard(record)
#define RING_OUTPUT(record, bytes, flags) record_send(record, bytes)

/* The bounds that the BPF build shows to the verifier protect this build from a wrong layout. */
#define BOUND(value, mask) ((value) &= (mask))

/* Loops have clang's unroll pragmas, for the verifier. */
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
