/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Texts come from targets: HTML is escaped, and so is `<` in the data, so that nothing ends a script. */
#include "export/page/page.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "export/profiles/cut.h"
#include "export/profiles/profile.h"
#include "report/report.h"
#include "report/why/why.h"

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
		sink_literal(out, "{\"id\":");
		put_text(out, values[i].id);
		sink_literal(out, ",\"name\":");
		put_text(out, values[i].name);
		sink_literal(out, ",\"unit\":");
		put_text(out, values[i].unit);
		sink_char(out, '}');
		separator = ",";
	}
}

static void put_frames(struct sink *out, const struct profile *profile)
{
	for (size_t i = 0; i < profile->frames.count; i++) {
		const struct profile_frame *frame = &profile->frames.items[i];

		sink_text(out, i ? ",\n[" : "\n[");
		sink_u64(out, frame->kind);
		sink_char(out, ',');
		sink_u64(out, frame->name);
		sink_char(out, ',');
		sink_i64(out, frame->kind == STACK_FRAME_PYTHON ? (int64_t)frame->file : -1);
		sink_char(out, ',');
		sink_u64(out, frame->line);
		sink_char(out, ']');
	}
}

static void put_nodes(struct sink *out, const struct profile *profile)
{
	for (size_t i = 0; i < profile->nodes.count; i++) {
		const struct profile_node *node = &profile->nodes.items[i];

		sink_text(out, i ? ",\n[" : "\n[");
		sink_i64(out, node->parent == PROFILE_ROOT ? -1 : (int64_t)node->parent);
		sink_char(out, ',');
		sink_u64(out, node->frame);
		for (enum profile_value value = 0; value < PROFILE_OPERATIONS; value++) {
			if (!is_shown(profile, value))
				continue;
			sink_char(out, ',');
			sink_u64(out, node->values[value]);
		}
		sink_char(out, ']');
	}
}

static void put_data(struct sink *out, struct profile *profile)
{
	size_t left_out = profile_cut(profile, NODES_MOST);

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
	if (left_out) {
		sink_literal(out, ",\n\"left_out\":");
		sink_u64(out, left_out);
	}
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
	sink_literal(out, "<div class=\"bar\"><span id=\"values\"></span><button id=\"all\">show all</button>"
			  "<input id=\"search\" type=\"search\" placeholder=\"search functions, files, kernels\" "
			  "aria-label=\"search\"></div>\n<div id=\"detail\"></div>\n<div id=\"graph\" tabindex=\"0\" "
			  "aria-label=\"flame graph\"></div>\n");
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
	sink_literal(out, "<script>\n");
	sink_text(out, page_js);
	sink_text(out, timeline_js);
	sink_literal(out, "</script>\n</body>\n</html>\n");
}

typedef int report_fn(FILE *out, struct trace *trace, const struct report_options *options);

/* Makes the report, of all processes: the graph shows what one did.  The caller frees *text. */
static int make_report(struct trace *trace, const struct export_options *options, report_fn *report, char **text)
{
	const struct report_options how = {.width = 120, .attribution = options->attribution};
	size_t size = 0;
	FILE *file;
	int error;

	*text = NULL;
	file = open_memstream(text, &size);
	if (!file)
		return -ENOMEM;
	error = report(file, trace, &how);
	if (fclose(file) && !error)
		error = -ENOMEM;
	return error;
}

static void put_section(struct sink *out, const char *title, const char *id, const char *text)
{
	sink_literal(out, "<h2>");
	put_html(out, title);
	sink_literal(out, "</h2>\n<pre id=\"");
	put_html(out, id);
	sink_literal(out, "\">");
	put_html(out, text);
	sink_literal(out, "</pre>\n");
}

static int put_report(struct sink *out, struct trace *trace, const struct export_options *options, const char *title,
		      const char *id, report_fn *report)
{
	char *text;
	int error = make_report(trace, options, report, &text);

	if (!error)
		put_section(out, title, id, text);
	free(text);
	return error;
}

int page_write(struct sink *sink, struct trace *trace, const struct export_options *options)
{
	struct profile profile;
	int error = profile_make(&profile, trace, options);

	if (!error) {
		put_head(sink, *profile.title ? profile.title : "a recording", false);
		page_put_timeline_frame(sink);
		error = page_put_timeline_data(sink, trace, options);
	}
	if (!error) {
		sink_literal(sink, "<h2>Flame graphs</h2>\n");
		put_graph(sink, &profile);
	}
	profile_free(&profile);
	if (!error)
		error = put_report(sink, trace, options, "What to mend", "why", report_write_why);
	if (!error)
		error = put_report(sink, trace, options, "Report", "report", report_write);
	if (!error)
		put_scripts(sink);
	return error;
}

/* ---- the live page ---------------------------------------------------------------------------------------------- */

void page_put_live(struct sink *out, const char *title)
{
	put_head(out, title, true);
	page_put_timeline_frame(out);
	sink_literal(out, "<h2>Flame graphs</h2>\n<div id=\"live\" class=\"soft\"></div>\n");
	put_graph_frame(out);
	put_section(out, "What to mend", "why", "");
	put_section(out, "Report", "report", "");
	put_scripts(out);
}

int page_put_sums(struct sink *out, struct trace *trace, const struct export_options *options)
{
	struct profile profile;
	char *why = NULL, *report = NULL;
	int error = profile_make(&profile, trace, options);

	if (!error)
		error = make_report(trace, options, report_write_why, &why);
	if (!error)
		error = make_report(trace, options, report_write, &report);
	if (!error) {
		sink_literal(out, "{\"ready\":true,\"profile\":");
		put_data(out, &profile);
		sink_literal(out, ",\"why\":");
		put_text(out, why);
		sink_literal(out, ",\"report\":");
		put_text(out, report);
		sink_char(out, '}');
	}
	free(why);
	free(report);
	profile_free(&profile);
	return error;
}
