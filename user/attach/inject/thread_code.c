/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Judges a file by its name and by the functions that it defines; see thread_code.h. */
#include "attach/inject/thread_code.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/path.h"
#include "target/image.h"

#define SLEEP_FRAME 512u /* bytes of a frame of libc's sleeping functions, with the caller's return address */

bool thread_code_in_runtime(const struct mappings *mappings, uint64_t address)
{
	/* glibc before 2.34 has its locks and its loader's entry in files of their own. */
	static const char *const names[] = {"libc.so.",	 "libc-2.",  "ld-",	    "libpthread.so.", "libpthread-2.",
					    "libdl.so.", "libdl-2.", "libjemalloc", "libtcmalloc",    "libmimalloc"};
	const struct mapping *mapping = mappings_at(mappings, address);
	const char *name;

	/* The last pages of a library's data (.bss) are anonymous and follow its file mappings. */
	while (mapping && !mapping->inode && mapping > mappings->list.items && mapping[-1].end == mapping->start)
		mapping--;
	if (!mapping || !mapping->inode)
		return false;
	name = path_base(mapping->path);
	return any_of(sizeof(names) / sizeof(names[0]), i, !strncmp(name, names[i], strlen(names[i])));
}

static const struct safe_code *code_of(const struct entered_process *process, const struct mapping *mapping)
{
	for (unsigned i = 0; process->codes && i < process->codes->count; i++)
		if (process->codes->list[i].inode == mapping->inode &&
		    process->codes->list[i].device == mapping->device)
			return &process->codes->list[i];
	return NULL;
}

/*
 * Whether the file has an allocator that replaces libc's. The agent does not call one that a library keeps to itself.
 */
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
		has |= !image_callable(image, names[i], &symbol);
	image_close(image);
	return has;
}

void thread_code_record(const struct entered_process *process, uint64_t pc)
{
	const struct mapping *mapping = mappings_at(process->mappings, pc);

	if (!mapping || !mapping->inode || !process->codes || code_of(process, mapping) ||
	    process->codes->count >= SAFE_CODES_MAX)
		return;
	process->codes->list[process->codes->count++] = (struct safe_code){
		.device = mapping->device,
		.inode = mapping->inode,
		.safe = !thread_code_in_runtime(process->mappings, pc) && !has_allocator(process->pid, mapping),
	};
}

bool thread_code_sleeps_in_allocator(const struct entered_process *process, const struct thread_call *call)
{
	uint64_t words[SLEEP_FRAME / 8];

	if ((call->number != SYS_nanosleep && call->number != SYS_clock_nanosleep) || !process->codes)
		return false;
	if (process_read_memory(process->pid, call->sp & ~7ULL, words, sizeof(words)))
		return true;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		const struct mapping *mapping = mappings_at(process->mappings, words[i]);

		if (!mapping || !mapping->executable || !mapping->inode ||
		    thread_code_in_runtime(process->mappings, words[i]))
			continue;
		thread_code_record(process, words[i]);
		if (!thread_code_is_safe(process, words[i]))
			return true;
	}
	return false;
}

bool thread_code_is_safe(const struct entered_process *process, uint64_t pc)
{
	const struct mapping *mapping = mappings_at(process->mappings, pc);
	const struct safe_code *code = mapping && mapping->inode ? code_of(process, mapping) : NULL;

	return code && code->safe;
}
