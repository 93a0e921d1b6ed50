/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/tree/tree_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/library_file.h"
#include "analyze/events/lines.h"
#include "analyze/events/operation_pack.h"
#include "base/order.h"
#include "base/path.h"
#include "report/table/kernel_label.h"

#define PACKAGES_SHOWN 3u

/* ---- paths ------------------------------------------------------------------------------------------------------- */

/* Length in bytes of the folders that two paths share. */
static size_t shared_folders(const char *a, const char *b, size_t most)
{
	size_t shared = 0;

	for (size_t i = 0; i < most && a[i] && a[i] == b[i]; i++)
		if (a[i] == '/')
			shared = i + 1;
	return shared;
}

void tree_names_make(struct tree_names *names, const struct call_tree_nodes *nodes)
{
	const struct model *model = nodes->tree->model;
	const char *first = NULL;

	*names = (struct tree_names){.nodes = nodes};
	array_each (node, &nodes->all) {
		const char *file;

		if (node->kind != TREE_NODE_FUNCTION || node->id == PYTHON_PATH_CUT)
			continue;
		file = model->codes[node->id].file;
		if (file_is_library(file))
			continue;
		names->shared = first ? shared_folders(first, file, names->shared) : (size_t)(path_base(file) - file);
		first = first ? first : file;
	}
}

/* A library file's path from its package on. */
static const char *after_packages(const char *file)
{
	static const char *const marks[] = {"/site-packages/", "/dist-packages/"};
	const char *at;

	if (*file != '/') /* torch.profiler leaves out the folders before the package */
		return file;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if ((at = strstr(file, marks[i])))
			return at + strlen(marks[i]);
	at = strstr(file, "/lib/python");
	if (!at)
		at = strstr(file, "/lib64/python");
	at = at ? strchr(at + strlen("/lib64/") - 1, '/') : NULL;
	return at && at[1] ? at + 1 : path_base(file);
}

static const char *short_path(const struct tree_names *names, const char *file)
{
	if (file_is_library(file))
		return *file == '<' ? file : after_packages(file);
	return names->shared < strlen(file) ? file + names->shared : path_base(file);
}

/* "torch" for .../site-packages/torch/nn/modules/linear.py; "threading" for a single file; length: of the name. */
static const char *package_of(const char *file, size_t *length)
{
	const char *path = after_packages(file);

	if (file_is_generated(file))
		path = "generated";
	if (*file == '<') {
		path = file + 1;
		path += strncmp(path, "frozen ", 7) ? 0 : 7;
	}
	*length = strcspn(path, "/.>");
	return path;
}

/* ---- libraries of a node ----------------------------------------------------------------------------------------- */

struct package {
	const char *name;
	size_t length, frames;
};

DEFINE_ORDER(by_frames, struct package, higher_first(a->frames, b->frames))

struct packages {
	ARRAY(struct package) list;
};

static void note_package(struct packages *packages, const char *file)
{
	size_t length;
	const char *name = package_of(file, &length);

	array_each (package, &packages->list) {
		if (package->length == length && !memcmp(package->name, name, length)) {
			package->frames++;
			return;
		}
	}
	array_push(&packages->list, ((struct package){name, length, 1}));
}

/* "torch, numpy, threading and 2 more" */
static char *package_names(const struct tree_names *names, uint32_t node)
{
	const struct tally *frames = &names->nodes->library_frames;
	struct packages packages = {0};
	char *text = xstrdup("");

	for (size_t i = 0; i < frames->count; i++)
		if (frames->entries[i].key.part[0] == node)
			note_package(&packages, names->nodes->tree->model->codes[frames->entries[i].key.part[1]].file);
	array_sort(&packages.list, by_frames);
	for (size_t i = 0; i < packages.list.count && i < PACKAGES_SHOWN; i++)
		text = xjoin(text, ", ",
			     xasprintf("%.*s", (int)packages.list.items[i].length, packages.list.items[i].name));
	if (packages.list.count > PACKAGES_SHOWN)
		text = xjoin(text, " ", xasprintf("and %zu more", packages.list.count - PACKAGES_SHOWN));
	array_free(&packages.list);
	return text;
}

