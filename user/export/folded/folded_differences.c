/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/folded/folded.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/order.h"
#include "export/folded/folded_lines.h"

/* Writes a stack; its key is its frames by lines. */
static void put_stack(struct sink *sink, const char *key)
{
	struct sink line;
	char *frames = xstrdup(key), *rest = frames, *frame;

	sink_open_memory(&line);
	while ((frame = strsep(&rest, "\n")))
		folded_put_frame(&line, frame);
	sink_put(sink, line.buffer, line.used);
	sink_close(&line);
	free(frames);
}

DEFINE_ORDER(by_key, struct difference_row *const,
	     strcmp(((*a)->before ? (*a)->before : (*a)->after)->key, ((*b)->before ? (*b)->before : (*b)->after)->key))

int folded_differences_write(int fd, const struct differences *all)
{
	size_t count = all->stacks.list.count;
	const struct difference_row **sorted = xcalloc(count, sizeof(*sorted));
	struct sink sink;

	for (size_t i = 0; i < count; i++)
		sorted[i] = &all->stacks.list.items[i];
	qsort(sorted, count, sizeof(*sorted), by_key);
	sink_open(&sink, fd, false);
	for (size_t i = 0; i < count; i++) {
		put_stack(&sink, (sorted[i]->before ? sorted[i]->before : sorted[i]->after)->key);
		sink_char(&sink, ' ');
		sink_u64(&sink, (uint64_t)round(sorted[i]->cost.before));
		sink_char(&sink, ' ');
		sink_u64(&sink, (uint64_t)round(sorted[i]->cost.after));
		sink_char(&sink, '\n');
	}
	free(sorted);
	return sink_close(&sink);
}
