/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/chrome/codes.h"

void chrome_codes_begin(struct chrome_codes *codes)
{
	*codes = (struct chrome_codes){0};
	sink_open_memory(&codes->text);
	array_push(&codes->at, 0);
}

void chrome_codes_free(struct chrome_codes *codes)
{
	sink_close(&codes->text);
	array_free(&codes->at);
}

/* Functions are added as the trace is read. */
static void add_codes(struct chrome_codes *codes, const struct timeline *timeline)
{
	uint32_t count = timeline_code_count(timeline);

	for (uint32_t i = (uint32_t)(codes->at.count / 2); i < count; i++) {
		struct timeline_code code = timeline_code(timeline, i);

		sink_json_part(&codes->text, *code.file ? code.file : "?", true);
		sink_char(&codes->text, '(');
		array_push(&codes->at, codes->text.used);
		sink_literal(&codes->text, "): ");
		sink_json_part(&codes->text, code.name, true);
		array_push(&codes->at, codes->text.used);
	}
}

void chrome_put_code(struct sink *out, struct chrome_codes *codes, const struct timeline *timeline, uint32_t code,
		     uint32_t line)
{
	const size_t *at;

	if (2 * (size_t)code + 2 >= codes->at.count)
		add_codes(codes, timeline);
	at = codes->at.items + 2 * (size_t)code;
	sink_put(out, codes->text.buffer + at[0], at[1] - at[0]);
	sink_u64(out, line);
	sink_put(out, codes->text.buffer + at[1], at[2] - at[1]);
}
