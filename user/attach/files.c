/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of probed files. */
#include "attach/files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <gputrace/agent.h>
#include <gputrace/cuda_api.h>

#include "attach/emit.h"
#include "attach/features.h"
#include "attach/foreign_buffers.h"
#include "attach/sites.h"
#include "base/msg.h"
#include "target/image.h"
#include "target/site.h"

#define CHANGE_SETTLES_S 3 /* no filesystem has coarser times, two seconds at most */

bool library_kind_has_calls(enum library_kind kind)
{
	return kind == LIBRARY_CUDART || kind == LIBRARY_CUDA || kind == LIBRARY_CUDART_STATIC;
}

/* Where the arguments of a call are, by its id; both twins of a row have the same. */
static enum gpt_api_args args_of_api(uint16_t api)
{
#define ROW(domain, symbol, class, args, twin, cbid, twin_cbid)                                                        \
	{GPT_API(GPT_DOMAIN_##domain, cbid), twin_cbid ? GPT_API(GPT_DOMAIN_##domain, twin_cbid) : 0, GPT_ARGS_##args},
	static const struct {
		uint16_t api, twin, args;
	} rows[] = {GPT_CUDA_API_TABLE(ROW)};
#undef ROW
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].api == api || rows[i].twin == api)
			return rows[i].args;
	return GPT_ARGS_NONE;
}

static struct probed_file **bucket_of(struct files *files, uint64_t inode)
{
	return &files->buckets[inode % (sizeof(files->buckets) / sizeof(files->buckets[0]))];
}

struct probed_file *files_find(struct files *files, dev_t device, uint64_t inode)
{
	struct probed_file *file = *bucket_of(files, inode);

	while (file && (file->inode != inode || file->device != device))
		file = file->next;
	return file;
}

void file_note_refused(struct files *files, struct probed_file *file, enum file_probe what, int error)
{
	static const char *const means[] = {
		[FILE_CALLS] = "CUDA calls through it are not seen",
		[FILE_AGENT] = "no GPU times by this agent",
		[FILE_CUPTI] = "nothing is known of other users of CUPTI",
		[FILE_PUSHES] = "sessions of torch.profiler that had begun before are not seen",
		[FILE_DEATHS] = "the end of functions is not seen, so each stack is described anew",
		[FILE_SUBINTERPRETERS] = "further interpreters are not seen, so each call looks for them",
		[FILE_ENGINE] = "what a backward pass launches has no line",
		[FILE_PROFILER] = "GPU records that torch.profiler takes are missing",
	};

	const char *why;

	if (file->refused >> what & 1)
		return;
	file->refused |= 1u << what;
	if (error == -ENOENT)
		why = "it lacks a function";
	else if (error == -ENOSPC && what == FILE_CALLS)
		why = "no more files can be";
	else
		why = strerror(-error);
	emit_note(files->emit, files->emit_context, 0, "%s cannot be probed (%s): %s", file->path, why, means[what]);
}

/* From now on a process that maps the file need not be held for it, or has to be again. */
static void mark_known(struct files *files, const struct probed_file *file, bool known)
{
	struct gpt_file_key key = {.inode = file->inode, .device = sites_kernel_device(file->device)};
	int map = bpf_map__fd(files->programs->bpf->maps.known_files);
	uint8_t one = 1;

	if (known)
		bpf_map_update_elem(map, &key, &one, BPF_ANY);
	else
		bpf_map_delete_elem(map, &key);
}

int file_open_image(const struct probed_file *file, struct image **out)
{
	int copy = fcntl(file->fd, F_DUPFD_CLOEXEC, 3);

	return copy < 0 ? -errno : image_open(copy, out);
}

/* Where CPython makes an interpreter besides the main one (pylifecycle.c, 3.6 to 3.15). */
static void find_subinterpreter_sites(struct probed_file *file, const struct image *image)
{
	static const char *const names[] = {"Py_NewInterpreter", "_Py_NewInterpreter", "Py_NewInterpreterFromConfig"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct image_symbol symbol;
		struct probe_site site;
		struct uprobe uprobe = {};

		if (image_symbol(image, names[i], &symbol) || site_choose(image, symbol.address, &site))
			continue;
		uprobe.offset = site.offset;
		array_push(&file->subinterpreter_uprobes, uprobe);
	}
}

