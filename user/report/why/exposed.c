/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/why/exposed.h"

#include <stdlib.h>

#include "model/communication.h"
#include "report/table/text.h"

struct exposed exposed_of(const struct analyses *all)
{
	const struct breakdown *breakdown = &all->breakdown;
	struct exposed exposed = {.is_of_steps = true};

	for (size_t i = 0; i < all->steps.list.count && breakdown->slots; i++) {
		exposed.ns += breakdown_of_steps(breakdown, i).exposed_communication_ns;
		exposed.whole_ns += all->steps.list.items[i].wall_ns * breakdown->step_gpus[i];
	}
	if (exposed.whole_ns)
		return exposed;
	exposed = (struct exposed){.ns = breakdown->all.exposed_communication_ns};
	for (size_t i = 0; i < breakdown->gpus.count; i++)
		exposed.whole_ns += breakdown->gpus.items[i].sums.last_ns - breakdown->gpus.items[i].sums.first_ns;
	return exposed;
}

char *exposed_text(const struct analyses *all, const struct exposed *exposed)
{
	const struct breakdown *breakdown = &all->breakdown;
	const struct breakdown_line *row = &breakdown->lines.items[0];
	const char *word = row->name == NONE ? "communication" : communication_word(all->model->strings[row->name]);
	uint32_t line = row->user_line == NONE ? row->line : row->user_line;
	AUTO_FREE char *place = line_name(&all->lines, line, LINE_ALONE);
	char *text;
	size_t more = 0;

	while (more + 1 < breakdown->lines.count && breakdown->lines.items[more + 1].exposed_communication_ns)
		more++;
	text = xasprintf("Exposed communication: %s %% of the %s: %s at %s",
			 number_percent((double)exposed->ns, (double)exposed->whole_ns).text,
			 exposed->is_of_steps ? "steps" : "time from the first operation to the last", word, place);
	if (more)
		text = xjoin(text, ", ", xasprintf("and %zu more line%s", more, more > 1 ? "s" : ""));
	return text;
}
