/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Answers requests for the page itself, tracks, slices, find, linked, stack, sums.  Numbers are nanoseconds since the
 * timeline's start.
 */
#include "view/view.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "export/page/page.h"

#define TRACKS_MAX 512u
#define TEXT_MAX 200u

struct view {
	char *title;
	struct zoom *zoom;
	pthread_mutex_t lock; /* protects the members below */
	struct sink sums;
	bool has_sums;
};

struct view *view_new(const char *title)
{
	struct view *view = xcalloc(1, sizeof(*view));

	view->title = xstrdup(title);
	view->zoom = zoom_new();
	pthread_mutex_init(&view->lock, NULL);
	return view;
}

void view_free(struct view *view)
{
	if (view->has_sums)
		sink_close(&view->sums);
	zoom_free(view->zoom);
	pthread_mutex_destroy(&view->lock);
	free(view->title);
	free(view);
}

void view_stop(struct view *view)
{
	zoom_stop(view->zoom);
}

struct zoom *view_zoom(struct view *view)
{
	return view->zoom;
}

int view_read(struct view *view, struct trace *trace, const struct export_options *options)
{
	int error = zoom_read(view->zoom, trace, options->process);
	struct sink sums;

	if (error)
		return error;
	sink_open_memory(&sums);
	error = page_put_sums(&sums, view->zoom, trace, options);
	if (error) {
		sink_close(&sums);
		return error;
	}
	pthread_mutex_lock(&view->lock);
	view->sums = sums;
	view->has_sums = true;
	pthread_mutex_unlock(&view->lock);
	return 0;
}

/* ---- answers ---------------------------------------------------------------------------------------------------- */

static bool put_page(struct view *view, const struct http_request *request, struct sink *body)
{
	(void)request;
	page_put_live(body, view->title);
	return true;
}

static bool put_tracks(struct view *view, const struct http_request *request, struct sink *body)
{
	(void)request;
	zoom_put_tracks(view->zoom, body);
	return true;
}

static bool put_slices(struct view *view, const struct http_request *request, struct sink *body)
{
	struct zoom *zoom = view->zoom;
	uint64_t start_ns = zoom_progress(zoom).start_ns, from, to, width;
	uint32_t tracks[TRACKS_MAX];
	int count = http_query_numbers(request, "tracks", tracks, TRACKS_MAX);

	if (!http_query_number(request, "from", &from) || !http_query_number(request, "to", &to) ||
	    !http_query_number(request, "width", &width) || to <= from || !width)
		return false;
	zoom_put_answer(zoom,
			&(struct zoom_question){.from_ns = start_ns + from,
						.to_ns = start_ns + to,
						.width = (uint32_t)(width < ZOOM_WIDTH_MAX ? width : ZOOM_WIDTH_MAX),
						.tracks = count < 0 ? NULL : tracks,
						.track_count = count < 0 ? 0 : (uint32_t)count},
			body);
	return true;
}

/* hit: NULL if none. */
static void put_hit(struct view *view, const struct zoom_hit *hit, uint64_t start_ns, struct sink *body)
{
	if (!hit) {
		sink_literal(body, "null");
		return;
	}
	sink_print(body, "{\"track\":%u,\"depth\":%u,\"start\":%" PRId64 ",\"length\":%" PRIu64, hit->track, hit->depth,
		   (int64_t)(hit->start_ns - start_ns), hit->end_ns - hit->start_ns);
	zoom_put_hit_label(view->zoom, hit, body);
	sink_char(body, '}');
}

static bool put_found(struct view *view, const struct http_request *request, struct sink *body)
{
	uint64_t start_ns = zoom_progress(view->zoom).start_ns, after;
	bool from_begin = !http_query_number(request, "after", &after);
	struct zoom_hit hit;
	char text[TEXT_MAX];

	if (!http_query_text(request, "text", text, sizeof(text)) || !*text)
		return false;
	put_hit(view, zoom_find(view->zoom, text, from_begin ? 0 : start_ns + after, &hit) ? &hit : NULL, start_ns,
		body);
	return true;
}

static bool put_linked(struct view *view, const struct http_request *request, struct sink *body)
{
	uint64_t start_ns = zoom_progress(view->zoom).start_ns, number, gpu;
	struct zoom_hit hit;

	if (!http_query_number(request, "number", &number) || !http_query_number(request, "gpu", &gpu))
		return false;
	put_hit(view, zoom_find_linked(view->zoom, number, gpu != 0, &hit) ? &hit : NULL, start_ns, body);
	return true;
}

static bool put_stack(struct view *view, const struct http_request *request, struct sink *body)
{
	uint64_t id;

	if (!http_query_number(request, "id", &id) || id > UINT32_MAX)
		return false;
	zoom_put_stack(view->zoom, (uint32_t)id, body);
	return true;
}

static bool put_sums(struct view *view, const struct http_request *request, struct sink *body)
{
	(void)request;
	pthread_mutex_lock(&view->lock);
	if (view->has_sums)
		sink_put(body, view->sums.buffer, view->sums.used);
	else
		sink_literal(body, "{\"ready\":false}");
	pthread_mutex_unlock(&view->lock);
	return true;
}

static const struct answer_row {
	const char *path, *type;
	bool (*put)(struct view *view, const struct http_request *request, struct sink *body);
} rows[] = {
	{"", "text/html; charset=utf-8", put_page}, {"tracks", "application/json", put_tracks},
	{"slices", "application/json", put_slices}, {"find", "application/json", put_found},
	{"linked", "application/json", put_linked}, {"stack", "application/json", put_stack},
	{"sums", "application/json", put_sums},
};

const char *view_answer(void *context, const struct http_request *request, struct sink *body)
{
	return value_of_first(sizeof(rows) / sizeof(rows[0]), i, !strcmp(request->path, rows[i].path),
			      rows[i].put(context, request, body) ? rows[i].type : NULL, NULL);
}
