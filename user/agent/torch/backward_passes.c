/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/*
 * A pass inside the detour when the call is restored still finds it mapped. In the child of a fork the detour only
 * passes the call on.
 */
#include "agent/torch/backward_passes.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "agent/process/thread_id.h"
#include "agent/process/import_table.h"
#include "agent/torch/backward_lines.h"
#include "agent/torch/observer.h"
#include "agent/share/control.h"
#include "agent/process/old_glibc.h"
#include "agent/process/path.h"
#include "agent/torch/schedule.h"
#include "agent/process/own_maps.h"
#include "agent/send/points.h"

#define LOOK_NS 250000000u /* until the next look for entries that the loader has reset */

/* The same from PyTorch 1.13 to 2.15: roots, inputs, whether to keep and to make a graph, to accumulate; outputs. */
static const char symbol[] = "_ZN5torch8autograd6Engine7executeERKSt6vectorINS0_4EdgeESaIS3_EERKS2_IN2at6TensorESaIS9_"
			     "EEbbbS7_";

/* std::vector, returned in memory of the caller. */
struct vector {
	void *words[3];
};

typedef struct vector (*execute_function)(void *engine, const void *roots, const void *inputs, bool keep, bool create,
					  bool accumulate, const void *outputs);

static struct {
	execute_function real;
	_Atomic uint64_t last_mark;
	uint64_t next_look_ns, libraries;
	char folder[512];  /* of PyTorch's libraries */
	void *_Atomic *at; /* the redirected entry, NULL: none */
	void *before;
	bool has_python; /* result of one scan: the library is loaded */
} passes;

/* Used on the agent's thread, without a session of ops. */
static struct {
	struct torch torch;
	bool opened;
	uint64_t libraries;
} alone;

/*
 * The personality function for exceptions that pass through the detour (Itanium C++ ABI, _Unwind_Personality_Fn): it
 * does all clean-up of the frame itself, as there is no landing pad.
 */
#define CLEANUP_PHASE 2	  /* _UA_CLEANUP_PHASE */
#define CONTINUE_UNWIND 8 /* _URC_CONTINUE_UNWIND */

__attribute__((used)) static int backward_passes_personality(int version, int actions, uint64_t class, void *exception,
							     void *context)
{
	if (actions & CLEANUP_PHASE)
		backward_lines_leave();
	return CONTINUE_UNWIND;
}

__attribute__((noinline)) static struct vector run_backward(void *engine, const void *roots, const void *inputs,
							    bool keep, bool create, bool accumulate,
							    const void *outputs)
{
	volatile uint64_t mark = atomic_fetch_add(&passes.last_mark, 1) + 1;
	struct vector grads;

	__asm__ volatile(".cfi_personality 0x1b, backward_passes_personality"); /* pc-relative, 4 bytes */
	if (schedule_pass_begins(&mark, thread_id()))
		observer_follow_schedule();
	backward_lines_enter();
	grads = passes.real(engine, roots, inputs, keep, create, accumulate, outputs);
	backward_lines_leave();
	if (schedule_pass_ends(&mark, thread_id()))
		observer_follow_schedule();
	mark = 0;
	return grads;
}

typedef void *_Atomic *(*next_entry)(const struct import_table *table, size_t *index, const char **name);

static void look_through(const struct import_table *library, next_entry next)
{
	const char *name;
	void *_Atomic *at;
	size_t index = 0;
	void *before = NULL, *function;

	memcpy(&function, &passes.real, sizeof(function));
	while ((at = next(library, &index, &name)))
		if (!strcmp(name, symbol) && import_detour(library, at, function, (void *)run_backward, &before)) {
			passes.at = at;
			passes.before = before ? before : passes.before;
			return;
		}
}

static int look_at(struct dl_phdr_info *info, size_t size, void *unused)
{
	const char *path = info->dlpi_name ? info->dlpi_name : "", *file = path_base(path);
	size_t folder = (size_t)(file - path);
	struct import_table library;

	if (folder != strlen(passes.folder) || strncmp(path, passes.folder, folder) ||
	    strncmp(file, "libtorch_python.so", 18) || !import_table_read(&library, info))
		return 0;
	passes.has_python = true;
	look_through(&library, import_table_next_call);
	if (!passes.at)
		look_through(&library, import_table_next_address);
	return 1;
}

static void find_functions(const struct torch *torch)
{
	const char *slash = strrchr(torch->path, '/');
	size_t folder = slash ? (size_t)(slash + 1 - torch->path) : 0;
	void *found = dlsym(torch->handle, symbol);

	memcpy(passes.folder, torch->path, folder);
	passes.folder[folder] = '\0';
	memcpy(&passes.real, &found, sizeof(found));
}

bool backward_passes_follow(const struct torch *torch, uint64_t now)
{
	uint64_t libraries = own_libraries_loaded();

	if (!schedule_wants_passes() && !share_listener())
		return true;
	if ((libraries == passes.libraries && now < passes.next_look_ns))
		return !passes.has_python || passes.at;
	passes.libraries = libraries;
	passes.next_look_ns = now + LOOK_NS;
	passes.has_python = false;
	if (!passes.real)
		find_functions(torch);
	if (share_listener())
		backward_lines_find(torch);
	dl_iterate_phdr(look_at, NULL);
	return !passes.has_python || passes.at;
}

static int put_back(struct dl_phdr_info *info, size_t size, void *unused)
{
	if (!import_in_segment(info, PT_LOAD, (uintptr_t)passes.at))
		return 0;
	if (atomic_load(passes.at) == (void *)run_backward)
		import_store(info, passes.at, passes.before);
	return 1;
}

void backward_passes_end(void)
{
	if (passes.at)
		dl_iterate_phdr(put_back, NULL);
	passes.at = NULL;
	passes.libraries = passes.next_look_ns = 0;
	passes.has_python = false;
}

void backward_passes_follow_alone(uint64_t now)
{
	uint64_t libraries = own_libraries_loaded();
	char why[256];

	if (!share_listener() || points_take_ops())
		return;
	if (!alone.opened && libraries != alone.libraries) {
		alone.libraries = libraries;
		alone.opened = torch_open(&alone.torch, why, sizeof(why)) == TORCH_READY;
	}
	if (alone.opened)
		backward_passes_follow(&alone.torch, now);
}

void backward_passes_end_alone(void)
{
	if (!alone.opened)
		return;
	backward_passes_end();
	torch_close(&alone.torch);
	alone.opened = false;
	alone.libraries = 0;
}
