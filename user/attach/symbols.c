/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Addresses to symbols: what was reported already, and the images of the files they lie in. */
#include "attach/symbols.h"

#include <string.h>

#include "attach/emit.h"
#include "base/path.h"
#include "target/image.h"

#define REPORTED_SLOTS (1u << 16) /* (pid, address) pairs remembered; one that was evicted is reported again */
#define MAX_IMAGES 512		  /* open files kept */

struct reported {
	uint64_t ip;
	uint32_t pid;
};

struct symbol_file {
	dev_t device;
	uint64_t inode;
	struct image *image; /* NULL: not readable as ELF */
	char *name;
};

struct symbols {
	attach_emit emit;
	void *context;
	struct reported *reported;
	bool any; /* was reported */
	ARRAY(struct symbol_file) files;
	uint32_t mappings_pid; /* whose mappings are held */
	struct mappings mappings;
};

struct symbols *symbols_new(attach_emit emit, void *context)
{
	struct symbols *symbols = xcalloc(1, sizeof(*symbols));

	symbols->emit = emit;
	symbols->context = context;
	symbols->reported = xcalloc(REPORTED_SLOTS, sizeof(*symbols->reported));
	return symbols;
}

static bool was_reported(struct symbols *symbols, uint32_t pid, uint64_t ip)
{
	uint64_t hash = (ip ^ (uint64_t)pid << 32) * 0x9e3779b97f4a7c15ULL;
	struct reported *slot = &symbols->reported[hash >> 48 & (REPORTED_SLOTS - 1)];

	if (slot->pid == pid && slot->ip == ip)
		return true;
	slot->pid = pid;
	slot->ip = ip;
	symbols->any = true;
	return false;
}

static struct symbol_file *file_of(struct symbols *symbols, pid_t pid, const struct mapping *mapping)
{
	struct symbol_file file = {.device = mapping->device, .inode = mapping->inode};
	int fd;

	for (size_t i = 0; i < symbols->files.count; i++)
		if (symbols->files.items[i].inode == file.inode && symbols->files.items[i].device == file.device)
			return &symbols->files.items[i];
	if (symbols->files.count >= MAX_IMAGES)
		return NULL;
	fd = mapping_open(pid, mapping);
	if (fd >= 0 && image_open(fd, &file.image))
		file.image = NULL;
	file.name = xstrdup(path_base(mapping->path));
	return array_push(&symbols->files, file);
}

static const struct mapping *mapping_at(const struct mappings *mappings, uint64_t address)
{
	for (size_t i = 0; i < mappings->list.count; i++)
		if (address - mappings->list.items[i].start <
		    mappings->list.items[i].end - mappings->list.items[i].start)
			return &mappings->list.items[i];
	return NULL;
}

static void report(struct symbols *symbols, uint32_t pid, uint64_t ip)
{
	const struct mapping *mapping = mapping_at(&symbols->mappings, ip);
	struct image_symbol symbol = {.name = ""};
	struct symbol_file *file = NULL;
	uint64_t bias;

	if (!mapping) { /* mapped since we looked */
		mappings_free(&symbols->mappings);
		if (mappings_read((pid_t)pid, &symbols->mappings))
			return;
		mapping = mapping_at(&symbols->mappings, ip);
	}
	if (mapping && mapping->inode)
		file = file_of(symbols, (pid_t)pid, mapping);
	if (file && file->image && !image_bias(file->image, mapping, &bias) &&
	    image_symbol_at(file->image, ip - bias, &symbol))
		symbol.name = "";
	emit_native_symbol(symbols->emit, symbols->context, pid, ip, symbol.name, file ? file->name : "");
}

void symbols_add_stack(struct symbols *symbols, const struct gpt_native_stack *stack)
{
	if (symbols->mappings_pid != stack->pid) {
		mappings_free(&symbols->mappings);
		symbols->mappings_pid = stack->pid;
	}
	for (uint32_t i = 0; i < stack->depth && i < GPT_NATIVE_MAX_FRAMES; i++)
		if (!was_reported(symbols, stack->pid, stack->ip[i]))
			report(symbols, stack->pid, stack->ip[i]);
}

void symbols_forget_process(struct symbols *symbols, uint32_t pid)
{
	if (!symbols->any)
		return;
	for (size_t i = 0; i < REPORTED_SLOTS; i++)
		if (symbols->reported[i].pid == pid)
			symbols->reported[i].pid = 0;
	if (symbols->mappings_pid == pid)
		symbols->mappings_pid = 0;
}

void symbols_free(struct symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < symbols->files.count; i++) {
		image_close(symbols->files.items[i].image);
		free(symbols->files.items[i].name);
	}
	array_free(&symbols->files);
	mappings_free(&symbols->mappings);
	free(symbols->reported);
	free(symbols);
}
