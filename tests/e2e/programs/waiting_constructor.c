/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A library whose constructor prints "ready" and never returns: the loader's lock stays held. */
#include <unistd.h>

static __attribute__((constructor)) void wait_for_good(void)
{
	int ends[2];
	char byte;

	if (pipe(ends) || write(1, "ready\n", 6) != 6)
		_exit(1);
	while (read(ends[0], &byte, 1) <= 0)
		;
}
