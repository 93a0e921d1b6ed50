/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Two hash tables with open addressing, half full at most; see op_names.h. */
#include "agent/torch/op_names.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#define SLOTS (2 * OP_NAMES_MAX)
#define TRUNCATION_MARK "..."

struct name {
	uint64_t hash; /* 0: free */
	uint32_t id, at, bytes;
};

struct half {
	struct name slots[SLOTS];
	uint32_t count, used;
	char text[OP_NAMES_BYTES_MAX] __attribute__((aligned(4096)));
};

static struct {
	struct half *now, *before;
	uint32_t last_id; /* in all sessions: no id is used twice, and none has the bits that mark its kind */
} names;

bool op_names_open(void)
{
	struct half *halves;

	if (names.now)
		return true;
	halves = mmap(NULL, 2 * sizeof(*halves), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		      -1, 0);
	if (halves == MAP_FAILED)
		return false;
	names.now = halves;
	names.before = halves + 1;
	return true;
}

static void clear_half(struct half *half)
{
	madvise(half, sizeof(*half), MADV_DONTNEED);
}

void op_names_release(void)
{
	clear_half(names.now);
	clear_half(names.before);
}

/* The slot of that hash, or the free slot for it. */
static struct name *find_slot(struct half *half, uint64_t hash)
{
	uint32_t i = (uint32_t)(hash % SLOTS);

	while (half->slots[i].hash && half->slots[i].hash != hash)
		i = (i + 1) % SLOTS;
	return &half->slots[i];
}

static void send_name(struct batch *batch, const struct half *half, const struct name *name)
{
	struct gpt_agent_name *record = batch_add(batch, GPT_AGENT_NAME, sizeof(*record) + name->bytes);

	record->id = name->id;
	record->bytes = name->bytes;
	memcpy(record->text, half->text + name->at, name->bytes);
}

static struct name *keep_name(struct half *half, uint64_t hash, uint32_t id, const char *text, uint32_t bytes)
{
	struct name *name = find_slot(half, hash);

	*name = (struct name){hash, id, half->used, bytes};
	memcpy(half->text + half->used, text, bytes);
	half->used += bytes;
	half->count++;
	return name;
}

static bool has_room(const struct half *half, uint32_t bytes)
{
	return half->count < OP_NAMES_MAX && bytes <= OP_NAMES_BYTES_MAX - half->used;
}

static void swap_halves(void)
{
	struct half *before = names.before;

	names.before = names.now;
	names.now = before;
	clear_half(before);
}

/* Drops an incomplete UTF-8 character at the end; returns the remaining bytes. */
static uint32_t whole_characters(const char *text, uint32_t bytes)
{
	while (bytes && ((uint8_t)text[bytes] & 0xc0) == 0x80)
		bytes--;
	return bytes;
}

static bool add_name(struct batch *batch, uint64_t hash, uint32_t what, const char *text, uint32_t bytes,
		     bool is_longer)
{
	const uint32_t mark = sizeof(TRUNCATION_MARK) - 1;
	uint32_t id = op_names_id(hash);
	bool room;
	struct name *name;

	if (id ? find_slot(names.now, hash)->hash != 0 : names.last_id == OP_NAMES_IDS)
		return true;
	if (is_longer)
		bytes = whole_characters(text, bytes - 1);
	room = has_room(names.now, bytes + mark);
	if (!room)
		swap_halves();
	name = keep_name(names.now, hash, id ? id : ++names.last_id | what, text, bytes);
	if (is_longer) {
		memcpy(names.now->text + names.now->used, TRUNCATION_MARK, mark);
		names.now->used += mark;
		name->bytes += mark;
	}
	if (!id)
		send_name(batch, names.now, name);
	return room;
}

bool op_names_add(struct batch *batch, uint64_t hash, const char *text, uint32_t bytes, bool is_longer)
{
	return add_name(batch, hash, GPT_AGENT_NAME_OF_OP, text, bytes, is_longer);
}

bool op_names_add_inputs(struct batch *batch, uint64_t hash, const char *text, uint32_t bytes)
{
	return add_name(batch, hash, GPT_AGENT_NAME_OF_INPUTS, text, bytes, false);
}

void op_names_use_up(uint32_t left)
{
	names.last_id = OP_NAMES_IDS - left;
}

bool op_names_has(uint64_t hash)
{
	return find_slot(names.now, hash)->hash;
}

uint32_t op_names_id(uint64_t hash)
{
	struct name *name;

	if (!hash)
		return 0;
	name = find_slot(names.now, hash);
	if (!name->hash)
		name = find_slot(names.before, hash);
	return name->hash ? name->id : 0;
}

void op_names_repeat(struct batch *batch)
{
	const struct half *halves[] = {names.before, names.now};
	size_t h, i;

	for (h = 0; h < 2; h++)
		for (i = 0; i < SLOTS; i++)
			if (halves[h]->slots[i].hash && (h || !find_slot(names.now, halves[h]->slots[i].hash)->hash))
				send_name(batch, halves[h], &halves[h]->slots[i]);
}
