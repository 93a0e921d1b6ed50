/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Records that attach/ itself adds to the log. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <gputrace/record.h>

/*
 * Receives attach/'s own records (GPT_PROCESS, GPT_PROBES, GPT_NOTE, GPT_NATIVE_SYM, GPT_GENERATED, GPT_PYTHON_SOURCE).
 * `record` is complete and only valid during the call.
 */
typedef void (*attach_emit)(void *context, const struct gpt_record *record);

/* GPT_PROBES or GPT_NOTE; pid 0: the whole trace. */
void emit_text(attach_emit emit, void *context, uint16_t type, uint32_t pid, const char *text);

/* GPT_NOTE; text that does not fit on a line is truncated. */
void emit_note(attach_emit emit, void *context, uint32_t pid, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

struct process_info;
struct process_place;

/* GPT_PROCESS with its user and where it runs, NULL: neither is known; known_ns: a time before info was read. */
void emit_process(attach_emit emit, void *context, const struct process_info *info, uint64_t known_ns,
		  const struct process_place *place);

/* GPT_PROCESS with its Python; python: major << 8 | minor or 0, python_path may be "". */
void emit_python(attach_emit emit, void *context, const struct process_info *info, uint64_t known_ns, uint16_t python,
		 const char *python_path);

/* GPT_NATIVE_SYM */
void emit_native_symbol(attach_emit emit, void *context, uint32_t pid, uint64_t ip, const char *symbol,
			const char *module);

struct generated_line;

/* GPT_PYTHON_SOURCE */
void emit_source(attach_emit emit, void *context, uint32_t pid, const char *path, const char *source, size_t bytes);

/* GPT_GENERATED; text that is longer than the log keeps is cut and ends in "...". */
void emit_generated(attach_emit emit, void *context, uint32_t pid, const char *path, const struct generated_line *line);

#define MODULE_OTHERS_MAX 8192u

/* What GPT_MODULE says, in its terms; unnamed "": it has a name. */
struct module_description {
	uint64_t module, root;
	uint32_t root_number, generation, names;
	const char *name, *class, *root_class, *unnamed;
	const char *others; /* each ends in a zero byte */
	size_t others_bytes;
};

void emit_module(attach_emit emit, void *context, uint32_t pid, const struct module_description *of);
