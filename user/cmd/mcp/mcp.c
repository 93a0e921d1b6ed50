/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads requests, a line each, and answers them in their order. */
#include "cmd/mcp/mcp.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/msg.h"
#include "cmd/commands.h"

#define LINE_MAX_BYTES (1u << 20)

/* JSON-RPC 2.0, section 5.1. */
enum {
	NOT_JSON = -32700,
	NO_REQUEST = -32600,
	NO_METHOD = -32601,
	WRONG_PARAMETERS = -32602,
};

/* Versions that begin with `initialize`, newest first; a client that offers another one gets the newest. */
static const char *const versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};

static const char instructions[] =
	"gputrace says which line of a Python program spends, or wastes, the GPU. Ask `why` first: it names the three "
	"largest losses with line, cause and what to try. Read its receipt: what is not complete is not known. "
	"`source_lines` shows the costs beside the source, `report` all tables, `diff` what changed between two "
	"traces.";

struct server {
	char folder[PATH_MAX];
	bool may_record;
};

/* A request; texts are raw JSON. */
struct request {
	struct json_text id; /* a string or a whole number; bytes NULL: a notification, which has no answer */
	struct json_text params;
	text_buffer method;
};

/* ---- answers ----------------------------------------------------------------------------------------------------- */

static void put_id(const struct json_text *id)
{
	struct json json;
	struct json_text text;
	text_buffer unescaped = {0};

	if (*id->bytes != '"') {
		fwrite(id->bytes, 1, id->size, stdout);
		return;
	}
	json_text_open(&json, id);
	if (json_string(&json, &text))
		json_unescape(&unescaped, &text);
	mcp_put_string(stdout, unescaped.items, unescaped.count);
	array_free(&unescaped);
	json_close(&json);
}

static void begin_answer(const struct json_text *id)
{
	fputs("{\"jsonrpc\":\"2.0\",\"id\":", stdout);
	if (id->bytes)
		put_id(id);
	else
		fputs("null", stdout);
}

static void end_answer(void)
{
	fputs("}\n", stdout);
	fflush(stdout);
}

static void answer_error(const struct json_text *id, int code, const char *message)
{
	begin_answer(id);
	printf(",\"error\":{\"code\":%d,\"message\":", code);
	mcp_put_string(stdout, message, strlen(message));
	putchar('}');
	end_answer();
}

/* ---- requests ---------------------------------------------------------------------------------------------------- */

static bool is_id(const struct json_text *raw)
{
	size_t at = raw->bytes[0] == '-';

	if (raw->bytes[0] == '"')
		return true;
	if (raw->size == at || (raw->bytes[at] == '0' && raw->size > at + 1))
		return false;
	while (at < raw->size && raw->bytes[at] >= '0' && raw->bytes[at] <= '9')
		at++;
	return at == raw->size;
}

/* Gets the raw value of a member of an object, the last one of that name; bytes NULL: there is none.  False: no object.
 */
static bool find_member(const struct json_text *object, const char *name, struct json_text *value)
{
	struct json json;
	struct json_text key;
	bool first = true, going = true;

	*value = (struct json_text){0};
	json_text_open(&json, object);
	while (going && json_member(&json, &first, &key)) {
		json_peek(&json); /* at the first character */
		going = json_is(&key, name, strlen(name)) ? json_text_raw(&json, object, value) : json_skip(&json);
	}
	going &= !json.stopped;
	json_close(&json);
	return going;
}

/* A member that is a string, with a NUL; empty: there is none. */
static void read_string(text_buffer *out, const struct json_text *object, const char *name)
{
	struct json_text raw, text;
	struct json json;

	find_member(object, name, &raw);
	json_text_open(&json, &raw);
	if (raw.bytes && *raw.bytes == '"' && json_string(&json, &text))
		json_unescape(out, &text);
	text_append(out, "", 1);
	json_close(&json);
}

/* False: the line, which is JSON, is no request. */
static bool read_request(struct request *request, const struct json_text *line)
{
	read_string(&request->method, line, "method");
	return find_member(line, "id", &request->id) && find_member(line, "params", &request->params) &&
	       *request->method.items && (!request->id.bytes || is_id(&request->id)) &&
	       (!request->params.bytes || *request->params.bytes == '{');
}

