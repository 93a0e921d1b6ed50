/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Threads beside the main one. */
#ifndef GPUTRACE_THREAD_H
#define GPUTRACE_THREAD_H

#include <pthread.h>
#include <stddef.h>

/*
 * Starts one with every signal blocked: those for the program are for its main thread.  stack_bytes 0: as much as
 * usual; out NULL: no one will join it.  -errno
 */
int thread_start(void *(*run)(void *), void *context, size_t stack_bytes, pthread_t *out);

#endif
