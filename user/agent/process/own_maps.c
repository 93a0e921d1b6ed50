/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/process/own_maps.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "agent/process/own_thread.h"

struct reading {
	void (*take)(char *line, void *context);
	void *context;
};

static void read_maps(void *own)
{
	const struct reading *reading = own;
	char text[8192], *line, *end;
	size_t kept = 0;
	ssize_t got;
	int fd = open("/proc/thread-self/maps", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	while ((got = read(fd, text + kept, sizeof(text) - 1 - kept)) > 0) {
		kept += (size_t)got;
		text[kept] = '\0';
		for (line = text; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			reading->take(line, reading->context);
		}
		kept -= (size_t)(line - text);
		if (kept == sizeof(text) - 1)
			kept = 0; /* a line longer than any path */
		memmove(text, line, kept);
	}
	close(fd);
}

void own_maps_each(void (*take)(char *line, void *context), void *context)
{
	struct reading reading = {take, context};

	own_table_run(read_maps, &reading);
}

static int count_loaded(struct dl_phdr_info *info, size_t size, void *loaded)
{
	*(uint64_t *)loaded = info->dlpi_adds;
	return 1;
}

uint64_t own_libraries_loaded(void)
{
	uint64_t loaded = 0;

	dl_iterate_phdr(count_loaded, &loaded);
	return loaded;
}
