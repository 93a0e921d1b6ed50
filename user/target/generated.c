/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Reads generated code line by line (torch/_inductor/codegen/wrapper.py, triton.py and utils.py, get_kernel_metadata;
 * checked with PyTorch 2.14 and 2.15).  A kernel is defined by
 *
 *	# kernel path: /cache/rt/crt...py                        or, for the user's own: # Original path:
 * /src/model.py:10 # Topologically Sorted Source Nodes: [sin, z], Original ATen: [aten.sin, aten.mul] NAME =
 *async_compile.triton('NAME', '''
 *	...the text of the file at the kernel's path from its second line on...
 *	''', device_str='cuda')
 *
 * and launched by NAME.run(...) below a comment with the nodes of that launch.
 */
#include "target/generated.h"

#include <stdbool.h>
#include <string.h>

#include "base/array.h"
#include "base/lookup.h"

struct definition {
	struct generated_text name, nodes, ops, file;
	uint32_t file_line;
	bool is_triton; /* "@triton.jit" was found */
};

struct reader {
	ARRAY(struct definition) kernels;
	struct lookup by_name;	/* index of the last one, by a hash of its name */
	struct definition said; /* from the comments since the last definition or launch */
	bool any_said;
	uint32_t line, lines_reported;
	uint32_t inside; /* line number within a kernel's own text, 0: not in one */
	void (*report)(void *context, const struct generated_line *line);
	void *context;
};

static bool begins_with(struct generated_text text, const char *with)
{
	return text.size >= strlen(with) && !memcmp(text.bytes, with, strlen(with));
}

static struct generated_text text_from(struct generated_text text, size_t at)
{
	return (struct generated_text){text.bytes + at, text.size - at};
}

static struct generated_text text_until(struct generated_text text, const char *end)
{
	return (struct generated_text){text.bytes, (size_t)(end - text.bytes)};
}

/* NULL: it is not there. */
static const char *find_text(struct generated_text text, const char *what)
{
	return text.size ? memmem(text.bytes, text.size, what, strlen(what)) : NULL;
}

static struct generated_text text_after(struct generated_text text, const char *found, const char *what)
{
	return text_from(text, (size_t)(found - text.bytes) + strlen(what));
}

static struct generated_text without_blanks(struct generated_text text)
{
	while (text.size && *text.bytes == ' ')
		text = text_from(text, 1);
	return text;
}

static size_t identifier_size(struct generated_text text)
{
	size_t size = 0;

	while (size < text.size && (text.bytes[size] == '_' || (text.bytes[size] >= '0' && text.bytes[size] <= '9') ||
				    (text.bytes[size] >= 'a' && text.bytes[size] <= 'z') ||
				    (text.bytes[size] >= 'A' && text.bytes[size] <= 'Z')))
		size++;
	return size;
}

/* "/src/model.py:10" */
static void split_place(struct generated_text place, struct definition *said)
{
	const char *colon = memrchr(place.bytes, ':', place.size);
	uint32_t number = 0;

	said->file = colon ? text_until(place, colon) : place;
	for (const char *at = colon ? colon + 1 : NULL; at && at < place.bytes + place.size; at++) {
		if (*at < '0' || *at > '9' || number > UINT32_MAX / 10 - 1) {
			number = 0;
			break;
		}
		number = number * 10 + (uint32_t)(*at - '0');
	}
	said->file_line = number;
}

static void read_comment(struct reader *reader, struct generated_text text)
{
	static const char nodes[] = "Source Nodes: [", ops[] = "], Original ATen: [";
	const char *begin = find_text(text, nodes), *middle = find_text(text, ops);
	struct definition *said = &reader->said;

	if (begins_with(text, "# kernel path: ")) {
		said->file = text_from(text, strlen("# kernel path: "));
		said->file_line = 0;
	} else if (begins_with(text, "# Original path: ")) {
		split_place(text_from(text, strlen("# Original path: ")), said);
	} else if (begin && middle && middle > begin) {
		const char *end;

		said->nodes = text_until(text_after(text, begin, nodes), middle);
		said->ops = text_after(text, middle, ops);
		end = memrchr(said->ops.bytes, ']', said->ops.size);
		said->ops = end ? text_until(said->ops, end) : said->ops;
	} else {
		return;
	}
	reader->any_said = true;
}

