/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "timeline/rows/op_links.h"

#include <string.h>

#define KEPT (1u << 20)

static void forget_links(struct op_links_met *met)
{
	lookup_free(&met->forward);
	array_free(&met->list);
	memset(met, 0, sizeof(*met));
}

void op_links_free(struct op_links *links)
{
	forget_links(&links->now);
	forget_links(&links->before);
}

void op_links_begin_part(struct op_links *links)
{
	if (links->now.list.count < KEPT)
		return;
	forget_links(&links->before);
	links->before = links->now;
	memset(&links->now, 0, sizeof(links->now));
}

/* PyTorch's numbers of threads, and autograd's on each thread, start from small values. */
static uint64_t key_of(uint64_t torch_thread, int64_t sequence)
{
	return torch_thread << 44 ^ (uint64_t)sequence;
}

static uint32_t space_of(const struct model *model, const struct model_op *op)
{
	return model->threads[op->thread].process + 1;
}

void op_links_note(struct op_links *links, const struct model *model, const struct model_op *op)
{
	struct op_links_met *met = &links->now;
	struct op_link_begin begin = {.start_ns = op->start_ns, .thread = op->thread};
	uint32_t *known;

	if (op->sequence < 0 || op->forward_thread || !op->torch_thread || op->scope == GPT_AGENT_OP_USER_SCOPE)
		return;
	known = lookup_put(&met->forward, space_of(model, op), key_of(op->torch_thread, op->sequence),
			   (uint32_t)met->list.count);
	if (*known == met->list.count)
		array_push(&met->list, begin);
	else if (met->list.items[*known].start_ns <= op->start_ns)
		met->list.items[*known] = begin;
}

static bool take_link(struct op_links_met *met, uint32_t space, uint64_t key, struct op_link_begin *forward)
{
	uint32_t *known = lookup_get(&met->forward, space, key);

	if (!known || !met->list.items[*known].start_ns)
		return false;
	*forward = met->list.items[*known];
	met->list.items[*known].start_ns = 0;
	return true;
}

bool op_links_take(struct op_links *links, const struct model *model, const struct model_op *op,
		   struct op_link_begin *forward)
{
	uint64_t key = key_of(op->forward_thread, op->sequence);
	uint32_t space = space_of(model, op);

	if (op->scope != GPT_AGENT_OP_BACKWARD_FUNCTION || op->sequence < 0 || !op->forward_thread)
		return false;
	return take_link(&links->now, space, key, forward) || take_link(&links->before, space, key, forward);
}
