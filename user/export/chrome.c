/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Chrome trace (Kineto's dialect of it): what Perfetto, chrome://tracing, HTA and the TensorBoard plugin
 * read.  This file puts the parts in order; docs/formats.md says what each part holds.
 */
#include "export/chrome.h"

#include <stdlib.h>

#include "base/array.h"
#include "export/export.h"

/* Names of code objects are written millions of times: escaped once. */
static void escape_codes(struct chrome *chrome)
{
	const struct model *model = chrome->model;

	sink_open_memory(&chrome->code_text);
	chrome->code_at = xmalloc((2 * (size_t)model->code_count + 1) * sizeof(*chrome->code_at));
	for (uint32_t i = 0; i < model->code_count; i++) {
		chrome->code_at[2 * (size_t)i] = chrome->code_text.used;
		sink_json_part(&chrome->code_text, *model->codes[i].file ? model->codes[i].file : "?", true);
		chrome->code_at[2 * (size_t)i + 1] = chrome->code_text.used;
		sink_json_part(&chrome->code_text, model->codes[i].name, true);
	}
	chrome->code_at[2 * (size_t)model->code_count] = chrome->code_text.used;
}

/*
 * One step over everything, on the thread with most calls: without any step the TensorBoard plugin makes nonsense
 * of a file, and HTA's critical path needs an annotation to start from.
 */
static void put_step(struct chrome *chrome)
{
	static const char head[] = ",\n{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#0\"";
	const struct model *model = chrome->model;
	uint32_t busiest = NONE;

	for (uint32_t i = 0; i < model->thread_count; i++)
		if (chrome_has_process(chrome, model->threads[i].process) &&
		    (busiest == NONE || model->threads[i].calls > model->threads[busiest].calls))
			busiest = i;
	if (busiest == NONE)
		return;
	chrome_put_slice(chrome, head, sizeof(head) - 1, chrome->pids[model->threads[busiest].process],
			 chrome->tids[busiest], chrome->base_ns, chrome->end_ns);
	sink_literal(chrome->out, "\"External id\":1,\"Record function id\":0,\"Ev Idx\":0}}");
}

int chrome_write(struct sink *sink, const struct model *model, const struct export_options *options)
{
	struct chrome chrome = {.out = sink, .model = model};

	chrome_ids_make(&chrome, options->process);
	escape_codes(&chrome);
	chrome_put_head(&chrome);
	chrome_put_names(&chrome);
	put_step(&chrome);
	chrome_put_python(&chrome);
	chrome_put_interpreter(&chrome);
	chrome_put_ranges(&chrome);
	chrome_put_jits(&chrome);
	chrome_put_calls(&chrome);
	chrome_put_gpu(&chrome);
	chrome_put_syncs(&chrome);
	chrome_put_memory(&chrome);
	chrome_put_overheads(&chrome);
	sink_literal(sink, "\n]}\n");
	sink_close(&chrome.code_text);
	free(chrome.code_at);
	chrome_ids_free(&chrome);
	return 0;
}
