/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Places boxes from the root down: a node of a profile follows its parent. */
#include "export/page/page.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/order.h"
#include "base/path.h"
#include "export/profiles/profile.h"
#include "report/table/kernel_label.h"
#include "report/table/text.h"

#define WIDTH 1200.0
#define ROW 18.0       /* distance between rows */
#define LEGEND 30.0    /* y of the legend */
#define TOP 48.0       /* y of the first row */
#define LEAST 0.2      /* a narrower box is not drawn */
#define LETTER 6.7     /* width of a letter at 11 px, about */
#define TEXT_MAX 4096u /* bytes of a label that are looked at */

struct box {
	uint64_t sum; /* including all below it */
	double x;
	unsigned depth;
	bool is_drawn;
};

struct picture {
	const struct profile *profile;
	enum profile_value value;
	struct box *boxes; /* by node */
	uint32_t *order;   /* nodes, by parent, then the largest first */
	uint64_t whole;
	unsigned deepest;
};

/* ---- places ------------------------------------------------------------------------------------------------------ */

static int by_size(const void *left, const void *right, void *context)
{
	const struct picture *picture = context;
	uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	const struct profile_node *nodes = picture->profile->nodes.items;

	/* PROFILE_ROOT, the largest, comes first as -1 */
	return lower_first(nodes[a].parent + 1, nodes[b].parent + 1) ?:
	       higher_first(picture->boxes[a].sum, picture->boxes[b].sum) ?: least_first(a, b);
}

static void sum_up(struct picture *picture)
{
	const struct profile_node *nodes = picture->profile->nodes.items;

	for (uint32_t i = (uint32_t)picture->profile->nodes.count; i-- > 0;) {
		picture->boxes[i].sum += nodes[i].values[picture->value];
		if (nodes[i].parent == PROFILE_ROOT)
			picture->whole += picture->boxes[i].sum;
		else
			picture->boxes[nodes[i].parent].sum += picture->boxes[i].sum;
	}
}

static double width_of(const struct picture *picture, uint32_t node)
{
	return picture->whole ? WIDTH * (double)picture->boxes[node].sum / (double)picture->whole : 0;
}

/* In the order of parents, so that a parent's place is known before its children's. */
static void place_boxes(struct picture *picture)
{
	const struct profile_node *nodes = picture->profile->nodes.items;
	size_t count = picture->profile->nodes.count;
	double x = 0;

	for (size_t i = 0; i < count; i++)
		picture->order[i] = (uint32_t)i;
	if (count)
		qsort_r(picture->order, count, sizeof(*picture->order), by_size, picture);
	for (size_t i = 0; i < count; i++) {
		uint32_t node = picture->order[i], parent = nodes[node].parent;
		struct box *box = &picture->boxes[node];

		if (!i || nodes[picture->order[i - 1]].parent != parent)
			x = parent == PROFILE_ROOT ? 0 : picture->boxes[parent].x;
		box->x = x;
		x += width_of(picture, node);
		box->depth = parent == PROFILE_ROOT ? 0 : picture->boxes[parent].depth + 1;
		box->is_drawn =
			width_of(picture, node) >= LEAST && (parent == PROFILE_ROOT || picture->boxes[parent].is_drawn);
		if (box->is_drawn && box->depth > picture->deepest)
			picture->deepest = box->depth;
	}
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

/* XML has no way to write most control characters. */
static void put_xml(struct sink *out, const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c == '<')
			sink_literal(out, "&lt;");
		else if (c == '>')
			sink_literal(out, "&gt;");
		else if (c == '&')
			sink_literal(out, "&amp;");
		else
			sink_char(out, c < 0x20 || c == 0x7f ? '?' : text[i]);
	}
}

static void put_tenths(struct sink *out, double value)
{
	char text[40];
	int length = snprintf(text, sizeof(text), "%.1f", value);

	sink_short(out, text, (size_t)length);
}

