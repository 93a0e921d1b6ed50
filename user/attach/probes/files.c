/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of probed files. */
#include "attach/probes/files.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "attach/emit/emit.h"
#include "attach/load/site_cookies.h"
#include "base/monotonic.h"
#include "base/path.h"
#include "target/image.h"

#define CHANGE_SETTLES_S 3 /* file times of every filesystem are finer: two seconds at most */

/* A file that takes long to examine gets at most a twentieth of the time. */
#define COST_LOW_NS 20000000ull
#define COST_SHARE 20

/* A file that could not be opened is tried again after a second, two, four, ... */
#define FAILED_AGAIN_NS 1000000000ull
#define FAILURES_MAX 6

bool library_kind_has_calls(enum library_kind kind)
{
	return kind == LIBRARY_CUDART || kind == LIBRARY_CUDA || kind == LIBRARY_CUDART_STATIC;
}

static struct probed_file *files_find(const struct files *files, dev_t device, uint64_t inode)
{
	const uint32_t *index = lookup_get(&files->by_inode, 1 + (uint32_t)device, inode);

	return index && *index != UINT32_MAX ? files->list.items[*index] : NULL;
}

bool files_have(const struct files *files, const struct mapping *mapping)
{
	return files_find(files, mapping->device, mapping->inode) != NULL;
}

bool file_note_refused(struct files *files, struct probed_file *file, enum file_probe what, int error)
{
	static const char *const means[] = {
		[FILE_CALLS] = "CUDA calls through it are not seen",
		[FILE_AGENT] = "no GPU times by this agent",
		[FILE_CUPTI] = "nothing is known of other users of CUPTI",
		[FILE_PUSHES] = "sessions of torch.profiler that had begun before are not seen",
		[FILE_DEATHS] = "the end of functions is not seen, so each stack is described again",
		[FILE_SUBINTERPRETERS] = "further interpreters are not seen, so each call looks for them",
		[FILE_ENGINE] = "what a backward pass launches has no line",
		[FILE_NCCL] = "collectives are known only where PyTorch reports them (--ops)",
		[FILE_NCCL_RANKS] = "ranks of its communicators are not known",
		[FILE_NCCL_EXITS] = "communicators of several processes are not known to be one",
		[FILE_PROFILER] = "GPU records that torch.profiler takes are missing",
	};

	const char *why;

	if (file->refused >> what & 1)
		return false;
	file->refused |= 1u << what;
	if (!files_may_name(files, file->uid))
		return false;
	if (file->unfit == -EREMOTE)
		why = "a process of a user serves it (FUSE), and would hold up the whole machine if it stopped "
		      "answering";
	else if (error == -EFBIG)
		why = "its table of symbols is too large";
	else if (error == -EMFILE || error == -ENFILE)
		why = "too many files are open: raise ulimit -n";
	else if (error == -ENOENT)
		why = "it lacks a function";
	else if (error == -ENOSPC && what == FILE_CALLS)
		why = "no more files can be";
	else
		why = strerror(-error);
	emit_note(files->emit, files->emit_context, 0, "%s cannot be probed (%s): %s", file->path, why, means[what]);
	return true;
}

void files_mark_known(struct files *files, const struct probed_file *file, bool known)
{
	struct gpt_file_key key = {.inode = file->inode, .device = sites_kernel_device(file->device)};
	uint8_t one = 1;
	int map;

	if (!files->programs->bpf)
		return; /* no process is held */
	map = bpf_map__fd(files->programs->bpf->maps.known_files);
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

/* Examines the file: its kind, and its probe sites. */
static void examine_file(struct files *files, struct probed_file *file, int fd)
{
	struct image *image = NULL;
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);

	if (copy < 0 || image_open(copy, &image))
		return;
	file->kind = library_kind_of_image(image, file->path);
	if (library_kind_has_calls(file->kind) && library_sites_find(image, file->kind, &file->sites))
		file->kind = LIBRARY_OTHER;
	if (library_kind_has_calls(file->kind) && !file->sites.list.count && image_symbols_too_large(image))
		file->unfit = -EFBIG;
	/* Without BPF no library's calls are seen. */
	file->hides_runtime = files->programs->bpf && file->kind == LIBRARY_OTHER && library_hides_runtime(image);
	image_close(image);
}