/* Looks into the file: what it is, and where it can be probed. */
static void examine(struct probed_file *file)
{
	struct image *image = NULL;

	if (file_open_image(file, &image))
		return;
	file->kind = library_kind_of_image(image, file->path);
	if (library_kind_has_calls(file->kind) && library_sites_find(image, file->kind, &file->sites))
		file->kind = LIBRARY_OTHER;
	if (file->kind == LIBRARY_PYTHON || file->kind == LIBRARY_PYTHON_STATIC)
		find_subinterpreter_sites(file, image);
	image_close(image);
}

/* Whether a process that maps a file of this name is held (lifecycle.bpf.c, name_of_interest). */
static bool is_held_for(const char *path)
{
	static const char *const names[] = {"libcu", "libpyt", "libgpu", "libtorc"};
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

/*
 * Takes over fd.  A file that is kept open cannot give its inode to another; of the others, most of all there are, the
 * time of their last change tells.
 */
static void look_into(struct files *files, struct probed_file *file, int fd, const struct stat *stat)
{
	struct timespec now;

	file->fd = fd;
	file->kind = LIBRARY_OTHER;
	file->changed = stat->st_ctim;
	file->bytes = stat->st_size;
	clock_gettime(CLOCK_REALTIME, &now);
	file->settled = now.tv_sec - stat->st_ctim.tv_sec > CHANGE_SETTLES_S;
	examine(file);
	if (file->kind == LIBRARY_OTHER && !is_held_for(file->path)) {
		close(fd);
		file->fd = -1;
		return;
	}
	/* Files that never get call probes need no one held. */
	if (!library_kind_has_calls(file->kind) && file->kind != LIBRARY_AGENT)
		mark_known(files, file, true);
}

static struct probed_file *add(struct files *files, int fd, const struct stat *stat, dev_t device, const char *path)
{
	struct probed_file *file = xcalloc(1, sizeof(*file)), **bucket = bucket_of(files, stat->st_ino);

	file->device = device;
	file->inode = stat->st_ino;
	file->number = -1;
	file->path = xstrdup(path);
	look_into(files, file, fd, stat);
	array_push(&files->list, file);
	file->next = *bucket;
	*bucket = file;
	return file;
}

/* Whether one with nothing in it for us is still the file that was looked into. */
static bool is_unchanged(const struct probed_file *file, pid_t pid, const struct mapping *mapping)
{
	struct stat stat;

	return file->settled && !mapping_stat(pid, mapping, &stat) && stat.st_size == file->bytes &&
	       stat.st_ctim.tv_sec == file->changed.tv_sec && stat.st_ctim.tv_nsec == file->changed.tv_nsec;
}

struct probed_file *files_get(struct files *files, pid_t pid, const struct mapping *mapping)
{
	struct probed_file *file = files_find(files, mapping->device, mapping->inode);
	struct stat stat = {};
	int fd;

	if (file && (file->kind != LIBRARY_OTHER || is_unchanged(file, pid, mapping)))
		return file;
	fd = mapping_open(pid, mapping);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &stat) || !S_ISREG(stat.st_mode)) {
		close(fd);
		return NULL;
	}
	if (file) {
		mark_known(files, file, false);
		if (file->fd >= 0)
			close(file->fd);
		free(file->path);
		file->path = xstrdup(mapping->path);
		look_into(files, file, fd, &stat);
		return file;
	}
	/* Some filesystems show other device numbers in maps than in stat: go by what maps says. */
	stat.st_ino = mapping->inode;
	return add(files, fd, &stat, mapping->device, mapping->path);
}

struct probed_file *files_get_path(struct files *files, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct probed_file *file;
	struct stat stat;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &stat)) {
		close(fd);
		return NULL;
	}
	file = files_find(files, stat.st_dev, stat.st_ino);
	if (file) {
		close(fd);
		return file;
	}
	return add(files, fd, &stat, stat.st_dev, path);
}

/* The executable segment that holds a file offset: where it starts in the file, and its size; -ENOEXEC. */
static int text_segment(int fd, uint64_t offset, uint64_t *start, uint64_t *bytes)
{
	Elf64_Ehdr header;
	Elf64_Phdr segment;

	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) || header.e_phentsize != sizeof(segment))
		return -ENOEXEC;
	for (unsigned i = 0; i < header.e_phnum; i++) {
		if (pread(fd, &segment, sizeof(segment), (off_t)(header.e_phoff + i * sizeof(segment))) !=
		    sizeof(segment))
			return -ENOEXEC;
		if (segment.p_type != PT_LOAD || !(segment.p_flags & PF_X) ||
		    offset - segment.p_offset >= segment.p_filesz)
			continue;
		*start = segment.p_offset;
		*bytes = segment.p_filesz;
		return 0;
	}
	return -ENOEXEC;
}

