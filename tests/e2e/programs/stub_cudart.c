/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The least that is taken for a libcudart: for tests that need many different files of one.
 */
int cudaLaunchKernel(void);

static volatile int launches;

int cudaLaunchKernel(void)
{
	return ++launches - launches;
}
