/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Texts come from targets: HTML is escaped, and so is `<` in the data, so that nothing ends a script. */
#include "export/page/page.h"

#include <inttypes.h>
#include <string.h>

#include "export/page/page_parts.h"
#include "export/profiles/cut.h"
#include "export/profiles/profile.h"

#define NODES_MOST 50000u /* limit for flame graphs */

static const struct {
	const char *id, *name, *unit;
} values[PROFILE_OPERATIONS] = {
	[PROFILE_GPU_NS] = {"gpu", "GPU time", "ns"},
	[PROFILE_LAUNCHES] = {"launches", "launches", "launches"},
	[PROFILE_IDLE_NS] = {"idle", "GPU idle, by the line to blame", "ns"},
	[PROFILE_CPU_NS] = {"cpu", "CPU time of PyTorch's ops", "ns"},
	[PROFILE_SAMPLED_NS] = {"sampled", "CPU time (samples)", "ns"},
};

static void put_html(struct sink *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '<':
			sink_literal(out, "&lt;");
			break;
		case '>':
			sink_literal(out, "&gt;");
			break;
		case '&':
			sink_literal(out, "&amp;");
			break;
		case '"':
			sink_literal(out, "&quot;");
			break;
		default:
			sink_char(out, *text);
		}
	}
}

/* A JSON string for a script of a page. */
static void put_text(struct sink *out, const char *text)
{
	struct sink json;

	sink_open_memory(&json);
	sink_json(&json, text);
	page_put_json(out, &json);
	sink_close(&json);
}

/* ---- data ------------------------------------------------------------------------------------------------------- */

static bool is_shown(const struct profile *profile, enum profile_value value)
{
	return profile->has[value] || value == PROFILE_LAUNCHES;
}

static void put_values(struct sink *out, const struct profile *profile)
{
	const char *separator = "";

	for (enum profile_value i = 0; i < PROFILE_OPERATIONS; i++) {
		if (!is_shown(profile, i))
			continue;
		sink_text(out, separator);
		sink_print(out, "{\"id\":%s,\"name\":%s,\"unit\":%s}", values[i].id, values[i].name, values[i].unit);
		separator = ",";
	}
}

static void put_frames(struct sink *out, const struct profile *profile)
{
	for (size_t i = 0; i < profile->frames.count; i++) {
		const struct profile_frame *frame = &profile->frames.items[i];

		sink_text(out, i ? ",\n" : "\n");
		sink_print(out, "[%u,%u,%" PRId64 ",%u]", frame->kind, frame->name,
			   frame->kind == STACK_FRAME_PYTHON ? (int64_t)frame->file : -1, frame->line);
	}
}

static void put_nodes(struct sink *out, const struct profile *profile)
{
	for (size_t i = 0; i < profile->nodes.count; i++) {
		const struct profile_node *node = &profile->nodes.items[i];

		sink_text(out, i ? ",\n" : "\n");
		sink_print(out, "[%" PRId64 ",%u", node->parent == PROFILE_ROOT ? -1 : (int64_t)node->parent,
			   node->frame);
		for (enum profile_value value = 0; value < PROFILE_OPERATIONS; value++)
			if (is_shown(profile, value))
				sink_print(out, ",%" PRIu64, node->values[value]);
		sink_char(out, ']');
	}
}

static void put_data(struct sink *out, struct profile *profile)
{
	uint64_t left_out = profile_cut(profile, NODES_MOST);

	sink_literal(out, "{\"values\":[");
	put_values(out, profile);
	sink_literal(out, "],\n\"texts\":[");
	for (size_t i = 0; i < profile->texts.at.count; i++) {
		sink_text(out, i ? ",\n" : "\n");
		put_text(out, profile_text(profile, (uint32_t)i));
	}
	sink_literal(out, "],\n\"frames\":[");
	put_frames(out, profile);
	sink_literal(out, "],\n\"nodes\":[");
	put_nodes(out, profile);
	sink_char(out, ']');
	if (left_out)
		sink_print(out, ",\n\"left_out\":%" PRIu64, left_out);
	sink_char(out, '}');
}

/* ---- the page --------------------------------------------------------------------------------------------------- */

/* connects: the page may connect to its server. */
static void put_head(struct sink *out, const char *title, bool connects)
{
	sink_literal(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
			  "<meta http-equiv=\"Content-Security-Policy\" content=\"" PAGE_POLICY);
	if (connects)
		sink_literal(out, "; connect-src 'self'");
	sink_literal(out, "\">\n<title>gputrace: ");
	put_html(out, title);
	sink_literal(out, "</title>\n<style>\n");
	sink_text(out, page_css);
	sink_literal(out, "</style>\n</head>\n<body>\n<h1>");
	put_html(out, title);
	sink_literal(out, "</h1>\n<div class=\"soft\">gputrace " GPUTRACE_VERSION
			  ". A box is as wide as its share; a click zooms, Escape shows all.</div>\n");
}

