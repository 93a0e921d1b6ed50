/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes on files, one source file for each family of probe sites:
 *
 *   cuda_probes.c     the public functions of libcudart and libcuda, where no agent reports the calls
 *   agent_probes.c    the agent's functions: what it reports, and its requests by semaphores
 *   python_probes.c   CPython: garbage collection, imports, calls, the death of code objects, subinterpreters
 *   torch_probes.c    PyTorch: the autograd engine, and the CUPTI buffers of its profiler
 *   cupti_probes.c    CUPTI: calls of its clients
 *   nccl_probes.c     NCCL: its calls and communicators
 *   files.c           the table of files that carry probes (files.h)
 *
 * A probe is attached to a file, for every process that maps it or only for the followed ones (files.h).
 * The callers decide which process needs which probes.  All functions do nothing if their result is already in place,
 * and return -errno.
 */
#pragma once

#include "attach/probes/files.h"

/* ---- CUDA ---- */
int file_attach_calls(struct files *files, struct probed_file *file);
/* Call when no process needs its probes. False: not detached yet; heard_ns as for attach_tick. */
bool file_detach_calls(struct files *files, struct probed_file *file, uint64_t heard_ns);

/* ---- the agent ---- */
int file_attach_agent(struct files *files, struct probed_file *file);

/* From now on the agents count steps, in processes whose agent file is probed now or later. */
int files_begin_schedule(struct files *files);

/*
 * From now on the agents record ops and their inputs at that level of detail (gputrace/details.h), in processes whose
 * agent file is probed now or later. -errno: of some it is the old one.
 */
int files_set_detail(struct files *files, uint32_t level);

/*
 * Raises a semaphore of the agent in one process, until links_detach. function: the agent's function on which the probe
 * goes. agent: its file, NULL: does nothing.
 */
int file_raise_agent_counter(struct links *links, const struct probed_file *agent, pid_t pid, const char *function,
			     const char *semaphore);

/* ---- Python ---- */
struct python_info;

int file_attach_dealloc(struct files *files, struct probed_file *file, uint64_t offset);
int file_attach_subinterpreters(struct files *files, struct probed_file *file);

/* Probes garbage collection and imports, and with files.python_calls every call. */
void file_attach_python(struct files *files, struct probed_file *file, const struct python_info *python);

/* ---- PyTorch ---- */

/*
 * Probes the autograd engine, once it is wanted, and the profiler's buffers. Takes a tenth of a second the first time
 * (the library has 200,000 symbols and more), so not while a process waits for it.
 */
void file_attach_torch(struct files *files, struct probed_file *file);

/* ---- NCCL ---- */

/* Does its work once for a file; notes what cannot be probed. */
void file_attach_nccl(struct files *files, struct probed_file *file);

/* ---- CUPTI ---- */
int file_attach_cupti(struct files *files, struct probed_file *file);

/* Probes cuptiActivityPushExternalCorrelationId, which torch.profiler calls at every op while it records. */
int file_attach_pushes(struct files *files, struct probed_file *file);
void file_detach_pushes(struct probed_file *file);

/* Whether probes at the agent's nop5 leave no trace in it; tests it once. Else they are one instruction further. */
bool agent_nop5_is_undone(void);
