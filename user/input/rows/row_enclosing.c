/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "input/rows/row_enclosing.h"

#include <stdlib.h>
#include <string.h>

#include "input/rows/foreign_file.h"
#include "model/range_name.h"

#define NAME_BYTES 200 /* of a range or an op in a label */

/* Distinct things that can be open: one label for each, whatever numbers its name ends in. */
struct label {
	char *text;
	struct new_enclosing enclosing;
};

struct open {
	uint64_t end_ns;
	uint32_t label;
};

struct open_in_thread {
	ARRAY(struct open) all; /* by start */
};

struct row_enclosing {
	const struct foreign_file *file;
	struct lookup thread_lookup; /* (pid + 1, tid) to threads */
	ARRAY(struct open_in_thread) threads;
	struct lookup label_lookup; /* (1 + domain's text, or 0 for an op; text) to labels */
	struct lookup same_label;   /* (1, hash of the label) to labels */
	ARRAY(struct label) labels;
};

void row_enclosing_begin(struct row_enclosing *enclosing)
{
	if (!enclosing)
		return;
	for (size_t i = 0; i < enclosing->threads.count; i++)
		array_free(&enclosing->threads.items[i].all);
	for (size_t i = 0; i < enclosing->labels.count; i++)
		free(enclosing->labels.items[i].text);
	array_free(&enclosing->threads);
	array_free(&enclosing->labels);
	lookup_free(&enclosing->thread_lookup);
	lookup_free(&enclosing->label_lookup);
	lookup_free(&enclosing->same_label);
}

struct row_enclosing *row_enclosing_new(const struct foreign_file *file)
{
	struct row_enclosing *enclosing;

	if (file->rows.has_functions || file->stacks.count || foreign_is_of_gputrace(file))
		return NULL;
	enclosing = xcalloc(1, sizeof(*enclosing));
	enclosing->file = file;
	return enclosing;
}

void row_enclosing_free(struct row_enclosing *enclosing)
{
	row_enclosing_begin(enclosing);
	free(enclosing);
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

/* The text, cut, with an end; the caller frees it. */
static char *name_of(const struct row_enclosing *enclosing, uint32_t text)
{
	const struct rows *rows = &enclosing->file->rows;
	struct text name = text < rows->texts.count ? rows->texts.items[text] : (struct text){"", 0};
	char *copy = xasprintf("%.*s", (int)(name.size < NAME_BYTES ? name.size : NAME_BYTES), name.bytes);

	copy[range_name_length(copy)] = 0;
	return copy;
}

/* domain: text, ROW_NO_TEXT: the default one, or an op. */
static char *label_text(const struct row_enclosing *enclosing, bool is_op, uint32_t text, uint32_t domain)
{
	AUTO_FREE char *name = name_of(enclosing, text), *of = name_of(enclosing, domain);

	return xasprintf("%s %s%s%s%s", is_op ? "op" : "NVTX range", *name ? name : "(no name)", *of ? " [" : "", of,
			 *of ? "]" : "");
}

static uint32_t label_of(struct row_enclosing *enclosing, bool is_op, uint32_t text, uint32_t domain)
{
	uint32_t *known = lookup_put(&enclosing->label_lookup, is_op ? 1 : 2, (uint64_t)domain << 32 | text, NONE);
	uint32_t *same;
	char *label;

	if (*known != NONE)
		return *known;
	label = label_text(enclosing, is_op, text, domain);
	same = lookup_put(&enclosing->same_label, 1, hash_bytes(hash_seed(), label, strlen(label)),
			  (uint32_t)enclosing->labels.count);
	*known = *same;
	if (*same != enclosing->labels.count) {
		free(label);
		return *same;
	}
	array_push(&enclosing->labels,
		   ((struct label){.text = label, .enclosing = {.label = {label, strlen(label)}, .string = NONE}}));
	return *same;
}

/* ---- open ranges and ops ----------------------------------------------------------------------------------------- */

static struct open_in_thread *find_thread(struct row_enclosing *enclosing, const struct row *row)
{
	uint32_t *index = lookup_put(&enclosing->thread_lookup, foreign_epoch(row->pid), row->tid,
				     (uint32_t)enclosing->threads.count);

	if (*index == enclosing->threads.count)
		array_push(&enclosing->threads, ((struct open_in_thread){.all = {0}}));
	return &enclosing->threads.items[*index];
}

/* Removes what is over by then: ranges of a thread need not nest. */
static void remove_ended(struct open_in_thread *thread, uint64_t time_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < thread->all.count; i++)
		if (thread->all.items[i].end_ns > time_ns)
			thread->all.items[kept++] = thread->all.items[i];
	thread->all.count = kept;
}

static void add_row(struct row_enclosing *enclosing, const struct row *row, uint64_t end_ns, uint32_t label)
{
	struct open_in_thread *thread = find_thread(enclosing, row);

	remove_ended(thread, row->start_ns);
	if (thread->all.count < ROW_ENCLOSING_MAX)
		array_push(&thread->all, ((struct open){end_ns, label}));
}

void row_enclosing_add_range(struct row_enclosing *enclosing, const struct row_range *range)
{
	uint64_t end_ns = range->what == ROW_RANGE_WHOLE ? range->closes_ns : range->row.end_ns;

	if (!enclosing || (range->what != ROW_RANGE_PUSH && range->what != ROW_RANGE_WHOLE) || range->unfinished)
		return;
	add_row(enclosing, &range->row, end_ns, label_of(enclosing, false, range->row.text, range->named));
}

/* torch.profiler's mark of a step, which is no place in the program. */
static bool is_step(const struct row_enclosing *enclosing, uint32_t text)
{
	static const char step[] = "ProfilerStep#";
	const struct rows *rows = &enclosing->file->rows;

	return text < rows->texts.count && rows->texts.items[text].size >= strlen(step) &&
	       !memcmp(rows->texts.items[text].bytes, step, strlen(step));
}

void row_enclosing_add_op(struct row_enclosing *enclosing, const struct row_op *op)
{
	if (enclosing && !op->unfinished && !is_step(enclosing, op->row.text))
		add_row(enclosing, &op->row, op->row.end_ns, label_of(enclosing, true, op->row.text, ROW_NO_TEXT));
}

struct new_enclosing *row_enclosing_find(struct row_enclosing *enclosing, const struct row *row)
{
	struct open_in_thread *thread;

	if (!enclosing)
		return NULL;
	thread = find_thread(enclosing, row);
	remove_ended(thread, row->start_ns);
	if (!thread->all.count)
		return NULL;
	return &enclosing->labels.items[thread->all.items[thread->all.count - 1].label].enclosing;
}
