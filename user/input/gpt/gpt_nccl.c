/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Launches by NCCL: what its caller asked for, in the form in which PyTorch describes its own collectives. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <gputrace/nccl.h>

#include "input/gpt/gpt_records.h"

/* c10::ScalarType by ncclDataType_t (nccl.h of NCCL 2.30.7; torch/headeronly/core/ScalarType.h of PyTorch 2.15). */
static const int scalar_types[GPT_NCCL_DTYPES] = {
	1,  /* ncclInt8: Char */
	0,  /* ncclUint8: Byte */
	3,  /* ncclInt32: Int */
	28, /* ncclUint32: UInt32 */
	4,  /* ncclInt64: Long */
	29, /* ncclUint64: UInt64 */
	5,  /* ncclFloat16: Half */
	6,  /* ncclFloat32: Float */
	7,  /* ncclFloat64: Double */
	15, /* ncclBfloat16: BFloat16 */
	24, /* ncclFloat8e4m3: Float8_e4m3fn */
	23, /* ncclFloat8e5m2: Float8_e5m2 */
};

static const char *name_of(uint8_t function)
{
	static const char *const names[GPT_NCCL_FUNCTIONS] = {[GPT_NCCL_SEVERAL] = "coalesced",
#define NAME(id, function, arguments, name) [GPT_NCCL_##id] = name,
							      GPT_NCCL_TABLE(NAME)
#undef NAME
	};

	return function < GPT_NCCL_FUNCTIONS ? names[function] : "";
}

/* The elements of all ranks; -1: not known. */
static int64_t of_all(const struct gpt_nccl *event)
{
	int64_t all;

	if (event->count < 0 || event->ranks <= 0 || __builtin_mul_overflow(event->count, (int64_t)event->ranks, &all))
		return -1;
	return all;
}

/* The elements that go into one rank and come out of it. */
static void elements_of(const struct gpt_nccl *event, int64_t *in, int64_t *out)
{
	*in = *out = event->count < 0 ? -1 : event->count;
	switch (event->function) {
	case GPT_NCCL_ALL_GATHER:
		*out = of_all(event);
		break;
	case GPT_NCCL_REDUCE_SCATTER:
		*in = of_all(event);
		break;
	case GPT_NCCL_ALL_TO_ALL:
		*in = *out = of_all(event);
		break;
	case GPT_NCCL_GATHER: /* only at the root, which is not recorded */
		*out = -1;
		break;
	case GPT_NCCL_SCATTER:
		*in = -1;
		break;
	}
}

/* The name is the same on all ranks if the communicator's creation was seen; else it is this process's own. */
static void name_communicator(const struct gpt_nccl *event, char *name, size_t size)
{
	if (event->comm_id)
		snprintf(name, size, "nccl:%016" PRIx64, (uint64_t)event->comm_id);
	else if (event->comm)
		snprintf(name, size, "0x%" PRIx64, (uint64_t)event->comm);
	else
		snprintf(name, size, "several");
}

#define TO "%s" GPT_COLLECTIVE_SEPARATOR
#define NUMBER "%" PRId64 GPT_COLLECTIVE_SEPARATOR

static bool add_launch(struct builder *builder, const struct gpt_nccl *event)
{
	const char *name = name_of(event->function);
	bool pair = event->function == GPT_NCCL_SEND || event->function == GPT_NCCL_RECV;
	bool has_ranks = event->ranks > 0 && event->ranks <= GPT_NCCL_RANKS_MAX;
	int64_t in, out, dtype = -1;
	char communicator[32], text[512];
	int size;
	struct model_collective launch = {
		.launch_ns = event->time_ns,
		.sequence = event->sequence < 0 || !event->comm_id ? -1 : event->sequence,
		.sends = event->sends,
		.receives = event->receives,
		.pairs_are_incomplete =
			event->more_pairs || (event->pairs && (event->pairs != event->calls || !event->comm)),
		.is_known_everywhere = event->comm_id != 0,
		.is_of_several = !event->comm,
	};

	if (event->function >= GPT_NCCL_FUNCTIONS) /* newer than this reader */
		return true;
	if (!*name)
		return false;
	if (event->dtype >= 0 && event->dtype < GPT_NCCL_DTYPES)
		dtype = scalar_types[event->dtype];
	elements_of(event, &in, &out);
	name_communicator(event, communicator, sizeof(communicator));
	/* the order is that of enum gpt_collective_field */
	size = snprintf(text, sizeof(text),
			TO TO TO TO TO TO NUMBER NUMBER NUMBER NUMBER NUMBER NUMBER NUMBER NUMBER NUMBER "%d", name,
			communicator, "", "[]", "[]", "[]", in, out, dtype,
			has_ranks && event->rank >= 0 && event->rank < event->ranks ? (int64_t)event->rank : -1,
			has_ranks ? (int64_t)event->ranks : -1, (int64_t)-1, (int64_t)-1, (int64_t)-1, (int64_t)pair,
			-1);
	builder_see_time(builder, event->time_ns);
	builder_add_nccl_launch(builder, event->pid, event->tid, launch, (struct text){text, (size_t)size});
	return true;
}

bool gpt_add_nccl(struct builder *builder, const struct sender *none, const struct gpt_record *record)
{
	struct gpt_nccl event = {};

	/* An older log's record is shorter: the other ranks of sends and receives are missing. */
	memcpy(&event, record, record->size < sizeof(event) ? record->size : sizeof(event));
	return add_launch(builder, &event);
}