static void tell_sites(struct files *files, const struct probed_file *file)
{
	char text[512];

	snprintf(text, sizeof(text), "%s: %zu probe sites, %u of them slow (%s)",
		 strrchr(file->path, '/') ? strrchr(file->path, '/') + 1 : file->path, file->sites.list.count,
		 file->sites.stepped, file->path);
	emit_text(files->emit, files->emit_context, GPT_PROBES, 0, text);
}

static int attach_calls(struct files *files, struct probed_file *file)
{
	int program = bpf_program__fd(files->programs->bpf->progs.call_symbol), error = 0;
	uint32_t index;
	struct gpt_file_state state = {};
	struct uprobe *uprobes;
	uint64_t text = 0, bytes = 0;

	if (text_segment(file->fd, file->sites.list.items[0].site.offset, &text, &bytes))
		return -ENOEXEC;
	if (file->number < 0 && files->numbered >= GPT_MAX_FILES)
		return -ENOSPC;
	if (file->number < 0)
		file->number = (int)files->numbered++;
	index = (uint32_t)file->number;
	state.text_bytes = bytes;
	bpf_map_update_elem(bpf_map__fd(files->programs->bpf->maps.files), &index, &state, BPF_ANY);
	uprobes = xcalloc(file->sites.list.count + 1, sizeof(*uprobes));
	for (size_t i = 0; i < file->sites.list.count; i++) {
		const struct library_site *site = &file->sites.list.items[i];
		uint64_t distance = site->site.offset - text;

		if (distance > GPT_COOKIE_DISTANCE_MAX) /* nested calls are told by the stack alone then */
			distance = 0;
		uprobes[i].offset = site->site.offset;
		uprobes[i].cookie =
			GPT_COOKIE(site->api, args_of_api(site->api), site->site.sp_adjust, index, distance);
	}
	if (files->programs->sites >= 0)
		error = sites_tell(files->programs->sites, file->device, file->inode, uprobes, file->sites.list.count);
	if (!error)
		error = links_attach_uprobes(&file->call_links, files->programs->multi, program, file->fd, uprobes,
					     file->sites.list.count);
	free(uprobes);
	return error;
}

int file_attach_calls(struct files *files, struct probed_file *file)
{
	int error;

	if (!library_kind_has_calls(file->kind) || file->call_links.fds.count || !file->sites.list.count)
		return 0;
	error = attach_calls(files, file);
	if (error) {
		if (!(file->refused >> FILE_CALLS & 1))
			msg_warn("cannot probe %s: %s", file->path, strerror(-error));
		file_note_refused(files, file, FILE_CALLS, error);
		return error;
	}
	mark_known(files, file, true);
	if (!file->told)
		tell_sites(files, file);
	file->told = true;
	return 0;
}

void file_detach_calls(struct files *files, struct probed_file *file)
{
	if (!file->call_links.fds.count)
		return;
	mark_known(files, file, false);
	links_detach(&file->call_links);
}

/* Tried once: it takes a moment. */
static bool nop5_is_undone(void)
{
	static int undone = -1;

	if (undone < 0)
		undone = feature_probe(FEATURE_NOP5_UNDONE) != 0;
	return undone;
}

int agent_uprobe(const struct image *agent, const char *function, const char *semaphore, struct uprobe *uprobe)
{
	int error;

	*uprobe = (struct uprobe){};
	error = image_symbol_offset(agent, function, &uprobe->offset);
	if (!error)
		error = image_symbol_offset(agent, semaphore, &uprobe->ref_counter);
	if (!nop5_is_undone())
		uprobe->offset += GPUTRACE_AGENT_TRAP;
	return error;
}

struct agent_probe {
	const char *function, *semaphore;
	int program;
	struct links *links;
	bool tells_text; /* so that a call of CUPTI by the agent can be told from one by somebody else */
};

