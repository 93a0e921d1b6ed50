/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a page calls a kernel: its demangled name without what kernels of templates have in common, so that
 * what distinguishes them is not pushed off the page.
 *
 *	void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>,
 *		false>(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)
 *	vectorized_elementwise_kernel<CUDAFunctor_add>
 *
 * Two kernels may have one label; what a program reads (csv, json, the exports) has the whole name.
 */
#ifndef GPUTRACE_REPORT_KERNEL_LABEL_H
#define GPUTRACE_REPORT_KERNEL_LABEL_H

/* Any text may be given; what is no C++ name comes back as it is. Never longer than the name. Caller frees. */
char *kernel_label(const char *name);

#endif