/* The whole label: what a viewer shows when it points at the box. */
static char *label_of(const struct profile *profile, const struct profile_frame *frame)
{
	const char *name = profile_text(profile, frame->name), *file;

	if (frame->kind != STACK_FRAME_PYTHON)
		return xstrdup(name);
	file = path_base(profile_text(profile, frame->file));
	return frame->line ? xasprintf("%s (%s:%u)", name, file, frame->line) : xasprintf("%s (%s)", name, file);
}

/* The number of bytes that fit, without splitting a character. */
static size_t count_fitting(const char *text, double width)
{
	size_t letters = width > LETTER ? (size_t)(width / LETTER) : 0, at = 0;

	while (text[at] && letters && at < TEXT_MAX) {
		at++;
		while (((unsigned char)text[at] & 0xc0) == 0x80)
			at++;
		letters--;
	}
	return at;
}

/* What colors mean. */
static const struct {
	const char *color, *name;
} kinds[] = {
	[STACK_FRAME_PROCESS] = {"#d0d5da", "process"},	   [STACK_FRAME_PYTHON] = {"#eeaf7c", "Python"},
	[STACK_FRAME_NOTE] = {"#e9ecef", "what happened"}, [STACK_FRAME_NATIVE] = {"#9bd8ae", "native function"},
	[STACK_FRAME_CALL] = {"#8fc5ea", "CUDA call"},	   [STACK_FRAME_OPERATION] = {"#ee8ba0", "GPU work"},
};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Formats values as the page does: "7.06 s", "2.40 ms", "81.2 us". */
static void put_value(struct sink *out, const struct picture *picture, uint64_t value)
{
	char text[32];

	if (picture->value == PROFILE_LAUNCHES)
		snprintf(text, sizeof(text), "%" PRIu64 " launches", value);
	else if (value >= 1000000000)
		snprintf(text, sizeof(text), "%.2f s", (double)value / 1e9);
	else if (value >= 1000000)
		snprintf(text, sizeof(text), "%.2f ms", (double)value / 1e6);
	else
		snprintf(text, sizeof(text), "%.1f us", (double)value / 1e3);
	sink_text(out, text);
}

/* As much of a label as fits; of a kernel also its end, which tells instances of a template apart. */
static char *shorten_label(const char *label, double width, bool is_c)
{
	size_t fits = count_fitting(label, width), size = 0;
	char *text = NULL;
	FILE *out;

	if (!is_c || !label[fits])
		return xasprintf("%.*s", (int)fits, label);
	out = xmemstream(&text, &size);
	text_put(out, label, (unsigned)(width > LETTER ? width / LETTER : 0), TEXT_TRUNCATE_THIRD);
	fclose(out);
	return text;
}

static void put_box(struct sink *out, const struct picture *picture, uint32_t node)
{
	const struct profile *profile = picture->profile;
	const struct profile_frame *frame = &profile->frames.items[profile->nodes.items[node].frame];
	const struct box *box = &picture->boxes[node];
	double width = width_of(picture, node), y = TOP + ROW * box->depth;
	AUTO_FREE char *label = label_of(profile, frame);
	bool is_c = frame->kind == STACK_FRAME_OPERATION || frame->kind == STACK_FRAME_NATIVE;
	AUTO_FREE char *name = is_c ? kernel_label(label) : xstrdup(label),
		       *shown = shorten_label(name, width - 6, is_c);

	sink_literal(out, "<g><title>");
	put_xml(out, label, strlen(label));
	sink_literal(out, "\n");
	put_value(out, picture, box->sum);
	sink_literal(out, ", ");
	put_tenths(out, 100 * width / WIDTH);
	sink_literal(out, " %</title><rect x=\"");
	put_tenths(out, box->x);
	sink_literal(out, "\" y=\"");
	put_tenths(out, y);
	sink_literal(out, "\" width=\"");
	put_tenths(out, width > 0.6 ? width - 0.3 : width);
	sink_literal(out, "\" height=\"17\" fill=\"");
	sink_text(out, kinds[frame->kind].color);
	sink_literal(out, "\"/>");
	if (strlen(shown) > 2) {
		sink_literal(out, "<text x=\"");
		put_tenths(out, box->x + 3);
		sink_literal(out, "\" y=\"");
		put_tenths(out, y + 12.5);
		sink_literal(out, "\">");
		put_xml(out, shown, strlen(shown));
		sink_literal(out, "</text>");
	}
	sink_literal(out, "</g>\n");
}

