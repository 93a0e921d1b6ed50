/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Links between programs and probe sites; owns file descriptors only. */
#include "attach/load/links.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "attach/load/guard.h"
#include "base/threads/thread.h"

/*
 * BPF_LINK_CREATE for uprobe.multi as in the kernel (include/uapi/linux/bpf.h, Linux 6.6): headers and libbpf of Debian
 * 12 are older.
 */

struct uprobe_multi_attr {
	uint32_t program_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_counters, cookies;
	uint32_t count, multi_flags, pid, pad;
};

#define INSTRUCTION_BYTES 16 /* MAX_UINSN_BYTES, arch/x86/include/asm/uprobes.h */

/*
 * The kernel copies the probed instruction out of the file's page cache. If the page is not there, or not valid as a
 * whole, as in a file that a linker has just written, the kernel reads it without the locks that ext4 requires. From
 * Linux 6.16 on that is a warning (ext4_check_map_extents_env, with CONFIG_EXT4_DEBUG), and a panic with panic_on_warn.
 * So the page is brought in by a page fault, which takes the lock; read(2) would be content with the valid part of it.
 */
static void bring_in_pages(int file_fd, const struct uprobe *uprobes, size_t count)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < count; i++) {
		uint64_t first = uprobes[i].offset & ~(page - 1);
		size_t bytes = (size_t)((uprobes[i].offset + INSTRUCTION_BYTES - 1) / page * page + page - first);
		void *there = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file_fd, (off_t)first);

		if (there != MAP_FAILED)
			munmap(there, bytes);
	}
}

#define TRIES_MOST 100u
#define BETWEEN_TRIES_US 1000u

/* The kernel writes breakpoints into pages that it may just be moving: it says EAGAIN then (Linux 6.18). */
static int call_again(long number, const long arguments[GUARD_ARGUMENTS])
{
	int result = (int)guard_call(number, arguments);

	for (unsigned i = 0; result == -EAGAIN && i < TRIES_MOST; i++) {
		usleep(BETWEEN_TRIES_US);
		result = (int)guard_call(number, arguments);
	}
	return result;
}

static int create_link(const void *attr, size_t size)
{
	return call_again(SYS_bpf, (const long[GUARD_ARGUMENTS]){BPF_LINK_CREATE, (long)attr, (long)size});
}

/* Copies the data of a call to memory that the guard shares. */
static void *shared_copy(const void *data, size_t bytes)
{
	void *copy = guard_memory(bytes);

	return copy ? memcpy(copy, data, bytes) : NULL;
}

bool links_have_multi(int program_fd, unsigned attach_type)
{
	uint64_t offset = 0;
	struct uprobe_multi_attr attr = {
		.program_fd = (uint32_t)program_fd,
		.attach_type = attach_type,
		.path = (uintptr_t) "/",
		.offsets = (uintptr_t)&offset,
		.count = 1,
	};
	int fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, &attr, sizeof(attr));

	if (fd >= 0)
		close(fd);
	/* A kernel with this link gets as far as checking the file: a folder cannot be probed. */
	return fd < 0 && errno == EBADF;
}

#define PATH_SIZE 64

static void file_path(char path[PATH_SIZE], int file_fd)
{
	snprintf(path, PATH_SIZE, "/proc/self/fd/%d", file_fd);
}

/* Tries a link for this thread's id, which is no process's. */
static void *try_with_thread(void *context)
{
	struct uprobe_multi_attr *attr = context;
	int fd;

	attr->pid = (uint32_t)syscall(SYS_gettid);
	fd = (int)syscall(SYS_bpf, BPF_LINK_CREATE, attr, sizeof(*attr));
	if (fd >= 0)
		close(fd);
	attr->flags = fd < 0 && errno == ESRCH;
	return NULL;
}

