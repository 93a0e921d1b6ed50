/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the system says of an error, with the remedy where the error is a limit of the process (getrlimit(2)). */
#pragma once

#include <stdint.h>

/* error: errno or -errno. Valid until the thread's next call. */
const char *error_text(int error);

/* The same of a process or thread that could not be started: EAGAIN is the limit of their number (fork(2)). */
const char *start_error_text(int error);

/* The most bytes that a file of this process may have (ulimit -f); UINT64_MAX: any number. */
uint64_t file_size_limit(void);
