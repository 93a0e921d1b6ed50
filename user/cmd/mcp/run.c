/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs gputrace as a child, bounded in time and output; text of JSON in memory. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "cmd/mcp/mcp.h"

void mcp_answer_add(struct mcp_answer *answer, const char *format, ...)
{
	AUTO_FREE char *text = NULL;
	va_list args;

	va_start(args, format);
	text = xvasprintf(format, args);
	va_end(args);
	text_append(&answer->text, text, strlen(text));
}

void mcp_put_string(FILE *out, const char *text, size_t size)
{
	const char *end = text + size;
	text_buffer line = {0};

	putc('"', out);
	while (text < end) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));

		line.count = 0;
		safe_text_append_utf8(&line, text, (size_t)((newline ? newline : end) - text));
		for (size_t i = 0; i < line.count; i++) {
			if (line.items[i] == '"' || line.items[i] == '\\')
				putc('\\', out);
			putc(line.items[i], out);
		}
		if (newline)
			fputs("\\n", out);
		text = newline ? newline + 1 : end;
	}
	putc('"', out);
	array_free(&line);
}

void json_text_open(struct json *json, const struct json_text *text)
{
	*json = (struct json){.capacity = text->size, .ended = true, .buffer = xcalloc(1, text->size + 16)};
	if (text->size)
		memcpy(json->buffer, text->bytes, text->size);
	json->at = json->buffer;
	json->end = json->buffer + text->size;
}

bool json_text_raw(struct json *json, const struct json_text *text, struct json_text *raw)
{
	struct json_text copied;

	if (!json_raw(json, &copied))
		return false;
	*raw = copied;
	raw->bytes = text->bytes + (copied.bytes - json->buffer);
	return true;
}

/* ---- the child --------------------------------------------------------------------------------------------------- */

static _Noreturn void become_gputrace(const char *const *words, int out, pid_t server)
{
	const char *argv[32] = {"gputrace"};
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	for (size_t i = 0; words[i] && i + 2 < sizeof(argv) / sizeof(argv[0]); i++)
		argv[i + 1] = words[i];
	prctl(PR_SET_PDEATHSIG, SIGINT); /* a recording ends with the server */
	signal(SIGPIPE, SIG_DFL);
	if (getppid() == server && null >= 0 && dup2(null, 0) == 0 && dup2(out, 1) == 1 && dup2(out, 2) == 2)
		execv("/proc/self/exe", (char *const *)argv);
	_exit(127);
}

/* Cuts the text at the end of a line, so that no character is cut. */
static void cut_lines(text_buffer *text, size_t most)
{
	while (most && text->items[most - 1] != '\n')
		most--;
	text->count = most;
}

/* Reads what the child prints until it closes its output; false: the time was over before. */
static bool read_output(struct mcp_answer *answer, int fd, uint64_t until_ns, size_t *left_out)
{
	struct pollfd end = {.fd = fd, .events = POLLIN};
	char bytes[16384];

	for (;;) {
		uint64_t now_ns = monotonic_ns();
		size_t room = MCP_ANSWER_MAX - answer->text.count, take;
		ssize_t got;

		if (now_ns >= until_ns)
			return false;
		if (poll(&end, 1, (int)((until_ns - now_ns) / 1000000 + 1)) < 0 && errno != EINTR)
			return false;
		if (!end.revents)
			continue;
		got = read(fd, bytes, sizeof(bytes));
		if (got <= 0)
			return true;
		take = (size_t)got < room ? (size_t)got : room;
		text_append(&answer->text, bytes, take);
		*left_out += (size_t)got - take;
	}
}

void mcp_run(struct mcp_answer *answer, const char *const *words)
{
	uint64_t until_ns = monotonic_ns() + MCP_SECONDS * 1000000000ull;
	size_t left_out = 0;
	pid_t server = getpid(), child;
	bool ended;
	int ends[2], status = 0;

	if (pipe2(ends, O_CLOEXEC) || (child = fork()) < 0) {
		mcp_answer_add(answer, "no process could be started: %s\n", strerror(errno));
		answer->failed = true;
		return;
	}
	if (!child)
		become_gputrace(words, ends[1], server);
	close(ends[1]);
	ended = read_output(answer, ends[0], until_ns, &left_out);
	if (!ended)
		kill(child, SIGKILL);
	close(ends[0]);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (left_out) {
		left_out += answer->text.count;
		cut_lines(&answer->text, answer->text.count);
		mcp_answer_add(answer, "[%zu of %zu bytes; ask for one table, or for a part of the trace]\n",
			       answer->text.count, left_out);
	}
	if (!ended)
		mcp_answer_add(answer, "[ended after %u s; ask for a part of the trace]\n", MCP_SECONDS);
	/* 3: incomplete, 4: dump found a hang, diff a step that became slower: these are answers. */
	answer->failed = !ended || !WIFEXITED(status) || (WEXITSTATUS(status) > 0 && WEXITSTATUS(status) < 3);
}
