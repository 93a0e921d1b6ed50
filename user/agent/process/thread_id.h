/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * Numbers of the calling thread, cached per thread: a gettid for each call would cost more than the rest of a callback.
 */
#pragma once

#include <stdint.h>

/* In its own pid namespace. */
uint32_t thread_id(void);

/* Never 0. Unlike a thread id it is never reused. */
uint32_t thread_number(void);

/* In the child of a fork: its thread has another id. */
void thread_id_forked(void);
