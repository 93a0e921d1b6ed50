/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Chooses the nodes to show, and formats their lines. */
#include "report/tree/tree.h"

#include <inttypes.h>

#include "analyze/tree/call_tree_nodes.h"
#include "report/page/parts.h"
#include "report/tree/tree_names.h"
#include "report/tree/tree_table.h"

#define TEXT_LEAST 72u /* columns for a line's text after its branches, even if the page is too narrow */

struct view {
	struct report *report;
	const struct tree_options *options;
	struct call_tree_nodes nodes;
	struct tree_names names;
	struct time_unit unit;
	uint64_t total_ns;
	uint64_t hidden;      /* nodes that are not shown: too small */
	struct table table;   /* for programs */
	ARRAY(bool) branches; /* for each level around the current line: whether more lines follow below */
};

static bool is_by(const struct view *view, enum tree_by by)
{
	return view->report->all->tree.by == by;
}

static bool is_shown(const struct view *view, uint64_t ns)
{
	return (double)ns * 100000 >= (double)view->total_ns * view->options->min_percent;
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static const char *color_of(const struct view *view, uint64_t ns)
{
	double share = view->total_ns ? (double)ns / (double)view->total_ns : 0;

	if (!view->report->color)
		return "";
	return share > 0.6 ? "\033[31m" : share > 0.2 ? "\033[33m" : share > 0.05 ? "\033[32m" : "\033[2m";
}

/* Returns the number of columns written. */
static unsigned put_branches(const struct view *view)
{
	static const char *const lines[] = {"├─ ", "└─ ", "│  "}, *const ascii[] = {"|- ", "`- ", "|  "};
	const char *const *drawn = view->report->options->is_ascii ? ascii : lines;
	FILE *out = view->report->out;

	fputs("  ", out);
	for (size_t i = 0; i < view->branches.count; i++) {
		bool last = i + 1 == view->branches.count, goes_on = view->branches.items[i];

		fputs(last ? drawn[!goes_on] : goes_on ? drawn[2] : "   ", out);
	}
	return 2 + 3 * (unsigned)view->branches.count;
}

/* "12.0 ms  40.0 %", "13.0 MB  40.0 %" */
static char *amount_text(const struct view *view, uint64_t ns)
{
	struct number percent = number_percent((double)ns, (double)view->total_ns);

	if (is_by(view, TREE_BY_MEMORY))
		return xasprintf("%s  %s %%  ", number_memory(ns).text, percent.text);
	return xasprintf("%s %s  %s %%  ", number_in(ns, view->unit).text, view->unit.name, percent.text);
}

/* Adds bytes not freed and growth, where there are any. */
static void put_line(const struct view *view, const struct tree_rest *amount, uint64_t count, const char *name,
		     const char *place)
{
	uint64_t ns = amount->ns;
	FILE *out = view->report->out;
	unsigned width = view->report->width, used = put_branches(view), wanted = text_width(place) + 2;
	AUTO_FREE char *time = amount_text(view, ns);

	width = width > used + TEXT_LEAST ? width - used : TEXT_LEAST;
	width -= text_width(time);
	fprintf(out, "%s%s%s", color_of(view, ns), time, view->report->color ? "\033[0m" : "");
	if (*place && wanted > width / 2)
		wanted = width / 2;
	used = report_put(view->report, name, *place ? width - wanted : width, TEXT_TRUNCATE_MIDDLE);
	if (*place) {
		fputs(view->report->color ? "  \033[2m" : "  ", out);
		report_put(view->report, place, width - used - 2, TEXT_TRUNCATE_START);
		fputs(view->report->color ? "\033[0m" : "", out);
	}
	if (count > 1)
		fprintf(out, "  %sx", number_count(count).text);
	if (amount->held)
		fprintf(out, "  %s not freed", number_memory(amount->held).text);
	if (amount->growth >= 1)
		fprintf(out, "  +%s a step", number_memory((uint64_t)amount->growth).text);
	fputc('\n', out);
}

/* Writes a line, or adds a row to the table. */
static void put_node(struct view *view, uint32_t index)
{
	const struct tree_node *node = &view->nodes.all.items[index];
	struct tree_rest amount = {.ns = node->ns, .held = node->held, .growth = node->growth};
	bool has_count = node->kind == TREE_NODE_WHAT && !is_by(view, TREE_BY_CPU); /* of samples it says little */
	AUTO_FREE char *name = NULL, *place = NULL;

	if (view->report->writer) {
		tree_table_add_node(&view->table, &view->names, index, view->total_ns);
		return;
	}
	name = tree_node_label(&view->names, index);
	place = tree_node_place(&view->names, index);
	put_line(view, &amount, has_count ? node->count : 0, name, place);
}

/* ---- choice of nodes --------------------------------------------------------------------------------------------- */

static struct tree_rest rest_of(const struct view *view, uint32_t index)
{
	struct tree_rest rest = {0};

	for (uint32_t child = view->nodes.all.items[index].children; child != NONE;
	     child = view->nodes.all.items[child].next) {
		const struct tree_node *node = &view->nodes.all.items[child];

		if (is_shown(view, node->ns))
			continue;
		rest.ns += node->ns;
		rest.self_ns += node->kind == TREE_NODE_WHAT ? 0 : node->ns;
		rest.held += node->held;
		rest.growth += node->growth;
		rest.count++;
	}
	return rest;
}

static void put_rest(struct view *view, struct tree_rest rest)
{
	AUTO_FREE char *name = NULL;

	if (!rest.count || !is_shown(view, rest.ns))
		return;
	if (view->report->writer) {
		tree_table_add_rest(&view->table, view->nodes.tree, view->branches.count, &rest, view->total_ns);
		return;
	}
	view->branches.items[view->branches.count - 1] = false;
	name = xasprintf("[%s smaller]", number_count(rest.count).text);
	put_line(view, &rest, 0, name, "");
}

/* A node whose children are being shown: the next child, and the rest, for after the last. */
struct level {
	uint32_t next;
	struct tree_rest rest;
};

/* Whether all under a node is the node itself. */
static bool has_only_itself(const struct view *view, const struct tree_node *node)
{
	const struct tree_node *child = node->children == NONE ? NULL : &view->nodes.all.items[node->children];

	return call_tree_counts_calls(&view->report->all->tree) && child && child->kind == TREE_NODE_WHAT &&
	       child->id == TREE_SELF && child->next == NONE;
}

static void put_nodes(struct view *view)
{
	ARRAY(struct level) levels = {0};
	const struct tree_node *nodes = view->nodes.all.items;

	put_node(view, 0);
	array_push(&levels, ((struct level){nodes[0].children, rest_of(view, 0)}));
	array_push(&view->branches, false);
	while (levels.count) {
		struct level *level = &levels.items[levels.count - 1];
		uint32_t node = level->next;
		bool more;

		if (node == NONE || !is_shown(view, nodes[node].ns)) {
			put_rest(view, level->rest);
			view->hidden += level->rest.count;
			levels.count--;
			view->branches.count--;
			continue;
		}
		level->next = nodes[node].next;
		more = (level->next != NONE && is_shown(view, nodes[level->next].ns)) ||
		       (level->rest.count && is_shown(view, level->rest.ns));
		view->branches.items[view->branches.count - 1] = more;
		put_node(view, node);
		if ((view->options->depth && levels.count >= view->options->depth) ||
		    has_only_itself(view, &nodes[node]))
			continue;
		array_push(&levels, ((struct level){nodes[node].children, rest_of(view, node)}));
		array_push(&view->branches, false);
	}
	array_free(&levels);
}

/* ---- what is in no node ------------------------------------------------------------------------------------------ */

static void put_idle(const struct view *view)
{
	struct report *report = view->report;
	const struct utilization *utilization = &report->all->utilization;
	uint64_t window = report_timed_ns(report);

	array_each (row, &utilization->rows) {
		uint64_t idle = row->busy_ns < window ? window - row->busy_ns : 0;

		report_line(report, "  [idle] GPU %" PRIu32 ": %s, %s %% of the %s recorded", row->device,
			    number_time(idle).text, number_percent((double)idle, (double)window).text,
			    number_time(window).text);
	}
}

static void put_outside(const struct view *view)
{
	struct report *report = view->report;
	const struct call_tree *tree = &report->all->tree;
	uint64_t window = report->all->window.end_ns - report->all->window.start_ns;
	uint64_t threads = 0;

	for (uint32_t i = 0; i < tree->thread_count; i++) {
		const struct model_thread *thread = &report->model->threads[i];
		uint64_t inside = tree->threads[i].cpu_ns;

		if (inside && threads++ < report->rows)
			report_line(report,
				    "  [outside of CUDA calls and ops] thread %s %" PRIu32 ": %s of the %s recorded",
				    thread->name, thread->tid, number_time(inside < window ? window - inside : 0).text,
				    number_time(window).text);
	}
	if (threads > report->rows)
		report_line(report, "  ... and %s more thread%s", number_count(threads - report->rows).text,
			    threads - report->rows == 1 ? "" : "s");
}

static void put_below(const struct view *view)
{
	struct report *report = view->report;

	if (!report->writer && (view->hidden || is_by(view, TREE_BY_GPU) || is_by(view, TREE_BY_CALLS)))
		fputc('\n', report->out);
	if (is_by(view, TREE_BY_GPU)) {
		put_idle(view);
		report_overlap(report, view->total_ns);
	} else if (is_by(view, TREE_BY_CALLS)) {
		put_outside(view);
	}
	if (view->hidden)
		report_line(report, "  %s nodes below %s %% are not shown (--min-percent)",
			    number_count(view->hidden).text, number_thousandths(view->options->min_percent).text);
}

static const char *title_of(const struct call_tree *tree)
{
	switch (tree->by) {
	case TREE_BY_GPU:
		return "GPU time by call";
	case TREE_BY_CPU:
		return "CPU time by call";
	case TREE_BY_CALLS:
		return "CPU time in CUDA calls and ops by call";
	default:
		return tree->is_of_gpu_memory ? "GPU memory of PyTorch at its peak by call"
					      : "CPU memory of PyTorch at its peak by call";
	}
}

static const char *nothing_of(enum tree_by by, const struct model *model)
{
	switch (by) {
	case TREE_BY_GPU:
		return "no GPU times were recorded; --by calls has the time of calls";
	case TREE_BY_CPU:
	case TREE_BY_CALLS:
		return "no CUDA call or op with a time was recorded";
	default:
		return model_is_of_other_tool(model) ? "no memory of PyTorch is in the file; torch.profiler records it "
						       "with profile_memory=True"
						     : "no memory of PyTorch was recorded; --memory records it";
	}
}

static void put_tree(struct view *view)
{
	struct report *report = view->report;

	call_tree_nodes_make(&view->nodes, &report->all->tree, view->options->all_frames);
	tree_names_make(&view->names, &view->nodes);
	view->total_ns = view->nodes.all.items[0].ns;
	view->unit = time_unit_for(view->total_ns);
	report_title(report, "tree", title_of(&report->all->tree),
		     view->options->all_frames ? NULL : "frames of libraries are folded: --show-all");
	if (view->total_ns) {
		put_nodes(view);
		if (report->writer) {
			table_writer_want_all_rows(report->writer);
			report_table(report, &view->table);
		}
		put_below(view);
	} else {
		report_line(report, "  %s", nothing_of(report->all->tree.by, report->model));
	}
	array_free(&view->branches);
	call_tree_nodes_free(&view->nodes);
}

int report_write_tree(FILE *out, struct trace *trace, const struct report_options *page,
		      const struct tree_options *options)
{
	struct analyses all;
	struct report report;
	struct view view = {.report = &report, .options = options};
	const struct analyze_options wanted = {.attribution = &page->attribution, .tree_by = options->by};
	const enum analysis *which =
		options->by == TREE_BY_MEMORY
			? ANALYSES(ANALYZE_CALL_TREE, ANALYZE_UTILIZATION, ANALYZE_UNTIMED, ANALYZE_TORCH_MEMORY)
			: ANALYSES(ANALYZE_CALL_TREE, ANALYZE_UTILIZATION, ANALYZE_UNTIMED);
	int error = analyze_with(&all, trace, which, &wanted);

	report_page(&report, out, &all, page);
	if (!error) {
		report_begin_list(&report, "tree");
		put_tree(&view);
		error = report_end(&report);
	}
	analyses_free(&all);
	return error;
}