/* Whether a process that maps a file of this name is held (lifecycle.bpf.c, name_of_interest). */
static bool is_held_for(const char *path)
{
	static const char *const names[] = {"libcu", "libpyt", "libgpu", "libtorc", "libncc"};
	const char *name = path_base(path);

	return any_of(sizeof(names) / sizeof(names[0]), i, !strncmp(name, names[i], strlen(names[i])));
}

/*
 * Takes ownership of `opened`. The inode of a file that is kept open cannot be reused; for the other files, which are
 * most, the time of their last change shows reuse.
 */
static void look_into(struct files *files, struct probed_file *file, const struct opened_file *opened)
{
	uint64_t begin_ns = monotonic_ns();
	struct timespec now;

	file->kind = LIBRARY_OTHER;
	file->fd = -1;
	file->unfit = file->failures = 0;
	file->changed = opened->stat.st_ctim;
	file->bytes = opened->stat.st_size;
	file->of_root = !opened->copied && opened->stat.st_uid == 0;
	if (file->of_root)
		file->uid = FILE_OF_ALL;
	clock_gettime(CLOCK_REALTIME, &now);
	file->settled = now.tv_sec - opened->stat.st_ctim.tv_sec > CHANGE_SETTLES_S;
	library_sites_free(&file->sites);
	if (opened->fd >= 0)
		examine_file(files, file, opened->fd);
	else
		file->kind = library_kind_of_name(file->path);
	file->looked_ns = monotonic_ns();
	file->look_cost_ns = file->looked_ns - begin_ns;
	if (opened->copied)
		file->unfit = -EREMOTE;
	else if ((file->kind != LIBRARY_OTHER || is_held_for(file->path)) && file_may_stay_open(files, file))
		file->fd = opened->fd;
	else if (file->kind != LIBRARY_OTHER)
		file->unfit = -EMFILE;
	if (file->fd < 0 && opened->fd >= 0)
		close(opened->fd);
	if (file->unfit && library_kind_has_calls(file->kind))
		file_note_refused(files, file, FILE_CALLS, file->unfit);
	/* For files that never get call probes no process needs to be held. */
	if (file->fd >= 0 && !library_kind_has_calls(file->kind) && file->kind != LIBRARY_AGENT)
		files_mark_known(files, file, true);
}

static struct probed_file *add_file(struct files *files, dev_t device, uint64_t inode, uid_t uid, const char *path)
{
	struct probed_file *file = xcalloc(1, sizeof(*file));

	file->device = device;
	file->inode = inode;
	file->uid = file->asker = uid;
	file->asked_ns = monotonic_ns();
	file->number = file->nccl_number = file->fd = -1;
	file->path = xstrdup(path);
	*lookup_put(&files->by_inode, 1 + (uint32_t)device, inode, 0) = (uint32_t)files->list.count;
	array_push(&files->list, file);
	return file;
}

/* Whether a file with nothing to probe is still the one that was examined. */
static bool is_unchanged(const struct probed_file *file, pid_t pid, const struct mapping *mapping)
{
	struct stat stat;

	return file->settled && !mapping_stat(pid, mapping, &stat) && stat.st_size == file->bytes &&
	       stat.st_ctim.tv_sec == file->changed.tv_sec && stat.st_ctim.tv_nsec == file->changed.tv_nsec;
}

uint64_t file_rests_until(const struct probed_file *file)
{
	if (file->failures)
		return file->looked_ns +
		       (FAILED_AGAIN_NS << (file->failures < FAILURES_MAX ? file->failures - 1 : FAILURES_MAX));
	return file->look_cost_ns > COST_LOW_NS ? file->looked_ns + file->look_cost_ns * COST_SHARE : 0;
}

/* Notes a failure for files that could have CUDA calls; nothing is missed in others. */
static struct probed_file *note_failed(struct files *files, struct probed_file *file, int error)
{
	file->kind = LIBRARY_OTHER;
	file->failures++;
	file->looked_ns = monotonic_ns();
	if (library_kind_has_calls(library_kind_of_name(file->path)))
		file_note_refused(files, file, FILE_CALLS, error);
	return file;
}

