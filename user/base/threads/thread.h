/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Threads beside the main one. */
#pragma once

#include <pthread.h>
#include <stddef.h>

/*
 * Starts a thread with all signals blocked: the main thread handles them.  stack_bytes 0: the default; out NULL:
 * detached.  0 or -errno
 */
int thread_start(void *(*run)(void *), void *context, size_t stack_bytes, pthread_t *out);
