/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The build id of an ELF file: what a file is, where its path leads to another one or nowhere. */
#pragma once

#include <stdbool.h>

#include "target/process.h"

/*
 * Whether the process has this build of the file mapped at `mapping`, by the build id in its memory. false: another
 * build, or one of both has none, or cannot be read. file_fd: opened for reading.
 */
bool build_id_is_of(pid_t pid, const struct mappings *mappings, const struct mapping *mapping, int file_fd);
