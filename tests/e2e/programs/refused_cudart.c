/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A libcudart in which the kernel takes no probe: its one function begins with a breakpoint. Never called. */
__asm__(".globl cudaLaunchKernel\n"
	".type cudaLaunchKernel, @function\n"
	"cudaLaunchKernel:\n"
	"	int3\n"
	"	ret\n"
	".size cudaLaunchKernel, . - cudaLaunchKernel\n");