static void forget_said(struct reader *reader)
{
	reader->said = (struct definition){0};
	reader->any_said = false;
}

/* Reads a line of the text of the kernel defined last. */
static void read_kernel(struct reader *reader, struct generated_text text)
{
	struct definition *kernel = &reader->kernels.items[reader->kernels.count - 1];

	reader->inside++;
	if (begins_with(text, "'''"))
		reader->inside = 0;
	else if (begins_with(text, "@triton.jit"))
		kernel->is_triton = true;
	else if (kernel->is_triton && kernel->file.size && !kernel->file_line && begins_with(text, "def "))
		kernel->file_line = reader->inside;
}

static uint64_t hash_of(struct generated_text name)
{
	return hash_bytes(hash_seed(), name.bytes, name.size);
}

static bool read_definition(struct reader *reader, struct generated_text text)
{
	size_t size = identifier_size(text);

	if (!size || !begins_with(text_from(text, size), " = async_compile."))
		return false;
	if (reader->kernels.count < GENERATED_KERNELS_MAX) {
		reader->said.name = (struct generated_text){text.bytes, size};
		*lookup_put(&reader->by_name, 1, hash_of(reader->said.name), 0) = (uint32_t)reader->kernels.count;
		array_push(&reader->kernels, reader->said);
		if (text.size >= 3 && !memcmp(text.bytes + text.size - 3, "'''", 3))
			reader->inside = 1;
	}
	forget_said(reader);
	return true;
}

static const struct definition *find_kernel(const struct reader *reader, struct generated_text name)
{
	const uint32_t *found = lookup_get(&reader->by_name, 1, hash_of(name));
	const struct definition *kernel = found ? &reader->kernels.items[*found] : NULL;

	return kernel && kernel->name.size == name.size && !memcmp(kernel->name.bytes, name.bytes, name.size) ? kernel
													      : NULL;
}

/* The library function that a statement calls: "extern_kernels.mm", "torch.ops.aten.mm.default". */
static struct generated_text called_library(struct generated_text text)
{
	static const char *const libraries[] = {"extern_kernels.", "torch.ops."};

	for (size_t i = 0; i < sizeof(libraries) / sizeof(libraries[0]); i++) {
		const char *begin = find_text(text, libraries[i]), *end;

		if (begin) {
			text = text_from(text, (size_t)(begin - text.bytes));
			end = memchr(text.bytes, '(', text.size);
			return end ? text_until(text, end) : (struct generated_text){0};
		}
	}
	return (struct generated_text){0};
}

static void read_statement(struct reader *reader, struct generated_text text)
{
	struct generated_text name = {text.bytes, identifier_size(text)}, rest = text_from(text, name.size);
	const struct definition *kernel = NULL;
	struct generated_line line = {.line = reader->line};

	if (name.size && (begins_with(rest, ".run(") || begins_with(rest, "(")))
		kernel = find_kernel(reader, name);
	line.kernel = kernel ? kernel->name : called_library(text);
	if (!line.kernel.size || (!kernel && !reader->any_said) || reader->lines_reported >= GENERATED_LINES_MAX)
		return;
	line.nodes = reader->said.nodes;
	line.ops = reader->said.ops;
	if (kernel) {
		line.nodes = line.nodes.size ? line.nodes : kernel->nodes;
		line.ops = line.ops.size ? line.ops : kernel->ops;
		line.file = kernel->file;
		line.file_line = kernel->file_line;
	}
	reader->lines_reported++;
	reader->report(reader->context, &line);
	forget_said(reader);
}

void generated_read(const char *text, size_t bytes, void (*report)(void *context, const struct generated_line *line),
		    void *context)
{
	struct reader reader = {.report = report, .context = context};

	for (size_t at = 0; at < bytes && reader.line < UINT32_MAX;) {
		const char *end = memchr(text + at, '\n', bytes - at);
		struct generated_text line = {text + at, end ? (size_t)(end - text) - at : bytes - at};

		at += line.size + 1;
		reader.line++;
		if (reader.inside) {
			read_kernel(&reader, line);
			continue;
		}
		line = without_blanks(line);
		if (begins_with(line, "#"))
			read_comment(&reader, line);
		else if (!read_definition(&reader, line))
			read_statement(&reader, line);
	}
	array_free(&reader.kernels);
	lookup_free(&reader.by_name);
}