static void answer_initialize(const struct request *request)
{
	const char *version = versions[0];
	text_buffer offered = {0};

	read_string(&offered, &request->params, "protocolVersion");
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		if (!strcmp(versions[i], offered.items))
			version = versions[i];
	array_free(&offered);
	begin_answer(&request->id);
	printf(",\"result\":{\"protocolVersion\":\"%s\",\"capabilities\":{\"tools\":{}},"
	       "\"serverInfo\":{\"name\":\"gputrace\",\"version\":\"" GPUTRACE_VERSION "\"},\"instructions\":",
	       version);
	mcp_put_string(stdout, instructions, strlen(instructions));
	putchar('}');
	end_answer();
}

static void list_tools(const struct server *server, const struct request *request)
{
	begin_answer(&request->id);
	fputs(",\"result\":{\"tools\":", stdout);
	mcp_tools_list(stdout, server->may_record);
	putchar('}');
	end_answer();
}

static void call_tool(const struct server *server, const struct request *request)
{
	struct json_text arguments;
	struct mcp_answer answer = {0};
	text_buffer name = {0};

	find_member(&request->params, "arguments", &arguments);
	read_string(&name, &request->params, "name");
	if (!mcp_tool_call(&answer, name.items, &arguments, server->folder, server->may_record)) {
		answer_error(&request->id, WRONG_PARAMETERS,
			     "no tool of that name; tools/list has them, and those that look at processes need "
			     "gputrace mcp --allow-record");
	} else {
		begin_answer(&request->id);
		fputs(",\"result\":{\"content\":[{\"type\":\"text\",\"text\":", stdout);
		mcp_put_string(stdout, answer.text.items, answer.text.count);
		printf("}],\"isError\":%s}", answer.failed ? "true" : "false");
		end_answer();
	}
	array_free(&answer.text);
	array_free(&name);
}

static void answer_request(const struct server *server, const struct request *request)
{
	const char *method = request->method.items;

	if (!request->id.bytes) /* a notification: nothing that a client tells changes what is answered */
		return;
	if (!strcmp(method, "initialize")) {
		answer_initialize(request);
	} else if (!strcmp(method, "ping")) {
		begin_answer(&request->id);
		fputs(",\"result\":{}", stdout);
		end_answer();
	} else if (!strcmp(method, "tools/list")) {
		list_tools(server, request);
	} else if (!strcmp(method, "tools/call")) {
		call_tool(server, request);
	} else {
		answer_error(&request->id, NO_METHOD,
			     "no such method: initialize, ping, tools/list and tools/call are here");
	}
}

static void answer_line(const struct server *server, const char *line, size_t size)
{
	struct request request = {0};
	const struct json_text text = {.bytes = line, .size = size}, none = {0};
	struct json json;
	struct json_text whole;
	bool is_json;

	json_text_open(&json, &text);
	is_json = json_raw(&json, &whole) && !json_peek(&json);
	json_close(&json);
	if (!is_json)
		answer_error(&none, NOT_JSON, "not JSON: each line is one message");
	else if (read_request(&request, &text))
		answer_request(server, &request);
	else
		answer_error(&none, NO_REQUEST,
			     "no request of JSON-RPC 2.0: an object with a method, and an id that is a whole number or "
			     "a string");
	array_free(&request.method);
}

/* Reads lines until the client closes its end.  A line that is too long is answered by an error and left out. */
static void serve_client(const struct server *server)
{
	text_buffer line = {0};
	bool too_long = false;
	int c;

	while ((c = getchar()) != EOF) {
		if (c != '\n') {
			too_long |= line.count >= LINE_MAX_BYTES;
			if (!too_long)
				text_append(&line, &(char){(char)c}, 1);
			continue;
		}
		if (too_long)
			answer_error(&(struct json_text){0}, NO_REQUEST, "a message of over 1 MiB");
		else if (line.count)
			answer_line(server, line.items, line.count);
		line.count = 0;
		too_long = false;
	}
	array_free(&line);
}

enum exit_code mcp_command(const struct options *options)
{
	struct server server = {.may_record = options->may_record};
	const char *folder = options->log ? options->log : ".";

	if (!realpath(folder, server.folder) || chdir(server.folder)) {
		msg_error("%s: not a folder that can be entered; name the folder with the traces", folder);
		return EXIT_FAILED;
	}
	signal(SIGPIPE, SIG_IGN); /* the client ends by closing its ends */
	serve_client(&server);
	return EXIT_GOOD;
}
