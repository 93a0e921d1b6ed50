/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads segments from the index, and chooses some of them. */
#include "input/gpt/gpt_places.h"

#include <stdlib.h>
#include <string.h>

#include "base/order.h"

#define FIRST 7u  /* at each eighth of the time range */
#define MOST 127u /* spread over the time range */
#define OTHERS 8u /* for what the first ones lack */
#define PIDS 256u /* pids that are distinguished */

/* ---- the index -------------------------------------------------------------------------------------------------- */

static void add_segment(struct gpt_places *places, const struct gpt_log_segment *header, uint64_t *before_ns)
{
	const struct gpt_log_kind *kinds = (const struct gpt_log_kind *)(header + 1);
	const uint32_t *pids = (const uint32_t *)(kinds + header->kinds);
	struct gpt_place place = {.from_ns = header->first_ns,
				  .to_ns = header->last_ns,
				  .bytes = header->header_size + log_segment_body_room(header),
				  .first_pid = (uint32_t)places->pids.count,
				  .segment = header->sequence,
				  .is_whole = !(header->flags & GPT_LOG_SEGMENT_FORGOT)};

	places->bytes += place.bytes;
	if (!header->first_ns && !header->last_ns)
		return;
	/* late reports of earlier times do not count: the calls of those times are in other segments */
	if (*before_ns > place.from_ns && *before_ns < place.to_ns)
		place.from_ns = *before_ns;
	if (place.to_ns > *before_ns)
		*before_ns = place.to_ns;
	for (uint32_t i = 0; i < header->kinds; i++) {
		place.records += kinds[i].count;
		if (kinds[i].type < 128)
			place.kinds[kinds[i].type / 64] |= 1ull << kinds[i].type % 64;
	}
	for (uint32_t i = 0; header->processes != GPT_LOG_ANY_PROCESS && i < header->processes; i++, place.pids++)
		array_push(&places->pids, pids[i]);
	array_push(&places->list, place);
}

DEFINE_ORDER(by_begin, struct gpt_place, least_first(a->from_ns, b->from_ns) ?: least_first(a->segment, b->segment))

bool gpt_places_find(int fd, struct gpt_places *places)
{
	const struct gpt_log_segment *header;
	struct log_reader reader;
	uint64_t before_ns = 0;
	const char *why;

	*places = (struct gpt_places){0};
	if (log_reader_open(&reader, fd, &why) == 0 && log_index_load(&reader.index, &reader.source) == 0)
		for (uint64_t at = reader.source.at;
		     reader.index.size && (header = log_index_header(&reader.index, at));
		     at += header->header_size + log_segment_body_room(header))
			add_segment(places, header, &before_ns);
	log_reader_close(&reader);
	array_sort(&places->list, by_begin);
	return places->list.count > 0;
}

void gpt_places_free(struct gpt_places *places)
{
	array_free(&places->list);
	array_free(&places->pids);
	array_free(&places->chosen);
}

/* ---- the choice ------------------------------------------------------------------------------------------------- */

static bool is_free(const struct gpt_place *place)
{
	return place->is_whole && !place->is_chosen;
}

/* The free place at that time, or the nearest one; the list's count: none. */
static size_t find_at(const struct gpt_places *places, uint64_t time_ns)
{
	const size_t count = places->list.count;
	size_t low = count_while(count, i, places->list.items[i].from_ns <= time_ns);

	low = low ? low - 1 : 0;
	for (size_t by = 0; by < count; by++) {
		if (by <= low && is_free(&places->list.items[low - by]))
			return low - by;
		if (low + by < count && is_free(&places->list.items[low + by]))
			return low + by;
	}
	return count;
}

static void choose_place(struct gpt_places *places, size_t index)
{
	places->list.items[index].is_chosen = true;
	array_push(&places->chosen, (uint32_t)index);
}

/* 1/2, 1/4, 3/4, 1/8, 3/8 and so on: each is in the middle of a widest gap. */
static double spread_number(uint32_t number)
{
	double part = 0, bit = 0.5;

	for (number++; number; number >>= 1) {
		part += number & 1 ? bit : 0;
		bit /= 2;
	}
	return part;
}

static uint64_t end_of(const struct gpt_places *places)
{
	uint64_t end_ns = 0;

	for (size_t i = 0; i < places->list.count; i++)
		if (places->list.items[i].to_ns > end_ns)
			end_ns = places->list.items[i].to_ns;
	return end_ns;
}

struct known {
	uint64_t kinds[2];
	uint32_t pids[PIDS], pid_count;
};

static bool knows_process(const struct known *known, uint32_t pid)
{
	if (known->pid_count == PIDS)
		return true;
	return any_of(known->pid_count, i, known->pids[i] == pid);
}

/* Whether a place has something unknown; adds that to what is known. */
static bool add_known(struct known *known, const struct gpt_places *places, const struct gpt_place *place)
{
	bool is_new = (place->kinds[0] & ~known->kinds[0]) || (place->kinds[1] & ~known->kinds[1]);

	known->kinds[0] |= place->kinds[0];
	known->kinds[1] |= place->kinds[1];
	for (uint32_t i = 0; i < place->pids; i++) {
		uint32_t pid = places->pids.items[place->first_pid + i];

		if (knows_process(known, pid))
			continue;
		known->pids[known->pid_count++] = pid;
		is_new = true;
	}
	return is_new;
}

static void choose_others(struct gpt_places *places)
{
	struct known known = {0};
	unsigned others = 0;

	for (size_t i = 0; i < places->chosen.count; i++)
		add_known(&known, places, &places->list.items[places->chosen.items[i]]);
	for (size_t i = 0; i < places->list.count && others < OTHERS; i++)
		if (is_free(&places->list.items[i]) && add_known(&known, places, &places->list.items[i])) {
			choose_place(places, i);
			others++;
		}
}

void gpt_places_choose(struct gpt_places *places, uint64_t most_bytes)
{
	uint64_t from_ns = places->list.count ? places->list.items[0].from_ns : 0, end_ns = end_of(places), bytes = 0;

	for (uint32_t number = 0; number < MOST; number++) {
		size_t index;

		if (number == FIRST) {
			choose_others(places);
			places->first = (uint32_t)places->chosen.count;
		}
		index = find_at(places, from_ns + (uint64_t)(spread_number(number) * (double)(end_ns - from_ns)));
		if (index == places->list.count || (number >= FIRST && bytes >= most_bytes))
			break;
		bytes += places->list.items[index].bytes;
		choose_place(places, index);
	}
	if (!places->first)
		places->first = (uint32_t)places->chosen.count;
}

struct log_restriction gpt_restrict_to_place(const struct gpt_place *place)
{
	return (struct log_restriction){.first_segment = place->segment, .segments = 1};
}
