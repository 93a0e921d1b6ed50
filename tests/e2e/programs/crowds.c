/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Makes FILES files in FOLDER with names like libcudart's and keeps them mapped: copies of LIBRARY if it is given, else
 * empty.  Prints "ready"; then changes, maps and unmaps LIBRARY, or an empty file, until it is killed.
 *
 *     crowds FOLDER FILES [LIBRARY]
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PAGE 4096

static char content[1 << 16];
static size_t bytes = PAGE;

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static int open_library(const char *path)
{
	int fd = open(path, O_RDONLY);
	ssize_t got = fd < 0 ? -1 : read(fd, content, sizeof(content));

	if (got <= 0)
		fail(path);
	bytes = (size_t)got;
	return fd;
}

static int make_file(const char *folder, int number)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/libcudart-%d.so", folder, number);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0755);
	if (fd < 0 || write(fd, content, bytes) != (ssize_t)bytes)
		fail(path);
	return fd;
}

static void *map_file(int fd)
{
	void *at = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

	if (at == MAP_FAILED)
		fail("mmap");
	return at;
}

int main(int argc, char **argv)
{
	int files = argc >= 3 ? atoi(argv[2]) : 0, changing = argc == 4 ? open_library(argv[3]) : -1;

	for (int i = 0; i < files; i++) {
		int fd = make_file(argv[1], i);

		map_file(fd);
		close(fd);
	}
	if (changing < 0)
		changing = make_file(argv[1], files);
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		fchmod(changing, 0755);
		munmap(map_file(changing), PAGE);
	}
}
