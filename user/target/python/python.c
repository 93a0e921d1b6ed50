/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Finds the interpreter of a process: which of its files is one, its version, the address of its state, and whether
 * the memory there has the layout of that version.
 */
#include "target/python/python.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "target/image.h"
#include "target/library.h"
#include "target/python/python_internal.h"
#include "target/site.h"

/* PyTypeObject (cpython/object.h), the same from 3.6 to 3.15 in builds that are neither traced nor free-threaded. */
#define TYPE_NAME_OFFSET 24
#define TYPE_DEALLOC_OFFSET 48

#define DEBUG_OFFSETS_SINCE (3u << 8 | 13)
#define RUNTIME_SINCE (3u << 8 | 7) /* _PyRuntime; 3.6 has python_head.c */
#define SUPPORTED_FIRST "3.6"
#define SUPPORTED_LAST "3.15"

/* Thread states come and go during a check: one that fails is repeated. */
#define CHECK_ATTEMPTS 3
#define INTERPRETERS_MAX 64	   /* searched for one with a thread: new ones come first */
#define UNIQUE_ID_MAX (1ull << 32) /* no process starts more threads than that */

/* One file that may be the interpreter. */
struct candidate {
	pid_t pid;
	const struct mappings *mappings; /* of the process */
	const struct mapping *mapping;
	struct image *image;
	uint64_t bias;
	struct python_version version;
};

struct reason {
	char *text;
	size_t size;
};

/* "PATH: CPython 3.14.0 is not supported yet"; returns err. */
__attribute__((format(printf, 4, 5))) static int
explain_refusal(const struct candidate *candidate, const struct reason *why, int err, const char *format, ...)
{
	int used = snprintf(why->text, why->size, "%s: ", candidate->mapping->path);
	va_list args;

	if (used < 0 || (size_t)used >= why->size)
		return err;
	va_start(args, format);
	vsnprintf(why->text + used, why->size - (size_t)used, format, args);
	va_end(args);
	return err;
}

static int read_word(pid_t pid, uint64_t address, uint64_t *out)
{
	return process_read_memory(pid, address, out, sizeof(*out));
}

/* -EPROTO: it does not have this layout; -EAGAIN: it has no thread (it was made but not run, or is starting). */
static int check_interpreter(pid_t pid, uint64_t interpreter, const struct gpt_pylayout *layout)
{
	uint64_t thread, owner, unique;

	if (read_word(pid, interpreter + layout->interp_threads_head, &thread))
		return -EPROTO;
	if (!thread)
		return -EAGAIN;
	if (read_word(pid, thread + layout->ts_interp, &owner) || owner != interpreter)
		return -EPROTO;
	if (layout->interp_next_unique_id && (read_word(pid, interpreter + layout->interp_next_unique_id, &unique) ||
					      unique == 0 || unique > UNIQUE_ID_MAX))
		return -EPROTO;
	return 0;
}

/* -EAGAIN while the interpreter starts, -EPROTO when its memory does not have this layout. */
static int check_state_once(pid_t pid, uint64_t runtime, const struct gpt_pylayout *layout)
{
	uint64_t interpreter;
	int err = -EAGAIN;

	if (read_word(pid, runtime + layout->runtime_interpreters_head, &interpreter))
		return -EAGAIN;
	for (int i = 0; i < INTERPRETERS_MAX && interpreter && err == -EAGAIN; i++) {
		err = check_interpreter(pid, interpreter, layout);
		if (read_word(pid, interpreter + layout->interp_next, &interpreter))
			return -EPROTO;
	}
	return err;
}

static int check_state(pid_t pid, uint64_t runtime, const struct gpt_pylayout *layout)
{
	int err = -EPROTO;

	for (int i = 0; i < CHECK_ATTEMPTS && err == -EPROTO; i++)
		err = check_state_once(pid, runtime, layout);
	return err;
}

