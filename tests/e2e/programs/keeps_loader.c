/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process whose loader is busy: a thread loads LIBRARY, whose constructor prints "ready" and never returns.  For each
 * line of standard input it maps LIBCUDA as if it were loaded and prints "done":  keeps_loader LIBRARY LIBCUDA
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void *load(void *library)
{
	return dlopen(library, RTLD_NOW);
}

int main(int argc, char **argv)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};
	int fd = argc == 3 ? open(argv[2], O_RDONLY) : -1;
	pthread_t thread;
	char line[64];

	if (fd < 0 || pthread_create(&thread, NULL, load, argv[1]))
		return 1;
	while (poll(&input, 1, -1) > 0 && read(0, line, sizeof(line)) > 0) {
		if (mmap(NULL, 65536, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
			return 1;
		puts("done");
		fflush(stdout);
	}
	_exit(0);
}
