/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Maps FILES files of FOLDER, by whose names they could be CUDA's, and keeps them mapped; says "ready"; then maps and
 * unmaps another one until it is killed.
 *
 *     crowds FOLDER FILES
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int make_file(const char *folder, int number)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/libcu%d.so", folder, number);
	fd = open(path, O_RDWR | O_CREAT, 0755);
	if (fd < 0 || ftruncate(fd, 4096)) {
		perror(path);
		exit(1);
	}
	return fd;
}

static void *map_file(int fd)
{
	return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
}

int main(int argc, char **argv)
{
	int files = argc == 3 ? atoi(argv[2]) : 0, fd;

	for (int i = 0; i < files; i++) {
		fd = make_file(argv[1], i);
		map_file(fd);
		close(fd);
	}
	fd = make_file(argv[1], files);
	printf("ready\n");
	fflush(stdout);
	for (;;)
		munmap(map_file(fd), 4096);
}
