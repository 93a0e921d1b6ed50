/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What kernels have in common that differ only in types, sizes of tiles and numbers that a compiler gave them: a name
 * without its return type, template arguments and parameters, and with # in the place of numbers that stand alone
 * after _ or in a product.
 *
 *	void at::native::vectorized_elementwise_kernel<4, ...>(int, ...)  at::native::vectorized_elementwise_kernel
 *	ampere_sgemm_128x64_tn                                            ampere_sgemm_#x#_tn
 *	triton_poi_fused_add_relu_3                                       triton_poi_fused_add_relu_#
 */
#ifndef GPUTRACE_ANALYZE_KERNEL_FAMILY_H
#define GPUTRACE_ANALYZE_KERNEL_FAMILY_H

/* The caller frees it. */
char *kernel_family(const char *name);

#endif
