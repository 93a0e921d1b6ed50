/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "base/generated_path.h"

#include <string.h>

#include "base/array.h"
#include "base/path.h"

/*
 * Inductor writes what it compiles into files named by a hash (torch/_inductor/codecache.py, code_hash and get_path):
 * ".../y3/cy3gisdmn7kmudikk4le27rpytixf6syvy7jzx35ptltwsw7sgy4.py", "c" and 51 characters of base 32, in a folder named
 * by the first two of these.
 */
#define HASHED_NAME 52u

bool file_is_generated(const char *path)
{
	const char *name = path_base(path);

	if (strstr(path, "/torchinductor_"))
		return true;
	return name - path >= 3 && strspn(name, "abcdefghijklmnopqrstuvwxyz234567") == HASHED_NAME &&
	       !strcmp(name + HASHED_NAME, ".py") && *name == 'c' && name[-1] == '/' && !strncmp(name - 3, name + 1, 2);
}

char *generated_name_shorten(const char *name, uint32_t line)
{
	enum { BEGIN = 8, END = 3 };
	size_t length = strlen(name);

	return length <= 2 * (BEGIN + END) ? NULL : xasprintf("%.*s...%s:%u", BEGIN, name, name + length - END, line);
}

/* What follows the folder of a notebook's process in the path; NULL: it is no notebook's path. */
static const char *after_notebook(const char *path)
{
	static const char folder[] = "/ipykernel_";
	const char *at = strstr(path, folder);
	size_t digits;

	if (!at)
		return NULL;
	at += strlen(folder);
	digits = strspn(at, "0123456789");
	return digits && at[digits] == '/' ? at + digits + 1 : NULL;
}

bool file_is_cell(const char *path)
{
	const char *name = after_notebook(path);
	size_t digits = name ? strspn(name, "0123456789") : 0;

	return digits && !strcmp(name + digits, ".py");
}
