/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Probes inside PyTorch: its autograd engine, and its profiler's CUPTI buffers. */
#include "attach/probes/probes.h"

#include <errno.h>
#include <string.h>

#include "attach/load/site_cookies.h"
#include "target/image.h"
#include "target/kineto.h"
#include "target/site.h"

/* libkineto::CuptiActivityApi::bufferCompleted, PyTorch 2.11 to 2.15; its arguments: bpf/cupti.bpf.c */
#define BUFFER_COMPLETED "_ZN9libkineto16CuptiActivityApi15bufferCompletedEP8CUctx_stjPhmm"

/* Functions to probe, found in one pass: libtorch_cpu has 200,000 to 600,000 symbols. */
enum torch_function { ENGINE_BEGIN, ENGINE_NODE, BUFFERS, TORCH_FUNCTIONS };

/* The engine's functions are matched by the part of their mangled names that does not depend on their parameters. */
static const struct {
	const char *name;
	bool prefix;
} names[TORCH_FUNCTIONS] = {
	[ENGINE_BEGIN] = {"_ZN5torch8autograd6Engine23execute_with_graph_task", true},
	[ENGINE_NODE] = {"_ZN5torch8autograd6Engine17evaluate_function", true},
	[BUFFERS] = {BUFFER_COMPLETED, false},
};

struct torch_search {
	const struct image *image;
	struct {
		uint64_t address; /* 0: not found */
		struct probe_site site;
	} found[TORCH_FUNCTIONS];
	unsigned missing;
};

static int torch_symbol(const struct image_symbol *symbol, void *context)
{
	struct torch_search *search = context;

	if (!symbol->function)
		return 0;
	for (size_t i = 0; i < TORCH_FUNCTIONS; i++) {
		if (search->found[i].address ||
		    (names[i].prefix ? strncmp(symbol->name, names[i].name, strlen(names[i].name))
				     : strcmp(symbol->name, names[i].name)) ||
		    site_choose(search->image, symbol->address, &search->found[i].site))
			continue;
		search->found[i].address = symbol->address;
		search->missing--;
	}
	return !search->missing;
}

/* Finds the engine's probe sites; on -errno it is not probed. */
static int find_engine(struct files *files, struct probed_file *file, const struct torch_search *search)
{
	int error = 0;

	if (!search->found[ENGINE_BEGIN].address || !search->found[ENGINE_NODE].address)
		return -ENOENT;
	file->engine_begin = (struct uprobe){.offset = search->found[ENGINE_BEGIN].site.offset};
	file->engine_node =
		(struct uprobe){.offset = search->found[ENGINE_NODE].site.offset,
				.cookie = GPT_COOKIE(0, 0, search->found[ENGINE_NODE].site.sp_adjust, 0, 0)};
	if (files->programs->sites >= 0)
		error = sites_write(files->programs->sites, file->device, file->inode, &file->engine_node, 1);
	file->engine_known = !error;
	return error;
}

static int attach_engine(struct files *files, struct probed_file *file)
{
	const struct gputrace_bpf *bpf = files->programs->bpf;
	int error = file_attach_uprobes(files, file, &file->engine_links, bpf->progs.backward_begin,
					&file->engine_begin, 1);

	if (!error)
		error = file_attach_uprobes(files, file, &file->engine_links, bpf->progs.backward_node,
					    &file->engine_node, 1);
	if (error)
		links_detach(&file->engine_links);
	return error;
}

static int attach_profiler(struct files *files, struct probed_file *file, const struct torch_search *search)
{
	struct uprobe uprobe = {.offset = search->found[BUFFERS].site.offset};

	if (!search->found[BUFFERS].address)
		return -ENOENT;
	return file_attach_uprobes(files, file, &file->profiler_links, files->programs->bpf->progs.cupti_done, &uprobe,
				   1);
}

/* Finds the flag that shows whether torch.profiler records; without it only its calls show that (cupti_client.h). */
static void find_flag(struct probed_file *file, const struct image *image)
{
	struct image_symbol singleton, push;

	file->kineto_known = !image_symbol(image, KINETO_SINGLETON, &singleton) &&
			     !image_symbol(image, KINETO_PUSH, &push) &&
			     !kineto_find_flag(image, singleton.address, push.address, &file->kineto);
}

static void look_into(struct files *files, struct probed_file *file)
{
	struct torch_search search = {.missing = TORCH_FUNCTIONS};
	struct image *image = NULL;
	int error = file_open_image(file, &image);

	if (!error)
		find_flag(file, image);
	if (!files->programs->bpf) { /* without BPF nothing is probed */
		image_close(image);
		return;
	}
	if (!error) {
		search.image = image;
		image_each_symbol(image, torch_symbol, &search);
		error = find_engine(files, file, &search);
	}
	if (error)
		file_note_refused(files, file, FILE_ENGINE, error);
	if (image && files->agents) {
		error = attach_profiler(files, file, &search);
		if (error && error != -ENOENT) /* a PyTorch without CUPTI */
			file_note_refused(files, file, FILE_PROFILER, error);
	}
	image_close(image);
}

void file_attach_torch(struct files *files, struct probed_file *file)
{
	int error;

	if (file->kind != LIBRARY_TORCH)
		return;
	if (!file->torch_tried) {
		file->torch_tried = true;
		look_into(files, file);
	}
	if (!file->engine_wanted || !file->engine_known)
		return;
	file->engine_known = false; /* once */
	error = attach_engine(files, file);
	if (error)
		file_note_refused(files, file, FILE_ENGINE, error);
}
