/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/sums/kernel_family.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "analyze/events/operation_pack.h"
#include "base/array.h"

/* The name that demanglers write for an unnamed namespace. */
static bool begins_unnamed(const char *at)
{
	return !strncmp(at, "(anonymous namespace)", 21);
}

/* Skips the return type, which a demangled template has. */
static const char *skip_type(const char *name)
{
	int depth = 0;

	for (const char *at = name; *at; at++) {
		if (*at == '(' && !depth && !begins_unnamed(at))
			return name;
		if (*at == '<' || *at == '(')
			depth++;
		else if ((*at == '>' || *at == ')') && depth)
			depth--;
		else if (*at == ' ' && !depth)
			return at[1] ? at + 1 : name;
	}
	return name;
}

/* The number of digits of a number that stands alone or in a product; 0: it is none. */
static size_t number_length(const char *begin, const char *at)
{
	size_t length = strspn(at, "0123456789");

	if (!length || at == begin || (at[-1] != '_' && at[-1] != 'x'))
		return 0;
	return isalpha((unsigned char)at[length]) && at[length] != 'x' ? 0 : length;
}

char *kernel_family(const char *name)
{
	char *family = xmalloc(strlen(name) + 1), *to = family;
	const char *begin = skip_type(name), *at = begin;
	int depth = 0;

	while (*at) {
		bool unnamed = begins_unnamed(at);

		if (*at == '(' && !depth && !unnamed)
			break;
		if (unnamed && !depth) {
			memcpy(to, at, 21);
			to += 21;
			at += 21;
		} else if (*at == '<') {
			depth++;
			at++;
		} else if (*at == '>' && depth) {
			depth--;
			at++;
		} else if (depth) {
			at++;
		} else if (number_length(begin, at)) {
			at += number_length(begin, at);
			*to++ = '#';
		} else {
			*to++ = *at++;
		}
	}
	*to = '\0';
	if (to == family)
		memcpy(family, name, strlen(name) + 1);
	return family;
}

char *operation_family(const struct model *model, uint32_t packed)
{
	struct model_gpu op = operation_unpack(packed);
	char buffer[256];

	if (op.kind == MODEL_KERNEL && op.name != NONE)
		return kernel_family(model->strings[op.name]);
	return xstrdup(gpu_name(model, &op, buffer, sizeof(buffer)));
}
