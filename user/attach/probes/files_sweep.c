/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Removes files that no process maps any more, or that have nothing to probe, to make room for others. */
#include "attach/probes/files.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "base/order.h"

#define UNMAPPED_MAX 64u	   /* unmapped files that are kept in case they are mapped again ... */
#define UNMAPPED_NS 10000000000ULL /* ... and for how long */
#define SPARE_PART 4u		   /* one in four of the files that can be spared is forgotten at once */

/* Detaches the file's probes and forgets it. */
static void forget_file(struct files *files, size_t index)
{
	struct probed_file *file = files->list.items[index], *last = files->list.items[--files->list.count];

	files->list.items[index] = last;
	*lookup_get(&files->by_inode, 1 + (uint32_t)last->device, last->inode) = (uint32_t)index;
	lookup_drop(&files->by_inode, 1 + (uint32_t)file->device, file->inode);
	file_move_links(file, &files->left);
	files_mark_known(files, file, false);
	files->left_out += file->refused >> FILE_CALLS & 1;
	files_give_number(&files->call_numbers, &file->number);
	files_give_number(&files->nccl_numbers, &file->nccl_number);
	library_sites_free(&file->sites);
	array_free(&file->subinterpreter_uprobes);
	array_free(&file->pids);
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file);
}

/* Index of the file that has been unmapped for longest; files.list.count: there is none. */
static size_t find_oldest(const struct files *files, size_t *count)
{
	size_t oldest = files->list.count;

	*count = 0;
	for (size_t i = 0; i < files->list.count; i++) {
		const struct probed_file *file = files->list.items[i];

		if (file->mapped || file->kind == LIBRARY_OTHER || file->of_root)
			continue;
		++*count;
		if (oldest == files->list.count || file->unmapped_ns < files->list.items[oldest]->unmapped_ns)
			oldest = i;
	}
	return oldest;
}

/* Whether it has nothing to probe, and an entry only so that it is not examined at each look. */
static bool is_spare(const struct probed_file *file, uint64_t now_ns)
{
	return file->kind == LIBRARY_OTHER && file->fd < 0 && !file->refused && file_rests_until(file) <= now_ns;
}

/* The user for whom most of the spare files were examined. */
static uid_t find_busiest(const struct files *files, uint64_t now_ns)
{
	struct user_counts counts = {};
	uid_t busiest = FILE_OF_ALL;
	unsigned most = 0;

	for (size_t i = 0; i < files->list.count; i++) {
		const struct probed_file *file = files->list.items[i];
		unsigned count = is_spare(file, now_ns) ? user_counts_add(&counts, file->asker) : 0;

		if (count > most) {
			most = count;
			busiest = file->asker;
		}
	}
	user_counts_free(&counts);
	return busiest;
}

DEFINE_ORDER(compare_asked, struct probed_file *const, least_first((*a)->asked_ns, (*b)->asked_ns))

/* Of files that count for `uid`; FILE_OF_ALL: of those that were examined for the user with most. False: none. */
static bool forget_spare(struct files *files, uid_t uid)
{
	ARRAY(struct probed_file *) spare = {};
	uint64_t now_ns = monotonic_ns();
	uid_t asker = uid == FILE_OF_ALL ? find_busiest(files, now_ns) : FILE_OF_ALL;
	size_t count;

	for (size_t i = 0; i < files->list.count; i++) {
		struct probed_file *file = files->list.items[i];

		if (is_spare(file, now_ns) && (uid == FILE_OF_ALL ? file->asker == asker : file->uid == uid))
			array_push(&spare, file);
	}
	array_sort(&spare, compare_asked);
	count = (spare.count + SPARE_PART - 1) / SPARE_PART; /* many at once: finding them takes a while */
	for (size_t i = 0; i < count; i++)
		forget_file(files,
			    *lookup_get(&files->by_inode, 1 + (uint32_t)spare.items[i]->device, spare.items[i]->inode));
	array_free(&spare);
	return count > 0;
}

void files_make_room(struct files *files, uid_t uid, const struct mapping *mapping)
{
	if (files->list.count < FILES_MAX / 2 || files_have(files, mapping))
		return;
	while (!files_have_part(files, uid) && forget_spare(files, files->list.count < FILES_MAX ? uid : FILE_OF_ALL))
		;
}

/* Whether the file has nothing to probe, and was not requested for a while. */
static bool is_stale(const struct probed_file *file, uint64_t now_ns)
{
	return file->kind == LIBRARY_OTHER && file->fd < 0 && now_ns - file->asked_ns > UNMAPPED_NS;
}

void files_sweep(struct files *files, uint64_t now_ns)
{
	size_t oldest, count;

	for (size_t i = 0; i < files->list.count; i++) {
		struct probed_file *file = files->list.items[i];

		if (file->mapped)
			file->unmapped_ns = 0;
		else if (!file->unmapped_ns)
			file->unmapped_ns = now_ns;
	}
	while ((oldest = find_oldest(files, &count)) < files->list.count &&
	       (count > UNMAPPED_MAX || now_ns - files->list.items[oldest]->unmapped_ns > UNMAPPED_NS))
		forget_file(files, oldest);
	links_detach(&files->left);
	for (size_t i = files->list.count; i-- > 0 && files->list.count > FILES_MAX / 4;)
		if (is_stale(files->list.items[i], now_ns))
			forget_file(files, i);
}

void files_close(struct files *files)
{
	while (files->list.count)
		forget_file(files, files->list.count - 1);
	links_detach(&files->left);
	array_free(&files->list);
	lookup_free(&files->by_inode);
	user_counts_free(&files->crowded);
	user_counts_free(&files->named);
}
