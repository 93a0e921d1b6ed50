/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The name of a kernel on a page: its demangled name without what all template kernels have in common, so that what
 * distinguishes them is not pushed off the page.
 *
 *	void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>,
 *		false>(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)
 *	vectorized_elementwise_kernel<CUDAFunctor_add>
 *
 * Two kernels may have one label; programs (csv, json, the exports) get the whole name.
 */
#pragma once

/* Takes any text; returns a text that is no C++ name as it is.  Never longer than the name.  The caller frees it. */
char *kernel_label(const char *name);
