/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Maps files as if they were loaded, and waits: stands for programs without a dynamic loader.
 *
 *     maps_only FILE [FOLDER]      FILE, then all that is in FOLDER
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static int map_file(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0 || mmap(NULL, 65536, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		return -1;
	return close(fd);
}

static int map_folder(const char *path)
{
	DIR *folder = opendir(path);
	struct dirent *entry;

	if (!folder || chdir(path))
		return -1;
	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.' && map_file(entry->d_name))
			return -1;
	return closedir(folder);
}

int main(int argc, char **argv)
{
	char byte;

	if (argc < 2 || map_file(argv[1]) || (argc > 2 && map_folder(argv[2]))) {
		perror("maps_only");
		return 1;
	}
	puts("ready");
	fflush(stdout);
	return read(0, &byte, 1) < 0;
}
