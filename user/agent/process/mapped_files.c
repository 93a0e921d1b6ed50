/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#include "agent/process/mapped_files.h"

#include <string.h>

#include "agent/process/path.h"

/* "libcudart.so.12", and "libcudart-d0da41ae.so.11.0" as auditwheel renames it. */
static const char *version_of(const char *path, const char *library)
{
	const char *name = path_base(path), *so;
	size_t length = strlen(library);

	if (strncmp(name, library, length) != 0)
		return NULL;
	name += length;
	if (*name != '.' && *name != '-')
		return NULL;
	so = strstr(name, ".so");
	if (!so || (so[3] && so[3] != '.'))
		return NULL;
	return so[3] ? so + 4 : so + 3;
}

uint32_t cuda_version_of_name(const char *path, const char *library)
{
	const char *version = version_of(path, library);
	uint32_t numbers[2] = {0, 0};
	unsigned i;

	for (i = 0; version && i < 2; i++) {
		while (*version >= '0' && *version <= '9' && numbers[i] < 100)
			numbers[i] = numbers[i] * 10 + (uint32_t)(*version++ - '0');
		if (*version++ != '.')
			break;
	}
	return numbers[0] * 1000 + (numbers[1] < 100 ? numbers[1] * 10 : 0);
}

void mapped_path_copy(char *to, const char *from)
{
	to[0] = '\0';
	if (strlen(from) < MAPPED_PATH_BYTES)
		strcpy(to, from);
}

void mapped_files_line(struct mapped_files *files, const char *line)
{
	static const char deleted[] = " (deleted)";
	const char *path = strchr(line, '/');
	char kept[MAPPED_PATH_BYTES] = "";
	size_t length;

	if (!path)
		return;
	mapped_path_copy(kept, path);
	length = strlen(kept);
	if (length > sizeof(deleted) && !strcmp(kept + length - (sizeof(deleted) - 1), deleted))
		kept[length - (sizeof(deleted) - 1)] = '\0';
	if (!files->cudart[0] && version_of(kept, "libcudart"))
		mapped_path_copy(files->cudart, kept);
	if (!version_of(kept, "libcupti") || !strcmp(kept, files->cupti[0]) || !strcmp(kept, files->cupti[1]))
		return;
	if (!files->cupti[0][0])
		mapped_path_copy(files->cupti[0], kept);
	else if (!files->cupti[1][0])
		mapped_path_copy(files->cupti[1], kept);
}
