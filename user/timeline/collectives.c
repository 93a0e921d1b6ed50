/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "timeline/collectives.h"

#include <string.h>

static void draft_field(struct draft *draft, enum timeline_arg_key key, const struct collective *collective,
			enum gpt_collective_field field)
{
	draft_text(draft, key, collective->fields[field]);
}

static void draft_count(struct draft *draft, enum timeline_arg_key key, const struct collective *collective,
			enum gpt_collective_field field)
{
	draft_signed(draft, key, collective->numbers[field]);
}

static void draft_known(struct draft *draft, enum timeline_arg_key key, const struct collective *collective,
			enum gpt_collective_field field)
{
	if (collective->numbers[field] >= 0)
		draft_count(draft, key, collective, field);
}

/* What only the op has. */
static void draft_op_only(struct draft *draft, const struct collective *collective)
{
	const int64_t *numbers = collective->numbers;

	draft_count(draft, TIMELINE_ARG_RANK, collective, GPT_COLLECTIVE_RANK);
	if (numbers[GPT_COLLECTIVE_RANK_START] >= 0)
		draft_count(draft, TIMELINE_ARG_RANK_START, collective, GPT_COLLECTIVE_RANK_START);
	if (numbers[GPT_COLLECTIVE_RANK_STRIDE] > 0)
		draft_count(draft, TIMELINE_ARG_RANK_STRIDE, collective, GPT_COLLECTIVE_RANK_STRIDE);
	if (numbers[GPT_COLLECTIVE_ASYNC] >= 0)
		draft_arg(draft, TIMELINE_ARG_ASYNC)->truth = numbers[GPT_COLLECTIVE_ASYNC];
}

static void draft_peer(struct draft *draft, const struct collective *collective)
{
	bool is_send = !strcmp(collective->fields[GPT_COLLECTIVE_NAME], "send");

	if (collective->numbers[GPT_COLLECTIVE_PEER] >= 0)
		draft_count(draft, is_send ? TIMELINE_ARG_DESTINATION_RANK : TIMELINE_ARG_SOURCE_RANK, collective,
			    GPT_COLLECTIVE_PEER);
}

void draft_collective(struct draft *draft, const struct model *model, const struct model_collective *collective,
		      bool of_kernel, struct collective *room)
{
	if (!collective || !collective_read(room, model->strings[collective->params]))
		return;
	draft_field(draft, TIMELINE_ARG_COLLECTIVE, room, GPT_COLLECTIVE_NAME);
	draft_known(draft, TIMELINE_ARG_IN_ELEMENTS, room, GPT_COLLECTIVE_IN_ELEMENTS);
	draft_known(draft, TIMELINE_ARG_OUT_ELEMENTS, room, GPT_COLLECTIVE_OUT_ELEMENTS);
	draft_known(draft, TIMELINE_ARG_GROUP_SIZE, room, GPT_COLLECTIVE_GROUP_SIZE);
	draft_text(draft, TIMELINE_ARG_DTYPE, collective_dtype(room));
	draft_field(draft, TIMELINE_ARG_IN_SPLIT, room, GPT_COLLECTIVE_IN_SPLIT);
	draft_field(draft, TIMELINE_ARG_OUT_SPLIT, room, GPT_COLLECTIVE_OUT_SPLIT);
	if (room->fields[GPT_COLLECTIVE_GROUP][0])
		draft_field(draft, TIMELINE_ARG_GROUP, room, GPT_COLLECTIVE_GROUP);
	if (room->fields[GPT_COLLECTIVE_DESCRIPTION][0])
		draft_field(draft, TIMELINE_ARG_GROUP_DESCRIPTION, room, GPT_COLLECTIVE_DESCRIPTION);
	draft_field(draft, TIMELINE_ARG_GROUP_RANKS, room, GPT_COLLECTIVE_RANKS);
	if (!of_kernel)
		draft_op_only(draft, room);
	draft_peer(draft, room);
	if (collective->sequence < 0)
		return;
	draft_signed(draft, TIMELINE_ARG_COLLECTIVE_SEQUENCE, collective->sequence);
	draft_number(draft, TIMELINE_ARG_COLLECTIVE_ID, collective_id(room, collective->sequence));
}