static int agent_text_cookie(const struct probed_file *file, struct uprobe *uprobe)
{
	uint64_t text, bytes;
	int error = text_segment(file->fd, uprobe->offset, &text, &bytes);

	if (!error && bytes > UINT32_MAX)
		error = -ENOEXEC;
	if (!error)
		uprobe->cookie = GPT_AGENT_COOKIE(uprobe->offset - text, bytes);
	return error;
}

static int attach_agent_probe(struct files *files, struct probed_file *file, const struct image *image,
			      const struct agent_probe *probe)
{
	struct uprobe uprobe;
	int error = agent_uprobe(image, probe->function, probe->semaphore, &uprobe);

	if (!error && probe->tells_text)
		error = agent_text_cookie(file, &uprobe);
	if (!error && probe->tells_text && files->programs->sites >= 0)
		error = sites_tell(files->programs->sites, file->device, file->inode, &uprobe, 1);
	return error ? error
		     : links_attach_uprobes(probe->links, files->programs->multi, probe->program, file->fd, &uprobe, 1);
}

/* What the user wants besides kernels, told by counters. */
static int attach_activity_sets(struct files *files, struct probed_file *file, const struct image *image)
{
	static const struct {
		const char *function, *semaphore;
	} sets[GPT_AGENT_SET_COUNT] = {
#define SET(enumerator, name)                                                                                          \
	[GPT_AGENT_SET_##enumerator] = {"gputrace_agent_activity_set_" #name,                                          \
					"gputrace_agent_activity_set_" #name "_semaphore"},
		GPT_AGENT_ACTIVITY_SETS(SET)
#undef SET
	};
	struct uprobe uprobes[GPT_AGENT_SET_COUNT];
	size_t count = 0;
	int error = 0;

	for (unsigned i = 0; i < GPT_AGENT_SET_COUNT && !error; i++)
		if (files->activity_sets >> i & 1)
			error = agent_uprobe(image, sets[i].function, sets[i].semaphore, &uprobes[count++]);
	/* at once: each link costs a grace period of RCU when it goes */
	return error ? error
		     : links_attach_uprobes(&file->call_links, files->programs->multi,
					    bpf_program__fd(files->programs->bpf->progs.agent_activity_set), file->fd,
					    uprobes, count);
}

int file_attach_agent(struct files *files, struct probed_file *file)
{
	const struct gputrace_bpf *bpf = files->programs->bpf;
	const struct agent_probe probes[] = {
		/* Who listens to batches must be there before the session that sends them begins. */
		{GPUTRACE_AGENT_BATCH, GPUTRACE_AGENT_BATCH_SEMAPHORE, bpf_program__fd(bpf->progs.agent_batch),
		 &file->batch_links, false},
		{GPUTRACE_AGENT_STATE, GPUTRACE_AGENT_SEMAPHORE, bpf_program__fd(bpf->progs.agent_state),
		 &file->call_links, true},
		{GPUTRACE_AGENT_CALL, GPUTRACE_AGENT_SEMAPHORE, bpf_program__fd(bpf->progs.call_agent),
		 &file->call_links, false},
	};
	struct image *image = NULL;
	int error = 0;

	if (file->kind != LIBRARY_AGENT || file->call_links.fds.count)
		return 0;
	error = file_open_image(file, &image);
	if (error)
		return error;
	error = attach_activity_sets(files, file, image);
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]) && !error; i++)
		error = attach_agent_probe(files, file, image, &probes[i]);
	image_close(image);
	if (error) {
		links_detach(&file->call_links);
		links_detach(&file->batch_links);
		file_note_refused(files, file, FILE_AGENT, error);
		return error;
	}
	mark_known(files, file, true);
	return 0;
}

void files_close(struct files *files)
{
	for (size_t i = 0; i < files->list.count; i++) {
		struct probed_file *file = files->list.items[i];

		links_detach(&file->call_links);
		links_detach(&file->dealloc_links);
		links_detach(&file->subinterpreter_links);
		links_detach(&file->engine_links);
		links_detach(&file->profiler_links);
		links_detach(&file->cupti_links);
		links_detach(&file->push_links);
		links_detach(&file->event_links);
		links_detach(&file->batch_links);
		library_sites_free(&file->sites);
		array_free(&file->subinterpreter_uprobes);
		if (file->fd >= 0)
			close(file->fd);
		free(file->path);
		free(file);
	}
	array_free(&files->list);
}
