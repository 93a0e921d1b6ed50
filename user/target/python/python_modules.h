/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * torch.nn.Module in a process: its code, which calls of modules are recognised by, and the tree of a module by
 * `_modules`.  Read from outside, as python_objects.h says: the target may change it meanwhile, or lie.
 */
#pragma once

#include "base/array.h"
#include "base/lookup.h"
#include "target/python/python_objects.h"

#define PYTHON_MODULE_NONE UINT32_MAX
#define PYTHON_MODULE_ATTRIBUTES_MOST 256u /* of a module, that are looked through for `_modules` */
#define PYTHON_TREE_READ_NS 300000000ULL   /* the usual time of one reading */
#define PYTHON_MODULE_NAME_MAX 1024	   /* bytes of a name in the root; a longer one loses its start */

struct python_module_class {
	uint64_t type; /* torch.nn.Module */
	uint64_t code; /* of its __call__: a Python function whose first argument is `self` */
};

/* False: torch is not imported (yet), or __call__ is no such function. */
bool python_module_class_find(const struct python_reader *reader, const struct gpt_python *python,
			      struct python_module_class *out);

/* The name of an object's type, cut at `size`; false: the object is no torch.nn.Module, or it cannot be read. */
bool python_module_type_name(const struct python_reader *reader, const struct python_module_class *class,
			     uint64_t object, char *buffer, size_t size);

/* A module, where it was found first. */
struct python_tree_module {
	uint64_t address, type;
	uint64_t held_at;		/* where the reference stands by which it was found; 0: it is the root */
	uint64_t children_at, children; /* where the reference to its `_modules` is, and that; 0: it has none */
	uint32_t parent;		/* its index; PYTHON_MODULE_NONE: it is the root */
	uint32_t name;			/* its own, in texts */
	uint32_t class;			/* in classes; PYTHON_MODULE_NONE: it is no torch.nn.Module */
	uint32_t names;			/* places in the tree, of which the others are in `others` */
};

struct python_tree_class {
	uint64_t type;
	uint64_t flags, basicsize, cached_keys;
	int64_t dict_offset;
	uint32_t name; /* in texts */
	bool is_module;
};

struct python_tree_place {
	uint32_t module, parent, name;
};

struct python_tree {
	ARRAY(struct python_tree_module) modules; /* level by level, the root first */
	ARRAY(struct python_tree_place) others;
	ARRAY(struct python_tree_class) classes;
	ARRAY(char) texts;
	struct lookup by_address;
	size_t read;  /* what the modules before this one hold was read */
	size_t fewer; /* so many less are read at a time, as there was no time for more */
	bool late;    /* the time ended before all were read */
	bool cut;     /* there may be more modules than were read: too many, or something cannot be read */
};

/*
 * Reads until end_ns of monotonic_ns at most.  *tree starts zeroed; of one that is late, reading goes on.  Free it with
 * python_tree_free, which zeroes it, in any case.
 */
void python_tree_read(const struct python_reader *reader, const struct python_module_class *class, uint64_t root,
		      uint64_t end_ns, struct python_tree *tree);
void python_tree_free(struct python_tree *tree);

/* The index of a module; PYTHON_MODULE_NONE: it is not in the tree. */
uint32_t python_tree_find(const struct python_tree *tree, uint64_t address);

/* Writes the name of a place of the tree ("layers.17.mlp"; the root: ""), which is valid UTF-8. */
void python_tree_name(const struct python_tree *tree, uint32_t parent, uint32_t name, char *buffer, size_t size);
