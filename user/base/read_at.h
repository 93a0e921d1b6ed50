/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* pread(2) until everything is there or the file ends. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Returns the bytes that were read, fewer than asked for at the end of the file; -errno. */
int64_t read_at(int fd, void *to, size_t bytes, uint64_t at);
