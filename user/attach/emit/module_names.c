/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "attach/emit/module_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/lookup.h"
#include "base/monotonic.h"

#define READ_NS PYTHON_TREE_READ_NS /* for one tree, and for all that are read at a time */
#define LAST_NS 3000000000ULL	    /* for all of the last time */
#define NAME_PART 3u		    /* one part in this many of these times is for naming */
#define CHANGED_NS 20000000ULL	    /* of one check, for what has changed; the next one goes on from there */
#define READ_SHARE 10u		    /* reading takes at most one part in this many of a processor */
#define TREES_MOST 64u		    /* kept; of more, the oldest is read again when it is needed */
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
	uint64_t address, root;		/* root: the outermost module of its first stack */
	uint64_t type;			/* the word there as read last; 0: not read */
	uint64_t children_at, children; /* likewise; children_at 0: not known where */
	uint64_t described;		/* a hash of its names and classes; 0: it has no name */
	bool whole;			/* though all of its root's modules were read */
};

struct module_names {
	attach_emit emit;
	void *context;
	uint32_t pid, generation, roots;
	struct lookup root_numbers; /* of an address; the same in each generation */
	ARRAY(struct tree) trees;
	ARRAY(struct known_module) known;
	struct lookup by_address; /* index of `known` */
	size_t named;		  /* of `known`, from the first on */
	size_t again, again_end;  /* of those, they may have a name, or a longer one, by now */
	size_t check_from;	  /* the next of `known` whether it is what it was */
	uint64_t works;
	const struct python_reader *reader; /* these two: of the present call */
	const struct python_module_class *class;
	bool unsettled;		       /* something changed when a tree was late: what is read by now decides */
	uint64_t again_ns;	       /* reading has had its share of time until then */
	unsigned modules, not_modules; /* read as such */
};

struct module_names *module_names_new(attach_emit emit, void *context)
{
	struct module_names *names = xcalloc(1, sizeof(*names));

	names->emit = emit;
	names->context = context;
	return names;
}

static void forget_all(struct module_names *names)
{
	for (size_t i = 0; i < names->trees.count; i++)
		python_tree_free(&names->trees.items[i].tree);
	names->trees.count = names->known.count = names->named = names->again = names->again_end = 0;
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
	lookup_free(&names->root_numbers);
	free(names);
}

uint32_t module_names_generation(const struct module_names *names)
{
	return names->generation;
}

/* Where a module without a name was, one of another root's tree may be: the next check looks. */
static void note_again(const struct module_names *names, uint32_t index, uint64_t root)
{
	struct known_module *known = &names->known.items[index];

	if (index >= names->named || known->described || known->root == root)
		return;
	known->root = root;
	known->type = 0;
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
		if (*index != UINT32_MAX) {
			note_again(names, *index, modules[count - 1].module);
			continue;
		}
		*index = (uint32_t)names->known.count;
		array_push(&names->known,
			   ((struct known_module){.address = modules[i].module, .root = modules[count - 1].module}));
	}
}

/* ---- trees ------------------------------------------------------------------------------------------------------ */

static struct tree *find_tree(struct module_names *names, uint64_t root)
{
	return array_find(&names->trees, item, item->root == root);
}

static uint32_t number_root(struct module_names *names, uint64_t root)
{
	uint32_t *number;

	if (names->root_numbers.count >= KNOWN_MOST && !lookup_get(&names->root_numbers, 1, root))
		return ++names->roots;
	number = lookup_put(&names->root_numbers, 1, root, 0);
	if (!*number)
		*number = ++names->roots;
	return *number;
}

/* Reads a tree again; of one that is late, reading goes on. */
static void read_tree(struct module_names *names, struct tree *tree, uint64_t end_ns)
{
	if (!tree->tree.late)
		python_tree_free(&tree->tree);
	tree->work = names->works;
	python_tree_read(names->reader, names->class, tree->root, end_ns, &tree->tree);
}

