/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/module_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/lookup.h"
#include "base/monotonic.h"

#define READ_NS 300000000ULL /* for one tree */
#define READ_SHARE 10u	     /* reading takes at most one part in this many of the time */
#define TREES_MOST 64u	     /* kept; of more, the oldest is read again when it is needed */
#define KNOWN_MOST (1u << 18)
#define NOT_MODULES_MOST 64u /* objects that are no modules, and none that is, before the mark is taken for wrong */

struct tree {
	uint64_t root;
	uint32_t number; /* of the roots of the process, from 1 on */
	uint64_t work;	 /* in which it was read */
	uint64_t inside; /* the root of a tree that has this root; 0: none */
	struct python_tree tree;
};

/* A module that stacks have. */
struct known_module {
	uint64_t address, root;		      /* root: the outermost module of its first stack */
	uint64_t type, children_at, children; /* as read last; type 0: not read */
};

struct module_names {
	attach_emit emit;
	void *context;
	uint32_t pid, generation, roots;
	ARRAY(struct tree) trees;
	ARRAY(struct known_module) known;
	struct lookup by_address; /* index of `known` */
	size_t named;		  /* of `known`, from the first on */
	uint64_t works, again_ns;
	unsigned modules, not_modules; /* read as such */
};

struct module_names *module_names_new(attach_emit emit, void *context)
{
	struct module_names *names = xcalloc(1, sizeof(*names));

	names->emit = emit;
	names->context = context;
	lookup_init(&names->by_address, hash_seed());
	return names;
}

static void forget_all(struct module_names *names)
{
	for (size_t i = 0; i < names->trees.count; i++)
		python_tree_free(&names->trees.items[i].tree);
	names->trees.count = names->known.count = names->named = 0;
	lookup_empty(&names->by_address);
}

void module_names_free(struct module_names *names)
{
	if (!names)
		return;
	forget_all(names);
	array_free(&names->trees);
	array_free(&names->known);
	lookup_free(&names->by_address);
	free(names);
}

uint32_t module_names_generation(const struct module_names *names)
{
	return names->generation;
}

void module_names_note(struct module_names *names, const struct gpt_pystack *stack)
{
	const struct gpt_stack_module *modules = (const struct gpt_stack_module *)(stack->frames + stack->depth);
	size_t elements = (stack->hdr.size - sizeof(*stack)) / sizeof(*modules), count;

	if (!(stack->hdr.flags & GPT_PYSTACK_MODULES) || elements <= stack->depth)
		return;
	names->pid = stack->pid;
	count = elements - stack->depth;
	for (size_t i = 0; i < count; i++) {
		uint32_t *index;

		if (modules[i].generation != names->generation || names->known.count >= KNOWN_MOST)
			continue;
		index = lookup_put(&names->by_address, 1, modules[i].module, UINT32_MAX);
		if (*index != UINT32_MAX)
			continue;
		*index = (uint32_t)names->known.count;
		array_push(&names->known,
			   ((struct known_module){.address = modules[i].module, .root = modules[count - 1].module}));
	}
}

/* ---- trees ------------------------------------------------------------------------------------------------------ */

static struct tree *find_tree(struct module_names *names, uint64_t root)
{
	for (size_t i = 0; i < names->trees.count; i++)
		if (names->trees.items[i].root == root)
			return &names->trees.items[i];
	return NULL;
}

/* The tree of a root as of this work, read again if it was read in another one and has not got that module. */
static struct tree *tree_for(struct module_names *names, const struct python_reader *reader,
			     const struct python_module_class *class, const struct known_module *known)
{
	struct tree *tree = find_tree(names, known->root);

	if (tree && (tree->work == names->works || python_tree_find(&tree->tree, known->address) != PYTHON_MODULE_NONE))
		return tree;
	if (!tree) {
		if (names->trees.count == TREES_MOST) {
			python_tree_free(&names->trees.items[0].tree);
			memmove(names->trees.items, names->trees.items + 1,
				--names->trees.count * sizeof(*names->trees.items));
		}
		array_push(&names->trees, ((struct tree){.root = known->root, .number = ++names->roots}));
		tree = &names->trees.items[names->trees.count - 1];
	} else {
		python_tree_free(&tree->tree);
	}
	tree->work = names->works;
	python_tree_read(reader, class, known->root, monotonic_ns() + READ_NS, &tree->tree);
	return tree;
}

/* The outermost tree that has this one; a chain of trees that hold each other ends where it comes to its start. */
static struct tree *outermost(struct module_names *names, struct tree *tree)
{
	struct tree *at = tree;

	for (size_t i = 0; i < names->trees.count && at->inside; i++) {
		struct tree *outer = find_tree(names, at->inside);

		if (!outer || outer == tree)
			break;
		at = outer;
	}
	return at;
}

/* Finds which roots are modules of other trees; true if that changed. */
static bool nest_trees(struct module_names *names)
{
	bool changed = false;

	for (size_t i = 0; i < names->trees.count; i++) {
		struct tree *inner = &names->trees.items[i];

		for (size_t j = 0; j < names->trees.count && !inner->inside; j++) {
			struct tree *outer = &names->trees.items[j];

			if (i == j || outermost(names, outer) == inner ||
			    python_tree_find(&outer->tree, inner->root) == PYTHON_MODULE_NONE)
				continue;
			inner->inside = outer->root;
			changed = true;
		}
	}
	return changed;
}

/* ---- records ---------------------------------------------------------------------------------------------------- */

