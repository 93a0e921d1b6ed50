/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Answers browsers on this machine: listens on 127.0.0.1 alone, one thread, one request for each connection, no one who
 * is slow holds up others.  A request has to name the token in its path, which stands in the address that is printed,
 * and this very host and port: so neither other users of the machine nor pages of other sites get an answer.
 */
#ifndef GPUTRACE_VIEW_SERVER_H
#define GPUTRACE_VIEW_SERVER_H

#include <stdint.h>

#include "export/sink.h"
#include "view/http_request.h"

#define SERVER_TOKEN_BYTES 33 /* hexadecimal, with NUL */

struct server_handler {
	void *context;
	/* request->path: what stands after the token and its slash.  Puts the body and returns its type, NULL: there
	 * is no such thing. */
	const char *(*answer)(void *context, const struct http_request *request, struct sink *body);
};

struct server;

/* port 0: any that is free.  -errno */
int server_open(uint16_t port, struct server **server);
void server_close(struct server *server);

uint16_t server_port(const struct server *server);
const char *server_token(const struct server *server);

/* Until one of two descriptors is readable.  0 or -errno. */
int server_run(struct server *server, int stop_fd, int other_fd, const struct server_handler *handler);

#endif
