/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The CPython of a followed process: found, probed, and described to the BPF side, which then walks its stacks. */
#pragma once

#include "attach/followed.h"

struct mappings;
struct process_info;

/*
 * Examines the Python, or does so again; sets process->look_again_ns if it is not ready. known_ns: a time before info
 * was read.
 */
void python_examine(struct processes *processes, struct followed *process, const struct mappings *mappings,
		    const struct process_info *info, uint64_t known_ns);
