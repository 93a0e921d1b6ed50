/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Probes on the public functions of libnccl: on their entries and, instead of return probes, on their own exits. */
#include "attach/probes/probes.h"

#include <errno.h>
#include <stdio.h>

#include <bpf/bpf.h>
#include <gputrace/maps.h>
#include <gputrace/nccl.h>

#include "attach/emit/emit.h"
#include "attach/load/site_cookies.h"
#include "base/path.h"
#include "target/function.h"
#include "target/image.h"
#include "target/nccl.h"
#include "target/site.h"

static const struct nccl_function {
	const char *symbol;
	enum gpt_nccl_function function;
	enum gpt_nccl_args args;
} functions[] = {
#define ROW(id, symbol, args, name) {#symbol, GPT_NCCL_##id, GPT_NCCL_ARGS_##args},
	GPT_NCCL_TABLE(ROW)
#undef ROW
};

#define FUNCTIONS (sizeof(functions) / sizeof(functions[0]))

typedef ARRAY(struct uprobe) uprobe_list;

static bool makes_communicator(enum gpt_nccl_args args)
{
	return args == GPT_NCCL_ARGS_INIT || args == GPT_NCCL_ARGS_INIT_SCALABLE || args == GPT_NCCL_ARGS_INIT_ALL;
}

static int add_entry(const struct image *image, const struct image_symbol *symbol, const struct nccl_function *of,
		     uint32_t number, uprobe_list *entries)
{
	struct probe_site site;
	int error = site_choose(image, symbol->address, &site);

	if (!error)
		array_push(entries,
			   ((struct uprobe){.offset = site.offset,
					    .cookie = GPT_COOKIE(of->function, of->args, site.sp_adjust, number, 0)}));
	return error;
}

static int add_exits(const struct image *image, const struct image_symbol *symbol, uprobe_list *exits)
{
	function_sites sites;
	struct uprobe exit = {0};
	int error = function_rets(image, symbol, &sites);

	for (size_t i = 0; i < sites.count && !error; i++) {
		error = image_file_offset(image, sites.items[i].address, &exit.offset);
		if (!error)
			array_push(exits, exit);
	}
	array_free(&sites);
	return error;
}

static void report_layout(struct files *files, struct probed_file *file, const struct image *image, uint32_t number)
{
	struct gpt_nccl_file known = {0};
	struct nccl_comm_layout layout;
	int error = nccl_find_layout(image, &layout);

	if (error)
		file_note_refused(files, file, FILE_NCCL_RANKS, error);
	else
		known = (struct gpt_nccl_file){.rank = layout.rank, .ranks = layout.ranks};
	bpf_map_update_elem(bpf_map__fd(files->programs->bpf->maps.nccl_files), &number, &known, BPF_ANY);
}

static int attach_sites(struct files *files, struct probed_file *file, uprobe_list *list,
			const struct bpf_program *program)
{
	int error = 0;

	if (files->programs->sites >= 0)
		error = sites_write(files->programs->sites, file->device, file->inode, list->items, list->count);
	if (error)
		return error;
	return file_attach_uprobes(files, file, &file->nccl_links, program, list->items, list->count);
}

/* Every `ret` is single-stepped. */
static void report_sites(struct files *files, struct probed_file *file, size_t entries, size_t exits)
{
	char text[512];

	snprintf(text, sizeof(text), "%s: %zu probe sites, %zu of them slow (%s)", path_base(file->path),
		 entries + exits, exits, file->path);
	emit_text(files->emit, files->emit_context, GPT_PROBES, 0, text);
}

/* Some functions are missing in some versions; a plugin has none. */
static int attach_all(struct files *files, struct probed_file *file, const struct image *image)
{
	const struct gputrace_bpf *bpf = files->programs->bpf;
	uprobe_list entries = {0}, exits = {0};
	int error = 0, no_exit = 0;

	for (size_t i = 0; i < FUNCTIONS && !error; i++) {
		struct image_symbol symbol;

		if (image_symbol(image, functions[i].symbol, &symbol) || !symbol.function)
			continue;
		error = add_entry(image, &symbol, &functions[i], (uint32_t)file->nccl_number, &entries);
		if (add_exits(image, &symbol, &exits) && makes_communicator(functions[i].args))
			no_exit = -ENOENT;
	}
	if (!error && entries.count) {
		report_layout(files, file, image, (uint32_t)file->nccl_number);
		error = attach_sites(files, file, &exits, bpf->progs.nccl_left);
		if (!error)
			error = attach_sites(files, file, &entries, bpf->progs.nccl_call);
		if (!error && no_exit)
			file_note_refused(files, file, FILE_NCCL_EXITS, no_exit);
		if (!error)
			report_sites(files, file, entries.count, exits.count);
	}
	if (error || !entries.count)
		files_give_number(&files->nccl_numbers, &file->nccl_number);
	array_free(&entries);
	array_free(&exits);
	return error;
}

void file_attach_nccl(struct files *files, struct probed_file *file)
{
	struct image *image = NULL;
	int error;

	if (file->kind != LIBRARY_NCCL || file->nccl_tried || file->fd < 0)
		return;
	file->nccl_tried = true;
	error = files_number(files, file, &files->nccl_numbers, GPT_MAX_NCCL_FILES, &file->nccl_number);
	if (!error)
		error = file_open_image(file, &image);
	if (!error)
		error = attach_all(files, file, image);
	if (error) {
		links_detach(&file->nccl_links);
		file_note_refused(files, file, FILE_NCCL, error);
	}
	image_close(image);
}