static void put_graph_frame(struct sink *out)
{
	sink_literal(out, "<section>\n<h2>Flame graphs</h2>\n<div class=\"bar\"><span id=\"values\"></span><button "
			  "id=\"all\">show all</button>"
			  "<input id=\"search\" type=\"search\" placeholder=\"search functions, files, kernels\" "
			  "aria-label=\"search\"></div>\n<div id=\"detail\"></div>\n<div id=\"graph\" tabindex=\"0\" "
			  "aria-label=\"flame graph\"></div>\n</section>\n");
}

static void put_graph(struct sink *out, struct profile *profile)
{
	put_graph_frame(out);
	sink_literal(out, "<script id=\"data\" type=\"application/json\">");
	put_data(out, profile);
	sink_literal(out, "</script>\n");
}

static void put_scripts(struct sink *out)
{
	const char *const scripts[] = {page_js, flames_js,   tables_js, rows_js,   words_js,
				       axis_js, timeline_js, input_js,	sources_js};

	sink_literal(out, "<script>\n");
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
		sink_text(out, scripts[i]);
	sink_literal(out, "</script>\n</body>\n</html>\n");
}

static void put_verdict_frame(struct sink *out)
{
	sink_literal(out, "<div id=\"verdict\" role=\"status\"></div>\n");
}

static void put_tables_frame(struct sink *out)
{
	sink_literal(out,
		     "<section>\n<h2>Tables</h2>\n<div class=\"bar\"><input id=\"filter\" type=\"search\" "
		     "placeholder=\"filter rows\" aria-label=\"filter rows\"></div>\n<div class=\"soft\">A click on a "
		     "title sorts; one on a line shows its source with the costs of each line.</div>\n"
		     "<div id=\"why\"></div>\n<div id=\"report\"></div>\n</section>\n"
		     "<dialog id=\"source\"></dialog>\n");
}

/* The analyses of the report, and those of its source lines. */
static int analyze_for_page(struct analyses *all, struct trace *trace, const struct export_options *options,
			    struct page_gaps *gaps)
{
	enum analysis which[ANALYZE_COUNT + 1] = {ANALYZE_LINE_COSTS};
	const struct analyze_options how = {.attribution = &options->attribution,
					    .if_of_use = true,
					    .take_gap = options->process < 0 ? page_gaps_take : NULL,
					    .gap_context = gaps};

	for (size_t i = 0; analyses_of_report[i] && i + 1 < ANALYZE_COUNT; i++)
		which[i + 1] = analyses_of_report[i];
	return analyze_with(all, trace, which, &how);
}

/* Adds the gaps to the timeline, and writes {"verdict":,"tables":}: of all processes; a graph may show what one did. */
static int put_answer(struct sink *out, struct zoom *zoom, struct trace *trace, const struct export_options *options)
{
	struct page_gaps gaps = {.zoom = zoom};
	struct analyses all;
	int error = analyze_for_page(&all, trace, options, &gaps);

	if (!error) {
		page_gaps_name(&gaps, &all);
		sink_literal(out, "{\"verdict\":");
		page_put_verdict(out, &gaps, &all);
		sink_literal(out, ",\n\"tables\":");
		error = page_put_tables(out, &all, &options->attribution);
		sink_char(out, '}');
	}
	analyses_free(&all);
	page_gaps_free(&gaps);
	return error;
}

static void put_json_element(struct sink *out, const char *id, const struct sink *json)
{
	sink_print(out, "<script id=%s type=\"application/json\">", id);
	page_put_json(out, json);
	sink_literal(out, "</script>\n");
}

static int put_page(struct sink *sink, struct trace *trace, const struct export_options *options,
		    struct profile *profile)
{
	struct zoom *zoom = zoom_new();
	struct sink answer;
	int error = zoom_read(zoom, trace, options->process);

	sink_open_memory(&answer);
	if (!error)
		error = put_answer(&answer, zoom, trace, options);
	if (!error) {
		put_head(sink, *profile->title ? profile->title : "a recording", false);
		put_verdict_frame(sink);
		page_put_timeline_frame(sink);
		page_put_timeline_data(sink, zoom, trace->steps);
		put_graph(sink, profile);
		put_tables_frame(sink);
		put_json_element(sink, "answer", &answer);
		put_scripts(sink);
	}
	sink_close(&answer);
	zoom_free(zoom);
	return error;
}

int page_write(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	struct profile profile;
	int error = profile_make(&profile, trace, options);

	if (!error)
		error = put_page(sink, trace, options, &profile);
	profile_free(&profile);
	return error;
}

/* ---- the live page ---------------------------------------------------------------------------------------------- */

void page_put_live(struct sink *out, const char *title)
{
	put_head(out, title, true);
	put_verdict_frame(out);
	page_put_timeline_frame(out);
	sink_literal(out, "<div id=\"live\" class=\"soft\"></div>\n");
	put_graph_frame(out);
	put_tables_frame(out);
	put_scripts(out);
}

int page_put_sums(struct sink *out, struct zoom *zoom, struct trace *trace, const struct export_options *options)
{
	struct profile profile;
	int error = profile_make(&profile, trace, options);

	if (!error) {
		sink_literal(out, "{\"ready\":true,\"profile\":");
		put_data(out, &profile);
		sink_literal(out, ",\"answer\":");
		error = put_answer(out, zoom, trace, options);
		sink_char(out, '}');
	}
	profile_free(&profile);
	return error;
}
