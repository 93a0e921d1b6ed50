/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/ranks/rank_numbers.h"

#include <stdio.h>
#include <string.h>

/* An element of a list such as "[0, 2, 4]"; -1: the list has none at that place, or is abbreviated. */
static int64_t of_list(const char *list, int64_t place)
{
	long long value = -1;

	if (strstr(list, "..."))
		return -1;
	for (list += *list == '['; place > 0 && list; place--) {
		list = strchr(list, ',');
		list = list ? list + 1 : NULL;
	}
	return list && sscanf(list, "%lld", &value) == 1 ? value : -1;
}

/*
 * Members of a group are numbered from 0.  Their ranks in the job follow from the group's list, or from its first rank
 * and the stride.
 */
static int64_t global_rank(const struct collective *collective)
{
	const int64_t *numbers = collective->numbers;
	int64_t rank = numbers[GPT_COLLECTIVE_RANK], size = numbers[GPT_COLLECTIVE_GROUP_SIZE], listed;

	if (rank < 0 || rank >= size || size > INT32_MAX)
		return -1;
	listed = of_list(collective->fields[GPT_COLLECTIVE_RANKS], rank);
	if (listed >= 0)
		return listed;
	if (numbers[GPT_COLLECTIVE_RANK_START] < 0 || numbers[GPT_COLLECTIVE_RANK_START] > INT32_MAX ||
	    numbers[GPT_COLLECTIVE_RANK_STRIDE] < 0 || numbers[GPT_COLLECTIVE_RANK_STRIDE] > INT32_MAX)
		return rank;
	return numbers[GPT_COLLECTIVE_RANK_START] + rank * numbers[GPT_COLLECTIVE_RANK_STRIDE];
}

/* Whether the group has every rank of the job; earlier versions of PyTorch give no description. */
static bool is_of_all(const struct collective *collective)
{
	const char *about = collective->fields[GPT_COLLECTIVE_DESCRIPTION];

	return !*about || !strcmp(about, "default_pg");
}

/* The largest group determines the rank. */
static void add_group(struct rank_number *number, const struct collective *collective)
{
	int64_t size = collective->numbers[GPT_COLLECTIVE_GROUP_SIZE];

	if (is_of_all(collective) && size > number->world)
		number->world = size;
	if (number->is_known && size <= number->largest)
		return;
	number->is_known = true;
	number->largest = size;
	number->rank = global_rank(collective);
}

static struct rank_number *find_gpu(const struct rank_numbers *numbers, uint32_t device)
{
	return array_find(&numbers->gpus, item, item->device == device);
}

void rank_numbers_add(struct rank_numbers *numbers, uint32_t device, const struct collective *collective, bool is_op)
{
	add_group(&numbers->all, collective);
	numbers->has_ops |= is_op;
	if (!find_gpu(numbers, device))
		array_push(&numbers->gpus, ((struct rank_number){.device = device}));
	add_group(find_gpu(numbers, device), collective);
}

void rank_numbers_add_unnumbered(struct rank_numbers *numbers, uint32_t device)
{
	numbers->all.unnumbered++;
	find_gpu(numbers, device)->unnumbered++;
}

void rank_numbers_free(struct rank_numbers *numbers)
{
	array_free(&numbers->gpus);
}
