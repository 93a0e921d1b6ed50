/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Names of functions as users write them:
 *
 *	handle, Server.handle	     the qualified name, or its end after a dot
 *	app.server.Server.handle     a module, and the qualified name in it: of a file .../app/server.py
 *	server.py, app.server	     before a colon: the file, or the module
 *	server.py:81		     the line where the function begins: its def, or its first decorator
 */
#include "model/steps/step_functions.h"

#include <ctype.h>
#include <string.h>

/* Whether the text is `in`, or ends in it after that character. */
static bool ends_after(const char *text, const char *in, char after)
{
	size_t length = strlen(text), wanted = strlen(in);

	return length >= wanted && !strcmp(text + length - wanted, in) &&
	       (length == wanted || text[length - wanted - 1] == after);
}

/* The length of the path without that end; 0: it ends differently. */
static size_t length_without(const char *path, size_t length, const char *end)
{
	size_t cut = strlen(end);

	return length > cut && !strncmp(path + length - cut, end, cut) ? length - cut : 0;
}

/* Whether the file is of the module, whose dotted name has that length: core.py and core/__init__.py are "core". */
static bool is_module(const char *file, const char *module, size_t length)
{
	size_t plain = length_without(file, strlen(file), ".py"), package = length_without(file, plain, "/__init__");
	size_t rest = package ? package : plain;

	if (!length || rest < length || (rest > length && file[rest - length - 1] != '/'))
		return false;
	return !any_of(length, i, file[rest - length + i] != (module[i] == '.' ? '/' : module[i]));
}

/* "app.server.Server.handle": one of its dots separates the module from the whole qualified name. */
static bool is_in_module(const struct model_code *code, const char *name)
{
	for (const char *dot = strchr(name, '.'); dot; dot = strchr(dot + 1, '.'))
		if (!strcmp(code->name, dot + 1) && is_module(code->file, name, (size_t)(dot - name)))
			return true;
	return false;
}

static bool is_of_file(const struct model_code *code, const char *file)
{
	return ends_after(code->file, file, '/') || is_module(code->file, file, strlen(file));
}

bool step_is_function(const struct step_request *request, const struct model_code *code)
{
	if (request->file && !is_of_file(code, request->file))
		return false;
	if (request->line)
		return code->first_line == request->line;
	return ends_after(code->name, request->name, '.') || (!request->file && is_in_module(code, request->name));
}

/* ---- similar names ----------------------------------------------------------------------------------------------- */

/* The part after the last dot. */
static const char *last_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot ? dot + 1 : name;
}

#define NAME_MAX_COMPARED 64u

static unsigned least_of(unsigned a, unsigned b, unsigned c)
{
	unsigned least = a < b ? a : b;

	return least < c ? least : c;
}

/* The number of letters to insert, delete or replace, ignoring case; UINT32_MAX: a name is too long. */
static unsigned count_edits(const char *left, const char *right)
{
	unsigned row[NAME_MAX_COMPARED + 1];
	size_t width = strlen(right);

	if (width > NAME_MAX_COMPARED || strlen(left) > NAME_MAX_COMPARED)
		return UINT32_MAX;
	for (unsigned i = 0; i <= width; i++)
		row[i] = i;
	for (unsigned i = 0; left[i]; i++) {
		unsigned diagonal = row[0];

		row[0] = i + 1;
		for (size_t k = 0; k < width; k++) {
			bool same = tolower((unsigned char)left[i]) == tolower((unsigned char)right[k]);
			unsigned here = least_of(row[k] + 1, row[k + 1] + 1, diagonal + !same);

			diagonal = row[k + 1];
			row[k + 1] = here;
		}
	}
	return row[width];
}

/* Whether at most a third of the letters of the names' last parts differ, or one contains the other. */
static bool is_similar(const struct step_request *request, const struct model_code *code)
{
	const char *seen = last_part(code->name), *wanted = last_part(request->name);

	if (request->line)
		return is_of_file(code, request->file);
	if (!*seen || !code->described)
		return false;
	return count_edits(seen, wanted) <= strlen(wanted) / 3 || (strlen(wanted) > 2 && strstr(seen, wanted)) ||
	       (strlen(seen) > 2 && strstr(wanted, seen));
}

/* Adds a function once: processes that run the same file may have separate code objects. */
static void add_once(struct step_function_list *list, const struct model_code *code)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].line == code->first_line && !strcmp(list->items[i].name, code->name) &&
		    !strcmp(list->items[i].file, code->file))
			return;
	if (list->count == STEP_FUNCTIONS_MAX) {
		list->more = true;
		return;
	}
	array_push(list, ((struct step_function){
				 .name = xstrdup(code->name), .file = xstrdup(code->file), .line = code->first_line}));
}

void step_functions_find(struct steps *steps, const struct step_request *request, const struct model *last)
{
	for (uint32_t i = 0; i < last->code_count; i++) {
		if (step_is_function(request, &last->codes[i]))
			add_once(&steps->functions, &last->codes[i]);
		else if (is_similar(request, &last->codes[i]))
			add_once(&steps->similar, &last->codes[i]);
	}
}

static void free_list(struct step_function_list *list)
{
	for (size_t i = 0; i < list->count; i++) {
		free(list->items[i].name);
		free(list->items[i].file);
	}
	array_free(list);
}

void step_functions_free(struct steps *steps)
{
	free_list(&steps->functions);
	free_list(&steps->similar);
}
