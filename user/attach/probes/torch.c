/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Probes inside PyTorch: its autograd engine, and its profiler's CUPTI buffers. */
#include "attach/probes/probes.h"

#include <errno.h>
#include <string.h>

#include "attach/load/site_cookies.h"
#include "target/image.h"
#include "target/site.h"

/* The engine's functions by the part of their mangled names that does not change with their parameters. */
struct engine_search {
	const struct image *image;
	struct uprobe begin, node;
};

static int engine_symbol(const struct image_symbol *symbol, void *context)
{
	static const char begin[] = "_ZN5torch8autograd6Engine23execute_with_graph_task";
	static const char node[] = "_ZN5torch8autograd6Engine17evaluate_function";
	struct engine_search *search = context;
	struct uprobe *uprobe = NULL;
	struct probe_site site;

	if (!symbol->function)
		return 0;
	if (!strncmp(symbol->name, begin, sizeof(begin) - 1))
		uprobe = &search->begin;
	else if (!strncmp(symbol->name, node, sizeof(node) - 1))
		uprobe = &search->node;
	if (!uprobe || site_choose(search->image, symbol->address, &site))
		return 0;
	uprobe->offset = site.offset;
	uprobe->cookie = GPT_COOKIE(0, 0, site.sp_adjust, 0, 0);
	return search->begin.offset && search->node.offset;
}

static int attach_engine(struct files *files, struct probed_file *file, const struct image *image)
{
	const struct gputrace_bpf *bpf = files->programs->bpf;
	struct engine_search search = {.image = image};
	int error;

	image_each_symbol(image, engine_symbol, &search);
	if (!search.begin.offset || !search.node.offset)
		return -ENOENT;
	if (files->programs->sites >= 0) {
		error = sites_tell(files->programs->sites, file->device, file->inode, &search.node, 1);
		if (error)
			return error;
	}
	search.begin.cookie = 0;
	error = links_attach_uprobes(&file->engine_links, files->programs->multi,
				     bpf_program__fd(bpf->progs.backward_begin), file->fd, &search.begin, 1);
	if (!error)
		error = links_attach_uprobes(&file->engine_links, files->programs->multi,
					     bpf_program__fd(bpf->progs.backward_node), file->fd, &search.node, 1);
	if (error)
		links_detach(&file->engine_links);
	return error;
}

/* libkineto::CuptiActivityApi::bufferCompleted, PyTorch 2.11 to 2.15; its arguments: bpf/cupti.bpf.c */
#define BUFFER_COMPLETED "_ZN9libkineto16CuptiActivityApi15bufferCompletedEP8CUctx_stjPhmm"

static int attach_profiler(struct files *files, struct probed_file *file, const struct image *image)
{
	struct image_symbol symbol;
	struct uprobe uprobe = {};
	struct probe_site site;
	int error = image_symbol(image, BUFFER_COMPLETED, &symbol);

	if (!error)
		error = site_choose(image, symbol.address, &site);
	if (error)
		return error;
	uprobe.offset = site.offset;
	return links_attach_uprobes(&file->profiler_links, files->programs->multi,
				    bpf_program__fd(files->programs->bpf->progs.cupti_done), file->fd, &uprobe, 1);
}

void file_attach_torch(struct files *files, struct probed_file *file)
{
	struct image *image = NULL;
	int error;

	if (file->kind != LIBRARY_TORCH || file->torch_tried)
		return;
	file->torch_tried = true;
	error = file_open_image(file, &image);
	if (!error)
		error = attach_engine(files, file, image);
	if (error)
		file_note_refused(files, file, FILE_ENGINE, error);
	if (image && files->foreign_buffers) {
		error = attach_profiler(files, file, image);
		if (error && error != -ENOENT) /* a PyTorch without CUPTI */
			file_note_refused(files, file, FILE_PROFILER, error);
	}
	image_close(image);
}
