/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Each hands over what a part of the trace has of one kind, in the order of their starts, until the visitor has had
 * enough. */
#ifndef GPUTRACE_TIMELINE_KINDS_H
#define GPUTRACE_TIMELINE_KINDS_H

struct visit;

void visit_python(struct visit *visit);	     /* functions; thread by thread */
void visit_interpreter(struct visit *visit); /* collections and imports of the whole trace; thread by thread */
void visit_ranges(struct visit *visit);	     /* NVTX; thread by thread */
void visit_ops(struct visit *visit);	     /* of PyTorch; thread by thread */
void visit_steps(struct visit *visit);	     /* of the whole trace; process by process */
void visit_torch_memories(struct visit *visit);
void visit_jits(struct visit *visit);
void visit_calls(struct visit *visit);
void visit_operations(struct visit *visit); /* of GPUs */
void visit_syncs(struct visit *visit);
void visit_memories(struct visit *visit);
void visit_overheads(struct visit *visit);

#endif
