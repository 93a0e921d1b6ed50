/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Floating point operations of an op of PyTorch, from the shapes of its inputs, by the formulas of torch.profiler
 * (torch/csrc/profiler/util.cpp: conv2d, mm, addmm, bmm, baddbmm, mul, add); for attention, which torch.profiler leaves
 * out, by those of torch/utils/flop_counter.py.
 */
#pragma once

#include <stdint.h>

/* inputs: in the form of op_inputs.h, hostile. 0: the op has no formula, or its inputs do not fit it. */
uint64_t op_flops(const char *name, const char *inputs);