/* The GIL of the first interpreter, which is the last one in the list; 0: not known. */
static uint64_t find_gil(pid_t pid, uint64_t runtime, const struct gpt_pylayout *layout)
{
	uint64_t interpreter = 0, next, gil = 0;

	if (!layout->gil || !layout->gil_is_pointer)
		return layout->gil ? runtime + layout->gil : 0;
	if (read_word(pid, runtime + layout->runtime_interpreters_head, &next))
		return 0;
	for (int i = 0; i < INTERPRETERS_MAX && next; i++) {
		interpreter = next;
		if (read_word(pid, interpreter + layout->interp_next, &next))
			return 0;
	}
	return next || !interpreter || read_word(pid, interpreter + layout->gil, &gil) ? 0 : gil;
}

/* PyCode_Type's name is "code" only if bias, symbol and object header are right. */
static bool is_code_type(pid_t pid, uint64_t type)
{
	char name[sizeof("code")];
	uint64_t address;

	return read_word(pid, type + TYPE_NAME_OFFSET, &address) == 0 &&
	       process_read_memory(pid, address, name, sizeof(name)) == 0 && memcmp(name, "code", sizeof(name)) == 0;
}

static uint64_t find_dealloc(const struct candidate *candidate, uint64_t code_type)
{
	struct probe_site site;
	uint64_t address;

	if (read_word(candidate->pid, code_type + TYPE_DEALLOC_OFFSET, &address) ||
	    site_choose(candidate->image, address - candidate->bias, &site))
		return 0;
	return site.offset;
}

/* The table's row for this series, or NULL with the reason in `why`. */
static const struct gpt_pylayout *find_row(const struct candidate *candidate, struct python_info *out,
					   const struct reason *why)
{
	unsigned series = candidate->version.major << 8 | candidate->version.minor;
	const struct gpt_pylayout *row = python_layout(series);

	python_version_print(&candidate->version, out->version, sizeof(out->version));
	if (!row)
		explain_refusal(candidate, why, -ENOTSUP,
				"CPython %s is not supported%s (supported are " SUPPORTED_FIRST " to " SUPPORTED_LAST
				")",
				out->version, series > DEBUG_OFFSETS_SINCE ? " yet" : "");
	return row;
}

/* The table's row, completed by the interpreter's own description if it has one. */
static int complete_layout(const struct candidate *candidate, uint64_t runtime, const struct gpt_pylayout *row,
			   struct python_info *out, const struct reason *why)
{
	const struct python_version *version = &candidate->version;
	char detail[128] = "";
	int err = 0;

	out->free_threaded = false;
	if (version->early)
		return explain_refusal(candidate, why, -ENOTSUP, "CPython %s is a pre-release: its layout is not known",
				       out->version);
	out->walk.layout = *row;
	if (row->version >= DEBUG_OFFSETS_SINCE)
		err = python_debug_offsets_apply(candidate->pid, runtime, version, &out->walk.layout,
						 &out->free_threaded, detail, sizeof(detail));
	if (err == -ENOTSUP || err == -EPROTO)
		return explain_refusal(candidate, why, err, "CPython %s %s", out->version, detail);
	return err;
}

/* While the loader still maps the file, other parts of the file lie where the data will be. */
static bool is_data_mapped(const struct candidate *candidate, uint64_t address)
{
	array_each (mapping, &candidate->mappings->list) {
		if (address - mapping->start < mapping->end - mapping->start)
			return mapping->writable;
	}
	return false;
}

static int examine_runtime(struct candidate *candidate, uint64_t runtime, const struct gpt_pylayout *row,
			   struct python_info *out, const struct reason *why)
{
	bool mapped = is_data_mapped(candidate, runtime);
	struct image_symbol type;
	char detail[128] = "";
	int err;

