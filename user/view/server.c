/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sockets, and how long connections may wait. */
#include "view/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/monotonic.h"
#include "export/page/page.h"

#define CONNECTIONS 32u
#define PATIENCE_NS 20000000000ull /* a connection that moves no byte for so long is closed */

struct connection {
	int fd; /* -1: free */
	uint64_t moved_ns;
	char request[HTTP_REQUEST_MAX + 1];
	size_t received;
	struct sink answer; /* once is_answered */
	size_t sent;
	bool is_answered;
};

struct server {
	int fd;
	uint16_t port;
	char token[SERVER_TOKEN_BYTES];
	struct connection connections[CONNECTIONS];
};

/* ---- one connection --------------------------------------------------------------------------------------------- */

static void close_connection(struct connection *connection)
{
	if (connection->fd >= 0)
		close(connection->fd);
	if (connection->is_answered)
		sink_close(&connection->answer);
	*connection = (struct connection){.fd = -1};
}

static void answer_with(struct connection *connection, const char *status, const char *type, const char *body,
			size_t size)
{
	char head[768];
	int length = snprintf(head, sizeof(head),
			      "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
			      "Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
			      "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
			      "Content-Security-Policy: " PAGE_POLICY "; connect-src 'self'\r\n"
			      "Cross-Origin-Resource-Policy: same-origin\r\n\r\n",
			      status, type, size);

	sink_open_memory(&connection->answer);
	sink_put(&connection->answer, head, (size_t)length);
	sink_put(&connection->answer, body, size);
	connection->is_answered = true;
	connection->sent = 0;
}

static void refuse_request(struct connection *connection, const char *status)
{
	answer_with(connection, status, "text/plain; charset=utf-8", status, strlen(status));
}

/* Whether the Host line is the browser's own machine: by number, or by the name that is always that. At any port, which
 * a forwarded one (ssh -L) has. Another name may be one that a hostile site has made resolve to here. */
static bool is_local_host(const char *host)
{
	static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *port = host + strlen(names[i]);

		if (strncasecmp(host, names[i], strlen(names[i])) != 0)
			continue;
		if (!*port || (*port == ':' && port[1] && strspn(port + 1, "0123456789") == strlen(port + 1)))
			return true;
	}
	return false;
}

/* Takes constant time, however much of the token is right. */
static bool has_token(const struct server *server, const char *path)
{
	unsigned differs = 0;

	if (strlen(path) < SERVER_TOKEN_BYTES || path[SERVER_TOKEN_BYTES] != '/')
		return false;
	for (size_t i = 0; i < SERVER_TOKEN_BYTES - 1; i++)
		differs |= (unsigned char)(path[1 + i] ^ server->token[i]);
	return !differs;
}

static void answer_request(const struct server *server, struct connection *connection, struct http_request *request,
			   const struct server_handler *handler)
{
	struct sink body;
	const char *type;

	if (!is_local_host(request->host)) {
		refuse_request(connection, "403 Forbidden");
		return;
	}
	if (!handler->for_all_users && !has_token(server, request->path)) {
		refuse_request(connection, "404 Not Found");
		return;
	}
	request->path += handler->for_all_users ? 1 : 1 + SERVER_TOKEN_BYTES;
	sink_open_memory(&body);
	type = handler->answer(handler->context, request, &body);
	if (type)
		answer_with(connection, "200 OK", type, body.buffer, body.used);
	else
		refuse_request(connection, "404 Not Found");
	sink_close(&body);
}

static void receive_request(const struct server *server, struct connection *connection,
			    const struct server_handler *handler)
{
	struct http_request request;
	ssize_t got = recv(connection->fd, connection->request + connection->received,
			   HTTP_REQUEST_MAX - connection->received, MSG_DONTWAIT);

	if (got <= 0) {
		if (got == 0 || (errno != EAGAIN && errno != EINTR))
			close_connection(connection);
		return;
	}
	connection->received += (size_t)got;
	connection->moved_ns = monotonic_ns();
	switch (http_request_parse(connection->request, connection->received, &request)) {
	case HTTP_MORE:
		break;
	case HTTP_WHOLE:
		answer_request(server, connection, &request, handler);
		break;
	case HTTP_BAD:
		refuse_request(connection, "400 Bad Request");
		break;
	case HTTP_TOO_LONG:
		refuse_request(connection, "431 Request Header Fields Too Large");
		break;
	case HTTP_OTHER_METHOD:
		refuse_request(connection, "405 Method Not Allowed");
		break;
	}
}

