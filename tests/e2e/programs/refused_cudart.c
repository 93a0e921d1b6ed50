/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A libcudart in which the kernel refuses a probe: its only function begins with a breakpoint. Never called. */
__asm__(".globl cudaLaunchKernel\n"
	".type cudaLaunchKernel, @function\n"
	"cudaLaunchKernel:\n"
	"	int3\n"
	"	ret\n"
	".size cudaLaunchKernel, . - cudaLaunchKernel\n");