uint32_t tree_node_function(const struct tree_names *names, uint32_t index)
{
	const struct tree_node *node = &names->nodes->all.items[index];
	const struct tally *frames = &names->nodes->library_frames;

	if (node->kind == TREE_NODE_FUNCTION)
		return node->id == PYTHON_PATH_CUT ? NONE : node->id;
	for (size_t i = 0; node->kind == TREE_NODE_LIBRARY && node->frames == 1 && i < frames->count; i++)
		if (frames->entries[i].key.part[0] == index)
			return frames->entries[i].key.part[1];
	return NONE;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* "addmm" of "aten::addmm" */
static const char *bare_name(const struct model *model, uint32_t name)
{
	const char *text = name == NONE ? "?" : model->strings[name];

	return strncmp(text, "aten::", 6) ? text : text + 6;
}

static char *op_name(const struct model *model, const struct tree_node *node)
{
	const char *name = node->id == NONE ? "?" : model->strings[node->id];

	if (node->forward != NONE && node->forward_number)
		return xasprintf("%s (%s:%" PRIu32 ")", name, bare_name(model, node->forward), node->forward_number);
	if (node->number)
		return xasprintf("%s:%" PRIu32, name, node->number);
	return xstrdup(name);
}

static char *what_name(const struct call_tree *tree, uint32_t what)
{
	struct model_gpu op;
	char buffer[256];

	if (tree->by == TREE_BY_MEMORY)
		return xstrdup(what == NONE ? "[in no op]" : tree->model->strings[what]);
	if (tree->by == TREE_BY_GPU) {
		op = operation_unpack(what);
		return xstrdup(gpu_name(tree->model, &op, buffer, sizeof(buffer)));
	}
	return xstrdup(what == TREE_SELF ? "[self]" : api_name((uint16_t)what));
}

static char *no_stack_name(const struct call_tree *tree, uint32_t why)
{
	if (why == TREE_UNSEEN)
		return xstrdup(tree->by == TREE_BY_MEMORY ? "[line not known]" : "[launch not seen]");
	if (why == TREE_BEFORE)
		return xstrdup("[launched before the trace began]");
	if (why == TREE_DRIVER)
		return xstrdup("[managed memory, moved by the driver]");
	return xasprintf("[%s]", line_reason(why));
}

static const char *whole_name(const struct call_tree *tree)
{
	if (tree->by == TREE_BY_MEMORY)
		return tree->is_of_gpu_memory ? "GPU memory" : "CPU memory";
	if (tree->by == TREE_BY_CPU)
		return "CPU time";
	return tree->by == TREE_BY_GPU ? "GPU time" : "time in CUDA calls and ops";
}

char *tree_node_name(const struct tree_names *names, uint32_t index)
{
	const struct tree_node *node = &names->nodes->all.items[index];
	const struct call_tree *tree = names->nodes->tree;
	const struct model *model = tree->model;
	uint32_t function = tree_node_function(names, index);
	char *label, *text;

	if (function != NONE)
		return xstrdup(model->codes[function].name);
	switch (node->kind) {
	case TREE_NODE_PROCESS:
		label = process_label(&model->processes[node->id]);
		text = xasprintf("process %s", label);
		free(label);
		return text;
	case TREE_NODE_THREAD:
		return xasprintf("thread %s %" PRIu32, model->threads[node->id].name, model->threads[node->id].tid);
	case TREE_NODE_NO_STACK:
		return no_stack_name(tree, node->id);
	case TREE_NODE_FUNCTION:
		return xstrdup("[frames left out]");
	case TREE_NODE_LIBRARY:
		return xasprintf("[%" PRIu32 " frames hidden]", node->frames);
	case TREE_NODE_OP:
		return op_name(model, node);
	case TREE_NODE_WHAT:
		return what_name(tree, node->id);
	default:
		return xstrdup(whole_name(tree));
	}
}

char *tree_node_label(const struct tree_names *names, uint32_t index)
{
	const struct tree_node *node = &names->nodes->all.items[index];
	char *name = tree_node_name(names, index), *label;

	if (node->kind != TREE_NODE_WHAT || names->nodes->tree->by != TREE_BY_GPU)
		return name;
	label = kernel_label(name);
	free(name);
	return label;
}

char *tree_node_place(const struct tree_names *names, uint32_t index)
{
	const struct tree_node *node = &names->nodes->all.items[index];
	uint32_t function = tree_node_function(names, index);
	const struct model_code *code;

	if (function == NONE)
		return node->kind == TREE_NODE_LIBRARY ? package_names(names, index) : xstrdup("");
	code = &names->nodes->tree->model->codes[function];
	return code->first_line ? xasprintf("%s:%" PRIu32, short_path(names, code->file), code->first_line)
				: xstrdup(short_path(names, code->file));
}