/* The kinds of boxes that are drawn. */
static void put_legend(struct sink *out, const struct picture *picture)
{
	const struct profile *profile = picture->profile;
	bool has[KINDS] = {0};
	double x = 3;

	for (size_t i = 0; i < profile->nodes.count; i++)
		if (picture->boxes[i].is_drawn)
			has[profile->frames.items[profile->nodes.items[i].frame].kind] = true;
	for (size_t kind = 0; kind < KINDS; kind++) {
		if (!has[kind])
			continue;
		sink_literal(out, "<rect x=\"");
		put_tenths(out, x);
		sink_literal(out, "\" y=\"");
		put_tenths(out, LEGEND);
		sink_literal(out, "\" width=\"10\" height=\"10\" fill=\"");
		sink_text(out, kinds[kind].color);
		sink_literal(out, "\"/><text x=\"");
		put_tenths(out, x + 14);
		sink_literal(out, "\" y=\"");
		put_tenths(out, LEGEND + 9);
		sink_literal(out, "\">");
		sink_text(out, kinds[kind].name);
		sink_literal(out, "</text>\n");
		x += 14 + LETTER * (double)(strlen(kinds[kind].name) + 2);
	}
}

static void put_picture(struct sink *out, const struct picture *picture)
{
	static const char *const titles[PROFILE_VALUES] = {[PROFILE_GPU_NS] = "GPU time",
							   [PROFILE_LAUNCHES] = "Launches",
							   [PROFILE_IDLE_NS] = "Idle time of GPUs",
							   [PROFILE_SAMPLED_NS] = "CPU time"};
	const char *title = picture->profile->title;

	sink_literal(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 1200 ");
	put_tenths(out, TOP + ROW * (picture->deepest + 1));
	sink_literal(out, "\" font-family=\"monospace\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" "
			  "fill=\"#fff\"/>\n<text x=\"3\" y=\"18\" font-size=\"13\">");
	sink_text(out, titles[picture->value]);
	sink_literal(out, " by stack: ");
	put_value(out, picture, picture->whole);
	sink_literal(out, ", ");
	put_xml(out, title, count_fitting(title, WIDTH / 2));
	sink_literal(out, "</text>\n");
	put_legend(out, picture);
	for (size_t i = 0; i < picture->profile->nodes.count; i++)
		if (picture->boxes[picture->order[i]].is_drawn)
			put_box(out, picture, picture->order[i]);
	sink_literal(out, "</svg>\n");
}

static enum profile_value value_of(const struct profile *profile, const struct export_options *options)
{
	if (options->by_cpu)
		return PROFILE_SAMPLED_NS;
	if (options->by_idle)
		return PROFILE_IDLE_NS;
	return options->by_launches || !profile->has[PROFILE_GPU_NS] ? PROFILE_LAUNCHES : PROFILE_GPU_NS;
}

int svg_write(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	struct profile profile;
	struct picture picture = {.profile = &profile};
	int error = profile_make(&profile, trace, options);

	if (!error && ((options->by_cpu && !profile.has[PROFILE_SAMPLED_NS]) ||
		       (options->by_idle && !profile.has[PROFILE_IDLE_NS])))
		error = -ENODATA;
	if (!error) {
		picture.value = value_of(&profile, options);
		picture.boxes = xcalloc(profile.nodes.count, sizeof(*picture.boxes));
		picture.order = xcalloc(profile.nodes.count, sizeof(*picture.order));
		sum_up(&picture);
		place_boxes(&picture);
		text_begin();
		put_picture(sink, &picture);
		text_end();
	}
	free(picture.boxes);
	free(picture.order);
	profile_free(&profile);
	return error;
}