/* The tree of a root as of this work, read again if it was read in another one and has not got that module. */
static struct tree *tree_for(struct module_names *names, const struct known_module *known)
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
		array_push(&names->trees,
			   ((struct tree){.root = known->root, .number = number_root(names, known->root)}));
		tree = &names->trees.items[names->trees.count - 1];
	}
	read_tree(names, tree, monotonic_ns() + READ_NS);
	return tree;
}

static bool is_any_late(const struct module_names *names)
{
	return array_find(&names->trees, item, item->tree.late) != NULL;
}

/* Goes on with trees that are late; true if one was read further. */
static bool read_late_trees(struct module_names *names, uint64_t end_ns)
{
	bool read = false;

	for (size_t i = 0; i < names->trees.count && monotonic_ns() < end_ns; i++) {
		struct tree *tree = &names->trees.items[i];

		if (!tree->tree.late)
			continue;
		read_tree(names, tree, end_ns);
		read = true;
	}
	return read;
}

/* The outermost tree that has this one; a chain of trees that hold each other ends where it comes to its start. */
static struct tree *find_outermost(struct module_names *names, struct tree *tree)
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

			if (i == j || find_outermost(names, outer) == inner ||
			    python_tree_find(&outer->tree, inner->root) == PYTHON_MODULE_NONE)
				continue;
			inner->inside = outer->root;
			changed = true;
		}
	}
	return changed;
}

/* ---- records ---------------------------------------------------------------------------------------------------- */

struct described {
	struct module_description of;
	char type[256], name[PYTHON_MODULE_NAME_MAX], others[MODULE_OTHERS_MAX];
};

static void describe_place(const struct module_names *names, const struct tree *tree, uint32_t index,
			   struct described *out)
{
	const struct python_tree *in = &tree->tree;
	const struct python_tree_module *module = &in->modules.items[index];
	size_t at = 0;

	python_tree_name(in, module->parent, module->name, out->name, sizeof(out->name));
	for (size_t i = 0; i < in->others.count && module->names > 1; i++) {
		const struct python_tree_place *place = &in->others.items[i];

		if (place->module != index || sizeof(out->others) - at < PYTHON_MODULE_NAME_MAX)
			continue;
		python_tree_name(in, place->parent, place->name, out->others + at, sizeof(out->others) - at);
		at += strlen(out->others + at) + 1;
	}
	out->of = (struct module_description){.module = module->address,
					      .root = tree->root,
					      .root_number = tree->number,
					      .generation = names->generation,
					      .names = module->names,
					      .name = out->name,
					      .class = in->texts.items + in->classes.items[module->class].name,
					      .root_class = in->texts.items +
							    in->classes.items[in->modules.items[0].class].name,
					      .unnamed = "",
					      .others = out->others,
					      .others_bytes = at};
}

static uint64_t read_type_of(const struct module_names *names, const struct known_module *known)
{
	return python_read_word(names->reader, known->address + names->reader->layout->object_type);
}

/* Of a module that is in no tree; whole: its root was read, and all below it. */
static void describe_unnamed(struct module_names *names, struct known_module *known, bool whole, struct described *out)
{
	out->of = (struct module_description){
		.module = known->address,
		.generation = names->generation,
		.name = "",
		.class = out->type,
		.root_class = "",
		.unnamed = whole ? "it is not in the `_modules` of the outermost module that was called"
				 : "the modules of the outermost module were not all read"};
	*out->type = '\0';
	known->type = read_type_of(names, known);
	known->children_at = known->children = known->described = 0;
	known->whole = whole;
	if (python_module_type_name(names->reader, names->class, known->address, out->type, sizeof(out->type))) {
		names->modules++;
	} else if (!known->type) {
		out->of.unnamed = "it could not be read";
	} else {
		names->not_modules++;
		out->of.unnamed = "no module was there when it was read";
	}
}

