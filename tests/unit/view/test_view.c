/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requests to `view` by a browser, or by a client that pretends to be one, and which of them get an answer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/threads/thread.h"
#include "view/server.h"

/* ---- requests --------------------------------------------------------------------------------------------------- */

static char bytes[HTTP_REQUEST_MAX + 1];
static struct http_request request;

static enum http_parsed parse_request(const char *text)
{
	size_t size = strlen(text);

	memcpy(bytes, text, size + 1);
	return http_request_parse(bytes, size, &request);
}

static void a_get_is_taken_apart_into_path_query_and_host(void **state)
{
	(void)state;
	assert_int_equal(
		parse_request("GET /t/slices?from=1&to=20 HTTP/1.1\r\nAccept: */*\r\nhOST:  127.0.0.1:80\r\n\r\n"),
		HTTP_WHOLE);
	assert_string_equal(request.path, "/t/slices");
	assert_string_equal(request.query, "from=1&to=20");
	assert_string_equal(request.host, "127.0.0.1:80");
	assert_int_equal(parse_request("GET / HTTP/1.0\r\n\r\n"), HTTP_WHOLE);
	assert_string_equal(request.host, "");
}

static void a_request_is_whole_only_with_its_last_byte(void **state)
{
	static const char whole[] = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n";

	(void)state;
	for (size_t i = 1; i < sizeof(whole) - 1; i++) {
		memcpy(bytes, whole, i);
		assert_int_equal(http_request_parse(bytes, i, &request), HTTP_MORE);
	}
	assert_int_equal(parse_request(whole), HTTP_WHOLE);
}

