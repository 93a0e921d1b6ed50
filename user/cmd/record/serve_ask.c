/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `gputrace serve`: which of the two it is, and what is asked of one that runs. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/msg.h"
#include "base/safe_text.h"
#include "cmd/commands.h"
#include "cmd/process/print.h"
#include "serve/control.h"

/* Root's own may run where this user's does not. */
static void say_not_asked(const struct options *options, const char *why)
{
	bool of_root = !options->socket && geteuid() && access("/run/gputrace", F_OK) == 0;

	msg_error("serve %s: %s%s", options->log, why,
		  of_root ? "; root's is asked by root: sudo gputrace serve" : "; --socket PATH names another");
}

/* Root may ask a process of any user. */
static int print_text(FILE *out, const struct screen *screen, void *text)
{
	text_buffer safe = {0};

	for (char *rest = text, *line; (line = strsep(&rest, "\n"));) {
		if (!*line)
			continue;
		safe_text_append_utf8(&safe, line, strlen(line));
		text_append(&safe, "\n", 1);
	}
	fwrite(safe.items, 1, safe.count, out);
	array_free(&safe);
	return 0;
}

static enum exit_code ask_server(const struct options *options)
{
	AUTO_FREE char *path = options->socket ? xstrdup(options->socket) : control_usual_path();
	char answer[CONTROL_ANSWER_MAX + 1], why[CONTROL_WHY_MAX];
	size_t good = strlen(CONTROL_GOOD), failed = strlen(CONTROL_FAILED);
	int got;

	if (!path) {
		msg_error("serve %s: neither XDG_RUNTIME_DIR nor /run/user/%u is a folder of yours: name the socket "
			  "with --socket PATH",
			  options->log, geteuid());
		return EXIT_FAILED;
	}
	got = control_ask(path, options->log, answer, why);
	if (got < 0) {
		say_not_asked(options, why);
		return EXIT_FAILED;
	}
	if (!strncmp(answer, CONTROL_GOOD, good)) {
		return print_on_stdout(print_text, answer + good) ? EXIT_FAILED : EXIT_GOOD;
	}
	msg_error("serve %s: %s", options->log, answer + (strncmp(answer, CONTROL_FAILED, failed) ? 0 : failed));
	return EXIT_FAILED;
}

int serve_command(const struct options *options)
{
	return options->log ? (int)ask_server(options) : record_command(options);
}
