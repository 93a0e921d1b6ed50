/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Answers browsers on this machine: listens on 127.0.0.1 alone, one thread, one request per connection; a slow client
 * does not hold up others.  A request must name the token in its path (it is part of the printed address), and this
 * host and port.  So neither other users of the machine nor pages of other sites get an answer.  A handler may be for
 * all users of the machine.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "export/file/sink.h"
#include "view/http_request.h"

#define SERVER_TOKEN_BYTES 33 /* hexadecimal, with NUL */

struct server_handler {
	void *context;
	bool for_all_users; /* without the token */
	/*
	 * request->path: the part after the token and its slash, or after the slash.  Writes the body and returns its
	 * type; NULL: not found.
	 */
	const char *(*answer)(void *context, const struct http_request *request, struct sink *body);
};

struct server;

/* port 0: any free port.  Returns 0 or -errno. */
int server_open(uint16_t port, struct server **server);
void server_close(struct server *server);

/* That which it listens at. */
int server_descriptor(const struct server *server);
uint16_t server_port(const struct server *server);
const char *server_token(const struct server *server);

/* Serves until one of the two descriptors is readable.  Returns 0 or -errno. */
int server_run(struct server *server, int stop_fd, int other_fd, const struct server_handler *handler);