	if (!mapped && row->version >= DEBUG_OFFSETS_SINCE)
		return -EAGAIN;
	err = complete_layout(candidate, runtime, row, out, why);
	if (err)
		return err;
	out->walk.runtime = runtime;
	out->bias = candidate->bias;
	if (row->version >= RUNTIME_SINCE && !image_symbol(candidate->image, "_PyRuntime", &type))
		out->walk.runtime_bytes = type.size;
	if (!image_symbol(candidate->image, "PyCode_Type", &type))
		out->walk.code_type = type.address + candidate->bias;
	if (!mapped)
		return -EAGAIN;
	/* Also for an interpreter that has not started; addresses not relocated yet lead nowhere. */
	if (out->walk.code_type && is_code_type(candidate->pid, out->walk.code_type))
		out->dealloc_offset = find_dealloc(candidate, out->walk.code_type);
	err = check_state(candidate->pid, runtime, &out->walk.layout);
	if (err == -EPROTO)
		return explain_refusal(candidate, why, err, "the state of CPython %s is not laid out as in its headers",
				       out->version);
	if (err)
		return err;
	err = python_version_refine(candidate->image, &candidate->version, detail, sizeof(detail));
	if (err)
		return explain_refusal(candidate, why, -ENOTSUP, "%s", detail);
	if (candidate->version.early)
		return explain_refusal(candidate, why, -ENOTSUP, "this pre-release of CPython %s is not supported",
				       out->version);
	if (!out->walk.code_type || !is_code_type(candidate->pid, out->walk.code_type))
		return explain_refusal(candidate, why, -EPROTO, "CPython %s has no code type where it should be",
				       out->version);
	python_version_print(&candidate->version, out->version, sizeof(out->version));
	out->walk.gil = find_gil(candidate->pid, runtime, &out->walk.layout);
	return 0;
}

/* Linked address of the structure with the head of the list of interpreters (3.6: of the head itself). */
static int find_runtime(const struct candidate *candidate, const struct gpt_pylayout *row, uint64_t *runtime,
			const char *version, const struct reason *why)
{
	struct image_symbol symbol;

	if (row->version < RUNTIME_SINCE) {
		if (python_head_find(candidate->image, runtime))
			return explain_refusal(candidate, why, -ENOTSUP,
					       "CPython %s cannot be examined: its interp_head is not found", version);
		return 0;
	}
	if (image_symbol(candidate->image, "_PyRuntime", &symbol))
		return explain_refusal(candidate, why, -ENOTSUP,
				       "CPython %s cannot be examined: it has no symbol _PyRuntime", version);
	*runtime = symbol.address;
	return 0;
}

/* -ENOENT: this file is no interpreter; else as python_find. */
static int examine_image(struct candidate *candidate, bool named, struct python_info *out, const struct reason *why)
{
	const struct gpt_pylayout *row;
	char detail[128] = "";
	uint64_t runtime = 0;
	int err;

	if (!named && !library_holds_python(candidate->image))
		return -ENOENT;
	err = python_version_find(candidate->image, candidate->mapping->path, &candidate->version, detail,
				  sizeof(detail));
	if (err == -ENOTSUP)
		return explain_refusal(candidate, why, err, "%s", detail);
	if (err == -ENOENT)
		return explain_refusal(candidate, why, -ENOTSUP,
				       "looks like CPython, but nothing says which version it is");
	if (err)
		return err;
	row = find_row(candidate, out, why);
	if (!row)
		return -ENOTSUP;
	err = find_runtime(candidate, row, &runtime, out->version, why);
	if (err)
		return err;
	err = image_bias(candidate->image, candidate->mapping, &candidate->bias);
	if (err)
		return explain_refusal(candidate, why, -EPROTO, "the file does not explain how it is mapped");
	return examine_runtime(candidate, runtime + candidate->bias, row, out, why);
}

