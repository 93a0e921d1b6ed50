/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* libc10.so for test_agent_torch_memory: calls its own reporter of CPU memory as it would call another library's. */
#include "fake_c10.h"

static struct fake_c10_heard heard;

void reporter_new(void *reporter, void *address, size_t bytes) EXPORT("_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm");
void reporter_delete(void *reporter, void *address) EXPORT("_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv");
void reporter_out(void *reporter, size_t bytes) EXPORT("_ZN3c1025ProfiledCPUMemoryReporter11OutOfMemoryEm");

__attribute__((noinline)) void reporter_new(void *reporter, void *address, size_t bytes)
{
	heard = (struct fake_c10_heard){
		.calls = heard.calls + (reporter == &heard), .address = address, .bytes = (int64_t)bytes};
}

__attribute__((noinline)) void reporter_delete(void *reporter, void *address)
{
	heard = (struct fake_c10_heard){.calls = heard.calls + (reporter == &heard), .address = address};
}

__attribute__((noinline)) void reporter_out(void *reporter, size_t bytes)
{
	heard = (struct fake_c10_heard){.calls = heard.calls + (reporter == &heard), .bytes = (int64_t)bytes};
}

void report_usage(void *address, int64_t bytes, uint64_t allocated, uint64_t reserved, struct fake_device device)
{
	heard = (struct fake_c10_heard){heard.calls + 1, address, bytes, allocated, reserved, device};
}

void report_out(int64_t bytes, uint64_t allocated, uint64_t reserved, struct fake_device device)
{
	heard = (struct fake_c10_heard){heard.calls + 1, NULL, bytes, allocated, reserved, device};
}

/* ---- interface for the test -------------------------------------------------------------------- */

static void report_allocated(void *address, size_t bytes)
{
	reporter_new(&heard, address, bytes);
}

static void report_released(void *address)
{
	reporter_delete(&heard, address);
}

static void run_out(size_t bytes)
{
	reporter_out(&heard, bytes);
}

extern const struct fake_c10 fake_c10;
const struct fake_c10 fake_c10 = {report_allocated, report_released, run_out, &heard};
