/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "model/collectives.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

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
	char *at;

	if (size > sizeof(collective->text))
		return false;
	memcpy(collective->text, params, size);
	at = collective->text;
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
static const struct dtype {
	const char *name;
	unsigned bytes;
} dtypes[] = {
	{"Byte", 1},
	{"Char", 1},
	{"Short", 2},
	{"Int", 4},
	{"Long", 8},
	{"Half", 2},
	{"Float", 4},
	{"Double", 8},
	{"ComplexHalf", 4},
	{"ComplexFloat", 8},
	{"ComplexDouble", 16},
	{"Bool", 1},
	{"QInt8", 1},
	{"QUInt8", 1},
	{"QInt32", 4},
	{"BFloat16", 2},
	{"QUInt4x2", 1},
	{"QUInt2x4", 1},
	{"Bits1x8", 1},
	{"Bits2x4", 1},
	{"Bits4x2", 1},
	{"Bits8", 1},
	{"Bits16", 2},
	{"Float8_e5m2", 1},
	{"Float8_e4m3fn", 1},
	{"Float8_e5m2fnuz", 1},
	{"Float8_e4m3fnuz", 1},
	{"UInt16", 2},
	{"UInt32", 4},
	{"UInt64", 8},
	{"UInt1", 1},
	{"UInt2", 1},
	{"UInt3", 1},
	{"UInt4", 1},
	{"UInt5", 1},
	{"UInt6", 1},
	{"UInt7", 1},
	{"Int1", 1},
	{"Int2", 1},
	{"Int3", 1},
	{"Int4", 1},
	{"Int5", 1},
	{"Int6", 1},
	{"Int7", 1},
	{"Float8_e8m0fnu", 1},
	{"Float4_e2m1fn_x2", 1},
	{"BComplex32", 4},
};

static const struct dtype *dtype_of(const struct collective *collective)
{
	static const struct dtype unknown = {"UNKNOWN_SCALAR", 0};
	int64_t type = collective->numbers[GPT_COLLECTIVE_DTYPE];

	return type >= 0 && type < (int64_t)(sizeof(dtypes) / sizeof(dtypes[0])) ? &dtypes[type] : &unknown;
}

const char *collective_dtype(const struct collective *collective)
{
	return dtype_of(collective)->name;
}

int64_t collective_dtype_number(const char *name, size_t size)
{
	return value_of_first(sizeof(dtypes) / sizeof(dtypes[0]), i,
			      strlen(dtypes[i].name) == size && !memcmp(dtypes[i].name, name, size), (int64_t)i, -1);
}

unsigned collective_element_bytes(const struct collective *collective)
{
	return dtype_of(collective)->bytes;
}

bool collective_is_one_way(const struct collective *collective)
{
	static const char *const names[] = {"broadcast", "reduce", "gather", "scatter"};

	return any_of(sizeof(names) / sizeof(names[0]), i, !strcmp(collective->fields[GPT_COLLECTIVE_NAME], names[i]));
}

int64_t collective_bytes(const struct collective *collective)
{
	int64_t in = collective->numbers[GPT_COLLECTIVE_IN_ELEMENTS], bytes;
	int64_t out = collective->numbers[GPT_COLLECTIVE_OUT_ELEMENTS], most = in > out ? in : out;
	unsigned element = collective_element_bytes(collective);

	if (most < 0 || (most && !element) || __builtin_mul_overflow(most, (int64_t)element, &bytes))
		return -1;
	return bytes;
}

/* ---- ids and keys -------------------------------------------------------------------------------------------------
 */

static uint64_t shift_mix(uint64_t value)
{
	return value ^ value >> 47;
}

static uint64_t load_bytes(const char *text, size_t bytes)
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
		hash ^= shift_mix(load_bytes(text, 8) * mul) * mul;
		hash *= mul;
	}
	if (left) {
		hash ^= load_bytes(text, left);
		hash *= mul;
	}
	hash = shift_mix(hash) * mul;
	return shift_mix(hash);
}