static struct probed_file *look_again(struct files *files, struct probed_file *file, const char *path)
{
	files_mark_known(files, file, false);
	if (file->fd >= 0)
		close(file->fd);
	file->fd = -1;
	free(file->path);
	file->path = xstrdup(path);
	return file;
}

struct probed_file *files_get(struct files *files, pid_t pid, uid_t uid, const struct mapping *mapping,
			      uint64_t *again_ns)
{
	struct probed_file *file = files_find(files, mapping->device, mapping->inode);
	struct opened_file opened;
	uint64_t rests_ns = file ? file_rests_until(file) : 0;
	int error;

	if (file)
		file->asked_ns = monotonic_ns();
	if (file && uid != file->uid)
		file->uid = FILE_OF_ALL;
	if (file && (file->kind != LIBRARY_OTHER || (!file->failures && is_unchanged(file, pid, mapping))))
		return file;
	if (rests_ns > monotonic_ns()) {
		if (!*again_ns || rests_ns < *again_ns)
			*again_ns = rests_ns;
		return file;
	}
	if (!file && !files_have_room(files, uid))
		return NULL;
	error = mapping_open_file(pid, mapping, &opened);
	if (error == -ESRCH || error == -ENOENT || error == -ESTALE || error == -ENOEXEC || error == -ETIMEDOUT)
		return NULL; /* it is gone, or is no file; or a note says that it does not answer */
	/* Some filesystems show other device numbers in maps than in stat: use those of maps. */
	file = file ? look_again(files, file, mapping->path)
		    : add_file(files, mapping->device, mapping->inode, uid, mapping->path);
	if (error)
		return note_failed(files, file, error);
	look_into(files, file, &opened);
	return file;
}

struct probed_file *files_get_path(struct files *files, const char *path)
{
	struct opened_file opened = {.fd = open(path, O_RDONLY | O_CLOEXEC)};
	struct probed_file *file;

	if (opened.fd < 0)
		return NULL;
	if (fstat(opened.fd, &opened.stat)) {
		close(opened.fd);
		return NULL;
	}
	file = files_find(files, opened.stat.st_dev, opened.stat.st_ino);
	if (file) {
		close(opened.fd);
		return file;
	}
	file = add_file(files, opened.stat.st_dev, opened.stat.st_ino, FILE_OF_ALL, path);
	look_into(files, file, &opened);
	return file;
}

int file_text_segment(int fd, uint64_t offset, uint64_t *start, uint64_t *bytes)
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

int file_give_text(const struct files *files, const struct probed_file *file, struct uprobe *uprobe)
{
	uint64_t text, bytes;
	int error = file_text_segment(file->fd, uprobe->offset, &text, &bytes);

	if (!error && bytes > UINT32_MAX)
		error = -ENOEXEC;
	if (error)
		return error;
	uprobe->cookie = GPT_TEXT_COOKIE(uprobe->offset - text, bytes);
	return files->programs->sites < 0 ? 0
					  : sites_write(files->programs->sites, file->device, file->inode, uprobe, 1);
}

/* ---- processes ----------------------------------------------------------------------------------------------- */

/* Links of ended processes are collected up to this number before they are closed: many at once take as long as one. */
#define LEFT_MOST 64u

/*
 * The order in which they must be attached in a process: batches before the session that sends them, the schedule
 * before the session that reads it, calls last.
 */
static const size_t families[] = {
	offsetof(struct probed_file, batch_links),	    offsetof(struct probed_file, schedule_links),
	offsetof(struct probed_file, shapes_off_links),	    offsetof(struct probed_file, ops_off_links),
	offsetof(struct probed_file, dealloc_links),	    offsetof(struct probed_file, event_links),
	offsetof(struct probed_file, subinterpreter_links), offsetof(struct probed_file, engine_links),
	offsetof(struct probed_file, profiler_links),	    offsetof(struct probed_file, cupti_links),
	offsetof(struct probed_file, push_links),	    offsetof(struct probed_file, nccl_links),
	offsetof(struct probed_file, call_links),
};

