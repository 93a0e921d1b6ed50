/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Collections and imports.  On rows of their own: slices drawn from stacks may begin in the middle of an import and end
 * after it, and slices of one row have to nest.
 */
#include "export/chrome.h"

static void put_collection(struct chrome *chrome, const struct model_pyspan *span, uint32_t pid)
{
	static const char head[] = ",\n{\"ph\":\"X\",\"cat\":\"python_gc\",\"name\":\"gc";
	struct sink *out = chrome->out;

	sink_put(out, head, sizeof(head) - 1);
	if (span->generation >= 0) {
		sink_literal(out, " generation ");
		sink_i64(out, span->generation);
	}
	chrome_put_slice(chrome, "\"", 1, pid, chrome->span_tids[span->thread], span->start_ns, span->end_ns);
	if (span->generation >= 0) {
		sink_literal(out, "\"generation\":");
		sink_i64(out, span->generation);
		sink_char(out, ',');
	}
}

static void put_import(struct chrome *chrome, const struct model_pyspan *span, uint32_t pid)
{
	const char *module = chrome->model->strings[span->name];
	struct sink *out = chrome->out;

	sink_literal(out, ",\n{\"ph\":\"X\",\"cat\":\"python_import\",\"name\":\"import ");
	sink_json_part(out, module, false);
	chrome_put_slice(chrome, "\"", 1, pid, chrome->span_tids[span->thread], span->start_ns, span->end_ns);
	sink_literal(out, "\"module\":");
	sink_json(out, module);
	sink_char(out, ',');
}

void chrome_put_interpreter(struct chrome *chrome)
{
	const struct model *model = chrome->model;

	for (uint32_t i = 0; i < model->pyspan_count && !chrome->out->error; i++) {
		const struct model_pyspan *span = &model->pyspans[i];
		const struct model_thread *thread = &model->threads[span->thread];

		if (!chrome_has_process(chrome, thread->process))
			continue;
		if (span->kind == GPT_PYEVENT_GC)
			put_collection(chrome, span, chrome->pids[thread->process]);
		else
			put_import(chrome, span, chrome->pids[thread->process]);
		sink_literal(chrome->out, "\"thread\":");
		sink_u64(chrome->out, thread->tid);
		if (span->truncated)
			sink_literal(chrome->out, ",\"end\":\"not seen\"");
		sink_literal(chrome->out, "}}");
	}
}
