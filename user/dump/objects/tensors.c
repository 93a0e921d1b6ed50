/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/objects/tensors.h"

#include <string.h>

/* THPVariable (torch/csrc/autograd/python_variable.h): cdata, up to 2.8 a c10::MaybeOwned, a flag before it */
#define VARIABLE_CDATA 16u
#define VARIABLE_CDATA_MAYBE 24u

/*
 * c10::TensorImpl and c10::StorageImpl begin with a vtable pointer and reference counts: two words up to 2.2, then one
 * (c10/util/intrusive_ptr.h).  A TensorImpl goes on with its storage and its AutogradMeta, a StorageImpl with the data
 * pointer, context, deleter and device of a DataPtr, then the number of bytes.
 */
#define TENSOR_WORDS 20u
#define STORAGE_WORDS 8u
#define COUNTS_ONE 2u /* index of the first word after the counts */
#define COUNTS_TWO 3u
#define STORAGE_BYTES 4u	/* words after the data pointer */
#define COUNT_MAX 0xffffffffull /* a weak count is less, an address in user space is more */

/*
 * torch::autograd::AutogradMeta (torch/csrc/autograd/variable.h): a vtable pointer, a std::string of 32 bytes (8 in
 * wheels with the strings of before C++11), grad_, grad_fn_
 */
#define META_WORDS 8u
#define META_GRAD 5u
#define META_GRAD_OLD_STRINGS 2u

struct impl {
	uint64_t words[TENSOR_WORDS];
	unsigned first; /* index of the first word after the counts */
};

static bool read_impl(const struct python_reader *reader, uint64_t address, unsigned words, struct impl *out)
{
	if (!address || address % 8 || !python_read(reader, address, out->words, words * sizeof(*out->words)))
		return false;
	out->first = out->words[COUNTS_ONE] && out->words[COUNTS_ONE] <= COUNT_MAX ? COUNTS_TWO : COUNTS_ONE;
	return true;
}

/* Whether it has the address of its Python object; the lowest bit of that is a flag. */
static bool belongs_to(const struct impl *impl, uint64_t object)
{
	for (unsigned i = impl->first; i < TENSOR_WORDS; i++)
		if ((impl->words[i] & ~1ull) == object)
			return true;
	return false;
}

static struct tensor_storage read_storage(const struct python_reader *reader, const struct impl *tensor)
{
	struct impl storage;

	if (!read_impl(reader, tensor->words[tensor->first], STORAGE_WORDS, &storage))
		return (struct tensor_storage){0};
	/* Both have the same counts: what the tensor's say is also true of the storage. */
	return (struct tensor_storage){storage.words[tensor->first], storage.words[tensor->first + STORAGE_BYTES]};
}

/*
 * A gradient is a TensorImpl of the same class as the tensor, which its vtable pointer shows.  A short string (at 8) of
 * the new kind begins with the address of its own characters.
 */
static void read_meta(const struct python_reader *reader, const struct impl *tensor, struct tensor *out)
{
	uint64_t meta[META_WORDS], address = tensor->words[tensor->first + 1];
	struct impl grad;
	unsigned at;

	if (!address || address % 8 || !python_read(reader, address, meta, sizeof(meta)))
		return;
	at = meta[1] == address + 24 ? META_GRAD : META_GRAD_OLD_STRINGS;
	if (read_impl(reader, meta[at], TENSOR_WORDS, &grad) && grad.words[0] == tensor->words[0])
		out->grad = read_storage(reader, &grad);
	out->has_graph = meta[at + 1] != 0;
}

bool tensor_read(const struct python_reader *reader, uint64_t object, struct tensor *out)
{
	static const unsigned places[] = {VARIABLE_CDATA, VARIABLE_CDATA_MAYBE};
	struct impl tensor;

	*out = (struct tensor){0};
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (read_impl(reader, python_read_word(reader, object + places[i]), TENSOR_WORDS, &tensor) &&
		    belongs_to(&tensor, object)) {
			out->own = read_storage(reader, &tensor);
			read_meta(reader, &tensor, out);
			return true;
		}
	return false;
}
