/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/record/dated_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/msg.h"
#include "cmd/output/output.h"

#define SUFFIX ".gpt"

/* More files of one second, or more that were there after the clock was set back, have two numbers. */
#define SAME_SECOND_MOST 100

static char *name_file(const char *path, const char *moment, unsigned number)
{
	size_t length = path ? strlen(path) : 0, suffix = strlen(SUFFIX);
	char again[16] = "";

	if (number > 1)
		snprintf(again, sizeof(again), "-%u", number);
	if (!path)
		return xasprintf("gputrace-%s%s" SUFFIX, moment, again);
	length -= length > suffix && !strcmp(path + length - suffix, SUFFIX) ? suffix : 0;
	return xasprintf("%.*s.%s%s" SUFFIX, (int)length, path, moment, again);
}

char *dated_file_name(const char *path)
{
	char moment[32] = "", *name = NULL;
	time_t now = time(NULL);
	struct stat there;
	struct tm local;

	if (localtime_r(&now, &local))
		strftime(moment, sizeof(moment), "%Y%m%d-%H%M%S", &local);
	for (unsigned number = 1; number <= SAME_SECOND_MOST; number++) {
		free(name);
		name = name_file(path, moment, number);
		if (lstat(name, &there) < 0)
			break;
	}
	return name;
}

int dated_file_commit(struct output *output)
{
	char *first = xstrdup(output->path), *name;
	int err = output_commit_new(output);

	for (unsigned number = 2; err == -EEXIST && number <= SAME_SECOND_MOST; number++) {
		name = xasprintf("%.*s-%u" SUFFIX, (int)(strlen(first) - strlen(SUFFIX)), first, number);
		output_set_name(output, name);
		err = output_commit_new(output);
		free(name);
	}
	free(first);
	return err;
}

static void remove_file(const char *path)
{
	struct destination destination;

	if (!destination_find(path, &destination))
		(void)unlinkat(destination.directory, destination.name, 0);
	destination_free(&destination);
}

void dated_files_add(struct dated_files *files, const char *path)
{
	array_push(&files->paths, xstrdup(path));
	while (files->keep && files->paths.count > files->keep) {
		remove_file(files->paths.items[0]);
		free(files->paths.items[0]);
		files->paths.count--;
		memmove(files->paths.items, files->paths.items + 1, files->paths.count * sizeof(files->paths.items[0]));
	}
}

void dated_files_free(struct dated_files *files)
{
	for (size_t i = 0; i < files->paths.count; i++)
		free(files->paths.items[i]);
	array_free(&files->paths);
}

int dated_file_check(const char *path, const char *option)
{
	char *name = dated_file_name(path);
	int err = output_probe(name);

	if (err)
		msg_error("%s: %s: cannot be written: %s: name a log in another folder with -o", option, name,
			  output_error(err));
	free(name);
	return err;
}
