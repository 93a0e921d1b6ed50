/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Maps addresses to symbols: remembers reported addresses, and keeps the images of their files. */
#include "attach/emit/symbols.h"

#include <inttypes.h>
#include <string.h>

#include "attach/emit/emit.h"
#include "base/monotonic.h"
#include "base/path.h"
#include "base/user_budget.h"
#include "target/image.h"

#define REPORTED_SLOTS (1u << 16) /* (pid, address) pairs remembered; an evicted one is reported again */
#define MAX_IMAGES 512		  /* open files kept */
#define BYTES_MAX (512ULL << 20)  /* of their symbol tables */

/* Files without a new address for so long make room for others: of a day, most programs are gone. */
#define UNUSED_NS 60000000000ull

struct reported {
	uint64_t ip;
	uint32_t pid;
};

struct symbol_file {
	dev_t device;
	uint64_t inode;
	struct image *image; /* NULL: not readable as ELF, or no room for its symbols */
	uint64_t bytes;	     /* size of its symbols */
	uint64_t used_ns;    /* CLOCK_MONOTONIC: latest new address in it */
	uid_t uid;	     /* user of the first process that mapped it; 0: root's, or only root can create it */
	uid_t asker;	     /* the same, whoever can create it */
	char *name;
};

struct symbols {
	attach_emit emit;
	void *context;
	struct reported *reported;
	bool any;     /* something was reported */
	bool crowded; /* the log has a note that there is no room */
	ARRAY(struct symbol_file) files;
	uint32_t mappings_pid; /* process whose mappings are kept */
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

/* A user other than root may take as much of the room for tables as is left for the others. */
static bool has_room(struct symbols *symbols, const struct symbol_file *file)
{
	uint64_t all = 0, of_user = 0;

	for (size_t i = 0; i < symbols->files.count; i++) {
		all += symbols->files.items[i].bytes;
		of_user += symbols->files.items[i].uid == file->uid ? symbols->files.items[i].bytes : 0;
	}
	return file->bytes <= BYTES_MAX - all && (!file->uid || of_user + file->bytes <= BYTES_MAX - all);
}

static void close_file(struct symbols *symbols, struct symbol_file *file)
{
	size_t later = --symbols->files.count - (size_t)(file - symbols->files.items);

	image_close(file->image);
	free(file->name);
	memmove(file, file + 1, later * sizeof(*file));
}

/* Closes the file that was not used for longest; false: all were used lately. */
static bool close_unused(struct symbols *symbols, uint64_t now_ns)
{
	struct symbol_file *oldest = NULL;

	for (size_t i = 0; i < symbols->files.count; i++)
		if (!oldest || symbols->files.items[i].used_ns < oldest->used_ns)
			oldest = &symbols->files.items[i];
	if (!oldest || now_ns - oldest->used_ns < UNUSED_NS)
		return false;
	close_file(symbols, oldest);
	return true;
}

/* Closes the least lately used file of the user who has most of them, if that is more than `asker` has then. */
static bool close_of_most(struct symbols *symbols, uid_t asker)
{
	struct user_count most = {.uid = asker, .count = 1};
	struct user_counts counts = {0};
	struct symbol_file *oldest = NULL;

	for (size_t i = 0; i < symbols->files.count; i++) {
		user_counts_add(&counts, symbols->files.items[i].asker);
		most.count += symbols->files.items[i].asker == asker;
	}
	for (size_t i = 0; i < counts.rows.count; i++)
		if (counts.rows.items[i].count > most.count)
			most = counts.rows.items[i];
	user_counts_free(&counts);
	for (size_t i = 0; most.uid != asker && i < symbols->files.count; i++)
		if (symbols->files.items[i].asker == most.uid &&
		    (!oldest || symbols->files.items[i].used_ns < oldest->used_ns))
			oldest = &symbols->files.items[i];
	if (oldest)
		close_file(symbols, oldest);
	return oldest;
}

static void note_crowded(struct symbols *symbols, pid_t pid, const struct symbol_file *file)
{
	if (!symbols->crowded)
		emit_note(symbols->emit, symbols->context, (uint32_t)pid,
			  "native frames in %s, and perhaps in further files, have no names: its symbols would take "
			  "%" PRIu64 " MB, and there is room for %llu MB in all",
			  file->name, file->bytes >> 20, BYTES_MAX >> 20);
	symbols->crowded = true;
}

/* Takes ownership of the descriptor. */
static void open_image(struct symbols *symbols, pid_t pid, const struct opened_file *opened, struct symbol_file *file)
{
	if (opened->fd < 0 || image_open(opened->fd, &file->image)) {
		file->image = NULL;
		return;
	}
	file->uid = opened->copied || opened->stat.st_uid ? (uid_t)-1 : 0;
	if (file->uid)
		file->uid = file->asker;
	file->bytes = image_symbols_bytes(file->image);
	while (!has_room(symbols, file))
		if (!close_unused(symbols, file->used_ns))
			break;
	if (has_room(symbols, file))
		return;
	note_crowded(symbols, pid, file);
	image_close(file->image);
	file->image = NULL;
	file->bytes = 0;
}

static struct symbol_file *file_of(struct symbols *symbols, pid_t pid, const struct mapping *mapping)
{
	struct symbol_file file = {.device = mapping->device, .inode = mapping->inode, .used_ns = monotonic_ns()};
	struct symbol_file *known =
		array_find(&symbols->files, item, item->inode == file.inode && item->device == file.device);
	struct opened_file opened;
	struct process_owner of;

	if (known) {
		known->used_ns = file.used_ns;
		return known;
	}
	file.asker = process_owner(pid, &of) ? (uid_t)-1 : of.uid;
	if (symbols->files.count >= MAX_IMAGES && !close_unused(symbols, file.used_ns) &&
	    !close_of_most(symbols, file.asker))
		return NULL;
	file.name = xstrdup(path_base(mapping->path));
	if (!mapping_open_file(pid, mapping, &opened))
		open_image(symbols, pid, &opened, &file);
	return array_push(&symbols->files, file);
}

static const struct mapping *mapping_at(const struct mappings *mappings, uint64_t address)
{
	return array_find(&mappings->list, item, address - item->start < item->end - item->start);
}

static void report_symbol(struct symbols *symbols, uint32_t pid, uint64_t ip)
{
	const struct mapping *mapping = mapping_at(&symbols->mappings, ip);
	struct image_symbol symbol = {.name = ""};
	struct symbol_file *file = NULL;
	uint64_t bias;

	if (!mapping) { /* mapped since the last look */
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
			report_symbol(symbols, stack->pid, stack->ip[i]);
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
	while (symbols->files.count)
		close_file(symbols, &symbols->files.items[symbols->files.count - 1]);
	array_free(&symbols->files);
	mappings_free(&symbols->mappings);
	free(symbols->reported);
	free(symbols);
}
