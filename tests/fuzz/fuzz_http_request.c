/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* libFuzzer target: hostile requests to `view`; the parsed parts must lie within the request and end there. */
#include <stdlib.h>
#include <string.h>

#include "view/http_request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *text, const char *bytes, size_t size)
{
	if (*text && (text < bytes || text + strlen(text) > bytes + size))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct http_request request;
	uint32_t numbers[16];
	char text[32], *bytes;
	uint64_t number;

	if (size > HTTP_REQUEST_MAX)
		return 0;
	bytes = malloc(size + 1);
	memcpy(bytes, data, size);
	bytes[size] = '\0';
	if (http_request_parse(bytes, size, &request) == HTTP_WHOLE) {
		check_text(request.path, bytes, size);
		check_text(request.query, bytes, size);
		check_text(request.host, bytes, size);
		if (*request.path != '/')
			abort();
		if (http_query_number(&request, "from", &number) && number > INT64_MAX)
			abort();
		if (http_query_numbers(&request, "tracks", numbers, 16) > 16)
			abort();
		if (http_query_text(&request, "text", text, sizeof(text)) && strlen(text) >= sizeof(text))
			abort();
	}
	free(bytes);
	return 0;
}
