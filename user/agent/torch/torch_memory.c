/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Detours neither allocate nor wait. A call inside a detour when the entry is restored still finds it mapped. */
#include "agent/torch/torch_memory.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "agent/process/import_table.h"
#include "agent/process/old_glibc.h"
#include "agent/torch/op_clock.h"
#include "agent/torch/op_buffer.h"
#include "agent/process/path.h"
#include "agent/send/points.h"
#include "agent/torch/schedule.h"

#define ENTRIES_MAX 64u /* calls: five functions, a handful of libraries */

/* c10::Device, by value: DeviceType, DeviceIndex */
struct device {
	int8_t type, index;
};

static const struct device cpu = {GPT_TORCH_CPU, OP_MEMORY_CPU_INDEX};

enum { USAGE, OUT, CPU_NEW, CPU_DELETE, CPU_OUT, FUNCTIONS };

static struct {
	void (*usage)(void *address, int64_t bytes, uint64_t allocated, uint64_t reserved, struct device device);
	void (*out)(int64_t bytes, uint64_t allocated, uint64_t reserved, struct device device);
	void (*cpu_new)(void *reporter, void *address, size_t bytes);
	void (*cpu_delete)(void *reporter, void *address);
	void (*cpu_out)(void *reporter, size_t bytes);
} real;

static struct {
	_Atomic bool on;
	_Atomic uint64_t lost;
	char folder[512]; /* of PyTorch's libraries */
	struct entry {
		void *_Atomic *at;
		void *before;
		unsigned function;
	} entries[ENTRIES_MAX];
	unsigned count;
	unsigned long long added, gone; /* the loader's counts of libraries at the latest full scan */
	/* results of one scan: which libraries exist, and which functions they call through their tables */
	bool has_cuda;
	bool calls[FUNCTIONS], calls_of_cuda[FUNCTIONS];
} memory;

/* ---- on the application's threads -------------------------------------------------------------- */

/* Small CPU blocks come and go with every op, and a stack walk costs as much as an op. */
static inline bool wants_stack(const struct op_entry_memory *event)
{
	if (event->kind == GPT_AGENT_TORCH_MEMORY_OUT || points_take_memory_lines())
		return true;
	return event->kind == GPT_AGENT_TORCH_MEMORY_ALLOCATED &&
	       (event->device_type != cpu.type || (uint64_t)event->bytes >= GPT_AGENT_TORCH_MEMORY_LARGE);
}

static void count_lost(void)
{
	atomic_fetch_add_explicit(&memory.lost, 1, memory_order_relaxed);
}

static inline __attribute__((always_inline)) void put_short(struct op_buffer *buffer,
							    const struct op_entry_memory *event)
{
	struct op_entry_memory_short *entry = op_buffer_reserve(buffer, sizeof(*entry), OP_ENTRY_MEMORY_SHORT);

	if (!entry) {
		count_lost();
		return;
	}
	entry->address = event->address;
	entry->bytes = (uint64_t)event->bytes;
	entry->time = op_clock_stamp();
	op_buffer_commit(buffer, sizeof(*entry));
}

static inline __attribute__((always_inline)) void put_full(struct op_buffer *buffer,
							   const struct op_entry_memory *event, uint64_t stack)
{
	struct op_entry_memory *entry = op_buffer_reserve(buffer, sizeof(*entry), OP_ENTRY_MEMORY);

	if (!entry) {
		count_lost();
		return;
	}
	entry->address = event->address;
	entry->bytes = event->bytes;
	entry->allocated = event->allocated;
	entry->reserved = event->reserved;
	entry->stack = stack;
	entry->tid = buffer->tid;
	entry->kind = event->kind;
	entry->device_type = event->device_type;
	entry->device = event->device;
	entry->has_totals = event->has_totals;
	entry->time = op_clock_stamp();
	op_buffer_commit(buffer, sizeof(*entry));
}

/*
 * Fills everything except time, stack and thread. Inlined, and field by field: copying an event that was just built on
 * the stack would stall on its own writes.
 */
static inline __attribute__((always_inline)) void put_event(const struct op_entry_memory *event)
{
	struct op_buffer *buffer;
	uint64_t stack = 0;

	if (!atomic_load_explicit(&memory.on, memory_order_acquire) || schedule_rests())
		return;
	buffer = op_buffer_of_thread();
	if (!buffer) {
		count_lost();
		return;
	}
	if (wants_stack(event)) {
		stack = ++buffer->stacks;
		points_stack(GPT_STACK_OF_MEMORY, stack);
	} else if (event->device_type == cpu.type && !event->has_totals) {
		put_short(buffer, event);
		return;
	}
	put_full(buffer, event, stack);
}

