/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* An extension with NVIDIA's runtime linked in, as nvcc builds it: launch() makes one cudaLaunchKernel. */
struct dim3 {
	unsigned x, y, z;
};

int cudaLaunchKernel(const void *function, struct dim3 grid, struct dim3 block, void **arguments, unsigned long shared,
		     void *stream);

/* nvcc's section for GPU code. */
__attribute__((section(".nv_fatbin"), used)) static const int code = 1;

int launch(void)
{
	const struct dim3 one = {1, 1, 1};

	return cudaLaunchKernel((const void *)launch, one, one, 0, 0, 0);
}
