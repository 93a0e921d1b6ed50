/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/clients/kineto_session.h"

#include <errno.h>

#include "target/image.h"
#include "target/kineto.h"

static int find_bias(const struct probed_file *file, const struct mappings *mappings, uint64_t *bias)
{
	struct image *image = NULL;
	int error = file_open_image(file, &image);

	if (error)
		return error;
	error = -ENOENT;
	for (size_t i = 0; i < mappings->list.count && error; i++) {
		const struct mapping *mapping = &mappings->list.items[i];

		if (mapping->executable && mapping->inode == file->inode && mapping->device == file->device)
			error = image_bias(image, mapping, bias);
	}
	image_close(image);
	return error;
}

static int file_records(pid_t pid, const struct probed_file *file, const struct mappings *mappings,
			struct kineto_place *place)
{
	int error = file->kineto_known ? find_bias(file, mappings, &place->bias) : -ENOENT;

	place->flag = file->kineto;
	if (!error)
		error = kineto_records(pid, place->bias, &place->flag);
	place->known = error >= 0;
	return error;
}

int kineto_session_lasts(pid_t pid, struct files *files, struct probed_file *const *mapped, size_t count,
			 struct kineto_place *place)
{
	struct mappings mappings = {};
	unsigned copies = 0;
	int answer = -ENOENT;

	for (size_t i = 0; i < count; i++)
		copies += mapped[i]->kind == LIBRARY_TORCH;
	if (place->known && copies <= 1) /* one place does not show another copy's session */
		answer = kineto_records(pid, place->bias, &place->flag);
	if (answer >= 0)
		return answer;
	answer = mappings_read(pid, &mappings);
	for (size_t i = 0; i < count && !answer; i++)
		if (mapped[i]->kind == LIBRARY_TORCH) {
			file_attach_torch(files, mapped[i]);
			answer = file_records(pid, mapped[i], &mappings, place);
		}
	mappings_free(&mappings);
	return answer;
}
