/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Walks over the text with as much JSON syntax as these arrays need: accepted text can be copied to a JSON file. */
#include "model/op_inputs.h"

#define DEPTH_MAX 3 /* inputs, tensors of a list, dimensions */

struct walk {
	const char *at, *end;
};

static bool take_character(struct walk *walk, char c)
{
	if (walk->at == walk->end || *walk->at != c)
		return false;
	walk->at++;
	return true;
}

static bool take_number(struct walk *walk)
{
	const char *first;

	take_character(walk, '-');
	first = walk->at;
	while (walk->at < walk->end && *walk->at >= '0' && *walk->at <= '9')
		walk->at++;
	return walk->at > first && (*first != '0' || walk->at == first + 1);
}

/* PyTorch's type names and numbers have no characters that need escaping. */
static bool take_string(struct walk *walk)
{
	while (walk->at < walk->end && *walk->at != '"') {
		if (*walk->at == '\\' || (unsigned char)*walk->at < ' ')
			return false;
		walk->at++;
	}
	return take_character(walk, '"');
}

static bool take_array(struct walk *walk, bool of_strings, int depth);

static bool take_element(struct walk *walk, bool of_strings, int depth)
{
	if (of_strings)
		return take_character(walk, '"') && take_string(walk);
	if (take_character(walk, '['))
		return depth < DEPTH_MAX && take_array(walk, false, depth + 1);
	return depth > 1 && take_number(walk);
}

/* Starts after the opening bracket. */
static bool take_array(struct walk *walk, bool of_strings, int depth)
{
	if (take_character(walk, ']'))
		return true;
	do {
		take_character(walk, ' ');
		if (!take_element(walk, of_strings, depth))
			return false;
	} while (take_character(walk, ','));
	return take_character(walk, ']');
}

bool op_inputs_split(const char *text, size_t size, struct op_inputs_part_text parts[OP_INPUTS_PARTS])
{
	struct walk walk = {text, text + size};

	for (int i = 0; i < OP_INPUTS_PARTS; i++) {
		if (i && !take_character(&walk, ' '))
			return false;
		parts[i].text = walk.at;
		if (!take_character(&walk, '[') ||
		    !take_array(&walk, i == OP_INPUTS_TYPES || i == OP_INPUTS_CONCRETE, 1))
			return false;
		parts[i].size = (size_t)(walk.at - parts[i].text);
	}
	return walk.at == walk.end;
}
