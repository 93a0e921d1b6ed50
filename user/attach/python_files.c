/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes inside interpreters: tells the BPF side what each place means, and puts the probes there.  Which places there
 * are is target/python_events.c's.
 */
#include "attach/files.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>

#include "attach/emit.h"
#include "base/msg.h"
#include "target/image.h"
#include "target/python.h"
#include "target/python_events.h"

static int attach_places(struct files *files, struct probed_file *file, const struct python_info *python,
			 const struct python_places *places, int program)
{
	int map = bpf_map__fd(files->programs->bpf->maps.python_places), err = 0;
	struct link_place *probes = xcalloc(places->list.count + 1, sizeof(*probes));

	for (size_t i = 0; i < places->list.count && !err; i++) {
		const struct python_place *place = &places->list.items[i];
		const struct gpt_py_place_key key = {
			.from_runtime = place->address + python->bias - python->walk.runtime,
			.version = python->walk.layout.version,
		};

		probes[i] = (struct link_place){.offset = place->offset, .ref_counter = place->semaphore};
		if (bpf_map_update_elem(map, &key, &place->what, BPF_ANY))
			err = -errno;
	}
	if (!err)
		err = links_attach_uprobes(&file->event_links, files->programs->multi, program, file->fd, probes,
					   places->list.count);
	free(probes);
	return err;
}

static const char *base_name(const struct probed_file *file)
{
	const char *slash = strrchr(file->path, '/');

	return slash ? slash + 1 : file->path;
}

static void note(struct files *files, const char *text)
{
	emit_text(files->emit, files->emit_context, GPT_NOTE, 0, text);
}

static void attach_events(struct files *files, struct probed_file *file, const struct python_info *python,
			  const struct image *image)
{
	struct python_places places;
	char text[512];
	int err;

	python_events_find(image, python->walk.layout.version, &places);
	err = attach_places(files, file, python, &places, bpf_program__fd(files->programs->bpf->progs.python_event));
	if (err || !places.gc || !places.imports) {
		snprintf(text, sizeof(text), "%s (CPython %s): %s are not on the timeline: %s", base_name(file),
			 python->version,
			 err || (!places.gc && !places.imports) ? "collections and imports"
			 : places.imports			? "collections"
								: "imports",
			 err ? strerror(-err) : "it has neither USDT probes nor the symbols for them");
		note(files, text);
	}
	python_places_free(&places);
}

static void attach_calls(struct files *files, struct probed_file *file, const struct python_info *python,
			 const struct image *image)
{
	const char *why = "the function that runs frames could not be probed";
	struct python_places places;
	char text[512];
	int err = python_calls_find(image, python->walk.layout.version, &places);

	if (!err) {
		err = attach_places(files, file, python, &places,
				    bpf_program__fd(files->programs->bpf->progs.python_call));
		python_places_free(&places);
	} else if (err == -ENOTSUP) {
		why = "from 3.11 on calls run inside the interpreter, where no probe can see them";
	}
	file->python_calls = err ? -ENOTSUP : 1;
	if (!err)
		return;
	snprintf(text, sizeof(text), "%s (CPython %s): no exact Python calls: %s", base_name(file), python->version,
		 why);
	note(files, text);
}

void file_attach_python(struct files *files, struct probed_file *file, const struct python_info *python)
{
	struct image *image = NULL;

	if (file->events_tried || file->fd < 0)
		return;
	file->events_tried = true;
	if (file_open_image(file, &image)) {
		msg_debug("%s cannot be looked into for probes", file->path);
		return;
	}
	attach_events(files, file, python, image);
	if (files->python_calls)
		attach_calls(files, file, python, image);
	image_close(image);
}

int file_attach_dealloc(struct files *files, struct probed_file *file, uint64_t offset)
{
	struct link_place place = {.offset = offset};
	int error;

	if (file->dealloc_links.fds.count)
		return 0;
	error = links_attach_uprobes(&file->dealloc_links, files->programs->multi,
				     bpf_program__fd(files->programs->bpf->progs.code_dealloc), file->fd, &place, 1);
	if (error)
		file_note_refused(files, file, FILE_DEATHS, error);
	return error;
}

int file_attach_making(struct files *files, struct probed_file *file)
{
	int error;

	if (!file->making.count || file->fd < 0 || file->making_links.fds.count)
		return 0;
	error = links_attach_uprobes(&file->making_links, files->programs->multi,
				     bpf_program__fd(files->programs->bpf->progs.interpreter_new), file->fd,
				     file->making.items, file->making.count);
	if (error)
		file_note_refused(files, file, FILE_MAKING, error);
	return error;
}
