/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts the slips between two words: letters that are missing, wrong, too many or swapped. */
#include "cmd/options/nearest.h"

#include <stdio.h>
#include <string.h>

#define NEAR 2u /* the most slips */
#define FAR (NEAREST_NAME_MAX + 1)

static unsigned least_of(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* How many letters have to be put in, left out, replaced or swapped with the next one to make `name` of `word`. */
static unsigned count_edits(const char *word, const char *name)
{
	unsigned rows[NEAREST_NAME_MAX + 1][NEAREST_NAME_MAX + 1];
	size_t w = strlen(word), n = strlen(name);

	if (w > NEAREST_NAME_MAX || n > NEAREST_NAME_MAX)
		return FAR;
	for (size_t i = 0; i <= w; i++) {
		for (size_t j = 0; j <= n; j++) {
			if (!i || !j) {
				rows[i][j] = (unsigned)(i + j);
				continue;
			}
			rows[i][j] = least_of(least_of(rows[i - 1][j], rows[i][j - 1]) + 1,
					      rows[i - 1][j - 1] + (word[i - 1] != name[j - 1]));
			if (i > 1 && j > 1 && word[i - 1] == name[j - 2] && word[i - 2] == name[j - 1])
				rows[i][j] = least_of(rows[i][j], rows[i - 2][j - 2] + 1);
		}
	}
	return rows[w][n];
}

struct nearest nearest_to(const char *word)
{
	return (struct nearest){.word = word, .distance = FAR};
}

void nearest_offer(struct nearest *nearest, const char *name)
{
	unsigned found = count_edits(nearest->word, name);

	/* More than half a word is no slip. */
	if (found > NEAR || found >= nearest->distance || 2 * found >= strlen(nearest->word))
		return;
	nearest->distance = found;
	snprintf(nearest->name, sizeof(nearest->name), "%s", name);
}

void nearest_offer_list(struct nearest *nearest, const char *names)
{
	while (*names) {
		size_t length = strcspn(names, "|, ");
		char name[NEAREST_NAME_MAX + 1];

		if (length && length <= NEAREST_NAME_MAX) {
			snprintf(name, sizeof(name), "%.*s", (int)length, names);
			if (strcmp(name, "and") != 0)
				nearest_offer(nearest, name);
		}
		names += length + (names[length] != 0);
	}
}

struct nearest_question nearest_question(const char *word, const char *names)
{
	struct nearest nearest = nearest_to(word);
	struct nearest_question question = {""};

	nearest_offer_list(&nearest, names);
	if (*nearest.name)
		snprintf(question.text, sizeof(question.text), ": did you mean %s?", nearest.name);
	return question;
}