static void detour_usage(void *address, int64_t bytes, uint64_t allocated, uint64_t reserved, struct device device)
{
	put_event(&(struct op_entry_memory){
		.address = (uintptr_t)address,
		.bytes = bytes,
		.allocated = allocated,
		.reserved = reserved,
		.kind = bytes < 0 ? GPT_AGENT_TORCH_MEMORY_FREED : GPT_AGENT_TORCH_MEMORY_ALLOCATED,
		.device_type = device.type,
		.device = device.index,
		.has_totals = true,
	});
	real.usage(address, bytes, allocated, reserved, device);
}

static void detour_out(int64_t bytes, uint64_t allocated, uint64_t reserved, struct device device)
{
	put_event(&(struct op_entry_memory){
		.bytes = bytes,
		.allocated = allocated,
		.reserved = reserved,
		.kind = GPT_AGENT_TORCH_MEMORY_OUT,
		.device_type = device.type,
		.device = device.index,
		.has_totals = true,
	});
	real.out(bytes, allocated, reserved, device);
}

static void detour_cpu_new(void *reporter, void *address, size_t bytes)
{
	if (bytes)
		put_event(&(struct op_entry_memory){
			.address = (uintptr_t)address,
			.bytes = (int64_t)bytes,
			.kind = GPT_AGENT_TORCH_MEMORY_ALLOCATED,
			.device_type = cpu.type,
			.device = cpu.index,
		});
	real.cpu_new(reporter, address, bytes);
}

/* The size is omitted: the collector knows it from the allocation. */
static void detour_cpu_delete(void *reporter, void *address)
{
	put_event(&(struct op_entry_memory){
		.address = (uintptr_t)address,
		.kind = GPT_AGENT_TORCH_MEMORY_FREED,
		.device_type = cpu.type,
		.device = cpu.index,
	});
	real.cpu_delete(reporter, address);
}

static void detour_cpu_out(void *reporter, size_t bytes)
{
	put_event(&(struct op_entry_memory){
		.bytes = (int64_t)bytes,
		.kind = GPT_AGENT_TORCH_MEMORY_OUT,
		.device_type = cpu.type,
		.device = cpu.index,
	});
	real.cpu_out(reporter, bytes);
}

/* ---- which calls ------------------------------------------------------------------------------- */

