/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The BPF programs in the kernel, and how they are attached:
 *
 *   programs       the BPF object that fits this kernel, opened, configured and loaded
 *   features       what this kernel offers, each tried
 *   links          a program attached to probe sites of a file, to a tracepoint; a semaphore raised in one process
 *   site_cookies   for kernels that keep no cookie with a probe: a map from probe site to cookie
 *   guard          a small process that makes the system calls of probes, and cleans up when gputrace is killed
 *
 * Knows nothing of CUDA, Python or which process is traced.
 */
#ifndef GPUTRACE_ATTACH_LOAD_LOAD_H
#define GPUTRACE_ATTACH_LOAD_LOAD_H

#include "attach/load/features.h"
#include "attach/load/guard.h"
#include "attach/load/links.h"
#include "attach/load/programs.h"
#include "attach/load/site_cookies.h"

#endif
