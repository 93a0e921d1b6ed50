/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/resident.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

uint64_t resident_bytes(void)
{
	unsigned long long size, resident;
	char text[128];
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (got <= 0)
		return 0;
	text[got] = '\0';
	return sscanf(text, "%llu %llu", &size, &resident) == 2 ? resident * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}