/* Exact mangled names: other arguments would give other names. */
static const struct {
	unsigned function;
	const char *symbol;
	void *detour;
	void *real;
} names[] = {
	{USAGE, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE", (void *)detour_usage, &real.usage},
	{USAGE, "_ZN3c1027reportMemoryUsageToProfilerEPvlllNS_6DeviceE", (void *)detour_usage, &real.usage}, /* 1.13 */
	{OUT, "_ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE", (void *)detour_out, &real.out},
	{OUT, "_ZN3c1027reportOutOfMemoryToProfilerElllNS_6DeviceE", (void *)detour_out, &real.out},
	{CPU_NEW, "_ZN3c1025ProfiledCPUMemoryReporter3NewEPvm", (void *)detour_cpu_new, &real.cpu_new},
	{CPU_DELETE, "_ZN3c1025ProfiledCPUMemoryReporter6DeleteEPv", (void *)detour_cpu_delete, &real.cpu_delete},
	{CPU_OUT, "_ZN3c1025ProfiledCPUMemoryReporter11OutOfMemoryEm", (void *)detour_cpu_out, &real.cpu_out},
};

#define NAMES (sizeof(names) / sizeof(names[0]))

static void *load_real(unsigned name)
{
	void *function;

	memcpy(&function, names[name].real, sizeof(function));
	return function;
}

static void find_real(const struct torch *torch)
{
	void *found;
	size_t i;

	for (i = 0; i < NAMES; i++) {
		found = dlsym(torch->handle, names[i].symbol);
		if (found && !load_real((unsigned)i))
			memcpy(names[i].real, &found, sizeof(found));
	}
}

static bool replace_import(const struct import_table *library, void *_Atomic *at, unsigned name)
{
	void *before = NULL;

	if (memory.count == ENTRIES_MAX)
		return atomic_load(at) == names[name].detour;
	if (!import_detour(library, at, load_real(name), names[name].detour, &before))
		return false;
	if (before)
		memory.entries[memory.count++] = (struct entry){at, before, name};
	return true;
}

/*
 * In libc10 only calls to the CPU reporter are followed: its detour sees all that the reporter would pass to the
 * profiler.
 */
static bool is_followed(unsigned function, bool is_core)
{
	return function >= CPU_NEW ? is_core : !is_core;
}

typedef void *_Atomic *(*next_entry)(const struct import_table *table, size_t *index, const char **name);

static void look_through(const struct import_table *library, next_entry next, bool is_core, bool *calls)
{
	const char *name;
	void *_Atomic *at;
	size_t index = 0;
	unsigned i;

	while ((at = next(library, &index, &name)))
		for (i = 0; i < NAMES && !strncmp(name, "_ZN3c10", 7); i++)
			if (is_followed(names[i].function, is_core) && !strcmp(name, names[i].symbol))
				calls[names[i].function] |= replace_import(library, at, i);
}

/* Examines PyTorch's libraries that may report memory. */
static int look_at(struct dl_phdr_info *info, size_t size, void *unused)
{
	const char *path = info->dlpi_name ? info->dlpi_name : "", *file = path_base(path);
	size_t folder = (size_t)(file - path);
	bool is_core = !strncmp(file, "libc10.so", 9), is_cuda = !strncmp(file, "libc10_cuda.so", 14);
	bool calls[FUNCTIONS] = {false};
	struct import_table library;
	unsigned i;

	if (folder != strlen(memory.folder) || strncmp(path, memory.folder, folder) ||
	    (strncmp(file, "libc10", 6) && strncmp(file, "libtorch_cpu.so", 15)) || !import_table_read(&library, info))
		return 0;
	look_through(&library, import_table_next_call, is_core, calls);
	if (is_core ? !calls[CPU_NEW] : is_cuda && !calls[USAGE])
		look_through(&library, import_table_next_address, is_core, calls);
	memory.has_cuda |= is_cuda;
	for (i = 0; i < FUNCTIONS; i++) {
		memory.calls[i] |= is_core && calls[i];
		memory.calls_of_cuda[i] |= is_cuda && calls[i];
	}
	return 0;
}

/* Whether no library came or went, and the loader has reset no entry, as it may at the first call through one. */
static int is_as_it_was(struct dl_phdr_info *info, size_t size, void *unused)
{
	bool same = memory.count && info->dlpi_adds == memory.added && info->dlpi_subs == memory.gone;
	unsigned i;

	memory.added = info->dlpi_adds;
	memory.gone = info->dlpi_subs;
	for (i = 0; i < memory.count && same; i++)
		same = atomic_load(memory.entries[i].at) == names[memory.entries[i].function].detour;
	return same ? 2 : 1;
}

static unsigned seen_of_calls(char *why, size_t why_size)
{
	bool sees_cpu = memory.calls[CPU_NEW] && memory.calls[CPU_DELETE];
	unsigned seen = 0;

	why[0] = '\0';
	if (sees_cpu)
		seen |= 1u << GPT_AGENT_TORCH_MEMORY_OF_CPU;
	else
		snprintf(why, why_size, "libc10 does not report the CPU's memory in a way that is known");
	if (memory.calls_of_cuda[USAGE])
		seen |= 1u << GPT_AGENT_TORCH_MEMORY_OF_CUDA;
	else if (memory.has_cuda)
		snprintf(why, why_size, "libc10_cuda does not report its memory in a way that is known%s",
			 sees_cpu ? "" : ", nor does libc10");
	return seen;
}

unsigned torch_memory_follow(const struct torch *torch, char *why, size_t why_size)
{
	const char *slash = strrchr(torch->path, '/');
	size_t folder = slash ? (size_t)(slash + 1 - torch->path) : 0;

	if (!atomic_load(&memory.on)) {
		memcpy(memory.folder, torch->path, folder);
		memory.folder[folder] = '\0';
		find_real(torch);
		atomic_store(&memory.lost, 0);
		atomic_store(&memory.on, true);
	}
	if (dl_iterate_phdr(is_as_it_was, NULL) == 2)
		return seen_of_calls(why, why_size);
	memory.has_cuda = false;
	memset(memory.calls, 0, sizeof(memory.calls));
	memset(memory.calls_of_cuda, 0, sizeof(memory.calls_of_cuda));
	dl_iterate_phdr(look_at, NULL);
	return seen_of_calls(why, why_size);
}

/* ---- the end ----------------------------------------------------------------------------------- */

static int put_back(struct dl_phdr_info *info, size_t size, void *unused)
{
	unsigned i;

	for (i = 0; i < memory.count; i++) {
		const struct entry *entry = &memory.entries[i];

		if (import_in_segment(info, PT_LOAD, (uintptr_t)entry->at) &&
		    atomic_load(entry->at) == names[entry->function].detour)
			import_store(info, entry->at, entry->before);
	}
	return 0;
}

void torch_memory_end(void)
{
	atomic_store(&memory.on, false);
	dl_iterate_phdr(put_back, NULL);
	memory.count = 0;
}

uint64_t torch_memory_lost(void)
{
	return atomic_load(&memory.lost);
}

void torch_memory_forked(void)
{
	atomic_store(&memory.on, false);
}
