/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Between the recording of `gputrace serve` and its server, a process: packets on a pair of sockets. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "serve/totals.h"

#define SERVE_TEXT_MAX 1024

/* From the recording; a full socket loses the packet, as the recording waits for no one. */
struct serve_packet {
	enum serve_kind {
		SERVE_TOTALS,
		SERVE_WINDOW, /* with a descriptor, of a log; another one of a profile */
		SERVE_PROFILE,
		SERVE_FILE, /* a file was written, or not */
	} kind;
	union {
		struct served_totals totals;
		struct {
			uint64_t from_ns, to_ns;
		} window;
		struct {
			uint64_t end_ns; /* of what is in it */
			bool written;
			char text[SERVE_TEXT_MAX]; /* its path, or why not */
		} file;
	};
};

/* To the recording, a byte. */
enum serve_request {
	SERVE_ASKS_WRITE = 'w',
	SERVE_ASKS_STOP = 's',
};

struct options;
struct server;

/* The process: serves until the recording closes its end.  Does not return. */
struct serve_sockets {
	int link, control;
	struct server *http;
};
_Noreturn void serve_until_over(const struct options *options, const struct serve_sockets *sockets);
