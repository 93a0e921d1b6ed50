/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads a name from left to right into a buffer that it cannot outgrow: each step copies a piece or drops it.  Name
 * spaces and parameter lists are always dropped.  Template arguments that say nothing by themselves (numbers, plain
 * types) are dropped only if the rest would still be long: `gemm<float, 128>` keeps them.
 */
#include "report/table/kernel_label.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define WHOLE_MOST 40u /* bytes; longer names lose arguments that say nothing */
#define TAG_LONG 16u   /* bytes; a tag of this length or more is a hash */
#define DEPTH_MOST 32u /* nesting of template arguments; a name that nests deeper is left as it is */

struct reading {
	const char *at; /* the rest of the name */
	char *label;	/* the text kept so far, not terminated */
	size_t length;
	bool brief;  /* drop arguments that say nothing */
	bool failed; /* the name has no known form */
};

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

static bool skip_text(struct reading *reading, const char *text)
{
	size_t length = strlen(text);

	if (strncmp(reading->at, text, length) != 0)
		return false;
	reading->at += length;
	return true;
}

static void keep_character(struct reading *reading)
{
	reading->label[reading->length++] = *reading->at++;
}

static bool kept_ends(const struct reading *reading, size_t begin, const char *text)
{
	size_t length = strlen(text);

	return reading->length - begin >= length && !memcmp(reading->label + reading->length - length, text, length);
}

/* Words that tell a reader nothing: numbers, plain types, and what most kernels of PyTorch carry. */
static bool says_nothing(const char *word, size_t length)
{
	static const char *const words[] = {
		"const",
		"float",
		"double",
		"int",
		"long",
		"short",
		"char",
		"bool",
		"unsigned",
		"signed",
		"void",
		"true",
		"false",
		"size_t",
		"array",
		"Array",
		"tuple",
		"TensorIteratorBase",
		"TensorIterator",
		"TensorListMetadata",
		"TensorListScalarListMetadata",
		"TensorInfo",
		"OpaqueType",
		"OffsetCalculator",
		"TrivialOffsetCalculator",
		"LoadWithoutCast",
		"StoreWithoutCast",
	};

	if (isdigit((unsigned char)*word))
		return true;
	return any_of(sizeof(words) / sizeof(words[0]), i,
		      strlen(words[i]) == length && !memcmp(words[i], word, length));
}

/* Whether all words of an argument say nothing. */
static bool argument_says_nothing(const char *argument, size_t length)
{
	for (size_t at = 0; at < length;) {
		size_t end = at;

		while (end < length && in_name(argument[end]))
			end++;
		if (end > at && !says_nothing(argument + at, end - at))
			return false;
		at = end > at ? end : at + 1;
	}
	return true;
}

static void read_name(struct reading *reading, unsigned depth);

/* "<a, b>": keeps the arguments that say something; drops the brackets if there are none. */
static void read_arguments(struct reading *reading, unsigned depth)
{
	size_t open = reading->length;
	bool any = false;

	do {
		size_t begin = reading->length, name;

		keep_character(reading); /* '<' or ',' */
		if (begin > open && any && *reading->at == ' ')
			keep_character(reading);
		else if (begin > open && !any)
			reading->length = begin;
		name = reading->length;
		read_name(reading, depth + 1);
		if (reading->length == name ||
		    (reading->brief && argument_says_nothing(reading->label + name, reading->length - name)))
			reading->length = any ? begin : open + 1;
		else
			any = true;
	} while (!reading->failed && *reading->at == ',');
	if (*reading->at != '>')
		reading->failed = true;
	else
		keep_character(reading);
	if (!any)
		reading->length = open;
}

/* Skips from an opening bracket past its closing one; ignores brackets of other kinds. */
static void skip_brackets(struct reading *reading, char open, char close)
{
	size_t depth = 0;

	for (; *reading->at; reading->at++) {
		depth += *reading->at == open;
		depth -= *reading->at == close;
		if (!depth) {
			reading->at++;
			return;
		}
	}
	reading->failed = true;
}

/* "(int, float)", "(anonymous namespace)", "(NormType)" in front of a number, " (kernels.py:12)" after a name. */
static void read_parentheses(struct reading *reading, size_t begin, unsigned depth)
{
	static const char call[] = "::operator";

	if (skip_text(reading, "(anonymous namespace)")) {
		skip_text(reading, "::");
		return;
	}
	if (!depth && kept_ends(reading, begin, " ")) {
		while (*reading->at)
			keep_character(reading);
		return;
	}
	skip_brackets(reading, '(', ')');
	if (kept_ends(reading, begin, "operator") && *reading->at == '(')
		skip_brackets(reading, '(', ')');
	if (kept_ends(reading, begin, call))
		reading->length -= strlen(call);
	skip_text(reading, " const");
}

