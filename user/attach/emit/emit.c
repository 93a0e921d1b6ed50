/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Builds attach/'s own records. */
#include "attach/emit/emit.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/monotonic.h"
#include "target/container.h"
#include "target/generated.h"
#include "target/process.h"

/* A zeroed record with `bytes` of text after `fixed` bytes of fields. */
static void *record_new(uint16_t type, size_t fixed, size_t bytes)
{
	size_t size = gpt_padded(fixed + bytes);
	struct gpt_record *record = xcalloc(1, size);

	record->size = (uint32_t)size;
	record->type = type;
	return record;
}

void emit_text(attach_emit emit, void *context, uint16_t type, uint32_t pid, const char *text)
{
	size_t bytes = strlen(text) + 1;
	struct gpt_text *record = record_new(type, sizeof(*record), bytes);

	record->pid = pid;
	record->bytes = (uint32_t)bytes;
	memcpy(record->text, text, bytes);
	emit(context, &record->hdr);
	free(record);
}

void emit_note(attach_emit emit, void *context, uint32_t pid, const char *format, ...)
{
	char text[768];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	emit_text(emit, context, GPT_NOTE, pid, text);
}

/* place NULL: it is not known, nor is the user. */
static void emit_description(attach_emit emit, void *context, const struct process_info *info, uint64_t known_ns,
			     uint16_t python, const char *python_path, const struct process_place *place)
{
	static char nowhere[] = "";
	static const struct process_place unknown = {nowhere, nowhere, nowhere, nowhere, nowhere};
	char uid[16] = "";
	const struct process_place *at = place ? place : &unknown;
	const char *texts[] = {info->comm,
			       info->exe ? info->exe : "",
			       info->cmdline ? info->cmdline : "",
			       python_path,
			       info->rank,
			       info->local_rank,
			       uid,
			       at->cgroup,
			       at->container,
			       at->container_name,
			       at->pod,
			       at->pod_name,
			       info->master,
			       info->run_id};
	const size_t count = sizeof(texts) / sizeof(texts[0]);
	struct gpt_process *record;
	size_t bytes = 0;
	char *end;

	if (place)
		snprintf(uid, sizeof(uid), "%u", info->uid);
	for (size_t i = 0; i < count; i++)
		bytes += strlen(texts[i]) + 1;
	record = record_new(GPT_PROCESS, sizeof(*record), bytes);
	record->time_ns = known_ns;
	record->start_ns = info->start_ns;
	record->pid = (uint32_t)info->pid;
	record->parent = (uint32_t)info->parent;
	record->python = python;
	record->mounts = info->mounts;
	record->bytes = (uint32_t)bytes;
	end = record->text;
	for (size_t i = 0; i < count; i++)
		end = stpcpy(end, texts[i]) + 1;
	emit(context, &record->hdr);
	free(record);
}

void emit_process(attach_emit emit, void *context, const struct process_info *info, uint64_t known_ns,
		  const struct process_place *place)
{
	emit_description(emit, context, info, known_ns, 0, "", place);
}

void emit_python(attach_emit emit, void *context, const struct process_info *info, uint64_t known_ns, uint16_t python,
		 const char *python_path)
{
	emit_description(emit, context, info, known_ns, python, python_path, NULL);
}

void emit_native_symbol(attach_emit emit, void *context, uint32_t pid, uint64_t ip, const char *symbol,
			const char *module)
{
	size_t bytes = strlen(symbol) + strlen(module) + 2;
	struct gpt_native_sym *record = record_new(GPT_NATIVE_SYM, sizeof(*record), bytes);

	record->ip = ip;
	record->pid = pid;
	record->bytes = (uint32_t)bytes;
	strcpy(record->text, symbol);
	strcpy(record->text + strlen(symbol) + 1, module);
	emit(context, &record->hdr);
	free(record);
}

#define GENERATED_TEXT_MAX 1024u /* bytes kept of each text of a generated file */

/* Appends the text and a NUL; returns the end. */
static char *put_generated(char *at, const char *bytes, size_t size)
{
	size_t length = strnlen(bytes, size), kept = length < GENERATED_TEXT_MAX ? length : GENERATED_TEXT_MAX;

	at = mempcpy(at, bytes, kept);
	return stpcpy(at, kept < length ? "..." : "") + 1;
}

void emit_generated(attach_emit emit, void *context, uint32_t pid, const char *path, const struct generated_line *line)
{
	const struct generated_text *texts[] = {&line->kernel, &line->nodes, &line->ops, &line->file};
	char all[GPT_CODE_FILE_MAX + 4 * (GENERATED_TEXT_MAX + 4)], *at = stpcpy(all, path) + 1;
	struct gpt_generated *record;

	for (size_t i = 0; i < 4; i++)
		at = put_generated(at, texts[i]->size ? texts[i]->bytes : "", texts[i]->size);
	record = record_new(GPT_GENERATED, sizeof(*record), (size_t)(at - all));
	record->pid = pid;
	record->line = line->line;
	record->kernel_line = line->file_line;
	record->bytes = (uint32_t)(at - all);
	memcpy(record->text, all, record->bytes);
	emit(context, &record->hdr);
	free(record);
}

void emit_source(attach_emit emit, void *context, uint32_t pid, const char *path, const char *source, size_t bytes)
{
	size_t name = strlen(path) + 1;
	struct gpt_python_source *record = record_new(GPT_PYTHON_SOURCE, sizeof(*record), name + bytes);

	record->pid = pid;
	record->bytes = (uint32_t)(name + bytes);
	memcpy(record->text, path, name);
	memcpy(record->text + name, source, bytes);
	emit(context, &record->hdr);
	free(record);
}

void emit_module(attach_emit emit, void *context, uint32_t pid, const struct module_description *of)
{
	const char *texts[] = {of->name, of->class, of->root_class, of->unnamed};
	size_t bytes = of->others_bytes;
	struct gpt_module *record;
	char *at;

	for (size_t i = 0; i < 4; i++)
		bytes += strlen(texts[i]) + 1;
	record = record_new(GPT_MODULE, sizeof(*record), bytes);
	record->hdr.flags = *of->unnamed ? GPT_MODULE_UNNAMED : 0;
	record->time_ns = monotonic_ns();
	record->module = of->module;
	record->root = of->root;
	record->pid = pid;
	record->generation = of->generation;
	record->root_number = of->root_number;
	record->names = of->names;
	record->bytes = (uint32_t)bytes;
	at = record->text;
	for (size_t i = 0; i < 4; i++)
		at = stpcpy(at, texts[i]) + 1;
	if (of->others_bytes)
		memcpy(at, of->others, of->others_bytes);
	emit(context, &record->hdr);
	free(record);
}
