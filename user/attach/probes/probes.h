/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes on files, one source file for each family of probe sites:
 *
 *   cuda.c     the public functions of libcudart and libcuda, where no agent reports the calls
 *   agent.c    our agent's functions: what it reports, and what it gets by semaphores
 *   python.c   CPython: garbage collection, imports, calls, the death of code objects, subinterpreters
 *   torch.c    PyTorch: the autograd engine, and the CUPTI buffers of its profiler
 *   cupti.c    CUPTI: what its clients do with it
 *   nccl.c     NCCL: what a process calls it for
 *   files.c    the table of files that carry probes (files.h)
 *
 * A probe is attached to a file, for every process that maps it or for those of them that are followed (files.h).
 * Which process needs which probes is decided above.  All functions do nothing when what they ask for is so already,
 * and return -errno.
 */
#ifndef GPUTRACE_ATTACH_PROBES_PROBES_H
#define GPUTRACE_ATTACH_PROBES_PROBES_H

#include "attach/probes/files.h"

/* ---- CUDA ---- */
int file_attach_calls(struct files *files, struct probed_file *file);
/* No process needs its probes.  False: not yet; heard_ns as attach_tick has it. */
bool file_detach_calls(struct files *files, struct probed_file *file, uint64_t heard_ns);

/* ---- the agent ---- */
int file_attach_agent(struct files *files, struct probed_file *file);

/* From now on the agents count steps: those in whose files probes are, and in whose there will be. */
int files_begin_schedule(struct files *files);

/*
 * Raises a semaphore of the agent in one process, until links_detach.  function: the agent's function on which the
 * probe goes.  agent: its file, NULL: does nothing.
 */
int file_raise_agent_counter(struct links *links, const struct probed_file *agent, pid_t pid, const char *function,
			     const char *semaphore);

/* ---- Python ---- */
struct python_info;

int file_attach_dealloc(struct files *files, struct probed_file *file, uint64_t offset);
int file_attach_subinterpreters(struct files *files, struct probed_file *file);

/* Garbage collection and imports, and with files.python_calls every call. */
void file_attach_python(struct files *files, struct probed_file *file, const struct python_info *python);

/* ---- PyTorch ---- */

/*
 * The autograd engine, once it is wanted, and the profiler's buffers.  Takes a tenth of a second at first (the library
 * has 200,000 symbols), so not while a process waits for it.
 */
void file_attach_torch(struct files *files, struct probed_file *file);

/* ---- NCCL ---- */

/* Once for a file; what cannot be probed has a note. */
void file_attach_nccl(struct files *files, struct probed_file *file);

/* ---- CUPTI ---- */
int file_attach_cupti(struct files *files, struct probed_file *file);

/* cuptiActivityPushExternalCorrelationId, which torch.profiler calls at every op while it records. */
int file_attach_pushes(struct files *files, struct probed_file *file);
void file_detach_pushes(struct probed_file *file);

#endif