/* "::": drops the name space before it within arguments; a lambda after it has no name to keep. */
static void read_scope(struct reading *reading, size_t begin, unsigned depth)
{
	bool is_lambda = reading->at[2] == '{';
	bool is_space = !is_lambda && depth && reading->length > begin && in_name(reading->at[-1]);

	if (is_space)
		while (reading->length > begin && in_name(reading->label[reading->length - 1]))
			reading->length--;
	if (!is_space && !is_lambda) {
		keep_character(reading);
		keep_character(reading);
	} else {
		reading->at += 2;
	}
}

/*
 * "[abi:v1]" after a name, "[abi:c8tJTIcFKzyF2ILShI4CrgQE...]": Numba's number of a function, and how it was compiled.
 */
static void read_tag(struct reading *reading)
{
	const char *end = strchr(reading->at, ']');

	if (!end || strncmp(reading->at, "[abi:", 5) != 0) {
		keep_character(reading);
	} else if ((size_t)(end - reading->at) >= TAG_LONG) {
		reading->at = end + 1;
	} else {
		while (reading->at <= end)
			keep_character(reading);
	}
}

/* Reads a name up to ',' or '>' of the arguments that it is in, or to the end. */
static void read_name(struct reading *reading, unsigned depth)
{
	size_t begin = reading->length;

	if (depth > DEPTH_MOST)
		reading->failed = true;
	while (!reading->failed && *reading->at) {
		char c = *reading->at;
		bool is_operator = kept_ends(reading, begin, "operator") && strchr("<>", c);

		if (depth && (c == ',' || c == '>'))
			break;
		if (c == '<' && !is_operator)
			read_arguments(reading, depth);
		else if (c == '(')
			read_parentheses(reading, begin, depth);
		else if (c == '[')
			read_tag(reading);
		else if (c == '{')
			skip_brackets(reading, '{', '}');
		else if (c == ':' && reading->at[1] == ':')
			read_scope(reading, begin, depth);
		else if (c == ')' || c == '}' || (c == '>' && !depth && !is_operator))
			reading->failed = true;
		else if (c == ' ' && (reading->at[1] == '>' || reading->length == begin))
			reading->at++;
		else
			keep_character(reading);
	}
}

static bool read_whole(struct reading *reading, const char *name, bool brief)
{
	*reading = (struct reading){.at = name, .label = reading->label, .brief = brief};
	skip_text(reading, "void ");
	while (skip_text(reading, "at::native::") || skip_text(reading, "at::cuda::") ||
	       skip_text(reading, "(anonymous namespace)::"))
		continue;
	read_name(reading, 0);
	reading->label[reading->length] = '\0';
	return !reading->failed && reading->length;
}

/*
 * A kernel of Tensile (rocBLAS, hipBLASLt): "Cijk_Ailk_Bljk_HHS_BH_MT128x128x64_MI16x16x1_SN_1LDSB0_APM1_...", the
 * product, its types, the tile, then how it is computed, in some 300 bytes.  Returns the length up to the tile, 0: it
 * is none.
 */
static size_t tensile_length(const char *name)
{
	static const char custom[] = "Custom_", product[] = "Cijk_", tile[] = "_MT";
	const char *begin = strncmp(name, custom, sizeof(custom) - 1) ? name : name + sizeof(custom) - 1, *at;

	if (strncmp(begin, product, sizeof(product) - 1) != 0)
		return 0;
	for (at = begin; (at = strstr(at, tile)); at++) {
		const char *end = at + sizeof(tile) - 1;
		size_t digits = strspn(end, "0123456789");

		if (digits && end[digits] == 'x')
			return (size_t)(end - name) + strspn(end, "0123456789x");
	}
	return 0;
}

char *kernel_label(const char *name)
{
	size_t tensile = tensile_length(name);
	struct reading reading = {.label = xmalloc(strlen(name) + 1)};

	if (tensile && strlen(name) > WHOLE_MOST) {
		memcpy(reading.label, name, tensile);
		reading.label[tensile] = '\0';
		return reading.label;
	}
	if (read_whole(&reading, name, false) && reading.length <= WHOLE_MOST)
		return reading.label;
	if (read_whole(&reading, name, true))
		return reading.label;
	free(reading.label);
	return xstrdup(name);
}
