/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Probes on the public functions of libcudart and libcuda, for processes whose agent does not report calls. */
#include "attach/probes/probes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <gputrace/cuda_api.h>
#include <gputrace/maps.h>

#include "attach/emit/emit.h"
#include "attach/load/site_cookies.h"
#include "base/monotonic.h"
#include "base/msg.h"
#include "base/path.h"

/*
 * By then, a record of the BPF side is in the queue, as it wakes the thread that empties the ring buffer
 * (capture/drain.c). And a call in which CUDA was started and the agent loaded is over, or the agent has reported it.
 */
#define UNHEARD_NS 1000000000ULL

/* The argument layout of a call by its id; both twins of a row have the same. */
static enum gpt_api_args args_of_api(uint16_t api)
{
#define ROW(domain, symbol, class, args, twin, cbid, twin_cbid)                                                        \
	{GPT_API(GPT_DOMAIN_##domain, cbid), twin_cbid ? GPT_API(GPT_DOMAIN_##domain, twin_cbid) : 0, GPT_ARGS_##args},
	static const struct {
		uint16_t api, twin, args;
	} rows[] = {GPT_CUDA_API_TABLE(ROW)};
#undef ROW
	return value_of_first(sizeof(rows) / sizeof(rows[0]), i, rows[i].api == api || rows[i].twin == api,
			      rows[i].args, GPT_ARGS_NONE);
}

static void report_sites(struct files *files, const struct probed_file *file)
{
	char text[512];

	snprintf(text, sizeof(text), "%s: %zu probe sites, %u of them slow (%s)", path_base(file->path),
		 file->sites.list.count, file->sites.stepped, file->path);
	emit_text(files->emit, files->emit_context, GPT_PROBES, 0, text);
}

static void set_state(struct files *files, const struct probed_file *file, const struct gpt_file_state *state)
{
	uint32_t index = (uint32_t)file->number;

	bpf_map_update_elem(bpf_map__fd(files->programs->bpf->maps.files), &index, state, BPF_ANY);
}

static int attach_calls(struct files *files, struct probed_file *file)
{
	const struct bpf_program *program = files->programs->bpf->progs.call_symbol;
	int error = 0;
	uint32_t index;
	struct uprobe *uprobes;
	uint64_t text = 0, bytes = 0;

	if (file->unfit)
		return file->unfit;
	if (file_text_segment(file->fd, file->sites.list.items[0].site.offset, &text, &bytes))
		return -ENOEXEC;
	error = files_number(files, file, &files->call_numbers, GPT_MAX_FILES, &file->number);
	if (error)
		return error;
	index = (uint32_t)file->number;
	file->text_bytes = bytes;
	set_state(files, file, &(struct gpt_file_state){.text_bytes = bytes});
	uprobes = xcalloc(file->sites.list.count + 1, sizeof(*uprobes));
	for (size_t i = 0; i < file->sites.list.count; i++) {
		const struct library_site *site = &file->sites.list.items[i];
		uint64_t distance = site->site.offset - text;

		if (distance > GPT_COOKIE_DISTANCE_MAX) /* then only the stack identifies nested calls */
			distance = 0;
		uprobes[i].offset = site->site.offset;
		uprobes[i].cookie =
			GPT_COOKIE(site->api, args_of_api(site->api), site->site.sp_adjust, index, distance);
	}
	if (files->programs->sites >= 0)
		error = sites_write(files->programs->sites, file->device, file->inode, uprobes, file->sites.list.count);
	if (!error)
		error = file_attach_uprobes(files, file, &file->call_links, program, uprobes, file->sites.list.count);
	free(uprobes);
	return error;
}

int file_attach_calls(struct files *files, struct probed_file *file)
{
	int error;

	if (!library_kind_has_calls(file->kind) || !file->sites.list.count)
		return 0;
	if (links_are_attached(&file->call_links)) {
		if (file->unwanted_ns)
			files_mark_known(files, file, true);
		file->unwanted_ns = 0;
		return 0;
	}
	error = attach_calls(files, file);
	if (error) {
		if (file_note_refused(files, file, FILE_CALLS, error))
			msg_warn("cannot probe %s: %s", file->path, strerror(-error));
		return error;
	}
	files_mark_known(files, file, true);
	if (!file->written)
		report_sites(files, file);
	file->written = true;
	return 0;
}

/*
 * A process that maps a known file is not held. So first the file is marked as not known; its probes are detached once
 * all earlier mappings of it have been noticed.
 */
static bool may_detach(struct files *files, struct probed_file *file, uint64_t heard_ns)
{
	if (!file->unwanted_ns) {
		files_mark_known(files, file, false);
		file->unwanted_ns = monotonic_ns();
	}
	return !files->stops || heard_ns > file->unwanted_ns + UNHEARD_NS;
}

bool file_detach_calls(struct files *files, struct probed_file *file, uint64_t heard_ns)
{
	if (!links_are_attached(&file->call_links))
		return true;
	if (!may_detach(files, file, heard_ns))
		return false;
	file->unwanted_ns = 0;
	set_state(files, file, &(struct gpt_file_state){.text_bytes = file->text_bytes, .leaves = 1});
	links_detach(&file->call_links);
	return true;
}
