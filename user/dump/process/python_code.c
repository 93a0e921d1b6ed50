/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Code objects of a process: names, files, lines.  Every length is bounded, as it comes from the process. */

#include "dump/process/locals.h"
#include "dump/process/memory.h"
#include "dump/process/python.h"

#define NAME_MAX_CHARS 256
#define FILE_MAX_CHARS 1024
#define TABLE_MAX (256u << 10) /* bytes of a line table, as model/tables/codes.c */

static void read_lines(struct python_look *look, uint64_t address, struct python_code *code)
{
	const struct gpt_pylayout *layout = &look->info.walk.layout;
	uint64_t table = memory_word(look->pid, address + layout->code_linetable);
	uint64_t bytes = table ? memory_word(look->pid, table + layout->var_size) : 0;
	AUTO_FREE uint8_t *copy = NULL;

	if (!table || bytes > TABLE_MAX)
		return;
	copy = xmalloc(bytes + 1);
	if (memory_read(look->pid, table + layout->bytes_data, copy, bytes)) {
		linetable_decode(layout->linetable, copy, bytes, true, code->first_line, &code->lines);
		code->whole = true;
	}
}

static void read_code(struct python_look *look, uint64_t address, struct python_code *code)
{
	const struct gpt_pylayout *layout = &look->info.walk.layout;
	uint64_t type = memory_word(look->pid, address + layout->object_type), name, file;

	if (!type || (look->info.walk.code_type && type != look->info.walk.code_type))
		return;
	name = memory_word(look->pid, address + layout->code_name);
	file = memory_word(look->pid, address + layout->code_filename);
	code->first_line = memory_int(look->pid, address + layout->code_first_line);
	code->no_one_s = layout->owner_skip && !code->first_line && name == file;
	if (layout->code_qualname != GPT_PY_ABSENT)
		name = memory_word(look->pid, address + layout->code_qualname);
	code->function = python_text(look, name, NAME_MAX_CHARS);
	code->file = python_text(look, file, FILE_MAX_CHARS);
	if (layout->code_first_traceable != GPT_PY_ABSENT)
		code->first_traceable = 2 * memory_int(look->pid, address + layout->code_first_traceable);
	read_lines(look, address, code);
}

const struct python_code *python_code(struct python_look *look, uint64_t address)
{
	uint32_t *place = lookup_put(&look->code_places, 1, address, UINT32_MAX);

	if (*place == UINT32_MAX) {
		struct python_code code = {0};

		read_code(look, address, &code);
		*place = (uint32_t)look->codes.count;
		array_push(&look->codes, code);
		return &look->codes.items[look->codes.count - 1];
	}
	return &look->codes.items[*place];
}

uint32_t python_line(const struct python_look *look, const struct python_code *code, int32_t lasti)
{
	if (lasti < 0)
		return code->first_line;
	return code->whole ? linetable_find(code->lines.items, code->lines.count, (uint32_t)lasti) : 0;
}

void python_look_names(struct python_look *look, struct dump_process *process, unsigned index)
{
	enum { FIRST = DUMP_FRAMES_MAX - DUMP_FRAMES_OUTER };
	struct dump_thread *thread = &process->threads[index];
	const struct raw_stack *stack = &look->stacks[index];

	thread->frames = arena_take(look->arena, (stack->count + 1) * sizeof(*thread->frames));
	thread->frame_count = 0;
	for (unsigned i = 0; thread->frames && i < stack->count; i++) {
		const struct raw_frame *raw = &stack->frames[i];
		const struct python_code *code = python_code(look, raw->code);
		struct dump_frame *frame = &thread->frames[thread->frame_count];

		if (i == FIRST && stack->depth > DUMP_FRAMES_MAX) {
			frame->line = stack->depth - stack->count;
			thread->frame_count++;
			frame++;
		}
		if (code->no_one_s || (raw->lasti >= 0 && raw->lasti < (int32_t)code->first_traceable))
			continue; /* not started: Python hides it, too */
		frame->function = code->function ? code->function : "?";
		frame->file = code->file;
		frame->line = python_line(look, code, raw->lasti);
		if (look->locals)
			locals_read(look, raw, frame);
		thread->frame_count++;
	}
}
