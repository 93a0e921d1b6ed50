/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* libFuzzer target: any bytes as a cubin, or as a cubin's line table; results must lie within them. */
#include <stdlib.h>

#include "agent/kernels/cubin.h"
#include "cubin_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const uint8_t *cubin, size_t size, struct cubin_text text)
{
	const uint8_t *bytes = (const uint8_t *)text.bytes;

	if (text.size && (bytes < cubin || text.size > size || (size_t)(bytes - cubin) > size - text.size))
		abort();
}

static void check_cubin(const uint8_t *cubin, size_t size)
{
	struct cubin_kernel kernels[CUBIN_KERNELS_MAX];
	uint64_t left_out = 0;
	unsigned count = cubin_kernels(cubin, size, kernels, &left_out);

	if (count > CUBIN_KERNELS_MAX)
		abort();
	for (unsigned i = 0; i < count; i++) {
		check_text(cubin, size, kernels[i].name);
		check_text(cubin, size, kernels[i].folder);
		check_text(cubin, size, kernels[i].file);
		if (!kernels[i].name.size || !kernels[i].file.size || !kernels[i].line)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cubin_bytes lines = {.size = 0}, cubin;
	const size_t at[2] = {size > 1 ? data[1] : 0, size > 2 ? data[2] : 0};

	if (!size || size > 4096)
		return 0;
	if (data[0] & 1) {
		check_cubin(data + 1, size - 1);
		return 0;
	}
	if (data[0] & 2)
		cubin_begin_unit(&lines, data[0] >> 2 & 7);
	cubin_put(&lines, data + 1, size - 1);
	if (data[0] & 2)
		cubin_end_unit(&lines);
	cubin_build(&cubin, &lines, at);
	check_cubin(cubin.data, cubin.size);
	return 0;
}
