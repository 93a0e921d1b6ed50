/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the GPU time of layers is of: sums by kernel family, by step, and FLOPs, from which layers_finish makes those of
 * layers.  Work belongs to the step in which it was launched, an op to the layer that its first CUDA call belongs to.
 */
#pragma once

#include "analyze/events/events.h"
#include "analyze/steps/step_blocks.h"
#include "analyze/sums/gpu_tally.h"
#include "analyze/tree/op_tree.h"

struct layer_parts {
	const struct model *model; /* the latest part */
	struct step_blocks *blocks;
	struct op_tree tree;	  /* of ops */
	struct tally sources;	  /* keys are those of line_sums.stacks; the numbers below are its entries */
	struct gpu_tally kernels; /* source, operation_pack.h */
	struct gpu_tally steps;	  /* source, block */
	struct tally flops;	  /* place, process, NONE, pass, as in line_sums.stacks; ns: FLOPs */
	bool has_shapes;	  /* of inputs of ops */
};

/* Must not move while in use; nor may the blocks. */
void layer_parts_init(struct layer_parts *parts, struct step_blocks *blocks, const struct model *first);
void layer_parts_free(struct layer_parts *parts);
void layer_parts_begin_part(struct layer_parts *parts, const struct model *part);
void layer_parts_add_gpu(struct layer_parts *parts, const struct gpu_event *event);
