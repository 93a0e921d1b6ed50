/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Names of formats and of files; opens no file. */
#include "cmd/options/format.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/path.h"

#define LOG_NAME "gpt"
#define LOG_SUFFIX ".gpt"
#define ARCHIVE_SUFFIX ".tar"

#define LIST_MAX 512 /* bytes for the names of all formats */

/* writer NULL: the log. */
static struct format format_of(const struct export_format *writer)
{
	if (!writer)
		return (struct format){.name = LOG_NAME, .binary = true};
	return (struct format){
		.name = writer->name, .writer = writer, .binary = writer->binary, .needs_path = writer->needs_path};
}

bool format_by_name(const char *name, struct format *out)
{
	const struct export_format *writer = export_format_by_name(name);

	if (!writer && strcmp(name, LOG_NAME) != 0)
		return false;
	*out = format_of(writer);
	return true;
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t length = strlen(name), end = strlen(suffix);

	return length > end && !strcasecmp(name + length - end, suffix);
}

bool format_by_path(const char *path, struct format *out)
{
	const char *name = path_base(path);
	const struct export_format *writer = export_format_by_suffix(name);

	if (!writer && !has_suffix(name, LOG_SUFFIX))
		return false;
	*out = format_of(writer);
	return true;
}

static void append_name(char *list, size_t size, const char *text)
{
	size_t used = strlen(list);

	snprintf(list + used, size - used, "%s%s", used ? ", " : "", text);
}

const char *format_names(void)
{
	static char list[LIST_MAX];

	if (!list[0]) {
		for (const struct export_format *format = export_formats; format->name; format++)
			append_name(list, sizeof(list), format->name);
		append_name(list, sizeof(list), LOG_NAME);
	}
	return list;
}

static const char *format_suffixes(void)
{
	static char list[LIST_MAX];

	if (!list[0]) {
		for (const struct export_format *format = export_formats; format->name; format++)
			for (const char *const *suffix = format->suffixes; *suffix; suffix++)
				append_name(list, sizeof(list), *suffix);
		append_name(list, sizeof(list), LOG_SUFFIX);
	}
	return list;
}

const char *format_check_path(const char *path)
{
	static char why[LIST_MAX + 64];
	const char *name = path_base(path);
	static const struct {
		const char *sign, *whole;
	} signs[] = {{"%p", "a log holds all processes"},
		     {"%c", "a log holds all cycles"},
		     {"%r", "a log holds all processes, and so all ranks"}};
	struct format format;

	if (format_path_is_folder(path))
		return strchr(path, '%') ? "a folder's name has no %: its files are named for you" : NULL;
	if (!*name)
		return "a file name is missing";
	if (!format_by_path(path, &format)) {
		snprintf(why, sizeof(why), "the suffix says no format; accepted are %s", format_suffixes());
		return why;
	}
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++) {
		const char *at = strstr(path, signs[i].sign);

		if (at && at < name)
			snprintf(why, sizeof(why), "%s is accepted in the file's name, not in its folder's",
				 signs[i].sign);
		else if (at && !format.writer)
			snprintf(why, sizeof(why), "%s; %s is for the other formats", signs[i].whole, signs[i].sign);
		else
			continue;
		return why;
	}
	return NULL;
}

const char *format_check_stdout(const struct format *format, bool is_terminal)
{
	if (format->needs_path)
		return "it can only be written into a file: --output FILE";
	if (format->binary && is_terminal)
		return "it is binary, and standard output is a terminal; > FILE or | COMMAND after it";
	return NULL;
}

bool format_path_is_archive(const char *path)
{
	return has_suffix(path, ARCHIVE_SUFFIX);
}

bool format_path_is_folder(const char *path)
{
	return *path && path[strlen(path) - 1] == '/';
}

char *format_path_in_folder(const char *folder, const char *host, uint64_t time_ns)
{
	char *name = xstrdup(*host ? host : "host"), *path;

	for (char *at = name; *at; at++)
		if (*at == '/' || *at == '%' || *at == '.') /* only what is before the first . is the worker's name */
			*at = '_';
	path = xasprintf("%s%s_%%p.%" PRIu64 ".pt.trace.json.gz", folder, name, time_ns);
	free(name);
	return path;
}

bool format_path_is_per_process(const char *path)
{
	return strstr(path, "%p") != NULL;
}

static char *path_with(const char *path, const char *sign, const char *instead)
{
	const char *mark = strstr(path, sign);
	AUTO_FREE char *rest = NULL;

	if (!mark)
		return xstrdup(path);
	rest = path_with(mark + 2, sign, instead);
	return xasprintf("%.*s%s%s", (int)(mark - path), path, instead, rest);
}

char *format_path_for_process(const char *path, const char *process)
{
	return path_with(path, "%p", process);
}

bool format_path_is_per_rank(const char *path)
{
	return strstr(path, "%r") != NULL;
}

char *format_path_for_rank(const char *path, int64_t rank, unsigned nth)
{
	char number[40];

	if (nth > 1)
		snprintf(number, sizeof(number), "%" PRId64 ".%u", rank, nth);
	else
		snprintf(number, sizeof(number), "%" PRId64, rank);
	return path_with(path, "%r", number);
}

bool format_path_is_per_cycle(const char *path)
{
	return strstr(path, "%c") != NULL;
}

char *format_path_for_cycle(const char *path, uint64_t cycle)
{
	char number[24];

	snprintf(number, sizeof(number), "%" PRIu64, cycle);
	return path_with(path, "%c", number);
}

char *format_path_for_piece(const char *path, unsigned number)
{
	const struct export_format *writer = export_format_by_suffix(path_base(path));
	size_t length = strlen(path), suffix = 0;

	for (const char *const *one = writer ? writer->suffixes : NULL; one && *one; one++)
		if (strlen(*one) > suffix && strlen(*one) < length && !strcasecmp(path + length - strlen(*one), *one))
			suffix = strlen(*one);
	return xasprintf("%.*s.%u%s", (int)(length - suffix), path, number, path + length - suffix);
}
