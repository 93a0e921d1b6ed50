/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/resident.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/read_at.h"

uint64_t resident_bytes(void)
{
	unsigned long long size, resident;
	char text[128];

	if (!read_small_file(AT_FDCWD, "/proc/self/statm", text, sizeof(text)))
		return 0;
	return sscanf(text, "%llu %llu", &size, &resident) == 2 ? resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}