static void describe(struct module_names *names, const struct tree *tree, uint32_t index, struct known_module *known)
{
	const struct python_tree *in = &tree->tree;
	const struct python_tree_module *module = &in->modules.items[index];
	struct module_description of = {.module = known->address,
					.root = tree->root,
					.root_number = tree->number,
					.generation = names->generation,
					.names = module->names,
					.class = in->texts.items + in->classes.items[module->class].name,
					.unnamed = ""};
	char name[PYTHON_MODULE_NAME_MAX], others[MODULE_OTHERS_MAX];
	size_t at = 0;

	python_tree_name(in, module->parent, module->name, name, sizeof(name));
	of.name = name;
	of.root_class = in->texts.items + in->classes.items[in->modules.items[0].class].name;
	for (size_t i = 0; i < in->others.count && module->names > 1; i++) {
		const struct python_tree_place *place = &in->others.items[i];

		if (place->module != index || sizeof(others) - at < PYTHON_MODULE_NAME_MAX)
			continue;
		python_tree_name(in, place->parent, place->name, others + at, sizeof(others) - at);
		at += strlen(others + at) + 1;
	}
	of.others = others;
	of.others_bytes = at;
	known->type = module->type;
	known->children_at = module->children_at;
	known->children = module->children;
	emit_module(names->emit, names->context, names->pid, &of);
}

/* Of a module that is in no tree. */
static void describe_unnamed(struct module_names *names, const struct python_reader *reader,
			     const struct python_module_class *class, struct known_module *known)
{
	char type[256] = "";
	struct module_description of = {.module = known->address,
					.generation = names->generation,
					.name = "",
					.class = type,
					.root_class = "",
					.unnamed =
						"it is not in the `_modules` of the outermost module that was called"};

	if (python_module_type_name(reader, class, known->address, type, sizeof(type))) {
		names->modules++;
		known->type = python_read_word(reader, known->address + reader->layout->object_type);
		known->children = python_attribute(reader, known->address, "_modules");
	} else {
		names->not_modules++;
		of.unnamed = "it had gone before it was read";
	}
	emit_module(names->emit, names->context, names->pid, &of);
}

static void name_module(struct module_names *names, const struct python_reader *reader,
			const struct python_module_class *class, struct known_module *known)
{
	struct tree *tree = tree_for(names, reader, class, known), *outer = outermost(names, tree);
	uint32_t index = python_tree_find(&outer->tree, known->address);

	if (index == PYTHON_MODULE_NONE) {
		outer = tree;
		index = python_tree_find(&outer->tree, known->address);
	}
	/* The root may have gone, and something else be at its address. */
	if (index == PYTHON_MODULE_NONE || outer->tree.modules.items[0].class == PYTHON_MODULE_NONE) {
		describe_unnamed(names, reader, class, known);
		return;
	}
	names->modules++;
	describe(names, outer, index, known);
}

bool module_names_work(struct module_names *names, const struct python_reader *reader,
		       const struct python_module_class *class, bool last)
{
	uint64_t begin_ns = monotonic_ns();

	if (names->named == names->known.count || (begin_ns < names->again_ns && !last))
		return true;
	names->works++;
	for (size_t i = names->named; i < names->known.count; i++)
		tree_for(names, reader, class, &names->known.items[i]);
	if (nest_trees(names))
		names->named = 0; /* modules that have a name may have a longer one now */
	for (; names->named < names->known.count; names->named++)
		name_module(names, reader, class, &names->known.items[names->named]);
	names->again_ns = monotonic_ns() + (monotonic_ns() - begin_ns) * (READ_SHARE - 1);
	return names->modules || names->not_modules < NOT_MODULES_MOST;
}

/* ---- whether they are the same ---------------------------------------------------------------------------------- */

/* Called where the words of a module have changed: true if that is a module, and another one. */
static bool is_another(const struct python_reader *reader, const struct python_module_class *class,
		       struct known_module *known)
{
	char type[8];

	if (!python_module_type_name(reader, class, known->address, type, sizeof(type)))
		return false;
	if (python_read_word(reader, known->address + reader->layout->object_type) != known->type ||
	    python_attribute(reader, known->address, "_modules") != known->children)
		return true;
	known->children_at = 0; /* its attributes have moved */
	return false;
}

/* Two words of each named module, at fixed places: its type, and the reference to its `_modules`. */
bool module_names_check(struct module_names *names, const struct python_reader *reader,
			const struct python_module_class *class)
{
	struct process_piece *pieces = xcalloc(2 * names->named + 1, sizeof(*pieces));
	uint64_t *words = xcalloc(2 * names->named + 1, sizeof(*words));
	bool another = false;

	for (size_t i = 0; i < names->named; i++) {
		const struct known_module *known = &names->known.items[i];

		pieces[2 * i] = (struct process_piece){known->address + reader->layout->object_type, 8};
		pieces[2 * i + 1] = (struct process_piece){known->children_at, 8};
	}
	if (!process_read_pieces(reader->pid, pieces, 2 * names->named, words))
		for (size_t i = 0; i < names->named && !another; i++) {
			struct known_module *known = &names->known.items[i];
			bool same = pieces[2 * i].bytes && pieces[2 * i + 1].bytes && words[2 * i] == known->type &&
				    words[2 * i + 1] == known->children;

			another = !same && is_another(reader, class, known);
		}
	free(pieces);
	free(words);
	if (another) {
		forget_all(names);
		names->generation++;
	}
	return another;
}
