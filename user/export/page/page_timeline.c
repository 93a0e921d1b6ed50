/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/page/page.h"

#include "export/zoom/zoom.h"
#include "model/steps/steps.h"

#define ALL_MOST 60000u	 /* if there are no more slices, the page has each of them */
#define FINE_MOST 30000u /* slices of the finest level, if there are more */
#define COARSE_MOST 25000u
#define COARSE_WIDTH 2000u
#define NARROWER 8u
#define LEVELS_MAX 14u

void page_put_json(struct sink *out, const struct sink *json)
{
	for (size_t i = 0; i < json->used; i++) {
		if (json->buffer[i] == '<')
			sink_literal(out, "\\u003c");
		else
			sink_char(out, json->buffer[i]);
	}
}

void page_put_timeline_frame(struct sink *out)
{
	sink_literal(
		out,
		"<section id=\"timeline\">\n<h2>Timeline</h2>\n<div class=\"bar\"><button id=\"tl-in\">zoom in</button>"
		"<button id=\"tl-out\">zoom out</button><button id=\"tl-left\" aria-label=\"earlier\">\xe2\x86\x90"
		"</button><button id=\"tl-right\" aria-label=\"later\">\xe2\x86\x92</button><button "
		"id=\"tl-all\">show all</button>"
		"<input id=\"tl-search\" type=\"search\" placeholder=\"search slices, lines\" "
		"aria-label=\"search the timeline\"><button id=\"tl-next\">next</button></div>\n"
		"<div class=\"soft\">Ctrl and the wheel, or W and S, zoom; dragging, or A and D, moves; dragging "
		"with Shift measures; a click picks a slice, two show it alone; a click on a gap leads to what "
		"ran or waited then.</div>\n"
		"<div id=\"tl-about\"></div>\n<div id=\"tl-detail\" role=\"status\"></div>\n"
		"<div id=\"tl-view\" tabindex=\"0\" aria-label=\"timeline\"><div id=\"tl-space\">"
		"<canvas id=\"tl-canvas\"></canvas></div></div>\n"
		"<div id=\"tl-legend\"></div>\n</section>\n"
		"<div id=\"tl-tip\" hidden></div>\n");
}

/* ---- levels ----------------------------------------------------------------------------------------------------- */

/* The time to zoom in on: the middle step of training; 0: no steps. */
static uint64_t middle_of_steps(const struct steps *steps)
{
	const struct step_track *longest = NULL;
	const struct step *step;

	for (size_t i = 0; steps && i < steps->tracks.count; i++)
		if (!longest || steps->tracks.items[i].list.count > longest->list.count)
			longest = &steps->tracks.items[i];
	if (!longest || !longest->list.count)
		return 0;
	step = &longest->list.items[longest->list.count / 2];
	return step->start_ns + (step->end_ns - step->start_ns) / 2;
}

static void narrow_around(struct zoom_question *question, uint64_t middle_ns, uint64_t length)
{
	uint64_t from_ns = middle_ns > question->from_ns + length / 2 ? middle_ns - length / 2 : question->from_ns;

	if (from_ns + length > question->to_ns)
		from_ns = question->to_ns - length;
	question->from_ns = from_ns;
	question->to_ns = from_ns + length;
}

/* Narrows to the part with most slices. */
static void narrow_to_fullest(struct zoom *zoom, struct zoom_question *question, uint64_t length)
{
	uint64_t begin_ns = question->from_ns, most = 0;

	for (unsigned i = 0; i < NARROWER; i++) {
		uint64_t from_ns = begin_ns + i * length, count = zoom_count(zoom, from_ns, from_ns + length);

		if (!i || count > most) {
			most = count;
			question->from_ns = from_ns;
		}
	}
	question->to_ns = question->from_ns + length;
}

/* Writes a level as fine as fits. */
static void put_coarse(struct zoom *zoom, struct zoom_question question, struct sink *out)
{
	for (question.width = COARSE_WIDTH;; question.width /= 2) {
		size_t begin = out->used;

		if (zoom_put_answer(zoom, &question, out) <= COARSE_MOST || question.width < 32)
			return;
		out->used = begin;
	}
}

static void put_levels(struct zoom *zoom, uint64_t middle_ns, struct sink *out)
{
	struct zoom_progress all = zoom_progress(zoom);
	struct zoom_question question = {.from_ns = all.start_ns, .to_ns = all.end_ns};
	uint64_t length = all.end_ns - all.start_ns;
	uint64_t most = ALL_MOST;

	for (unsigned level = 0; level < LEVELS_MAX; level++, most = FINE_MOST) {
		if (zoom_count(zoom, question.from_ns, question.to_ns) <= most || length < NARROWER) {
			question.width = 0;
			zoom_put_answer(zoom, &question, out);
			return;
		}
		put_coarse(zoom, question, out);
		sink_char(out, ',');
		length /= NARROWER;
		if (middle_ns)
			narrow_around(&question, middle_ns, length);
		else
			narrow_to_fullest(zoom, &question, length);
	}
	question.width = COARSE_WIDTH;
	zoom_put_answer(zoom, &question, out);
}

void page_put_timeline_data(struct sink *out, struct zoom *zoom, const struct steps *steps)
{
	struct sink json;

	sink_open_memory(&json);
	sink_literal(&json, "{\"info\":");
	zoom_put_tracks(zoom, &json);
	sink_literal(&json, ",\n\"levels\":[");
	put_levels(zoom, middle_of_steps(steps), &json);
	sink_literal(&json, "]}");
	sink_literal(out, "<script id=\"timeline-data\" type=\"application/json\">");
	page_put_json(out, &json);
	sink_literal(out, "</script>\n");
	sink_close(&json);
}
