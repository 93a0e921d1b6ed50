/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/chrome/codes.h"

#include <stdlib.h>

#include "base/array.h"

void chrome_codes_make(struct chrome_codes *codes, const struct timeline *timeline)
{
	uint32_t count = timeline_code_count(timeline);

	sink_open_memory(&codes->text);
	codes->at = xmalloc((2 * (size_t)count + 1) * sizeof(*codes->at));
	for (uint32_t i = 0; i < count; i++) {
		struct timeline_code code = timeline_code(timeline, i);

		codes->at[2 * (size_t)i] = codes->text.used;
		sink_json_part(&codes->text, *code.file ? code.file : "?", true);
		sink_char(&codes->text, '(');
		codes->at[2 * (size_t)i + 1] = codes->text.used;
		sink_literal(&codes->text, "): ");
		sink_json_part(&codes->text, code.name, true);
	}
	codes->at[2 * (size_t)count] = codes->text.used;
}

void chrome_codes_free(struct chrome_codes *codes)
{
	sink_close(&codes->text);
	free(codes->at);
}

void chrome_put_code(struct sink *out, const struct chrome_codes *codes, uint32_t code, uint32_t line)
{
	const size_t *at = &codes->at[2 * (size_t)code];

	sink_put(out, codes->text.buffer + at[0], at[1] - at[0]);
	sink_u64(out, line);
	sink_put(out, codes->text.buffer + at[1], at[2] - at[1]);
}
