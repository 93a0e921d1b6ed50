/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every cause of loss in a receipt, as listed in losses.h: used for the receipt, the report and the completeness. */
#include <string.h>

#include "model/model.h"

void model_losses(const struct model_receipt *receipt, struct model_loss losses[MODEL_LOSSES])
{
	const struct model_loss all[MODEL_LOSSES] = {
#define COUNTER(counter, name, kind, words) {#name, words, receipt->counters[GPT_COUNTER_##counter], GPT_LOST_##kind},
#define MEMBER(member, name, kind, words) {#name, words, receipt->member, GPT_LOST_##kind},
		GPT_COUNTER_LOSSES(COUNTER) GPT_AGENT_LOSSES(MEMBER) GPT_RECORD_LOSSES(MEMBER)
#undef MEMBER
#undef COUNTER
	};

	memcpy(losses, all, sizeof(all));
}
