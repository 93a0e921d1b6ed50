/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Any user can create files with the names of CUDA's libraries, as many as they like, and map and unmap them. So no
 * user takes more of the table, of descriptors and of numbers than they leave for the others. Files that only root
 * could create, and files that several users map, count for none of them.
 */
#include "attach/probes/files.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#include "attach/emit/emit.h"

#define OPEN_MAX 4096u /* files kept open; at most half of RLIMIT_NOFILE */
#define NAMED_MAX 4u   /* unprobed files of one user that the log names */

void files_limit(struct files *files)
{
	struct rlimit limit;

	lookup_init(&files->by_inode, hash_seed());
	files->open_most = OPEN_MAX;
	if (!getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur / 2 < OPEN_MAX)
		files->open_most = limit.rlim_cur / 2;
}

/* A user may take as much of the room for `most` as is left for the others. */
static bool has_part(const struct files *files, uid_t uid, size_t of_user, size_t count, size_t most)
{
	return count < most && (!files->fair || uid == FILE_OF_ALL || of_user < most - count);
}

bool file_may_stay_open(const struct files *files, const struct probed_file *file)
{
	size_t count = 0, of_user = 0;

	if (file->kind == LIBRARY_OTHER && !files->stops)
		return false;
	for (size_t i = 0; i < files->list.count; i++) {
		const struct probed_file *other = files->list.items[i];

		count += other->fd >= 0;
		of_user += other->fd >= 0 && other->uid == file->uid;
	}
	return has_part(files, file->uid, of_user, count, files->open_most);
}

static void note_crowded(struct files *files, uid_t uid)
{
	if (user_counts_add(&files->crowded, uid) > 1)
		return;
	files->left_out++;
	emit_note(files->emit, files->emit_context, 0,
		  "processes of user %u have mapped more files than their part of the %u that are looked into: CUDA "
		  "calls through further ones are not seen",
		  uid, FILES_MAX);
}

bool files_may_name(struct files *files, uid_t uid)
{
	unsigned count;

	if (!files->fair || uid == FILE_OF_ALL)
		return true;
	count = user_counts_add(&files->named, uid);
	if (count == NAMED_MAX + 1)
		emit_note(files->emit, files->emit_context, 0,
			  "further files of user %u that cannot be probed are counted, and not named", uid);
	return count <= NAMED_MAX;
}

bool files_have_part(const struct files *files, uid_t uid)
{
	size_t of_user = 0;

	for (size_t i = 0; files->fair && i < files->list.count; i++)
		of_user += files->list.items[i]->uid == uid;
	return has_part(files, uid, of_user, files->list.count, FILES_MAX);
}

bool files_have_room(struct files *files, uid_t uid)
{
	if (files_have_part(files, uid))
		return true;
	note_crowded(files, uid);
	return false;
}

int files_number(const struct files *files, struct probed_file *file, struct file_numbers *numbers, int most,
		 int *number)
{
	size_t count = 0, of_user = 0;
	int free_one = -1;

	if (*number >= 0)
		return 0;
	for (int i = 0; i < most; i++) {
		const struct probed_file *of = numbers->of[i];

		count += of != NULL;
		of_user += of && of->uid == file->uid;
		free_one = !of && free_one < 0 ? i : free_one;
	}
	if (free_one < 0 || !has_part(files, file->uid, of_user, count, (size_t)most))
		return -ENOSPC;
	numbers->of[free_one] = file;
	*number = free_one;
	return 0;
}

void files_give_number(struct file_numbers *numbers, int *number)
{
	if (*number >= 0)
		numbers->of[*number] = NULL;
	*number = -1;
}