static void send_on(struct connection *connection)
{
	ssize_t put = send(connection->fd, connection->answer.buffer + connection->sent,
			   connection->answer.used - connection->sent, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (put < 0) {
		if (errno != EAGAIN && errno != EINTR)
			close_connection(connection);
		return;
	}
	connection->sent += (size_t)put;
	connection->moved_ns = monotonic_ns();
	if (connection->sent == connection->answer.used) {
		shutdown(connection->fd, SHUT_WR);
		close_connection(connection);
	}
}

/* ---- all of them ------------------------------------------------------------------------------------------------ */

/* A free slot; if there is none, closes the connection that has been idle longest. */
static struct connection *take_place(struct server *server)
{
	struct connection *oldest = &server->connections[0];

	for (size_t i = 0; i < CONNECTIONS; i++) {
		struct connection *connection = &server->connections[i];

		if (connection->fd < 0)
			return connection;
		if (connection->moved_ns < oldest->moved_ns)
			oldest = connection;
	}
	close_connection(oldest);
	return oldest;
}

static void accept_one(struct server *server)
{
	int fd = accept4(server->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct connection *connection;

	if (fd < 0)
		return;
	connection = take_place(server);
	connection->fd = fd;
	connection->moved_ns = monotonic_ns();
}

static void close_idle(struct server *server)
{
	uint64_t now_ns = monotonic_ns();

	for (size_t i = 0; i < CONNECTIONS; i++)
		if (server->connections[i].fd >= 0 && now_ns - server->connections[i].moved_ns > PATIENCE_NS)
			close_connection(&server->connections[i]);
}

int server_run(struct server *server, int stop_fd, int other_fd, const struct server_handler *handler)
{
	struct pollfd polled[CONNECTIONS + 3];

	for (;;) {
		polled[0] = (struct pollfd){.fd = stop_fd, .events = POLLIN};
		polled[1] = (struct pollfd){.fd = other_fd, .events = POLLIN};
		polled[2] = (struct pollfd){.fd = server->fd, .events = POLLIN};
		for (size_t i = 0; i < CONNECTIONS; i++)
			polled[i + 3] =
				(struct pollfd){.fd = server->connections[i].fd,
						.events = server->connections[i].is_answered ? POLLOUT : POLLIN};
		if (poll(polled, CONNECTIONS + 3, 1000) < 0 && errno != EINTR)
			return -errno;
		if (polled[0].revents || polled[1].revents)
			return 0;
		for (size_t i = 0; i < CONNECTIONS; i++) {
			struct connection *connection = &server->connections[i];

			if (!polled[i + 3].revents)
				continue;
			if (connection->is_answered)
				send_on(connection);
			else
				receive_request(server, connection, handler);
		}
		if (polled[2].revents)
			accept_one(server);
		close_idle(server);
	}
}

static int make_token(char *token)
{
	unsigned char bytes[(SERVER_TOKEN_BYTES - 1) / 2];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static int listen_on(struct server *server, uint16_t port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int one = 1;

	server->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (server->fd < 0)
		return -errno;
	setsockopt(server->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(server->fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(server->fd, 16) < 0 ||
	    getsockname(server->fd, (struct sockaddr *)&address, &size) < 0)
		return -errno;
	server->port = ntohs(address.sin_port);
	return 0;
}

int server_open(uint16_t port, struct server **out)
{
	struct server *server = xcalloc(1, sizeof(*server));
	int err;

	server->fd = -1;
	for (size_t i = 0; i < CONNECTIONS; i++)
		server->connections[i].fd = -1;
	err = make_token(server->token);
	if (!err)
		err = listen_on(server, port);
	*out = err ? NULL : server;
	if (err)
		server_close(server);
	return err;
}

void server_close(struct server *server)
{
	if (!server)
		return;
	for (size_t i = 0; i < CONNECTIONS; i++)
		close_connection(&server->connections[i]);
	if (server->fd >= 0)
		close(server->fd);
	free(server);
}

int server_descriptor(const struct server *server)
{
	return server->fd;
}

uint16_t server_port(const struct server *server)
{
	return server->port;
}

const char *server_token(const struct server *server)
{
	return server->token;
}
