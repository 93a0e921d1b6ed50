/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whose code a thread is in: the runtime's, an allocator's, or some that nothing is half done in. */
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "attach/inject_safe_point.h"
#include "target/image.h"

#define SLEEP_FRAME 512u /* of libc's sleeping functions; their callers' return address lies in it */

bool safe_point_in_runtime(const struct mappings *mappings, uint64_t address)
{
	/* glibc before 2.34 has its locks and its loader's entry in files of their own. */
	static const char *const names[] = {"libc.so.",	 "libc-2.",  "ld-",	    "libpthread.so.", "libpthread-2.",
					    "libdl.so.", "libdl-2.", "libjemalloc", "libtcmalloc",    "libmimalloc"};
	const struct mapping *mapping = mappings_at(mappings, address);
	const char *name;

	/* The last pages of a library's data (.bss) are anonymous and follow those of its file. */
	while (mapping && !mapping->inode && mapping > mappings->list.items && mapping[-1].end == mapping->start)
		mapping--;
	if (!mapping || !mapping->inode)
		return false;
	name = strrchr(mapping->path, '/') ? strrchr(mapping->path, '/') + 1 : mapping->path;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

static const struct safe_code *code_of(const struct safe_point_place *place, const struct mapping *mapping)
{
	for (unsigned i = 0; place->codes && i < place->codes->count; i++)
		if (place->codes->list[i].inode == mapping->inode && place->codes->list[i].device == mapping->device)
			return &place->codes->list[i];
	return NULL;
}

/* An allocator that takes the place of libc's; static ones in an executable keep the name, too. */
static bool has_allocator(pid_t pid, const struct mapping *mapping)
{
	static const char *const names[] = {"malloc", "free", "calloc"};
	struct image_symbol symbol;
	struct image *image = NULL;
	bool has = false;
	int fd = mapping_open(pid, mapping);

	if (fd < 0 || image_open(fd, &image))
		return true;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		has |= !image_symbol(image, names[i], &symbol);
	image_close(image);
	return has;
}

void safe_point_learn(const struct safe_point_place *place, uint64_t pc)
{
	const struct mapping *mapping = mappings_at(place->mappings, pc);

	if (!mapping || !mapping->inode || !place->codes || code_of(place, mapping) ||
	    place->codes->count >= SAFE_CODES_MAX)
		return;
	place->codes->list[place->codes->count++] = (struct safe_code){
		.device = mapping->device,
		.inode = mapping->inode,
		.safe = !safe_point_in_runtime(place->mappings, pc) && !has_allocator(place->pid, mapping),
	};
}

bool safe_point_sleeps_in_allocator(const struct safe_point_place *place, const struct thread_call *call)
{
	uint64_t words[SLEEP_FRAME / 8];

	if ((call->number != SYS_nanosleep && call->number != SYS_clock_nanosleep) || !place->codes)
		return false;
	if (process_read_memory(place->pid, call->sp & ~7ULL, words, sizeof(words)))
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const struct mapping *mapping = mappings_at(place->mappings, words[i]);

		if (!mapping || !mapping->executable || !mapping->inode ||
		    safe_point_in_runtime(place->mappings, words[i]))
			continue;
		safe_point_learn(place, words[i]);
		if (!safe_point_code_is_safe(place, words[i]))
			return true;
	}
	return false;
}

bool safe_point_code_is_safe(const struct safe_point_place *place, uint64_t pc)
{
	const struct mapping *mapping = mappings_at(place->mappings, pc);
	const struct safe_code *code = mapping && mapping->inode ? code_of(place, mapping) : NULL;

	return code && code->safe;
}