bool links_have_processes(int program_fd)
{
	uint64_t offset = 0;
	struct uprobe_multi_attr attr = {
		.program_fd = (uint32_t)program_fd,
		.attach_type = ATTACH_TRACE_UPROBE_MULTI,
		.path = (uintptr_t) "/proc/self/exe",
		.offsets = (uintptr_t)&offset,
		.count = 1,
	};
	pthread_t thread;

	if (thread_start(try_with_thread, &attr, 0, &thread))
		return false;
	pthread_join(thread, NULL);
	return attr.flags;
}

/* pid 0: every process. Returns a descriptor, or -errno. */
static int create_multi(int program_fd, const char *path, const struct uprobe *uprobes, size_t count, pid_t pid)
{
	struct uprobe_multi_attr *attr = guard_memory(sizeof(*attr));
	uint64_t *values = guard_memory(count * 3 * sizeof(*values));
	void *shared_path = shared_copy(path, strlen(path) + 1);
	bool counted = false;

	if (!attr || !values || !shared_path)
		return -E2BIG;
	for (size_t i = 0; i < count; i++) {
		values[i] = uprobes[i].offset;
		values[count + i] = uprobes[i].cookie;
		values[2 * count + i] = uprobes[i].ref_counter;
		counted |= uprobes[i].ref_counter != 0;
	}
	*attr = (struct uprobe_multi_attr){
		.program_fd = (uint32_t)program_fd,
		.attach_type = ATTACH_TRACE_UPROBE_MULTI,
		.path = (uintptr_t)shared_path,
		.count = (uint32_t)count,
		.offsets = (uintptr_t)values,
		.cookies = (uintptr_t)(values + count),
		.ref_counters = counted ? (uintptr_t)(values + 2 * count) : 0,
		.pid = (uint32_t)pid,
	};
	return create_link(attr, sizeof(*attr));
}

static int attach_multi(struct links *links, int program_fd, const char *path, const struct uprobe *uprobes,
			size_t count)
{
	int fd = create_multi(program_fd, path, uprobes, count, 0);

	if (fd < 0)
		return fd;
	array_push(&links->fds, fd);
	return 0;
}

static int uprobe_pmu_type(void)
{
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "re");
	int type = -1;

	if (!file)
		return -errno;
	if (fscanf(file, "%d", &type) != 1)
		type = -ENOENT;
	fclose(file);
	return type;
}

/* The same for a perf event (Linux 5.15). */
struct perf_link_attr {
	uint32_t program_fd, perf_fd, attach_type, flags;
	uint64_t cookie;
};

static int link_perf_event(struct links *links, int program_fd, int perf_fd, uint64_t cookie)
{
	const struct perf_link_attr attr = {(uint32_t)program_fd, (uint32_t)perf_fd, BPF_PERF_EVENT, 0, cookie};
	int fd = create_link(shared_copy(&attr, sizeof(attr)), sizeof(attr)), error;

	if (fd >= 0) {
		array_push(&links->fds, fd);
		return 0;
	}
	/* Linux before 5.15 has neither this link nor cookies: the event itself owns the program. */
	if (cookie)
		return -EOPNOTSUPP;
	error = (int)guard_call(SYS_ioctl, (const long[GUARD_ARGUMENTS]){perf_fd, PERF_EVENT_IOC_SET_BPF, program_fd});
	return error ? error
		     : (int)guard_call(SYS_ioctl, (const long[GUARD_ARGUMENTS]){perf_fd, PERF_EVENT_IOC_ENABLE});
}

/* pid -1: every process. */
static int open_uprobe(struct links *links, int type, const char *path, const struct uprobe *uprobe, pid_t pid)
{
	const struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = (uint32_t)type,
		/* kernel/events/core.c: PERF_UPROBE_REF_CTR_OFFSET_SHIFT */
		.config = uprobe->ref_counter << 32,
		.uprobe_path = (uintptr_t)shared_copy(path, strlen(path) + 1),
		.probe_offset = uprobe->offset,
	};
	const long arguments[GUARD_ARGUMENTS] = {(long)shared_copy(&attr, sizeof(attr)), pid, pid < 0 ? 0 : -1, -1,
						 PERF_FLAG_FD_CLOEXEC};
	int fd = call_again(SYS_perf_event_open, arguments);

	if (fd >= 0)
		array_push(&links->fds, fd);
	return fd;
}