/* Two modules of an address with the same hash need not be distinguished. */
static uint64_t hash_description(const struct module_description *of)
{
	uint64_t hash = hash_bytes(hash_seed(), &of->root_number, sizeof(of->root_number));

	hash = hash_bytes(hash, of->name, strlen(of->name) + 1);
	hash = hash_bytes(hash, of->class, strlen(of->class) + 1);
	return hash_bytes(hash, of->root_class, strlen(of->root_class) + 1) | 1;
}

/* again: by what was read of its root, if there is something. */
static void describe_known(struct module_names *names, struct known_module *known, bool again, struct described *out)
{
	struct tree *tree = (again ? find_tree(names, known->root) : NULL) ?: tree_for(names, known);
	struct tree *outer = find_outermost(names, tree);
	uint32_t index = python_tree_find(&outer->tree, known->address);
	const struct python_tree_module *module;

	if (index == PYTHON_MODULE_NONE) {
		outer = tree;
		index = python_tree_find(&outer->tree, known->address);
	}
	/* The root may have gone, and something else be at its address. */
	if (index == PYTHON_MODULE_NONE || outer->tree.modules.items[0].class == PYTHON_MODULE_NONE ||
	    outer->tree.modules.items[index].class == PYTHON_MODULE_NONE) {
		describe_unnamed(names, known,
				 !tree->tree.cut && !tree->tree.late &&
					 tree->tree.modules.items[0].class != PYTHON_MODULE_NONE,
				 out);
		return;
	}
	names->modules++;
	describe_place(names, outer, index, out);
	module = &outer->tree.modules.items[index];
	known->type = module->type;
	known->children_at = module->children_at;
	known->children = module->children;
	known->described = hash_description(&out->of);
}

/* True if it has another name or class now.  While a tree is late, it may only lack what had a name before. */
static bool describe_again(struct module_names *names, struct known_module *known, bool again, struct described *out)
{
	struct known_module before = *known;

	describe_known(names, known, again, out);
	if (before.described && known->described != before.described && is_any_late(names))
		*known = before;
	return known->described != before.described;
}

/* Names modules from *at on: one at least, then as many as there is time for. */
static void name_modules(struct module_names *names, size_t *at, size_t end, uint64_t end_ns)
{
	struct described described;
	bool is_over = false;

	for (; *at < end && !is_over; ++*at) {
		struct known_module *known = &names->known.items[*at];
		bool whole = known->whole, again = at == &names->again;

		if (describe_again(names, known, again, &described) || !again || known->whole != whole)
			emit_module(names->emit, names->context, names->pid, &described.of);
		is_over = monotonic_ns() >= end_ns;
	}
}

/* taken_ns: what this thread had of a processor before it read.  Beside other work that is less than the time. */
static void schedule_next_read(struct module_names *names, uint64_t taken_ns)
{
	names->again_ns = monotonic_ns() + (clock_ns(CLOCK_THREAD_CPUTIME_ID) - taken_ns) * (READ_SHARE - 1);
}

bool module_names_work(struct module_names *names, const struct python_reader *reader,
		       const struct python_module_class *class, bool last)
{
	uint64_t begin_ns = monotonic_ns(), end_ns = begin_ns + (last ? LAST_NS - LAST_NS / NAME_PART : READ_NS);
	uint64_t taken_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	size_t ready = names->named; /* up to there trees were read */
	bool read_more;

	names->reader = reader;
	names->class = class;
	if (!class->type || (begin_ns < names->again_ns && !last) ||
	    (names->named == names->known.count && names->again == names->again_end && !is_any_late(names)))
		return true;
	names->works++;
	for (; ready < names->known.count && (ready == names->named || monotonic_ns() < end_ns); ready++)
		tree_for(names, &names->known.items[ready]);
	read_more = read_late_trees(names, end_ns);
	if (nest_trees(names) || read_more) {
		names->again = 0;
		names->again_end = names->named;
	}
	end_ns = monotonic_ns() + (last ? LAST_NS : READ_NS) / NAME_PART;
	name_modules(names, &names->named, ready, end_ns);
	name_modules(names, &names->again, names->again_end, end_ns);
	schedule_next_read(names, taken_ns);
	return names->modules || names->not_modules < NOT_MODULES_MOST;
}