static void what_is_no_plain_get_is_refused(void **state)
{
	static const struct {
		const char *text;
		enum http_parsed parsed;
	} rows[] = {
		{"POST / HTTP/1.1\r\n\r\n", HTTP_OTHER_METHOD},
		{"OPTIONS * HTTP/1.1\r\n\r\n", HTTP_OTHER_METHOD},
		{"GET http://other/ HTTP/1.1\r\n\r\n", HTTP_BAD},
		{"GET /\x01 HTTP/1.1\r\n\r\n", HTTP_BAD},
		{"GET / HTTP/2.0.0\r\n\r\n", HTTP_BAD},
		{"GET /\r\n\r\n", HTTP_BAD},
		{"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", HTTP_BAD},
		{"GET / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello", HTTP_BAD},
		{"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", HTTP_BAD},
		{"\r\n\r\n", HTTP_BAD},
		{"\x16\x03\x01\r\n\r\n", HTTP_BAD},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(parse_request(rows[i].text), rows[i].parsed);
	memset(bytes, 'a', HTTP_REQUEST_MAX);
	assert_int_equal(http_request_parse(bytes, HTTP_REQUEST_MAX, &request), HTTP_TOO_LONG);
}

static void parameters_are_numbers_lists_and_decoded_text(void **state)
{
	uint32_t list[3];
	uint64_t number;
	char text[8];

	(void)state;
	assert_int_equal(
		parse_request(
			"GET /?a=12&b=x&big=99999999999999999999&l=1,2,3,4&t=%41+b%2f&nul=%00&cut=abcdefghijk&bad=%4 "
			"HTTP/1.1\r\n\r\n"),
		HTTP_WHOLE);
	assert_true(http_query_number(&request, "a", &number));
	assert_int_equal(number, 12);
	assert_false(http_query_number(&request, "b", &number));
	assert_false(http_query_number(&request, "big", &number));
	assert_false(http_query_number(&request, "c", &number));
	assert_int_equal(http_query_numbers(&request, "l", list, 3), 3);
	assert_int_equal(list[2], 3);
	assert_int_equal(http_query_numbers(&request, "b", list, 3), -1);
	assert_int_equal(http_query_numbers(&request, "none", list, 3), -1);
	assert_true(http_query_text(&request, "t", text, sizeof(text)));
	assert_string_equal(text, "A b/");
	assert_false(http_query_text(&request, "nul", text, sizeof(text)));
	assert_false(http_query_text(&request, "bad", text, sizeof(text)));
	assert_true(http_query_text(&request, "cut", text, sizeof(text)));
	assert_string_equal(text, "abcdefg");
}

/* ---- the server ------------------------------------------------------------------------------------------------- */

#define LARGE (8u << 20)

struct running {
	struct server *server;
	bool for_all_users;
	pthread_t thread;
	int stop;
};

static const char *answer_fixed(void *context, const struct http_request *asked, struct sink *body)
{
	(void)context;
	if (!strcmp(asked->path, "large")) {
		for (unsigned i = 0; i < LARGE / 8; i++)
			sink_literal(body, "12345678");
		return "text/plain";
	}
	if (strcmp(asked->path, "") != 0)
		return NULL;
	sink_literal(body, "the page");
	return "text/html";
}

static void *run_server(void *context)
{
	struct running *running = context;
	const struct server_handler handler = {.answer = answer_fixed, .for_all_users = running->for_all_users};

	assert_int_equal(server_run(running->server, running->stop, -1, &handler), 0);
	return NULL;
}

static int start(void **state, bool for_all_users)
{
	struct running *running = calloc(1, sizeof(*running));

	running->for_all_users = for_all_users;
	running->stop = eventfd(0, 0);
	assert_int_equal(server_open(0, &running->server), 0);
	assert_int_equal(thread_start(run_server, running, 0, &running->thread), 0);
	*state = running;
	return 0;
}

static int start_server(void **state)
{
	return start(state, false);
}

static int start_server_for_all(void **state)
{
	return start(state, true);
}

static int stop_server(void **state)
{
	struct running *running = *state;

	eventfd_write(running->stop, 1);
	pthread_join(running->thread, NULL);
	server_close(running->server);
	close(running->stop);
	free(running);
	return 0;
}

static int connect_to(const struct running *running)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(server_port(running->server)),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* Reads until the end, keeps what fits in `size`; returns the number of bytes read. */
static size_t receive_all(int fd, char *text, size_t size)
{
	char rest[65536];
	size_t all = 0;
	ssize_t got;

	while ((got = read(fd, rest, sizeof(rest))) > 0) {
		for (ssize_t i = 0; i < got && all + (size_t)i + 1 < size; i++)
			text[all + (size_t)i] = rest[i];
		all += (size_t)got;
	}
	text[all < size ? all : size - 1] = '\0';
	close(fd);
	return all;
}

static void ask_server(int fd, const char *path, const char *host)
{
	char text[1024];
	int length = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, host);

	assert_int_equal(write(fd, text, (size_t)length), length);
}

static void every_answer_says_what_its_page_may_do(void **state)
{
	const struct running *running = *state;
	char text[2048], path[64];

	snprintf(path, sizeof(path), "/%s/", server_token(running->server));
	for (unsigned i = 0; i < 2; i++) {
		int fd = connect_to(running);

		ask_server(fd, i ? "/" : path, "localhost");
		receive_all(fd, text, sizeof(text));
		assert_non_null(strstr(text,
				       "\r\nContent-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; "
				       "script-src 'unsafe-inline'; connect-src 'self'\r\n"));
	}
}

static const char *status_of(const struct running *running, const char *path, const char *host)
{
	static char text[2048];
	int fd = connect_to(running);

	ask_server(fd, path, host);
	receive_all(fd, text, sizeof(text));
	assert_int_equal(strncmp(text, "HTTP/1.1 ", 9), 0);
	text[12] = '\0';
	return text + 9;
}

static void for_all_users_no_token_is_needed_but_the_host_is(void **state)
{
	const struct running *running = *state;

	assert_string_equal(status_of(running, "/", "127.0.0.1:9877"), "200");
	assert_string_equal(status_of(running, "/nothing", "localhost"), "404");
	assert_string_equal(status_of(running, "/", "rebound.example:9877"), "403");
	assert_string_equal(status_of(running, "/", ""), "403");
}

