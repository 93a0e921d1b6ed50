/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* libc10_cuda.so for test_agent_torch_memory: reports its memory to libc10. */
#include "fake_c10.h"

static void report_device_usage(void *address, int64_t bytes, uint64_t allocated, uint64_t reserved,
				struct fake_device device)
{
	report_usage(address, bytes, allocated, reserved, device);
}

static void run_out(int64_t bytes, uint64_t allocated, uint64_t reserved, struct fake_device device)
{
	report_out(bytes, allocated, reserved, device);
}

extern const struct fake_c10_cuda fake_c10_cuda;
const struct fake_c10_cuda fake_c10_cuda = {report_device_usage, run_out};
