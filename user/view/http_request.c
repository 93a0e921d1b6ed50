/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads the request line, the Host line, and the empty line that ends them; skips other lines. */
#include "view/http_request.h"

#include <string.h>
#include <strings.h>

#include "base/array.h"

static bool is_printable(const char *text, size_t length)
{
	return !any_of(length, i, text[i] <= ' ' || text[i] >= 0x7f);
}

/* The end of the head: after "\r\n\r\n"; NULL: not received yet. */
static char *end_of_head(char *bytes, size_t size)
{
	return memmem(bytes, size, "\r\n\r\n", 4);
}

static enum http_parsed parse_first_line(char *line, char *end, struct http_request *request)
{
	char *target, *version, *query;

	if ((size_t)(end - line) < 4 || memcmp(line, "GET ", 4) != 0) {
		size_t method = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

		return method && method < 20 && line[method] == ' ' ? HTTP_OTHER_METHOD : HTTP_BAD;
	}
	target = line + 4;
	version = memchr(target, ' ', (size_t)(end - target));
	if (!version || (size_t)(end - version) != strlen(" HTTP/1.1") || memcmp(version, " HTTP/1.", 8) != 0 ||
	    (version[8] != '0' && version[8] != '1'))
		return HTTP_BAD;
	if ((size_t)(version - target) > HTTP_TARGET_MAX)
		return HTTP_TOO_LONG;
	if (*target != '/' || !is_printable(target, (size_t)(version - target)))
		return HTTP_BAD;
	*version = '\0';
	query = strchr(target, '?');
	if (query)
		*query++ = '\0';
	request->path = target;
	request->query = query ? query : "";
	return HTTP_WHOLE;
}

/* Parses a line without its line end; false: the request is refused because of it. */
static bool parse_line(char *line, size_t length, struct http_request *request)
{
	static const char host[] = "host:", size[] = "content-length:", coding[] = "transfer-encoding:";

	if (length >= sizeof(host) - 1 && !strncasecmp(line, host, sizeof(host) - 1)) {
		char *value = line + sizeof(host) - 1;

		if (*request->host)
			return false; /* two of them are ambiguous */
		while (value < line + length && (*value == ' ' || *value == '\t'))
			value++;
		if (!is_printable(value, (size_t)(line + length - value)))
			return false;
		line[length] = '\0';
		request->host = value;
	}
	return !(length >= sizeof(size) - 1 && !strncasecmp(line, size, sizeof(size) - 1)) &&
	       !(length >= sizeof(coding) - 1 && !strncasecmp(line, coding, sizeof(coding) - 1));
}

enum http_parsed http_request_parse(char *bytes, size_t size, struct http_request *request)
{
	char *end = end_of_head(bytes, size), *line, *next;
	enum http_parsed parsed;

	if (!end)
		return size >= HTTP_REQUEST_MAX ? HTTP_TOO_LONG : memchr(bytes, '\0', size) ? HTTP_BAD : HTTP_MORE;
	if (memchr(bytes, '\0', (size_t)(end - bytes)))
		return HTTP_BAD;
	*request = (struct http_request){.path = "", .query = "", .host = ""};
	end[2] = '\0'; /* each line ends with \r\n, the last one too */
	next = strstr(bytes, "\r\n");
	parsed = parse_first_line(bytes, next, request);
	if (parsed != HTTP_WHOLE)
		return parsed;
	for (line = next + 2; *line; line = next + 2) {
		next = strstr(line, "\r\n");
		if (!next || !parse_line(line, (size_t)(next - line), request))
			return HTTP_BAD;
	}
	return HTTP_WHOLE;
}

/* ---- the query -------------------------------------------------------------------------------------------------- */

/* The start of a parameter's value; *length: its length.  NULL: no such parameter. */
static const char *find_parameter(const struct http_request *request, const char *name, size_t *length)
{
	size_t size = strlen(name);

	for (const char *at = request->query; *at;) {
		size_t all = strcspn(at, "&");

		if (all > size && !strncmp(at, name, size) && at[size] == '=') {
			*length = all - size - 1;
			return at + size + 1;
		}
		at += all + (at[all] == '&');
	}
	return NULL;
}

static const char *parse_number(const char *at, const char *end, uint64_t *value)
{
	const char *begin = at;

	for (*value = 0; at < end && *at >= '0' && *at <= '9'; at++) {
		if (*value > INT64_MAX / 10 - 1)
			return NULL;
		*value = *value * 10 + (uint64_t)(*at - '0');
	}
	return at == begin ? NULL : at;
}

bool http_query_number(const struct http_request *request, const char *name, uint64_t *value)
{
	size_t length;
	const char *at = find_parameter(request, name, &length);

	return at && parse_number(at, at + length, value) == at + length;
}

int http_query_numbers(const struct http_request *request, const char *name, uint32_t *values, size_t most)
{
	size_t length, count = 0;
	const char *at = find_parameter(request, name, &length), *end;
	uint64_t value;

	if (!at)
		return -1;
	end = at + length;
	while (at < end && count < most) {
		at = parse_number(at, end, &value);
		if (!at || value > UINT32_MAX || (at < end && *at != ','))
			return -1;
		values[count++] = (uint32_t)value;
		at += at < end;
	}
	return (int)count;
}

static int digit_of(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

bool http_query_text(const struct http_request *request, const char *name, char *text, size_t size)
{
	size_t length, used = 0;
	const char *at = find_parameter(request, name, &length), *end;

	if (!at)
		return false;
	end = at + length;
	for (; at < end && used + 1 < size; at++) {
		char c = *at == '+' ? ' ' : *at;

		if (c == '%') {
			if (end - at < 3 || digit_of(at[1]) < 0 || digit_of(at[2]) < 0)
				return false;
			c = (char)(digit_of(at[1]) * 16 + digit_of(at[2]));
			at += 2;
		}
		if (!c)
			return false;
		text[used++] = c;
	}
	text[used] = '\0';
	return true;
}
