/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A request of a browser, taken apart: as little of HTTP/1.1 as GET needs.  Anyone can send one: who can
 * reach the port writes it.
 */
#ifndef GPUTRACE_HTTP_REQUEST_H
#define GPUTRACE_HTTP_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_REQUEST_MAX 8192u
#define HTTP_TARGET_MAX 4096u

/* Texts are in the request's own bytes, terminated there. */
struct http_request {
	const char *path;  /* from its slash on, as it was sent */
	const char *query; /* what stands after the question mark, "" nothing */
	const char *host;  /* "": there is no such line */
};

enum http_parsed {
	HTTP_MORE, /* it does not end yet */
	HTTP_WHOLE,
	HTTP_BAD, /* is no request, or one with a body */
	HTTP_TOO_LONG,
	HTTP_OTHER_METHOD, /* is none of GET */
};

/* bytes has room for one more than size; it is changed where HTTP_WHOLE is returned. */
enum http_parsed http_request_parse(char *bytes, size_t size, struct http_request *request);

/* The value of a parameter as a number; false: there is none, or it is no number below 2^63. */
bool http_query_number(const struct http_request *request, const char *name, uint64_t *value);

/* "1,5,7": at most `most` numbers; how many.  -1: there is no such parameter, or it is no such list. */
int http_query_numbers(const struct http_request *request, const char *name, uint32_t *values, size_t most);

/* The value with its percent signs and pluses decoded, cut to size; false: there is none, or it holds a NUL. */
bool http_query_text(const struct http_request *request, const char *name, char *text, size_t size);

#endif
