/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "dump/holders.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/monotonic.h"
#include "dump/objects/object_lists.h"
#include "dump/objects/object_names.h"
#include "dump/objects/object_search.h"
#include "dump/objects/tensors.h"
#include "dump/process/kernel.h"
#include "dump/process/memory.h"

#define ARENA_BYTES (256u << 20) /* address space; memory is allocated at first use */

struct finder {
	struct holders *holders;
	struct arena *arena;
	struct object_graph graph;
	struct lookup of_slot;	  /* place by slot and suffix */
	struct lookup of_text;	  /* place by hash of its text */
	struct lookup of_storage; /* index in storages by address */
	ARRAY(uint32_t) nodes;	  /* of each storage */
};

/* ---- in the child -------------------------------------------------------------------------------------------- */

static const char *keep_text(struct finder *finder, const text_buffer *text)
{
	char *copy = arena_take(finder->arena, text->count + 1);

	if (copy && text->count)
		memcpy(copy, text->items, text->count);
	return copy ? copy : "";
}

/* The index of the place with that name; adds it. */
static uint32_t place_named(struct finder *finder, const struct object_name *name)
{
	struct holders *holders = finder->holders;
	uint64_t key = hash_bytes(hash_seed(), name->place.items, name->place.count) ^
		       hash_bytes(~hash_seed(), name->type.items, name->type.count);
	uint32_t index = *lookup_put(&finder->of_text, 1, key, holders->place_count);

	if (index == holders->place_count && index < HOLDERS_PLACES_MAX)
		holders->places[holders->place_count++] =
			(struct holders_place){.place = keep_text(finder, &name->place),
					       .path = keep_text(finder, &name->path),
					       .type = keep_text(finder, &name->type)};
	return index;
}

static uint32_t find_place(struct finder *finder, uint32_t node, bool is_grad)
{
	uint32_t slot = object_slot(&finder->graph, node), index;
	const uint32_t *known = lookup_get(&finder->of_slot, 1 + is_grad, slot);
	struct holders_place *place;
	struct object_name name;

	if (known)
		return *known;
	if (finder->of_slot.count >= HOLDERS_STORAGES_MAX)
		return HOLDERS_PLACES_MAX;
	object_name(&finder->graph, slot, is_grad ? ".grad" : "", &name);
	index = place_named(finder, &name);
	place = &finder->holders->places[index];
	place->containers++;
	if (name.items == UINT64_MAX || place->items == UINT64_MAX)
		place->items = UINT64_MAX;
	else
		place->items += name.items;
	lookup_put(&finder->of_slot, 1 + is_grad, slot, index);
	array_free(&name.place);
	array_free(&name.path);
	array_free(&name.type);
	return index;
}

static void add_storage(struct finder *finder, const struct tensor_storage *storage, uint32_t node, bool is_grad,
			bool has_graph)
{
	struct holders *holders = finder->holders;
	struct holders_place *place;
	uint32_t index;

	if (!storage->data || holders->storage_count == HOLDERS_STORAGES_MAX ||
	    lookup_get(&finder->of_storage, 1, storage->data))
		return;
	lookup_put(&finder->of_storage, 1, storage->data, holders->storage_count);
	index = find_place(finder, node, is_grad);
	place = &holders->places[index];
	place->tensors++;
	place->graphs += has_graph;
	holders->storages[holders->storage_count++] =
		(struct holders_storage){.address = storage->data, .bytes = storage->bytes, .place = index};
}

/* As it is now: the page that is kept of it may be older than what named it. */
static bool read_tensor(struct object_graph *graph, uint64_t object, struct tensor *tensor)
{
	bool is_there;

	memory_read_now(true);
	is_there = tensor_read(&graph->reader, object, tensor);
	memory_read_now(false);
	return is_there;
}

/* Of several tensors with one storage the one in a container names it, as it holds more. */
static void find_tensors(struct finder *finder, bool in_containers)
{
	struct object_graph *graph = &finder->graph;

	/* Also those that are no tensors by now take time. */
	for (uint32_t i = 0; i < graph->count && !object_graph_is_late_by_now(graph); i++) {
		const struct object_node *node = &graph->nodes[i];
		struct tensor tensor;

		if (graph->types.all.items[node->type].kind != OBJECT_TENSOR || node->edge == EDGE_FRAME ||
		    (object_slot(graph, i) != i) != in_containers || !read_tensor(graph, node->object, &tensor))
			continue;
		finder->holders->tensors++;
		add_storage(finder, &tensor.own, i, false, tensor.has_graph);
		add_storage(finder, &tensor.grad, i, true, false);
	}
}

