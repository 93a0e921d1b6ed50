/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Causes that are Python's own: a DataLoader, imports, garbage collection. */
#include <string.h>

#include "report/why/why_causes.h"

/* The text after the #: "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__". */
static char *data_words(const struct model *model, const struct idle_row *row)
{
	const char *name = why_seen_by(row->extra) == WHY_SEEN_BY_OP ? why_name(model, row->detail) : NULL;
	const char *mark = name ? strchr(name, '#') : NULL;

	return xasprintf("in %s", mark ? mark + 1 : "DataLoader.__next__");
}

static char *text_before(const char *what, char *label)
{
	char *text = xasprintf("before the %s at %s", what, label);

	free(label);
	return text;
}

static char *data_place(const struct analyses *all, const struct why_line *line, char *label, enum line_brevity brevity)
{
	if (why_seen_by(line->extra) == WHY_SEEN_BY_STACKS)
		return label;
	return text_before(why_seen_by(line->extra) == WHY_SEEN_BY_FRAMES ? "DataLoader's call" : "launch", label);
}

static const char *loader_of(const char *name)
{
	const char *mark = strchr(name, '#');

	return mark ? mark + 1 : name;
}

static char *data_evidence(const struct analyses *all, const struct why_loss *loss, const char *others)
{
	AUTO_FREE char *often = NULL;
	char *text;

	if (why_seen_by(loss->lines[0].extra) == WHY_SEEN_BY_STACKS)
		return cause_waited(all, loss, others);
	often = cause_how_often(loss);
	if (why_seen_by(loss->lines[0].extra) == WHY_SEEN_BY_FRAMES)
		text = xasprintf("The GPU ran out of work %s, and the next CUDA call was made inside the DataLoader "
				 "(%s of torch/utils/data/dataloader.py). Without %s it is not seen when the loop "
				 "came to that: what it did just before counts, too.",
				 often, all->model->codes[loss->lines[0].detail].name,
				 model_is_of_other_tool(all->model) ? "ops of PyTorch" : "--ops");
	else
		text = xasprintf("The GPU had nothing to do while the program was in %s, %s.",
				 loader_of(why_name(all->model, loss->lines[0].detail)), often);
	return text;
}

/* Whether the line's process has no work of its own on a GPU. */
static bool in_worker(const struct analyses *all, const struct why_line *line)
{
	const struct model_process *process = &all->model->processes[line->process];

	return !process->calls && !process->gpu_ops;
}

/* How the DataLoader loads, as far as a stack or an op shows it. */
static enum why_loads loads_of(const struct why_loss *loss)
{
	for (size_t i = 0; i < loss->line_count; i++)
		if (why_loads(loss->lines[i].extra) != WHY_LOADS_UNKNOWN)
			return why_loads(loss->lines[i].extra);
	return WHY_LOADS_UNKNOWN;
}

static const char *data_advice(const struct analyses *all, const struct why_loss *loss)
{
	const struct why_line *line = &loss->lines[0];
	enum why_seen_by seen_by = why_seen_by(line->extra);
	enum why_loads loads = loads_of(loss);

	if (seen_by == WHY_SEEN_BY_STACKS && in_worker(all, line))
		return "Make that line cheaper, or give the DataLoader more num_workers or a larger prefetch_factor, "
		       "where there are CPUs left.";
	if (loads == WHY_LOADS_ITSELF && seen_by == WHY_SEEN_BY_STACKS)
		return "Give the DataLoader num_workers of 2 or more, or make that line cheaper: it runs in the "
		       "training process, so loading and training take turns.";
	if (loads == WHY_LOADS_ITSELF)
		return "Give the DataLoader num_workers of 2 or more: it loads in the training process itself now, so "
		       "loading and training take turns.";
	if (loads == WHY_LOADS_UNKNOWN)
		return "See whether the DataLoader has num_workers: without any it loads in the training process, and "
		       "loading and training take turns. If it has some: more of them, or a cheaper __getitem__.";
	return "More num_workers or a larger prefetch_factor, where there are CPUs left; else make the data set's "
	       "__getitem__ cheaper.";
}

static char *import_words(const struct model *model, const struct idle_row *row)
{
	return xasprintf("import of %s", why_name(model, row->detail));
}

static char *gc_words(const struct model *model, const struct idle_row *row)
{
	return xasprintf("GC of generation %u", row->detail);
}

/* Of an import or a collection. */
static char *place_or_next_launch(const struct analyses *all, const struct why_line *line, char *label,
				  enum line_brevity brevity)
{
	return line->extra == 0 ? label : text_before("launch", label);
}

/* Largest first, each module once. */
static char *import_evidence(const struct analyses *all, const struct why_loss *loss, const char *others)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < loss->line_count && i < 3; i++)
		text = xjoin(text, ", ",
			     xasprintf("import of %s %s", why_name(all->model, loss->lines[i].detail),
				       number_time(loss->lines[i].ns).text));
	return xjoin(text, "", xstrdup(" without work on the GPU."));
}

static char *gc_evidence(const struct analyses *all, const struct why_loss *loss, const char *others)
{
	uint64_t of[3] = {0}, count[3] = {0}, other = 0;
	char *text = xstrdup("");

	for (size_t i = 0; i < loss->line_count; i++) {
		const struct why_line *line = &loss->lines[i];

		if (line->detail < 3) {
			of[line->detail] += line->ns;
			count[line->detail] += line->count;
		} else {
			other += line->count;
		}
	}
	for (unsigned i = 3; i-- > 0;)
		if (count[i])
			text = xjoin(text, ", ",
				     xasprintf("%s collection%s of generation %u: %s", number_count(count[i]).text,
					       cause_plural(count[i]), i, number_time(of[i]).text));
	if (other)
		text = xjoin(text, ", ", xasprintf("%s collection%s", number_count(other).text, cause_plural(other)));
	return xjoin(text, "",
		     xasprintf(" without work on the GPU, %s at the longest.", number_time(loss->longest_ns).text));
}

const struct cause cause_data = {
	.title = "the GPU waits for data",
	.brief = "data loading",
	.color = COLOR_DATA,
	.known_by = "by ops and stacks of the thread",
	.words_of = data_words,
	.wait = "DataLoader",
	.inner = "in CUDA or PyTorch",
	.place = data_place,
	.evidence = data_evidence,
	.advice_of = data_advice,
};
const struct cause cause_import = {
	.title = "the GPU waits while Python imports modules",
	.brief = "imports",
	.color = COLOR_INTERPRETER,
	.known_by = "by the interpreter's own events",
	.words_of = import_words,
	.inner = "imported",
	.place = place_or_next_launch,
	.evidence = import_evidence,
	.advice = "Import these before the loop.",
};
const struct cause cause_gc = {
	.title = "the GPU waits while Python collects garbage",
	.brief = "garbage collection",
	.color = COLOR_INTERPRETER,
	.known_by = "by the interpreter's own events",
	.words_of = gc_words,
	.inner = "collected garbage",
	.place = place_or_next_launch,
	.evidence = gc_evidence,
	.advice = "gc.freeze() when all is set up, and gc.disable() in the loop with gc.collect() now and then.",
};