static void only_who_knows_the_token_and_calls_this_host_gets_an_answer(void **state)
{
	const struct running *running = *state;
	const char *token = server_token(running->server);
	char host[64], name[64], other[64], path[256], wrong[256];

	snprintf(host, sizeof(host), "127.0.0.1:%u", server_port(running->server));
	snprintf(name, sizeof(name), "localhost:%u", server_port(running->server));
	snprintf(other, sizeof(other), "rebound.example:%u", server_port(running->server));
	snprintf(path, sizeof(path), "/%s/", token);
	assert_int_equal(strlen(token), 32);
	assert_string_equal(status_of(running, path, host), "200");
	assert_string_equal(status_of(running, path, name), "200");
	assert_string_equal(status_of(running, path, other), "403");
	assert_string_equal(status_of(running, path, "127.0.0.1:1"), "200"); /* a forwarded port */
	assert_string_equal(status_of(running, path, "[::1]:8080"), "200");
	assert_string_equal(status_of(running, path, "localhost"), "200"); /* port 80 */
	assert_string_equal(status_of(running, path, "127.0.0.1.rebound.example:80"), "403");
	assert_string_equal(status_of(running, path, "localhost:"), "403");
	assert_string_equal(status_of(running, path, "localhost:1@rebound.example"), "403");
	assert_string_equal(status_of(running, path, ""), "403");
	assert_string_equal(status_of(running, "/", host), "404");
	snprintf(wrong, sizeof(wrong), "/%s/../../etc/passwd", token);
	assert_string_equal(status_of(running, wrong, host), "404");
	snprintf(wrong, sizeof(wrong), "/%s", token);
	assert_string_equal(status_of(running, wrong, host), "404");
	snprintf(wrong, sizeof(wrong), "/%s/", token);
	wrong[5] = wrong[5] == '0' ? '1' : '0';
	assert_string_equal(status_of(running, wrong, host), "404");
}

static void who_is_slow_or_says_nothing_does_not_hold_up_others(void **state)
{
	const struct running *running = *state;
	char host[64], path[256], text[64];
	int silent[40], slow;

	snprintf(host, sizeof(host), "127.0.0.1:%u", server_port(running->server));
	snprintf(path, sizeof(path), "/%s/large", server_token(running->server));
	for (size_t i = 0; i < 40; i++) {
		silent[i] = connect_to(running);
		assert_int_equal(write(silent[i], "GET /", 5), 5);
	}
	slow = connect_to(running);
	ask_server(slow, path, host);
	snprintf(path, sizeof(path), "/%s/", server_token(running->server));
	assert_string_equal(status_of(running, path, host), "200");
	assert_true(receive_all(slow, text, sizeof(text)) > LARGE);
	for (size_t i = 0; i < 40; i++)
		close(silent[i]);
}

static void it_listens_on_loopback_alone(void **state)
{
	const struct running *running = *state;
	char wanted[32], line[256];
	FILE *table = fopen("/proc/net/tcp", "re");
	bool found = false;

	snprintf(wanted, sizeof(wanted), " 0100007F:%04X 00000000:0000 0A", server_port(running->server));
	while (fgets(line, sizeof(line), table))
		found = found || strstr(line, wanted);
	fclose(table);
	assert_true(found);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_get_is_taken_apart_into_path_query_and_host),
		cmocka_unit_test(a_request_is_whole_only_with_its_last_byte),
		cmocka_unit_test(what_is_no_plain_get_is_refused),
		cmocka_unit_test(parameters_are_numbers_lists_and_decoded_text),
		cmocka_unit_test_setup_teardown(every_answer_says_what_its_page_may_do, start_server, stop_server),
		cmocka_unit_test_setup_teardown(for_all_users_no_token_is_needed_but_the_host_is, start_server_for_all,
						stop_server),
		cmocka_unit_test_setup_teardown(only_who_knows_the_token_and_calls_this_host_gets_an_answer,
						start_server, stop_server),
		cmocka_unit_test_setup_teardown(who_is_slow_or_says_nothing_does_not_hold_up_others, start_server,
						stop_server),
		cmocka_unit_test_setup_teardown(it_listens_on_loopback_alone, start_server, stop_server),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