/* Which interpreter there is: another one, or none, if the process has ended or runs another program by now. */
static uint64_t interpreter_of(const struct python_look *python)
{
	return memory_word(python->pid, python->info.walk.runtime + python->info.walk.layout.runtime_interpreters_head);
}

static const char *find_holders(struct finder *finder, pid_t pid, struct dump_process *process)
{
	struct holders *holders = finder->holders;
	struct mappings mappings = {0};
	struct python_look python;
	char why[512] = "";
	uint64_t interpreter;
	int error = mappings_read(pid, &mappings);

	if (error)
		return error == -ESRCH ? "it has ended" : "its memory may not be read";
	error = python_look_begin(&python, pid, &mappings, finder->arena, why, sizeof(why));
	if (error)
		return *why ? arena_text(finder->arena, "%s", why) : "it has no Python that can be read";
	if (python.info.free_threaded)
		return "objects of a free-threaded Python are not searched";
	if (kernel_threads(finder->arena, process))
		return "it has ended";
	holders->begun_ns = monotonic_ns();
	interpreter = interpreter_of(&python);
	python_look_threads(&python, process);
	if (!memory_keep_pages(python.pid, MEMORY_LARGE) ||
	    !object_graph_begin(&finder->graph, &python, HOLDERS_OBJECTS_MAX, HOLDERS_CPU_NS))
		return "there is no memory to search its objects";
	object_search(&finder->graph, process->thread_count);
	object_lists_read(&finder->graph);
	/* A search that was late has found tensors, too: they have a time of their own. */
	finder->graph.cpu_end_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID) + HOLDERS_CPU_NS;
	find_tensors(finder, true);
	find_tensors(finder, false);
	memory_forget_pages();
	if (!interpreter || interpreter_of(&python) != interpreter)
		return "it ended during the search";
	holders->objects = finder->graph.count;
	holders->is_cut = finder->graph.cut || holders->storage_count == HOLDERS_STORAGES_MAX;
	return NULL;
}

static void __attribute__((noreturn)) run_search(struct holders_look *look)
{
	struct finder finder = {.holders = look->holders, .arena = look->look.arena};

	look_child_begin("gputrace-look", -1);
	(void)setpriority(PRIO_PROCESS, 0, 0);
	look->holders->why = find_holders(&finder, look->pid, look->look.process);
	look->holders->is_done = true;
	_exit(0);
}

/* ---- in gputrace --------------------------------------------------------------------------------------------- */

/* Room for all results; false: no memory. */
static bool make_room(struct holders_look *look)
{
	struct arena *arena;

	if (arena_make(&look->look.arena, ARENA_BYTES))
		return false;
	arena = look->look.arena;
	look->look.process = arena_take(arena, sizeof(*look->look.process));
	look->holders = arena_take(arena, sizeof(*look->holders));
	if (!look->look.process || !look->holders)
		return false;
	look->look.process->pid = look->pid;
	look->holders->places = arena_take(arena, (HOLDERS_PLACES_MAX + 1) * sizeof(struct holders_place));
	look->holders->storages = arena_take(arena, HOLDERS_STORAGES_MAX * sizeof(struct holders_storage));
	if (!look->holders->places || !look->holders->storages)
		return false;
	look->holders->places[HOLDERS_PLACES_MAX] =
		(struct holders_place){.place = "other places", .path = "", .type = "", .items = UINT64_MAX};
	return true;
}

void holders_start(struct holders_look *look, pid_t pid)
{
	*look = (struct holders_look){.pid = pid};
	if (!make_room(look)) {
		look->holders = NULL;
		return;
	}
	look->holders->begun_ns = monotonic_ns();
	look->look.child = fork();
	if (!look->look.child)
		run_search(look);
	if (look->look.child < 0) {
		look->holders->why = "no child that reads it can be started";
		look->look.child = 0;
	}
}

bool holders_are_read(struct holders_look *look)
{
	int status;

	if (!look->holders || !look->look.child)
		return true;
	if (waitpid(look->look.child, &status, WNOHANG) == 0) {
		if (!look_is_stuck(&look->look))
			return false;
		kill(look->look.child, SIGKILL);
	}
	look->look.child = 0;
	if (!look->holders->is_done)
		look->holders->why = "its memory did not answer";
	return true;
}

void holders_free(struct holders_look *look)
{
	if (look->look.child > 0)
		kill(look->look.child, SIGKILL);
	arena_free(look->look.arena);
	*look = (struct holders_look){0};
}
