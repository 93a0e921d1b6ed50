/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compilation by the driver, on a row beside the thread it happened on: inside its call, but CUPTI's times are not good
 * enough for slices to nest in it.
 */
#include <inttypes.h>
#include <stdio.h>

#include "export/chrome.h"

void chrome_number_jits(struct chrome *chrome)
{
	const struct model *model = chrome->model;

	chrome->jit_row = xmalloc(model->jit_count * sizeof(*chrome->jit_row));
	for (uint32_t i = 0; i < model->jit_count; i++) {
		const struct model_jit *jit = &model->jits[i];

		chrome->jit_row[i] = TRACK_NONE;
		if (!chrome_has_process(chrome, jit->process))
			continue;
		chrome->jit_row[i] = tracks_place(&chrome->jit_rows, (struct tally_key){{jit->process, jit->tid}},
						  jit->start_ns, jit->end_ns);
		chrome->jits_not_plotted += chrome->jit_row[i] == TRACK_NONE;
	}
	for (uint32_t i = 0; i < chrome->jit_rows.all.count; i++)
		chrome->jit_rows.all.items[i].tid = CHROME_JIT_TID + i;
}

void chrome_name_jit_row(const struct track *row, char *text, size_t size)
{
	char lane[32] = "";

	if (row->lane)
		snprintf(lane, sizeof(lane), " (overlap %" PRIu32 ")", row->lane);
	if (row->key.part[1])
		snprintf(text, size, "thread %" PRIu32 " JIT%s", row->key.part[1], lane);
	else
		snprintf(text, size, "JIT%s", lane);
}

void chrome_put_jits(struct chrome *chrome)
{
	const struct model *model = chrome->model;
	struct sink *out = chrome->out;

	for (uint32_t i = 0; i < model->jit_count && !out->error; i++) {
		const struct model_jit *jit = &model->jits[i];

		if (chrome->jit_row[i] == TRACK_NONE)
			continue;
		sink_literal(out, ",\n{\"ph\":\"X\",\"cat\":\"jit\",\"name\":");
		sink_json(out, jit_name(jit));
		chrome_put_slice(chrome, "", 0, chrome->pids[jit->process],
				 chrome->jit_rows.all.items[chrome->jit_row[i]].tid, jit->start_ns, jit->end_ns);
		sink_literal(out, "\"cache bytes\":");
		sink_u64(out, jit->bytes);
		if (jit->call != NONE) {
			sink_literal(out, ",\"of call\":");
			sink_u64(out, chrome_correlation(chrome, jit->call));
		}
		sink_literal(out, "}}");
	}
}
