/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The smallest library that gputrace takes for a libcudart: for tests that need many different ones.
 */
int cudaLaunchKernel(void);

static volatile int launches;

int cudaLaunchKernel(void)
{
	return ++launches - launches;
}
