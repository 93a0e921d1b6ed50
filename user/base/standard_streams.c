/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

void standard_streams_leave(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd < STANDARD_STREAMS; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			close(fd);
	if (null >= STANDARD_STREAMS)
		close(null);
}
