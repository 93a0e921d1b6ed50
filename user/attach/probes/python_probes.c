/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Probes inside interpreters: gives the BPF side the meaning of each site, and attaches the probes.
 * target/python/python_events.c finds the sites.
 */
#include "attach/probes/probes.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <bpf/bpf.h>

#include "attach/emit/emit.h"
#include "base/msg.h"
#include "base/path.h"
#include "target/image.h"
#include "target/python/python.h"
#include "target/python/python_events.h"
#include "target/site.h"

static int attach_sites(struct files *files, struct probed_file *file, const struct python_info *python,
			const struct python_sites *sites, const struct bpf_program *program)
{
	int map = bpf_map__fd(files->programs->bpf->maps.python_sites), err = 0;
	struct uprobe *probes = xcalloc(sites->list.count + 1, sizeof(*probes));

	for (size_t i = 0; i < sites->list.count && !err; i++) {
		const struct python_site *site = &sites->list.items[i];
		const struct gpt_py_site_key key = {
			.from_runtime = site->address + python->bias - python->walk.runtime,
			.version = python->walk.layout.version,
		};

		probes[i] = (struct uprobe){.offset = site->offset, .ref_counter = site->semaphore};
		if (bpf_map_update_elem(map, &key, &site->what, BPF_ANY))
			err = -errno;
	}
	if (!err)
		err = file_attach_uprobes(files, file, &file->event_links, program, probes, sites->list.count);
	free(probes);
	return err;
}

static void emit_file_note(struct files *files, const char *text)
{
	emit_text(files->emit, files->emit_context, GPT_NOTE, 0, text);
}

static void attach_events(struct files *files, struct probed_file *file, const struct python_info *python,
			  const struct image *image)
{
	struct python_sites sites;
	char text[512];
	int err;

	python_events_find(image, python->walk.layout.version, &sites);
	err = attach_sites(files, file, python, &sites, files->programs->bpf->progs.python_event);
	if (err || !sites.gc || !sites.imports) {
		snprintf(text, sizeof(text), "%s (CPython %s): %s are not on the timeline: %s", path_base(file->path),
			 python->version,
			 err || (!sites.gc && !sites.imports) ? "collections and imports"
			 : sites.imports		      ? "collections"
							      : "imports",
			 err ? strerror(-err) : "it has neither USDT probes nor the symbols for them");
		emit_file_note(files, text);
	}
	python_sites_free(&sites);
}

static void attach_calls(struct files *files, struct probed_file *file, const struct python_info *python,
			 const struct image *image)
{
	const char *why = "the function that runs frames could not be probed";
	struct python_sites sites;
	char text[512];
	int err = python_calls_find(image, python->walk.layout.version, &sites);

	if (!err) {
		err = attach_sites(files, file, python, &sites, files->programs->bpf->progs.python_call);
		python_sites_free(&sites);
	} else if (err == -ENOTSUP) {
		why = "from 3.11 on calls run inside the interpreter, where no probe can see them";
	}
	file->python_calls = err ? -ENOTSUP : 1;
	if (!err)
		return;
	snprintf(text, sizeof(text), "%s (CPython %s): no exact Python calls: %s", path_base(file->path),
		 python->version, why);
	emit_file_note(files, text);
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
	struct uprobe uprobe = {.offset = offset};
	int error;

	if (links_are_attached(&file->dealloc_links))
		return 0;
	error = file_attach_uprobes(files, file, &file->dealloc_links, files->programs->bpf->progs.code_dealloc,
				    &uprobe, 1);
	if (error)
		file_note_refused(files, file, FILE_DEATHS, error);
	return error;
}

/* Finds where CPython creates an interpreter besides the main one (pylifecycle.c, 3.6 to 3.15). */
static void find_subinterpreter_sites(struct probed_file *file)
{
	static const char *const names[] = {"Py_NewInterpreter", "_Py_NewInterpreter", "Py_NewInterpreterFromConfig"};
	struct image *image = NULL;

	if (file->subinterpreters_tried)
		return;
	file->subinterpreters_tried = true;
	if (file_open_image(file, &image))
		return;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct image_symbol symbol;
		struct probe_site site;
		struct uprobe uprobe = {};

		if (image_symbol(image, names[i], &symbol) || site_choose(image, symbol.address, &site))
			continue;
		uprobe.offset = site.offset;
		array_push(&file->subinterpreter_uprobes, uprobe);
	}
	image_close(image);
}

int file_attach_subinterpreters(struct files *files, struct probed_file *file)
{
	int error;

	if ((file->kind != LIBRARY_PYTHON && file->kind != LIBRARY_PYTHON_STATIC) || file->fd < 0 ||
	    links_are_attached(&file->subinterpreter_links))
		return 0;
	find_subinterpreter_sites(file);
	if (!file->subinterpreter_uprobes.count)
		return 0;
	error = file_attach_uprobes(files, file, &file->subinterpreter_links,
				    files->programs->bpf->progs.interpreter_new, file->subinterpreter_uprobes.items,
				    file->subinterpreter_uprobes.count);
	if (error)
		file_note_refused(files, file, FILE_SUBINTERPRETERS, error);
	return error;
}
