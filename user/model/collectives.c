/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/collectives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_NUMBER GPT_COLLECTIVE_IN_ELEMENTS

static bool read_numbers(struct collective *collective)
{
	char *end;

	for (int i = FIRST_NUMBER; i < GPT_COLLECTIVE_FIELDS; i++) {
		errno = 0;
		collective->numbers[i] = strtoll(collective->fields[i], &end, 10);
		if (errno || end == collective->fields[i] || *end)
			return false;
	}
	return true;
}

bool collective_read(struct collective *collective, const char *params)
{
	size_t size = strlen(params) + 1;
	char *at = collective->text;

	if (size > sizeof(collective->text))
		return false;
	memcpy(collective->text, params, size);
	for (int i = 0; i < GPT_COLLECTIVE_FIELDS; i++) {
		collective->fields[i] = at;
		at = strstr(at, GPT_COLLECTIVE_SEPARATOR);
		if (!at != (i == GPT_COLLECTIVE_FIELDS - 1))
			return false;
		if (at) {
			*at = '\0';
			at += sizeof(GPT_COLLECTIVE_SEPARATOR) - 1;
		}
	}
	return read_numbers(collective);
}

/* c10::ScalarType of PyTorch 2.15 (torch/headeronly/core/ScalarType.h); earlier versions have the same, but fewer. */
const char *collective_dtype(const struct collective *collective)
{
	static const char *const names[] = {
		"Byte",
		"Char",
		"Short",
		"Int",
		"Long",
		"Half",
		"Float",
		"Double",
		"ComplexHalf",
		"ComplexFloat",
		"ComplexDouble",
		"Bool",
		"QInt8",
		"QUInt8",
		"QInt32",
		"BFloat16",
		"QUInt4x2",
		"QUInt2x4",
		"Bits1x8",
		"Bits2x4",
		"Bits4x2",
		"Bits8",
		"Bits16",
		"Float8_e5m2",
		"Float8_e4m3fn",
		"Float8_e5m2fnuz",
		"Float8_e4m3fnuz",
		"UInt16",
		"UInt32",
		"UInt64",
		"UInt1",
		"UInt2",
		"UInt3",
		"UInt4",
		"UInt5",
		"UInt6",
		"UInt7",
		"Int1",
		"Int2",
		"Int3",
		"Int4",
		"Int5",
		"Int6",
		"Int7",
		"Float8_e8m0fnu",
		"Float4_e2m1fn_x2",
		"BComplex32",
	};
	int64_t type = collective->numbers[GPT_COLLECTIVE_DTYPE];

	return type >= 0 && type < (int64_t)(sizeof(names) / sizeof(names[0])) ? names[type] : "UNKNOWN_SCALAR";
}

/* ---- its number ---------------------------------------------------------------------------------------------------
 */

static uint64_t shift_mix(uint64_t value)
{
	return value ^ value >> 47;
}

static uint64_t load(const char *text, size_t bytes)
{
	uint64_t value = 0;

	memcpy(&value, text, bytes);
	return value;
}

/* std::hash<std::string> of libstdc++ (libsupc++/hash_bytes.cc: MurmurHash64A with the seed of functional_hash.h). */
static uint64_t hash_text(const char *text)
{
	const uint64_t mul = 0xc6a4a7935bd1e995u;
	size_t left = strlen(text);
	uint64_t hash = 0xc70f6907u ^ left * mul;

	for (; left >= 8; text += 8, left -= 8) {
		hash ^= shift_mix(load(text, 8) * mul) * mul;
		hash *= mul;
	}
	if (left) {
		hash ^= load(text, left);
		hash *= mul;
	}
	hash = shift_mix(hash) * mul;
	return shift_mix(hash);
}

/* c10::hash_combine (c10/util/hash.h). */
static uint64_t combine(uint64_t hash, uint64_t value)
{
	return hash ^ (value + 0x9e3779b9u + (hash << 6) + (hash >> 2));
}

uint64_t collective_id(const struct collective *collective, int64_t sequence)
{
	const int64_t *numbers = collective->numbers;
	uint64_t hash = hash_text(collective->fields[GPT_COLLECTIVE_GROUP]);

	hash = combine((uint64_t)sequence, hash);
	hash = combine((uint64_t)(numbers[GPT_COLLECTIVE_POINT_TO_POINT] == 1), hash);
	hash = combine((uint64_t)numbers[GPT_COLLECTIVE_RANK_START], hash);
	hash = combine((uint64_t)numbers[GPT_COLLECTIVE_RANK_STRIDE], hash);
	return combine((uint64_t)numbers[GPT_COLLECTIVE_GROUP_SIZE], hash);
}

const struct model_collective *model_collective_of(const struct model *model, uint64_t op)
{
	uint32_t low = 0, high = model->collective_count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (model->collectives[middle].op < op)
			low = middle + 1;
		else
			high = middle;
	}
	return low < model->collective_count && model->collectives[low].op == op ? &model->collectives[low] : NULL;
}
