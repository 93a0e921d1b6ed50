/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Feeds inputs' events about code and stacks (builder.h) to their tables. */
#include <string.h>

#include "model/join/tables.h"

static const char *keep_text(struct builder *builder, struct text text)
{
	return string_keep(&builder->strings, text.bytes, text.size);
}

void builder_add_code(struct builder *builder, uint32_t pid, const struct new_code *code)
{
	struct process_image program = builder_process_image(builder, pid);

	if (builder->pass != PASS_FIRST)
		codes_add(&builder->codes, program.epoch, code);
}

bool builder_add_code_lines(struct builder *builder, uint32_t pid, uint64_t code, uint32_t offset, const void *bytes,
			    uint32_t size)
{
	struct process_image program = builder_process_image(builder, pid);

	return builder->pass == PASS_FIRST ||
	       codes_add_lines(&builder->codes, program.epoch, code, offset, bytes, size);
}

void builder_add_generated_line(struct builder *builder, const struct new_generated_line *line)
{
	if (builder->first)
		return; /* taken from pass 1, as a slice may end before they arrive */
	array_push(&builder->generated_lines,
		   ((struct model_generated_line){.file = keep_text(builder, line->file),
						  .line = line->record->line,
						  .kernel = keep_text(builder, line->kernel),
						  .nodes = keep_text(builder, line->nodes),
						  .ops = keep_text(builder, line->ops),
						  .kernel_file = keep_text(builder, line->kernel_file),
						  .kernel_line = line->record->kernel_line}));
}

void builder_add_module(struct builder *builder, const struct new_module *module)
{
	struct process_image program = builder_process_image_at(builder, module->record->pid, module->record->time_ns);

	if (!builder->first) /* else taken from pass 1, as a slice may end before it arrives */
		modules_describe(&builder->modules, program, module);
}

void builder_add_cell(struct builder *builder, struct text file, struct text source)
{
	const char *at = source.bytes, *end = at + source.size;

	if (builder->first)
		return;
	for (uint32_t line = 1; at < end; line++) {
		const char *next = memchr(at, '\n', (size_t)(end - at));
		size_t size = (size_t)((next ? next : end) - at);

		array_push(&builder->cell_lines,
			   ((struct model_cell_line){
				   .file = keep_text(builder, file),
				   .text = keep_text(builder, (struct text){.bytes = at, .size = (uint32_t)size}),
				   .line = line}));
		at += size + 1;
	}
}

void builder_add_holder_search(struct builder *builder, const struct gpt_holders *search, struct text why)
{
	struct process_image program = builder_process_image(builder, search->pid);

	if (builder->first)
		return; /* taken from pass 1, as sums need them from their start */
	array_push(&builder->holder_searches, ((struct model_holder_search){.time_ns = search->time_ns,
									    .objects = search->objects,
									    .tensors = search->tensors,
									    .process = program.process,
									    .state = (uint8_t)search->state,
									    .why = keep_text(builder, why)}));
}

void builder_add_holder(struct builder *builder, const struct new_holder *holder)
{
	struct process_image program = builder_process_image(builder, holder->record->pid);

	if (builder->first)
		return;
	array_push(&builder->holders, ((struct model_holder){.place = keep_text(builder, holder->place),
							     .path = keep_text(builder, holder->path),
							     .type = keep_text(builder, holder->type),
							     .items = holder->record->items,
							     .process = program.process,
							     .containers = holder->record->containers,
							     .tensors = holder->record->tensors,
							     .graphs = holder->record->graphs}));
}

void builder_add_held_storage(struct builder *builder, uint64_t address, uint64_t bytes)
{
	if (!builder->first && builder->holders.count)
		array_push(&builder->held_storages,
			   ((struct model_held_storage){.address = address,
							.bytes = bytes,
							.holder = (uint32_t)builder->holders.count - 1}));
}

bool builder_add_code_dead(struct builder *builder, const struct sender *none, const struct gpt_code_dead *dead)
{
	codes_remove(&builder->codes, builder_process_image(builder, dead->pid).epoch, dead->code);
	return true;
}

void builder_add_stack(struct builder *builder, uint32_t pid, const struct new_stack *stack)
{
	struct process_image program = builder_process_image(builder, pid);

	if (builder->pass != PASS_FIRST)
		stacks_add_python(&builder->stacks, program, stack);
}

bool builder_add_stack_at(struct builder *builder, const struct sender *none, const struct gpt_stack_at *sampled)
{
	struct process_image program;

	builder_see_time(builder, sampled->time_ns);
	if (sampled->what < GPT_STACK_OF_OP || !sampled->number)
		return false;
	if (sampled->what > GPT_STACK_OF_MEMORY) /* newer than this reader */
		return true;
	program = builder_process_image(builder, sampled->pid);
	if (sampled->time_ns < builder->model->start_ns)
		return true;
	if (builder->pass == PASS_FIRST)
		lateness_note_begin(&builder->lateness, NONE, sampled->time_ns);
	else
		sampled_stacks_add(&builder->sampled, program.epoch, sampled,
				   stacks_find(&builder->stacks, program.epoch, sampled->stack_id));
	return true;
}

void builder_add_native_stack(struct builder *builder, uint32_t pid, uint64_t key, const uint64_t *ips, uint32_t depth)
{
	struct process_image program = builder_process_image(builder, pid);

	if (builder->pass != PASS_FIRST)
		stacks_add_native(&builder->stacks, program.epoch, key, ips, depth);
}

void builder_add_native_symbol(struct builder *builder, uint32_t pid, uint64_t ip, struct text symbol,
			       struct text module)
{
	struct process_image program = builder_process_image(builder, pid);

	/* Pass 2 takes names from pass 1, as they arrive after the stacks that need them */
	if (!builder->first)
		stacks_add_symbol(&builder->stacks, program.epoch, ip, symbol, module);
}