static int attach_single(struct links *links, int type, int program_fd, const char *path, const struct uprobe *uprobe)
{
	int fd = open_uprobe(links, type, path, uprobe, -1);

	return fd < 0 ? fd : link_perf_event(links, program_fd, fd, uprobe->cookie);
}

int links_raise_counter(struct links *links, int file_fd, const struct uprobe *uprobe, pid_t pid)
{
	int type = uprobe_pmu_type(), fd;
	char path[PATH_SIZE];

	if (type < 0)
		return type;
	file_path(path, file_fd);
	bring_in_pages(file_fd, uprobe, 1);
	fd = open_uprobe(links, type, path, uprobe, pid);
	return fd < 0 ? fd : 0;
}

int links_attach_uprobes(struct links *links, bool multi, int program_fd, int file_fd, const struct uprobe *uprobes,
			 size_t count)
{
	char path[PATH_SIZE];
	int type, error = 0;

	if (program_fd < 0)
		return program_fd;
	if (!count)
		return 0;
	file_path(path, file_fd);
	bring_in_pages(file_fd, uprobes, count);
	if (multi)
		return attach_multi(links, program_fd, path, uprobes, count);
	type = uprobe_pmu_type();
	if (type < 0)
		return type;
	for (size_t i = 0; i < count && !error; i++)
		error = attach_single(links, type, program_fd, path, &uprobes[i]);
	if (error)
		links_detach(links);
	return error;
}

/* ---- in single processes --------------------------------------------------------------------------------------- */

bool links_are_attached(const struct links *links)
{
	return links->fds.count || links->groups.count;
}

void links_add_group(struct links *links, int program_fd, const struct uprobe *uprobes, size_t count)
{
	struct links_group group = {.program_fd = program_fd, .count = count};

	group.uprobes = xcalloc(count + 1, sizeof(*uprobes));
	memcpy(group.uprobes, uprobes, count * sizeof(*uprobes));
	array_push(&links->groups, group);
}

int links_attach_process(struct links *links, size_t first, int file_fd, pid_t pid)
{
	char path[PATH_SIZE];

	file_path(path, file_fd);
	for (size_t i = first; i < links->groups.count; i++) {
		const struct links_group *group = &links->groups.items[i];
		struct links_place place = {.pid = pid};

		if (!group->count)
			continue;
		bring_in_pages(file_fd, group->uprobes, group->count);
		place.fd = create_multi(group->program_fd, path, group->uprobes, group->count, pid);
		if (place.fd < 0)
			return place.fd;
		array_push(&links->places, place);
	}
	return 0;
}

void links_leave_process(struct links *links, pid_t pid, struct links *to)
{
	size_t kept = 0;

	for (size_t i = 0; i < links->places.count; i++)
		if (links->places.items[i].pid == pid)
			array_push(&to->fds, links->places.items[i].fd);
		else
			links->places.items[kept++] = links->places.items[i];
	links->places.count = kept;
}

static void forget_groups(struct links *links)
{
	for (size_t i = 0; i < links->groups.count; i++)
		free(links->groups.items[i].uprobes);
	array_free(&links->groups);
}

static void move_places(struct links *from, struct links *to)
{
	for (size_t i = 0; i < from->places.count; i++)
		array_push(&to->fds, from->places.items[i].fd);
	array_free(&from->places);
}

int links_share(struct links *links, int file_fd)
{
	struct links shared = {}, apart = {};
	int error = 0;

	for (size_t i = 0; i < links->groups.count && !error; i++)
		error = links_attach_uprobes(&shared, true, links->groups.items[i].program_fd, file_fd,
					     links->groups.items[i].uprobes, links->groups.items[i].count);
	if (error) {
		links_detach(&shared);
		return error;
	}
	move_places(links, &apart);
	links_detach(&apart);
	forget_groups(links);
	links_move(&shared, links);
	return 0;
}