/* ---- whether they are the same ---------------------------------------------------------------------------------- */

/* Called where the words of a module have changed: true if a module is there, and perhaps another one. */
static bool is_another(struct module_names *names, struct known_module *known)
{
	const struct python_reader few = {.pid = names->reader->pid,
					  .layout = names->reader->layout,
					  .entries_most = PYTHON_MODULE_ATTRIBUTES_MOST};
	uint64_t type = read_type_of(names, known);
	uint64_t children = python_attribute(&few, known->address, "_modules");
	char name[8];

	if (!children || !python_module_type_name(names->reader, names->class, known->address, name, sizeof(name))) {
		if (!known->described)
			known->type = type;
		return false;
	}
	if (!known->described || type != known->type || children != known->children)
		return true;
	known->children_at = 0; /* its attributes have moved */
	return false;
}

/* Of two words: its type, and the reference to its `_modules`; of a module without a name only its type. */
static bool is_unchanged(const struct known_module *known, const struct process_piece pieces[2],
			 const uint64_t words[2])
{
	uint64_t type = pieces[0].bytes ? words[0] : 0;

	return type == known->type && (!known->described || (pieces[1].bytes && words[1] == known->children));
}

/* Reads the tree of a root again, and those around it as far as there is time, unless that was done in this work. */
static void read_trees_again(struct module_names *names, uint64_t root)
{
	uint64_t end_ns = monotonic_ns() + READ_NS;
	struct tree *tree = find_tree(names, root);

	for (size_t i = 0; i < names->trees.count && tree && monotonic_ns() < end_ns; i++) {
		if (tree->work != names->works)
			read_tree(names, tree, end_ns);
		tree = find_tree(names, tree->inside);
	}
}

/* A module that took the place of one with the same name and classes needs no other generation. */
static bool has_other_name(struct module_names *names, struct known_module *known)
{
	struct described described;
	bool has_other;

	if (!names->unsettled)
		read_trees_again(names, known->root);
	has_other = describe_again(names, known, true, &described);
	names->unsettled = !has_other && is_any_late(names);
	return has_other;
}

static bool find_another(struct module_names *names, const struct process_piece *pieces, const uint64_t *words)
{
	uint64_t end_ns = monotonic_ns() + CHANGED_NS;
	size_t at = names->check_from < names->named ? names->check_from : 0;
	bool another = false;

	names->works++;
	for (size_t i = 0; i < names->named && !another && monotonic_ns() < end_ns; i++) {
		struct known_module *known = &names->known.items[at];

		another = !is_unchanged(known, pieces + 2 * at, words + 2 * at) && is_another(names, known) &&
			  has_other_name(names, known);
		at = (at + 1) % names->named;
	}
	names->check_from = at;
	return another;
}

bool module_names_check(struct module_names *names, const struct python_reader *reader,
			const struct python_module_class *class)
{
	AUTO_FREE struct process_piece *pieces = xcalloc(2 * names->named + 1, sizeof(*pieces));
	AUTO_FREE uint64_t *words = xcalloc(2 * names->named + 1, sizeof(*words));
	uint64_t taken_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	bool another;

	names->reader = reader;
	names->class = class;
	for (size_t i = 0; i < names->named; i++) {
		const struct known_module *known = &names->known.items[i];

		pieces[2 * i] = (struct process_piece){known->address + reader->layout->object_type, 8};
		pieces[2 * i + 1] = (struct process_piece){known->children_at, 8};
	}
	another = !process_read_pieces(reader->pid, pieces, 2 * names->named, words) &&
		  find_another(names, pieces, words);
	schedule_next_read(names, taken_ns);
	if (another) {
		forget_all(names);
		names->generation++;
	}
	return another;
}
