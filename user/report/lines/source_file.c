/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/lines/source_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/generated_path.h"
#include "base/safe_text.h"

#define TAB 8u
#define DECORATORS_MAX 64u /* most lines from the first of a function to the one with its name */

/* ---- finding the file -------------------------------------------------------------------------------------------- */

#define OPEN_FLAGS (O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)

/*
 * Opens the file that the process would open, following no link out of its root or working folder; -1: the process, or
 * the file, is gone.
 */
static int open_live(const char *path, uint32_t pid)
{
	struct open_how how = {
		.flags = OPEN_FLAGS,
		.resolve = RESOLVE_NO_MAGICLINKS | (*path == '/' ? RESOLVE_IN_ROOT : RESOLVE_BENEATH),
	};
	AUTO_FREE char *text = xasprintf("/proc/%u/%s", pid, *path == '/' ? "root" : "cwd");
	int root = open(text, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int fd = root < 0 ? -1 : (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (root >= 0)
		close(root);
	return fd;
}

/*
 * A target must not make gputrace print what its user could not read: as root it reads only files that everyone may
 * read, or that belong to the user who ran sudo.
 */
static bool may_be_shown(const struct stat *stat)
{
	const char *sudo_uid = getenv("SUDO_UID");

	if (geteuid() || stat->st_mode & S_IROTH)
		return true;
	return sudo_uid && *sudo_uid && strtoul(sudo_uid, NULL, 10) == stat->st_uid && stat->st_uid;
}

static char *refuse_file(int fd, int64_t started_ns)
{
	struct stat stat;

	if (fstat(fd, &stat) < 0)
		return xasprintf("it cannot be read: %s", strerror(errno));
	if (!S_ISREG(stat.st_mode))
		return xstrdup("it is not a regular file");
	if (stat.st_size > SOURCE_BYTES_MAX)
		return xasprintf("it is larger than %u MB", SOURCE_BYTES_MAX >> 20);
	if (!may_be_shown(&stat))
		return xstrdup("it cannot be read by everyone");
	if ((int64_t)stat.st_mtim.tv_sec * 1000000000 + stat.st_mtim.tv_nsec > started_ns)
		return xstrdup("it was changed after the trace began");
	return NULL;
}

static char *open_file(const struct model_code *code, const struct model_process *process, bool live,
		       int64_t started_ns, int *fd)
{
	char *why;

	*fd = -1;
	if (!code->described || !*code->file || *code->file == '<')
		return xstrdup("the code is from no file");
	if (file_is_cell(code->raw_file))
		return xstrdup("it is a cell of a notebook, whose text could not be read from the process");
	if (live && process && !process->exit_ns)
		*fd = open_live(code->file, process->pid);
	if (*fd < 0 && process && process->mounts == GPT_MOUNTS_OTHER)
		return xstrdup("its process was in another mount namespace");
	if (*fd < 0 && *code->file != '/')
		return xstrdup("its path is relative, and its process is gone");
	if (*fd < 0)
		*fd = open(code->file, OPEN_FLAGS);
	if (*fd < 0)
		return xasprintf("it cannot be read: %s", strerror(errno));
	why = refuse_file(*fd, started_ns);
	if (why) {
		close(*fd);
		*fd = -1;
	}
	return why;
}

/* ---- its lines --------------------------------------------------------------------------------------------------- */

static char *read_all(struct source_file *out, int fd)
{
	out->text = xmalloc(SOURCE_BYTES_MAX + 1);
	while (out->bytes <= SOURCE_BYTES_MAX) {
		ssize_t bytes = read(fd, out->text + out->bytes, SOURCE_BYTES_MAX + 1 - out->bytes);

		if (bytes < 0)
			return xasprintf("it cannot be read: %s", strerror(errno));
		if (!bytes)
			return NULL;
		out->bytes += (size_t)bytes;
	}
	return xasprintf("it is larger than %u MB", SOURCE_BYTES_MAX >> 20);
}

static void find_lines(struct source_file *out)
{
	ARRAY(uint32_t) begins = {0};

	array_push(&begins, 0);
	for (size_t i = 0; i < out->bytes; i++)
		if (out->text[i] == '\n')
			array_push(&begins, (uint32_t)i + 1);
	out->lines = (uint32_t)begins.count;
	array_push(&begins, (uint32_t)out->bytes + 1);
	out->begins = begins.items;
}

static const char *raw_line(const struct source_file *file, uint32_t number, size_t *length)
{
	*length = 0;
	if (!file->text || !number || number > file->lines)
		return "";
	*length = file->begins[number] - 1 - file->begins[number - 1];
	return file->text + file->begins[number - 1];
}

char *source_file_line(const struct source_file *file, uint32_t number)
{
	text_buffer plain = {0}, safe = {0};
	size_t length;
	const char *line = raw_line(file, number, &length);

	if (length && line[length - 1] == '\r')
		length--;
	for (size_t i = 0; i < length && plain.count < SOURCE_LINE_MAX; i++) {
		if (line[i] != '\t') {
			array_push(&plain, line[i]);
			continue;
		}
		do
			array_push(&plain, ' ');
		while (plain.count % TAB);
	}
	safe_text_append_utf8(&safe, plain.items ? plain.items : "", plain.count);
	array_push(&safe, '\0');
	array_free(&plain);
	return safe.items;
}

/* Columns before a line's text; UINT_MAX for an empty line. */
static unsigned indent_of(const struct source_file *file, uint32_t number)
{
	size_t length;
	const char *line = raw_line(file, number, &length);
	unsigned indent = 0;

	for (size_t i = 0; i < length; i++) {
		if (line[i] == '\t')
			indent += TAB - indent % TAB;
		else if (line[i] == ' ')
			indent++;
		else
			return line[i] == '\r' ? UINT_MAX : indent;
	}
	return UINT_MAX;
}

/* How many brackets are open after the line, where `depth` are before it; strings and comments have none. */
static unsigned brackets_after(const char *line, size_t length, unsigned depth)
{
	char quote = '\0';

	for (size_t i = 0; i < length; i++) {
		char c = line[i];

		if (quote) {
			i += c == '\\';
			quote = c == quote ? '\0' : quote;
		} else if (c == '#') {
			break;
		} else if (c == '"' || c == '\'') {
			quote = c;
		} else if (strchr("([{", c)) {
			depth++;
		} else if (depth && strchr(")]}", c)) {
			depth--;
		}
	}
	return depth;
}

/* The first lines of a block: decorators, then a statement that ends in that line or where its brackets are closed. */
struct block_head {
	unsigned depth;
	bool has_statement;
};

static bool is_in_head(const struct block_head *head)
{
	return head->depth || !head->has_statement;
}

static void add_to_head(struct block_head *head, const struct source_file *file, uint32_t number)
{
	size_t length, at = 0;
	const char *line = raw_line(file, number, &length);

	while (at < length && (line[at] == ' ' || line[at] == '\t'))
		at++;
	head->has_statement |= !head->depth && at < length && line[at] != '@' && line[at] != '#';
	head->depth = brackets_after(line, length, head->depth);
}

uint32_t source_file_block_end(const struct source_file *file, uint32_t first)
{
	unsigned indent = indent_of(file, first);
	struct block_head head = {0};
	uint32_t end = first;

	for (uint32_t i = first; i <= file->lines; i++) {
		unsigned of_line = indent_of(file, i);

		if (of_line == UINT_MAX)
			continue;
		if (is_in_head(&head))
			add_to_head(&head, file, i);
		else if (of_line <= indent)
			break;
		end = i;
	}
	return end;
}

/* ---- whether it is what ran -------------------------------------------------------------------------------------- */

/* "forward" of "Block.forward"; NULL: the code has no name in its source. */
static const char *plain_name(const char *name)
{
	const char *dot = strrchr(name, '.');

	name = dot ? dot + 1 : name;
	return *name && *name != '<' && !strstr(name, "...") ? name : NULL;
}

static bool has_function(const struct source_file *file, const struct model_code *code)
{
	const char *name = plain_name(code->name);

	if (code->first_line > file->lines)
		return false;
	for (uint32_t i = code->first_line; name && i < code->first_line + DECORATORS_MAX && i <= file->lines; i++) {
		size_t length;
		const char *line = raw_line(file, i, &length);

		if (memmem(line, length, name, strlen(name)))
			return true;
	}
	return !name;
}

/* Reads the text from the trace itself; whether it is there. */
static bool read_recorded(struct source_file *out, const struct model *model, const struct model_code *code)
{
	text_buffer text = {0};

	for (uint32_t i = 0; i < model->cell_line_count; i++) {
		const struct model_cell_line *line = &model->cell_lines[i];

		if (strcmp(line->file, code->raw_file) != 0)
			continue;
		if (line->line == 1)
			text.count = 0;
		for (const char *at = line->text; *at; at++)
			array_push(&text, *at);
		array_push(&text, '\n');
	}
	out->text = text.items;
	out->bytes = text.count;
	if (text.count)
		find_lines(out);
	return text.count != 0;
}

void source_file_read(struct source_file *out, const struct model *model, const struct model_code *code,
		      const struct model_process *process, bool live, int64_t started_ns)
{
	int fd;

	*out = (struct source_file){0};
	if (file_is_cell(code->raw_file) && read_recorded(out, model, code))
		return;
	out->why = open_file(code, process, live, started_ns, &fd);
	if (out->why)
		return;
	out->why = read_all(out, fd);
	close(fd);
	if (!out->why) {
		find_lines(out);
		if (!has_function(out, code))
			out->why = xstrdup("it is not what ran: the function is not there");
	}
	if (out->why) {
		free(out->text);
		out->text = NULL;
	}
}

void source_file_free(struct source_file *file)
{
	free(file->text);
	free(file->begins);
	free(file->why);
}