void links_move(struct links *from, struct links *to)
{
	for (size_t i = 0; i < from->fds.count; i++)
		array_push(&to->fds, from->fds.items[i]);
	array_free(&from->fds);
	move_places(from, to);
	forget_groups(from);
}

/* ---- tracepoints ------------------------------------------------------------------------------------------------- */

/* Mounts a tracefs that appears in no mount table; needs Linux 5.2. */
static int tracefs_detached(void)
{
	int context = (int)syscall(SYS_fsopen, "tracefs", 1 /* FSOPEN_CLOEXEC */), mount = -1;

	if (context < 0)
		return -errno;
	if (!syscall(SYS_fsconfig, context, 6 /* FSCONFIG_CMD_CREATE */, NULL, NULL, 0))
		mount = (int)syscall(SYS_fsmount, context, 1 /* FSMOUNT_CLOEXEC */, 0);
	if (mount < 0)
		mount = -errno;
	close(context);
	return mount;
}

static int tracepoint_id_in(int tracefs, const char *tracepoint)
{
	char path[128], text[32] = "";
	int fd, id = -ENOENT;

	snprintf(path, sizeof(path), "events/%s/id", tracepoint);
	fd = openat(tracefs, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (read(fd, text, sizeof(text) - 1) > 0)
		id = atoi(text);
	close(fd);
	return id;
}

static int tracepoint_id(const char *tracepoint)
{
	static const char *const mounts[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	int id = -ENOENT, fd;

	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		fd = open(mounts[i], O_DIRECTORY | O_PATH | O_CLOEXEC);
		if (fd < 0)
			continue;
		id = tracepoint_id_in(fd, tracepoint);
		close(fd);
		if (id > 0)
			return id;
	}
	fd = tracefs_detached();
	if (fd < 0)
		return fd;
	id = tracepoint_id_in(fd, tracepoint);
	close(fd);
	return id;
}

static int attach_cpu(struct links *links, int program_fd, struct perf_event_attr *attr, int cpu)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return -errno;
	array_push(&links->fds, fd);
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program_fd) || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0))
		return -errno;
	return 0;
}

int links_attach_tracepoint(struct links *links, int program_fd, const char *tracepoint)
{
	struct perf_event_attr attr = {.size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT};
	int id = tracepoint_id(tracepoint);

	if (id < 0)
		return id;
	attr.config = (uint64_t)id;
	/* One event on one CPU is enough: a program on a tracepoint runs wherever it is hit. */
	return attach_cpu(links, program_fd, &attr, 0);
}

int links_attach_cpu_clock(struct links *links, int program_fd, uint64_t period_ns)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_SOFTWARE,
				       .config = PERF_COUNT_SW_CPU_CLOCK,
				       .sample_period = period_ns,
				       .exclude_idle = 1,
				       .disabled = 1};
	int cpus = libbpf_num_possible_cpus(), error = -ENODEV;
	bool any = false;

	for (int cpu = 0; cpu < cpus; cpu++) {
		error = attach_cpu(links, program_fd, &attr, cpu);
		if (error && error != -ENODEV) /* -ENODEV: the CPU is offline */
			return error;
		any |= !error;
	}
	return any ? 0 : error;
}

int links_set_period(const struct links *links, uint64_t period_ns)
{
	int error = 0;

	for (size_t i = 0; i < links->fds.count; i++)
		if (ioctl(links->fds.items[i], PERF_EVENT_IOC_PERIOD, &period_ns))
			error = -errno;
	return error;
}

int links_attach_raw_tracepoint(struct links *links, int program_fd, const char *tracepoint)
{
	int fd = bpf_raw_tracepoint_open(tracepoint, program_fd);

	if (fd < 0)
		return fd;
	array_push(&links->fds, fd);
	return 0;
}

void links_detach(struct links *links)
{
	move_places(links, links);
	forget_groups(links);
	guard_close(links->fds.items, links->fds.count);
	array_free(&links->fds);
}
