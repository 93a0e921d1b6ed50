/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/tree/python_paths.h"

void python_paths_init(struct python_paths *paths)
{
	*paths = (struct python_paths){0};
	array_push(&paths->all, ((struct python_path){.parent = PYTHON_PATH_ROOT, .code = NONE}));
}

void python_paths_free(struct python_paths *paths)
{
	tally_free(&paths->children);
	array_free(&paths->all);
	array_free(&paths->of_stack);
}

static uint32_t child_of(struct python_paths *paths, uint32_t parent, uint32_t code)
{
	struct tally_entry *child = tally_at(&paths->children, (struct tally_key){{parent, code}});

	if (!child->more) {
		child->more = paths->all.count;
		array_push(&paths->all, ((struct python_path){
						.parent = parent,
						.code = code,
						.depth = paths->all.items[parent].depth + 1,
					}));
	}
	return (uint32_t)child->more;
}

static uint32_t make_path(struct python_paths *paths, const struct model *model, const struct model_stack *stack)
{
	uint32_t path = PYTHON_PATH_ROOT;

	if (stack->missing && stack->gap == stack->depth)
		path = child_of(paths, path, PYTHON_PATH_CUT);
	for (uint32_t i = stack->depth; i-- > 0;) {
		path = child_of(paths, path, model->frames[model->stack_frames[stack->first + i]].code);
		if (stack->missing && stack->gap == i)
			path = child_of(paths, path, PYTHON_PATH_CUT);
	}
	return path;
}

uint32_t python_path_of_stack(struct python_paths *paths, const struct model *model, uint32_t stack)
{
	while (paths->of_stack.count <= stack)
		array_push(&paths->of_stack, 0);
	if (!paths->of_stack.items[stack])
		paths->of_stack.items[stack] = make_path(paths, model, &model->stacks[stack]) + 1;
	return paths->of_stack.items[stack] - 1;
}

uint32_t python_path_cut(const struct python_paths *paths, uint32_t path, uint32_t depth)
{
	while (paths->all.items[path].depth > depth)
		path = paths->all.items[path].parent;
	return path;
}

uint32_t python_path_join(struct python_paths *paths, uint32_t outer, uint32_t inner, uint32_t without)
{
	uint32_t depth = paths->all.items[inner].depth;

	for (uint32_t i = without + 1; i <= depth; i++)
		outer = child_of(paths, outer, paths->all.items[python_path_cut(paths, inner, i)].code);
	return outer;
}

uint32_t python_path_common(const struct python_paths *paths, uint32_t one, uint32_t other)
{
	one = python_path_cut(paths, one, paths->all.items[other].depth);
	other = python_path_cut(paths, other, paths->all.items[one].depth);
	while (one != other) {
		one = paths->all.items[one].parent;
		other = paths->all.items[other].parent;
	}
	return one;
}
