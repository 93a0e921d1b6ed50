/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Probes on CUPTI's own functions, which show the activity of its clients. */
#include "attach/probes/probes.h"

#include <errno.h>

#include <bpf/libbpf.h>

#include "target/image.h"
#include "target/site.h"

int file_attach_pushes(struct files *files, struct probed_file *file)
{
	struct image_symbol symbol;
	struct uprobe uprobe = {};
	struct image *image = NULL;
	struct probe_site site = {};
	int error;

	if (links_are_attached(&file->push_links))
		return 0;
	if (file->push_unfit || file->fd < 0)
		return -ENOENT;
	file->push_unfit = true;
	error = file_open_image(file, &image);
	if (error)
		return error;
	error = image_symbol(image, "cuptiActivityPushExternalCorrelationId", &symbol);
	if (!error)
		error = site_choose(image, symbol.address, &site);
	image_close(image);
	uprobe.offset = site.offset;
	if (!error)
		error = file_attach_uprobes(files, file, &file->push_links, files->programs->bpf->progs.cupti_push,
					    &uprobe, 1);
	if (error)
		file_note_refused(files, file, FILE_PUSHES, error);
	else
		file->push_unfit = false;
	return error;
}

void file_detach_pushes(struct probed_file *file)
{
	links_detach(&file->push_links);
}

int file_attach_cupti(struct files *files, struct probed_file *file)
{
	const struct gputrace_bpf *bpf = files->programs->bpf;
	const struct {
		const char *function;
		const struct bpf_program *program;
		bool calls_another; /* calls another of these, whose caller it would hide; not in every CUPTI */
	} probes[] = {
		{"cuptiActivityRegisterCallbacks", bpf->progs.cupti_register, false},
		{"cuptiActivityEnable", bpf->progs.cupti_enable, false},
		{"cuptiActivityEnableAndDump", bpf->progs.cupti_enable, true},
		{"cuptiActivityDisable", bpf->progs.cupti_disable, false},
		{"cuptiActivityFlushAll", bpf->progs.cupti_flush, false},
		{"cuptiActivityFlush", bpf->progs.cupti_flush, true},
		{"cuptiActivitySetAttribute", bpf->progs.cupti_attribute, false},
		{"cuptiActivitySetAttribute_v2", bpf->progs.cupti_attribute, true},
	};
	struct image *image = NULL;
	int error;

	if (file->kind != LIBRARY_CUPTI || links_are_attached(&file->cupti_links) || file->fd < 0)
		return 0;
	error = file_open_image(file, &image);
	if (error)
		return error;
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]) && !error; i++) {
		struct uprobe uprobe = {};

		/* Probed at the very entry, even if that instruction is slow: the program reads the return address. */
		error = image_symbol_offset(image, probes[i].function, &uprobe.offset);
		if (error == -ENOENT && probes[i].calls_another) {
			error = 0;
			continue;
		}
		if (!error)
			error = file_give_text(files, file, &uprobe);
		if (!error)
			error = file_attach_uprobes(files, file, &file->cupti_links, probes[i].program, &uprobe, 1);
	}
	image_close(image);
	if (error) {
		links_detach(&file->cupti_links);
		file_note_refused(files, file, FILE_CUPTI, error);
	}
	return error;
}
