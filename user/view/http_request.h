/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Parses a browser's request: as little of HTTP/1.1 as GET needs.  The input is hostile: anyone who can reach the port
 * can write it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_REQUEST_MAX 8192u
#define HTTP_TARGET_MAX 4096u

/* The texts point into the request's own bytes, NUL-terminated there. */
struct http_request {
	const char *path;  /* with its leading slash, as sent */
	const char *query; /* what follows the question mark; "": nothing */
	const char *host;  /* the Host line; "": none */
};

enum http_parsed {
	HTTP_MORE, /* incomplete */
	HTTP_WHOLE,
	HTTP_BAD, /* not a request, or one with a body */
	HTTP_TOO_LONG,
	HTTP_OTHER_METHOD, /* not GET */
};

/* bytes must have room for size + 1; it is modified if HTTP_WHOLE is returned. */
enum http_parsed http_request_parse(char *bytes, size_t size, struct http_request *request);

/* The value of a parameter as a number; false: no such parameter, or not a number below 2^63. */
bool http_query_number(const struct http_request *request, const char *name, uint64_t *value);

/*
 * Reads a list such as "1,5,7" of at most `most` numbers; returns how many, -1: no such parameter, or not such a list.
 */
int http_query_numbers(const struct http_request *request, const char *name, uint32_t *values, size_t most);

/*
 * The value of a parameter with percent signs and pluses decoded, truncated to size; false: no such parameter, or it
 * holds a NUL.
 */
bool http_query_text(const struct http_request *request, const char *name, char *text, size_t size);
