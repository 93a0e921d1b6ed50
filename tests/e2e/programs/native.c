/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An extension with frame pointers between Python and the launch; one of its functions has a C++ name.
 * Build with -fno-omit-frame-pointer -fno-optimize-sibling-calls.
 */
#include <stddef.h>

struct dim3 {
	unsigned x, y, z;
};

typedef int (*launch_function)(void *, struct dim3, struct dim3, void **, size_t, void *);

int extension_forward(launch_function launch, int count);
int launch_tile(launch_function launch) __asm__("_ZN5tiles6launchEi");

__attribute__((noinline)) int launch_tile(launch_function launch)
{
	struct dim3 one = {1, 1, 1};

	return launch((void *)launch_tile, one, one, NULL, 0, NULL) + 1;
}

int extension_forward(launch_function launch, int count)
{
	int sum = 0;

	for (int i = 0; i < count; i++)
		sum += launch_tile(launch);
	return sum;
}
