/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/process/print.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/msg.h"
#include "cmd/process/interrupt.h"

#define BUFFER_BYTES (64u << 10) /* holds most reports, so that they are one write */

/* error: keeps the first one, as a FILE does not. */
static ssize_t write_stdout(void *error, const char *data, size_t bytes)
{
	int *first = error;

	if (!*first)
		*first = write_unless(STDOUT_FILENO, data, bytes, interrupt());
	return *first ? 0 : (ssize_t)bytes; /* 0 is an error, fopencookie(3) */
}

/* Whether the environment names a locale (locale(7)) of another character set; without one it is taken for UTF-8. */
static bool lacks_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return !strcasestr(value, "utf-8") && !strcasestr(value, "utf8");
	}
	return false;
}

/* A dumb terminal shows the bytes of colors as text. */
static bool wants_color(void)
{
	const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");

	return !(no_color && *no_color) && !(terminal && !strcmp(terminal, "dumb"));
}

struct screen print_screen(void)
{
	struct winsize size = {0};

	if (!isatty(STDOUT_FILENO))
		return (struct screen){0};
	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	return (struct screen){
		.width = size.ws_col, .is_terminal = true, .has_color = wants_color(), .is_ascii = lacks_utf8()};
}

int print_on_stdout(print_fn *print, void *context)
{
	const struct screen screen = print_screen();
	int lost = 0, err;
	FILE *out = fopencookie(&lost, "w", (cookie_io_functions_t){.write = write_stdout});

	if (!out)
		return -ENOMEM;
	setvbuf(out, NULL, _IOFBF, BUFFER_BYTES);
	err = print(out, &screen, context);
	fclose(out);
	err = lost ? lost : err;
	/* A reader that closes early, as head(1) does, is no error. */
	if (err == -EPIPE)
		return 0;
	if (err && is_interrupted())
		return -ECANCELED;
	if (err == -EAGAIN)
		msg_error("the report could not be written: no thread can be started for it; raise ulimit -v or "
			  "ulimit -u, or write to a file");
	else if (err && err != -ENOENT)
		msg_error("the report could not be written: %s", strerror(-err));
	return err;
}

void print_end(void)
{
	int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (nowhere < 0)
		return;
	dup2(nowhere, STDOUT_FILENO);
	close(nowhere);
}

void print_end_and_input(void)
{
	int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

	print_end();
	if (nothing < 0)
		return;
	dup2(nothing, STDIN_FILENO);
	close(nothing);
}
