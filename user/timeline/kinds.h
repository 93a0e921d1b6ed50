/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Each hands over what a part of the trace has of one kind, in the order of their starts, until the visitor has had
 * enough. */
#ifndef GPUTRACE_TIMELINE_KINDS_H
#define GPUTRACE_TIMELINE_KINDS_H

struct visit;

#define TIMELINE_VISITS(X)                                                                                             \
	X(steps)       /* of the whole trace; process by process */                                                    \
	X(python)      /* functions; thread by thread */                                                               \
	X(interpreter) /* collections and imports of the whole trace; thread by thread */                              \
	X(ranges)      /* NVTX; thread by thread */                                                                    \
	X(ops)	       /* of PyTorch; thread by thread */                                                              \
	X(torch_memories)                                                                                              \
	X(jits)                                                                                                        \
	X(calls)                                                                                                       \
	X(operations) /* of GPUs */                                                                                    \
	X(syncs)                                                                                                       \
	X(memories)                                                                                                    \
	X(overheads)

#define TIMELINE_VISIT(many) void visit_##many(struct visit *visit);
TIMELINE_VISITS(TIMELINE_VISIT)
#undef TIMELINE_VISIT

#endif