#define FAMILIES (sizeof(families) / sizeof(families[0]))

static struct links *family_of(struct probed_file *file, size_t number)
{
	return (struct links *)((char *)file + families[number]);
}

static bool is_apart(const struct files *files, const struct probed_file *file)
{
	return !file->shared &&
	       (file->kind == LIBRARY_AGENT ? files->apart != FILES_SHARED : files->apart == FILES_APART);
}

/* Returns 0 also if the process has ended. */
static int put_into(const struct probed_file *file, struct links *links, size_t first, pid_t pid)
{
	int error = links_attach_process(links, first, file->fd, pid);

	return error == -ESRCH ? 0 : error;
}

/*
 * Moves the file's probes to all processes that map it: probes in some processes stay until the same are attached in
 * all.
 */
static int share_probes(struct probed_file *file)
{
	int error = 0;

	file->shared = true;
	array_free(&file->pids);
	for (size_t i = 0; i < FAMILIES; i++) {
		int one = links_share(family_of(file, i), file->fd);

		error = error ? error : one;
	}
	return error;
}

int file_attach_uprobes(struct files *files, struct probed_file *file, struct links *links,
			const struct bpf_program *program, const struct uprobe *uprobes, size_t count)
{
	size_t before = links->groups.count;
	int fd = programs_fd(files->programs, program);

	if (fd < 0)
		return fd;
	if (!is_apart(files, file))
		return links_attach_uprobes(links, files->programs->multi, fd, file->fd, uprobes, count);
	links_add_group(links, fd, uprobes, count);
	for (size_t i = 0; i < file->pids.count; i++) {
		int error = put_into(file, links, before, file->pids.items[i]);

		if (error)
			return share_probes(file);
	}
	return 0;
}

static bool is_full(const struct probed_file *file)
{
	return file->kind == LIBRARY_AGENT ? file->pids.count >= FILE_AGENTS_MAX
					   : file->pids_added >= FILE_PROCESSES_MAX;
}

static bool has_process(const struct probed_file *file, pid_t pid)
{
	return any_of(file->pids.count, i, file->pids.items[i] == pid);
}

bool file_is_probed_in(const struct files *files, const struct probed_file *file, pid_t pid)
{
	return file->call_links.fds.count && (!is_apart(files, file) || has_process(file, pid));
}

void file_add_process(struct files *files, struct probed_file *file, pid_t pid)
{
	int error = 0;

	if (!is_apart(files, file) || file->fd < 0 || has_process(file, pid))
		return;
	/*
	 * The kernel identifies a process by its first thread's memory: it does not find a process whose first thread
	 * has ended.
	 */
	if (is_full(file) || process_thread(pid) != pid) {
		error = share_probes(file);
	} else {
		array_push(&file->pids, pid);
		file->pids_added++;
		for (size_t i = 0; i < FAMILIES && !error; i++)
			error = put_into(file, family_of(file, i), 0, pid);
		if (error)
			error = share_probes(file);
	}
	if (error)
		emit_note(files->emit, files->emit_context, (uint32_t)pid, "pid %d: %s cannot be probed: %s", pid,
			  file->path, strerror(-error));
}

static void remove_process(struct files *files, struct probed_file *file, pid_t pid)
{
	for (size_t i = 0; i < file->pids.count; i++)
		if (file->pids.items[i] == pid) {
			file->pids.items[i] = file->pids.items[--file->pids.count];
			for (size_t j = FAMILIES; j-- > 0;)
				links_leave_process(family_of(file, j), pid, &files->left);
			return;
		}
}

void files_remove_process(struct files *files, pid_t pid)
{
	for (size_t i = 0; i < files->list.count; i++)
		remove_process(files, files->list.items[i], pid);
	if (files->left.fds.count >= LEFT_MOST)
		links_detach(&files->left);
}

void file_move_links(struct probed_file *file, struct links *to)
{
	for (size_t i = 0; i < FAMILIES; i++)
		links_move(family_of(file, i), to);
}
