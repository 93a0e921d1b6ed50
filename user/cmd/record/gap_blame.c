/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/record/gap_blame.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/json/json.h"
#include "base/monotonic.h"
#include "cmd/record/recording.h"

#define SECOND_NS 1000000000ull

/* What the log has of before the gap: what ran when it began, and what threads did before. */
#define BEFORE_NS (3 * SECOND_NS)

/* What it may take, and how many times as long no other gap is looked at. */
#define LONGEST_NS (30 * SECOND_NS)
#define PAUSE_TIMES 9

/* Bytes of a line's name in a message. */
#define LABEL_MOST 56u

/* ---- the log ----------------------------------------------------------------------------------------------------- */

void gap_blame_see(void *context, const struct trigger_event *event)
{
	struct recording *recording = context;
	struct gap_blame *blame = &recording->blame;

	if (blame->count == BLAME_WAITING || event->to_ns <= event->from_ns)
		blame->left_out++;
	else
		blame->waiting[blame->count++] = *event;
}

static void remove_first(struct gap_blame *blame)
{
	blame->count--;
	memmove(blame->waiting, blame->waiting + 1, blame->count * sizeof(blame->waiting[0]));
}

bool gap_blame_looks(void *context, uint64_t *since_ns)
{
	struct recording *recording = context;
	struct gap_blame *blame = &recording->blame;
	uint64_t now_ns = monotonic_ns();

	/* What is no longer kept says nothing. */
	while (blame->state == BLAME_FREE && blame->count &&
	       now_ns - blame->waiting[0].from_ns > recording->options->recorder_ns) {
		blame->left_out++;
		remove_first(blame);
	}
	if (blame->state != BLAME_FREE || !blame->count || now_ns < blame->next_ns)
		return false;
	blame->begun_ns = now_ns;
	blame->state = BLAME_ASKED;
	*since_ns = blame->waiting[0].from_ns > BEFORE_NS ? blame->waiting[0].from_ns - BEFORE_NS : 0;
	return true;
}

static char *time_since(uint64_t ns, uint64_t start_ns)
{
	ns = ns > start_ns ? ns - start_ns : 0;
	return xasprintf("%" PRIu64 ".%09" PRIu64 "s", ns / (uint64_t)SECOND_NS, ns % (uint64_t)SECOND_NS);
}

static int start_child(struct gap_blame *blame, int log_fd, uint64_t start_ns)
{
	const struct trigger_event *gap = &blame->waiting[0];
	AUTO_FREE char *from = time_since(gap->from_ns, start_ns), *to = time_since(gap->to_ns, start_ns);
	const char *const words[] = {"report",
				     OWN_CHILD_INPUT,
				     "--table",
				     "idle",
				     "--format",
				     "json",
				     "--to",
				     to,
				     gap->from_ns > start_ns ? "--from" : NULL,
				     from,
				     NULL};

	return own_child_start(&blame->child, words, log_fd, false, LONGEST_NS);
}

void gap_blame_log(void *context, const struct recent_log *recent, const struct recent_writing *writing,
		   struct gpt_end *end)
{
	struct recording *recording = context;
	struct gap_blame *blame = &recording->blame;
	int fd = memfd_create("gputrace-gap", MFD_CLOEXEC), err = fd < 0 ? -1 : 0;

	/* The operation before such a gap is not in the log, so nothing is known of whom it waited for. */
	if (!err && blame->waiting[0].from_ns < writing->start_ns)
		err = -ENODATA;
	if (!err)
		err = recent_log_write(recent, fd, writing, end);
	if (!err)
		err = start_child(blame, fd, writing->start_ns);
	if (fd >= 0)
		close(fd);
	blame->state = err ? BLAME_FREE : BLAME_LOGGED;
}

/* ---- the account ------------------------------------------------------------------------------------------------- */

/* A line, and what it is to blame for; of one line there is a row for each cause. */
struct blamed {
	text_buffer file, label;
	int64_t line, ns;
};

struct account {
	ARRAY(struct blamed) lines;
};

static bool read_row(struct json *json, struct blamed *row)
{
	struct json_text key, text;
	bool first = true;

	while (json_member(json, &first, &key)) {
		bool is_file = JSON_IS(&key, "file"), is_label = JSON_IS(&key, "line"), good;

		if ((is_file || is_label) && json_peek(json) == '"') {
			good = json_string(json, &text);
			if (good)
				json_unescape(is_file ? &row->file : &row->label, &text);
		} else if (JSON_IS(&key, "line_number")) {
			good = json_number(json, 0, 0, &row->line);
		} else if (JSON_IS(&key, "idle_ns")) {
			good = json_number(json, 0, 0, &row->ns);
		} else {
			good = json_skip(json);
		}
		if (!good)
			return false;
	}
	return !json->stopped;
}

static bool is_line(const struct blamed *a, const struct blamed *b)
{
	return a->line == b->line && a->file.count == b->file.count &&
	       !memcmp(a->file.items, b->file.items, a->file.count);
}