/* c10::hash_combine (c10/util/hash.h). */
static uint64_t combine_hash(uint64_t hash, uint64_t value)
{
	return hash ^ (value + 0x9e3779b9u + (hash << 6) + (hash >> 2));
}

uint64_t collective_id(const struct collective *collective, int64_t sequence)
{
	const int64_t *numbers = collective->numbers;
	uint64_t hash = hash_text(collective->fields[GPT_COLLECTIVE_GROUP]);

	hash = combine_hash((uint64_t)sequence, hash);
	hash = combine_hash((uint64_t)(numbers[GPT_COLLECTIVE_POINT_TO_POINT] == 1), hash);
	hash = combine_hash((uint64_t)numbers[GPT_COLLECTIVE_RANK_START], hash);
	hash = combine_hash((uint64_t)numbers[GPT_COLLECTIVE_RANK_STRIDE], hash);
	return combine_hash((uint64_t)numbers[GPT_COLLECTIVE_GROUP_SIZE], hash);
}

uint64_t collective_group_key(const struct collective *collective)
{
	const int64_t *numbers = collective->numbers;
	uint64_t hash = hash_text(collective->fields[GPT_COLLECTIVE_GROUP]);

	hash = combine_hash((uint64_t)numbers[GPT_COLLECTIVE_RANK_START], hash);
	hash = combine_hash((uint64_t)numbers[GPT_COLLECTIVE_RANK_STRIDE], hash);
	return combine_hash((uint64_t)numbers[GPT_COLLECTIVE_GROUP_SIZE], hash);
}

/*
 * Adds the sequence number again, spread over all bits, as combine_hash() loses bits of numbers that are close to each
 * other.
 */
uint64_t collective_key(const struct collective *collective, int64_t sequence)
{
	uint64_t spread = (uint64_t)sequence * 0x9e3779b97f4a7c15u;

	return (collective_id(collective, sequence) ^ spread ^ spread >> 32) * 0x9e3779b97f4a7c15u;
}

/* FNV-1a of the name. */
uint64_t collective_key_of_op(const struct collective *collective, int64_t sequence)
{
	uint64_t hash = collective_key(collective, sequence);

	for (const char *at = collective->fields[GPT_COLLECTIVE_NAME]; *at; at++)
		hash = (hash ^ (uint8_t)*at) * 0x100000001b3u;
	return hash;
}

size_t collectives_keep_latest(struct model_collective *items, size_t count)
{
	if (count <= 2 * COLLECTIVES_MAX)
		return count;
	memmove(items, items + count - COLLECTIVES_MAX, COLLECTIVES_MAX * sizeof(*items));
	return COLLECTIVES_MAX;
}

static int compare_op(const void *wanted, const void *at)
{
	const uint64_t *op = wanted;
	const struct model_collective *collective = at;

	return (*op > collective->op) - (*op < collective->op);
}

const struct model_collective *model_collective_of(const struct model *model, uint64_t op)
{
	return model->collective_count ? bsearch(&op, model->collectives, model->collective_count,
						 sizeof(*model->collectives), compare_op)
				       : NULL;
}

static int compare_launch(const void *wanted, const void *at)
{
	const struct model_call *call = wanted;
	const struct model_collective *collective = at;

	if (call->start_ns != collective->launch_ns)
		return call->start_ns < collective->launch_ns ? -1 : 1;
	return (call->thread > collective->thread) - (call->thread < collective->thread);
}

const struct model_collective *model_nccl_call_of(const struct model *model, const struct model_call *call)
{
	return model->nccl_call_count ? bsearch(call, model->nccl_calls, model->nccl_call_count,
						sizeof(*model->nccl_calls), compare_launch)
				      : NULL;
}

const struct model_collective *model_collective_of_call(const struct model *model, const struct model_call *call)
{
	const struct model_collective *of_op = call->op ? model_collective_of(model, call->op) : NULL;

	return of_op ? of_op : model_nccl_call_of(model, call);
}