static int examine_candidate(struct candidate *candidate, bool named, struct python_info *out, const struct reason *why)
{
	int fd = mapping_open(candidate->pid, candidate->mapping), err;

	if (fd < 0)
		return named ? explain_refusal(candidate, why, -EPROTO, "cannot be opened: %s", strerror(-fd))
			     : -ENOENT;
	err = image_open(fd, &candidate->image);
	if (err)
		return named ? explain_refusal(candidate, why, -EPROTO, "is not a readable ELF file") : -ENOENT;
	err = examine_image(candidate, named, out, why);
	if (!err || (err == -EAGAIN && out->dealloc_offset)) {
		out->device = candidate->mapping->device;
		out->inode = candidate->mapping->inode;
	}
	if (!err)
		out->path = xstrdup(candidate->mapping->path);
	image_close(candidate->image);
	candidate->image = NULL;
	return err;
}

static bool is_same_file(const struct mapping *a, const struct mapping *b)
{
	return a->inode == b->inode && a->device == b->device;
}

static bool is_first_of_file(const struct mappings *mappings, size_t index)
{
	for (size_t i = index; i-- > 0;)
		if (is_same_file(&mappings->list.items[i], &mappings->list.items[index]))
			return false;
	return true;
}

static const struct mapping *executable_of(pid_t pid, const struct mappings *mappings)
{
	static const char deleted[] = " (deleted)";
	char link[64], path[PATH_MAX + 1];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/%d/exe", process_thread(pid));
	length = readlink(link, path, PATH_MAX);
	if (length <= 0)
		return NULL;
	path[length] = '\0';
	if ((size_t)length >= sizeof(deleted) && strcmp(path + length - (sizeof(deleted) - 1), deleted) == 0)
		path[(size_t)length - (sizeof(deleted) - 1)] = '\0';
	return array_find(&mappings->list, item, strcmp(item->path, path) == 0);
}

/*
 * The more useful one of two results.  That one file can never be walked is final only if no other file may become
 * walkable: an extension can have pulled a library into a static interpreter, long before that runs.
 */
static int more_useful(int first, int second)
{
	static const int order[] = {0, -EPROTO, -EAGAIN, -ENOTSUP};

	if ((first == -ENOTSUP && second == -EAGAIN) || (first == -EAGAIN && second == -ENOTSUP))
		return -EPROTO;
	return value_of_first(sizeof(order) / sizeof(*order), i, first == order[i] || second == order[i], order[i],
			      first == -ENOENT ? second : first);
}

int python_find(pid_t pid, const struct mappings *mappings, struct python_info *out, char *why, size_t why_size)
{
	const struct reason reason = {why, why_size};
	const struct mapping *executable = executable_of(pid, mappings);
	int result = -ENOENT;

	memset(out, 0, sizeof(*out));
	if (why_size)
		why[0] = '\0';
	for (size_t i = 0; i < mappings->list.count && result; i++) {
		struct candidate candidate = {.pid = pid, .mappings = mappings, .mapping = &mappings->list.items[i]};

		if (library_kind_of_name(candidate.mapping->path) == LIBRARY_PYTHON && is_first_of_file(mappings, i))
			result = more_useful(examine_candidate(&candidate, true, out, &reason), result);
	}
	/* Also when a library was refused: an extension may have pulled it into a static interpreter. */
	if (result && executable && library_kind_of_name(executable->path) != LIBRARY_PYTHON) {
		struct candidate candidate = {.pid = pid, .mappings = mappings, .mapping = executable};

		result = more_useful(examine_candidate(&candidate, false, out, &reason), result);
	}
	if (result == 0 && why_size)
		why[0] = '\0';
	return result;
}

int python_find_in(pid_t pid, const struct mappings *mappings, const struct mapping *mapping, int before,
		   struct python_info *out, char *why, size_t why_size)
{
	struct candidate candidate = {.pid = pid, .mappings = mappings, .mapping = mapping};
	char its_why[256] = "";
	struct python_info found = {};
	int result = examine_candidate(&candidate, false, &found, &(struct reason){its_why, sizeof(its_why)});

	if (before != -ENOENT && result) {
		python_info_free(&found);
		return before;
	}
	python_info_free(out);
	*out = found;
	if (why_size)
		snprintf(why, why_size, "%s", its_why);
	return result;
}

void python_info_free(struct python_info *info)
{
	free(info->path);
	info->path = NULL;
}
