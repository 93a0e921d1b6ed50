/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The common name of kernels that differ only in types, tile sizes and numbers given by a compiler: the name without
 * return type, template arguments and parameters, with # in place of numbers that stand alone after _ or in a product.
 *
 *	void at::native::vectorized_elementwise_kernel<4, ...>(int, ...)  at::native::vectorized_elementwise_kernel
 *	ampere_sgemm_128x64_tn                                            ampere_sgemm_#x#_tn
 *	triton_poi_fused_add_relu_3                                       triton_poi_fused_add_relu_#
 */
#pragma once

#include "model/model.h"

/* The caller frees it. */
char *kernel_family(const char *name);

/* The same of an operation (operation_pack.h); a copy or fill has the name of its kind. */
char *operation_family(const struct model *model, uint32_t packed);
