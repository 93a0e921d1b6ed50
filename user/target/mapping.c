/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The files a process has mapped (process.h). */
#include "base/order.h"
#include "target/process.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* vm.max_map_count defaults to 65,530; a line has at most PATH_MAX + 73 bytes, most lines far fewer. */
#define MAPS_BYTES_MAX (64u << 20)

/* In a path the kernel escapes only the newline, as \012 (show_map_vma, fs/proc/task_mmu.c). */
static void decode_path(char *path)
{
	char *to = path;

	for (const char *from = path; *from;) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

static bool cut_suffix(char *text, const char *suffix)
{
	size_t length = strlen(text), suffix_length = strlen(suffix);

	if (length < suffix_length || strcmp(text + length - suffix_length, suffix))
		return false;
	text[length - suffix_length] = '\0';
	return true;
}

/* "start-end rwxp offset major:minor inode      path", blanks before the path; false: not such a line. */
static bool parse_line(char *line, struct mapping *out)
{
	unsigned device_major, device_minor;
	unsigned long long start, end, offset, inode;
	char permissions[5];
	int used = 0;
	char *path;

	if (sscanf(line, "%llx-%llx %4s %llx %x:%x %llu%n", &start, &end, permissions, &offset, &device_major,
		   &device_minor, &inode, &used) != 7 ||
	    start >= end || strlen(permissions) != 4)
		return false;
	path = line + used + strspn(line + used, " ");
	*out = (struct mapping){
		.start = start,
		.end = end,
		.offset = offset,
		.inode = inode,
		.device = makedev(device_major, device_minor),
		.readable = permissions[0] == 'r',
		.writable = permissions[1] == 'w',
		.executable = permissions[2] == 'x',
		.path = "",
	};
	if (inode == 0) { /* [heap], [vdso] and the like are not files */
		out->first_stack = !strcmp(path, "[stack]");
		return true;
	}
	out->deleted = cut_suffix(path, " (deleted)");
	decode_path(path);
	out->path = path;
	return true;
}

int mappings_read(pid_t pid, struct mappings *out)
{
	char *line, *rest;
	ssize_t bytes;

	memset(out, 0, sizeof(*out));
	bytes = process_read_text(pid, "maps", 0, MAPS_BYTES_MAX, &out->text);
	if (bytes < 0)
		return (int)bytes;
	rest = out->text;
	while ((line = strsep(&rest, "\n"))) {
		struct mapping mapping;

		if (parse_line(line, &mapping))
			array_push(&out->list, mapping);
	}
	return 0;
}

const struct mapping *mappings_at(const struct mappings *mappings, uint64_t address)
{
	size_t low = count_while(mappings->list.count, i, mappings->list.items[i].end <= address);

	return low < mappings->list.count && address >= mappings->list.items[low].start ? &mappings->list.items[low]
											: NULL;
}

const struct mapping *mappings_of_file(const struct mappings *mappings, dev_t device, uint64_t inode)
{
	return array_find(&mappings->list, item, item->inode == inode && item->device == device);
}

bool mappings_have(pid_t pid, bool (*wanted)(const char *path))
{
	struct mappings mappings = {0};
	bool have = false;

	if (!mappings_read(pid, &mappings))
		for (size_t i = 0; i < mappings.list.count && !have; i++)
			have = mappings.list.items[i].executable && wanted(mappings.list.items[i].path);
	mappings_free(&mappings);
	return have;
}

void mappings_free(struct mappings *mappings)
{
	array_free(&mappings->list);
	free(mappings->text);
	mappings->text = NULL;
}

bool process_maps_file(pid_t pid, int file_fd)
{
	struct mappings mappings;
	struct opened_file mapped;
	struct stat file;
	bool found = false;

	if (fstat(file_fd, &file) || mappings_read(pid, &mappings))
		return false;
	for (size_t i = 0; i < mappings.list.count && !found; i++) {
		const struct mapping *mapping = &mappings.list.items[i];

		if (!mapping->executable || mapping->inode != file.st_ino || mapping_open_file(pid, mapping, &mapped))
			continue;
		/* Some file systems show other device numbers in maps than in stat. */
		found = mapped.stat.st_ino == file.st_ino && mapped.stat.st_dev == file.st_dev;
		if (mapped.fd >= 0)
			close(mapped.fd);
	}
	mappings_free(&mappings);
	return found;
}