static void free_blamed(struct blamed *row)
{
	array_free(&row->file);
	array_free(&row->label);
}

static void add_row(struct account *account, struct blamed *row)
{
	struct blamed *line = array_find(&account->lines, item, is_line(item, row));

	if (row->file.count && row->line > 0 && row->ns > 0 && !line) {
		array_push(&account->lines, *row);
		return;
	}
	if (line && row->ns > 0)
		line->ns += row->ns;
	free_blamed(row);
}

static bool read_rows(struct json *json, struct account *account)
{
	bool first = true;

	while (json_element(json, &first)) {
		struct blamed row = {0};

		if (json_peek(json) != '{' || !read_row(json, &row)) {
			free_blamed(&row);
			return false;
		}
		add_row(account, &row);
	}
	return !json->stopped;
}

/* The tables, of which there is one. */
static bool read_account(struct json *json, struct account *account)
{
	bool in_document = true, in_tables = true, in_table = true;
	struct json_text key;

	while (json_member(json, &in_document, &key)) {
		if (!JSON_IS(&key, "tables")) {
			if (!json_skip(json))
				return false;
			continue;
		}
		while (json_element(json, &in_tables))
			for (in_table = true; json_member(json, &in_table, &key);)
				if (!(JSON_IS(&key, "rows") ? read_rows(json, account) : json_skip(json)))
					return false;
	}
	return !json->stopped;
}

/* "": any line; else FILE or FILE:NUMBER, and FILE may lack its first folders. */
static bool is_wanted(const char *place, const struct blamed *line)
{
	const char *colon = strrchr(place, ':');
	bool has_number = colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")];
	size_t length = has_number ? (size_t)(colon - place) : strlen(place), count = line->file.count;

	if (!*place)
		return true;
	if (has_number && strtoll(colon + 1, NULL, 10) != line->line)
		return false;
	return count >= length && !memcmp(line->file.items + count - length, place, length) &&
	       (count == length || line->file.items[count - length - 1] == '/');
}

/* What the child says; NULL: no line is to blame for enough.  It read what traced programs wrote. */
static const struct blamed *find_line(const struct gap_blame *blame, const struct trigger_options *options,
				      const struct account *account)
{
	uint64_t longest_ns = blame->waiting[0].to_ns - blame->waiting[0].from_ns;
	const struct blamed *found = NULL;

	for (size_t i = 0; i < account->lines.count; i++) {
		const struct blamed *line = &account->lines.items[i];

		if ((uint64_t)line->ns >= options->gap_ns && (uint64_t)line->ns <= longest_ns &&
		    is_wanted(options->gap_place, line) && (!found || line->ns > found->ns))
			found = line;
	}
	return found;
}

static bool find_blamed_line(const struct gap_blame *blame, const struct trigger_options *options,
			     struct trigger_event *event)
{
	struct account account = {0};
	const struct blamed *line = NULL;
	struct json json;

	json_open(&json, fileno(blame->child.out));
	while (json_refill(&json, json.at))
		;
	if (json_peek(&json) == '{' && read_account(&json, &account))
		line = find_line(blame, options, &account);
	if (line) {
		text_buffer safe = {0};

		*event = blame->waiting[0];
		event->kind = TRIGGER_HAPPENED;
		safe_text_append_utf8(&safe, line->label.items, line->label.count);
		if (safe.count > LABEL_MOST)
			for (safe.count = LABEL_MOST; safe.count && (safe.items[safe.count] & 0xc0) == 0x80;)
				safe.count--;
		snprintf(event->why, sizeof(event->why), "%.*s left a GPU without work for %.3f s", (int)safe.count,
			 safe.items, (double)line->ns / 1e9);
		array_free(&safe);
	}
	for (size_t i = 0; i < account.lines.count; i++)
		free_blamed(&account.lines.items[i]);
	array_free(&account.lines);
	json_close(&json);
	return line;
}

/* Also if there was no log: state FREE, and the gap is still the first. */
bool gap_blame_take(void *context, struct trigger_event *event)
{
	struct recording *recording = context;
	struct gap_blame *blame = &recording->blame;
	uint64_t now_ns = monotonic_ns();
	bool was_looked_at, is_blamed;

	if (!blame->begun_ns || blame->state == BLAME_ASKED)
		return false;
	if (blame->state == BLAME_LOGGED && !own_child_is_over(&blame->child, now_ns))
		return false;
	was_looked_at = blame->state == BLAME_LOGGED && blame->child.status == 0;
	is_blamed = was_looked_at && find_blamed_line(blame, &recording->options->trigger, event);
	blame->left_out += !was_looked_at;
	own_child_close(&blame->child);
	blame->next_ns = now_ns + PAUSE_TIMES * (now_ns - blame->begun_ns);
	blame->begun_ns = 0;
	blame->state = BLAME_FREE;
	remove_first(blame);
	return is_blamed;
}

void gap_blame_end(struct gap_blame *blame)
{
	own_child_close(&blame->child);
}
