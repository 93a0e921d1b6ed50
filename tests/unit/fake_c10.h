/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A minimal PyTorch allocator, as much as the agent's detours see, and what a test can do with it. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define EXPORT(name) __asm__(name) __attribute__((visibility("default")))

struct fake_device {
	int8_t type, index;
};

/* Arguments that reached PyTorch's own functions through the detours. */
struct fake_c10_heard {
	unsigned calls;
	const void *address;
	int64_t bytes;
	uint64_t allocated, reserved;
	struct fake_device device;
};

struct fake_c10 {
	void (*allocate)(void *address, size_t bytes);
	void (*release)(void *address);
	void (*run_out)(size_t bytes);
	struct fake_c10_heard *heard;
};

struct fake_c10_cuda {
	void (*report)(void *address, int64_t bytes, uint64_t allocated, uint64_t reserved, struct fake_device device);
	void (*run_out)(int64_t bytes, uint64_t allocated, uint64_t reserved, struct fake_device device);
};

void report_usage(void *address, int64_t bytes, uint64_t allocated, uint64_t reserved, struct fake_device device)
	EXPORT("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
void report_out(int64_t bytes, uint64_t allocated, uint64_t reserved, struct fake_device device)
	EXPORT("_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE");
