/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Each kind has a queue of segments; a piece ends where any segment begins or ends. */
#include "analyze/breakdown/sweep.h"

#include <stdbool.h>

static struct sweep_segment *head_of(struct sweep_queue *queue)
{
	return queue->next < queue->segments.count ? &queue->segments.items[queue->next] : NULL;
}

static void drop_until(struct sweep_queue *queue, uint64_t time_ns)
{
	while (queue->next < queue->segments.count && queue->segments.items[queue->next].to_ns <= time_ns)
		queue->next++;
	if (queue->next == queue->segments.count)
		queue->next = queue->segments.count = 0;
}

/* The piece from now on; false: there are no segments before until_ns. */
static bool find_piece(struct sweep *sweep, uint64_t until_ns, struct sweep_piece *piece)
{
	bool some = false;

	*piece = (struct sweep_piece){.from_ns = sweep->now_ns, .to_ns = until_ns};
	for (enum sweep_kind kind = 0; kind < SWEEP_KINDS; kind++) {
		const struct sweep_segment *head = head_of(&sweep->queues[kind]);
		uint64_t next_ns;

		if (!head)
			continue;
		next_ns = head->from_ns > sweep->now_ns ? head->from_ns : head->to_ns;
		if (head->from_ns <= sweep->now_ns)
			piece->owners[kind] = &head->owner;
		if (next_ns < piece->to_ns)
			piece->to_ns = next_ns;
		some |= head->from_ns < until_ns;
	}
	return some;
}

void sweep_until(struct sweep *sweep, uint64_t until_ns, sweep_take *take, void *context)
{
	struct sweep_piece piece;

	while (sweep->now_ns < until_ns && find_piece(sweep, until_ns, &piece)) {
		if (piece.owners[SWEEP_COMPUTATION] || piece.owners[SWEEP_COMMUNICATION] || piece.owners[SWEEP_COPY])
			take(context, &piece);
		sweep->now_ns = piece.to_ns;
		for (enum sweep_kind kind = 0; kind < SWEEP_KINDS; kind++)
			drop_until(&sweep->queues[kind], sweep->now_ns);
	}
	if (sweep->now_ns < until_ns)
		sweep->now_ns = until_ns;
}

void sweep_add(struct sweep *sweep, enum sweep_kind kind, uint64_t start_ns, uint64_t end_ns, struct sweep_owner owner,
	       sweep_take *take, void *context)
{
	struct sweep_queue *queue = &sweep->queues[kind];
	uint64_t from_ns = start_ns > queue->until_ns ? start_ns : queue->until_ns;

	sweep_until(sweep, start_ns, take, context);
	if (end_ns <= from_ns)
		return;
	queue->until_ns = end_ns;
	array_push(&queue->segments, ((struct sweep_segment){from_ns, end_ns, owner}));
}

void sweep_free(struct sweep *sweep)
{
	for (enum sweep_kind kind = 0; kind < SWEEP_KINDS; kind++)
		array_free(&sweep->queues[kind].segments);
}
