/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The state machine of a DWARF line table, versions 2 to 4, which gives each kernel its line (cubin.h). */
#include "agent/kernels/cubin_reader.h"

/* A unit of the line table: its header, and the registers of its state machine. */
struct cubin_unit {
	uint16_t version;
	uint8_t least_step, range, first_special;
	int8_t base;
	struct cubin_bytes folders, files, operands;
	struct cubin_address at;
	uint32_t file, line;
};

static struct cubin_text folder_of(struct cubin_reader *reader, const struct cubin_unit *unit, uint64_t index)
{
	struct cubin_bytes folders = unit->folders;
	struct cubin_text text = {"", 0};

	for (; index && !folders.failed && reader->steps < CUBIN_STEPS_MAX; index--, reader->steps++) {
		text = cubin_take_text(&folders);
		if (!text.size)
			break;
	}
	return text;
}

static void find_file(struct cubin_reader *reader, const struct cubin_unit *unit, struct cubin_function *function)
{
	struct cubin_bytes files = unit->files;
	struct cubin_text name = {"", 0}, folder_name = {"", 0};
	uint64_t folder = 0;

	for (uint32_t index = unit->file; index && !files.failed && reader->steps < CUBIN_STEPS_MAX;
	     index--, reader->steps++) {
		name = cubin_take_text(&files);
		folder = cubin_take_uleb(&files);
		cubin_take_uleb(&files); /* its time, its size */
		cubin_take_uleb(&files);
		if (!name.size)
			break;
	}
	if (files.failed || !name.size)
		return;
	if (*name.bytes != '/')
		folder_name = folder_of(reader, unit, folder);
	if (reader->steps >= CUBIN_STEPS_MAX) /* the name may be another file's */
		return;
	function->file = name;
	function->folder = folder_name;
	function->line = unit->line;
	function->best = unit->at.address;
	function->found = true;
}

static void see_row(struct cubin_reader *reader, const struct cubin_unit *unit)
{
	reader->rows++;
	if (!unit->line || !(reader->has_function[unit->at.section / 64] >> unit->at.section % 64 & 1))
		return;
	for (unsigned i = 0; i < reader->count; i++) {
		struct cubin_function *function = &reader->functions[i];

		if (function->section == unit->at.section && unit->at.address >= function->start &&
		    unit->at.address < function->end && (!function->found || unit->at.address < function->best))
			find_file(reader, unit, function);
	}
}

static void reset_row(struct cubin_unit *unit)
{
	unit->at.address = 0;
	unit->file = unit->line = 1;
	unit->at.section = 0;
}

static void run_extended_opcode(struct cubin_reader *reader, struct cubin_unit *unit, struct cubin_bytes *program)
{
	struct cubin_bytes operand = cubin_part(program, cubin_take_uleb(program));
	uint64_t opcode = cubin_take(&operand, 1);

	if (operand.failed)
		return;
	if (opcode == 1) { /* end of a sequence */
		reset_row(unit);
	} else if (opcode == 2) { /* address */
		uint64_t offset = (uint64_t)(operand.data + operand.at - reader->cubin) - reader->lines.sh_offset;

		unit->at.address = operand.size - operand.at == 8 ? cubin_take(&operand, 8) : 0;
		unit->at.section = 0;
		if (!cubin_relocated(reader, offset, &unit->at))
			unit->at.section = 0;
	}
}

static void advance_address(struct cubin_unit *unit, uint64_t steps)
{
	unit->at.address += steps * unit->least_step;
}

static void run_standard_opcode(struct cubin_reader *reader, struct cubin_unit *unit, struct cubin_bytes *program,
				unsigned opcode)
{
	switch (opcode) {
	case 1:
		see_row(reader, unit);
		break;
	case 2:
		advance_address(unit, cubin_take_uleb(program));
		break;
	case 3:
		unit->line += (uint32_t)cubin_take_sleb(program);
		break;
	case 4:
		unit->file = (uint32_t)cubin_take_uleb(program);
		break;
	case 8: /* advances as special opcode 255 */
		advance_address(unit, (255u - unit->first_special) / unit->range);
		break;
	case 9:
		unit->at.address += cubin_take(program, 2);
		break;
	default: /* other opcodes: skips their operands */
		for (unsigned left = opcode <= unit->operands.size ? unit->operands.data[opcode - 1] : 0; left; left--)
			cubin_take_uleb(program);
	}
}

static void run_line_program(struct cubin_reader *reader, struct cubin_unit *unit, struct cubin_bytes *program)
{
	reset_row(unit);
	while (!program->failed && program->at < program->size && reader->rows < CUBIN_ROWS_MAX) {
		unsigned opcode = (unsigned)cubin_take(program, 1);

		if (!opcode) {
			run_extended_opcode(reader, unit, program);
		} else if (opcode < unit->first_special) {
			run_standard_opcode(reader, unit, program, opcode);
		} else {
			opcode -= unit->first_special;
			advance_address(unit, opcode / unit->range);
			unit->line += (uint32_t)(unit->base + (int)(opcode % unit->range));
			see_row(reader, unit);
		}
	}
}

static void read_unit(struct cubin_reader *reader, struct cubin_bytes all)
{
	struct cubin_unit unit = {.version = (uint16_t)cubin_take(&all, 2)};
	struct cubin_bytes header;

	if (unit.version < 2 || unit.version > 4)
		return;
	header = cubin_part(&all, cubin_take(&all, 4));
	unit.least_step = (uint8_t)cubin_take(&header, 1);
	if (unit.version == 4)
		cubin_take(&header, 1); /* operations of an instruction */
	cubin_take(&header, 1);		/* default_is_stmt */
	unit.base = (int8_t)cubin_take(&header, 1);
	unit.range = (uint8_t)cubin_take(&header, 1);
	unit.first_special = (uint8_t)cubin_take(&header, 1);
	if (header.failed || !unit.range || !unit.first_special)
		return;
	unit.operands = cubin_part(&header, unit.first_special - 1u);
	unit.folders = unit.files = header;
	while (cubin_take_text(&unit.files).size)
		;
	if (!unit.files.failed)
		run_line_program(reader, &unit, &all);
}

/* Sets file and line of each function that has rows in the line table. */
static void read_lines(struct cubin_reader *reader)
{
	struct cubin_bytes table = cubin_content(reader, &reader->lines), unit;

	while (!table.failed && table.at < table.size) {
		unit = cubin_part(&table, cubin_take(&table, 4)); /* 64-bit DWARF: longer than the table */
		if (!unit.failed)
			read_unit(reader, unit);
	}
}

unsigned cubin_kernels(const void *cubin, size_t size, struct cubin_kernel kernels[CUBIN_KERNELS_MAX],
		       uint64_t *left_out)
{
	struct cubin_reader reader = {.cubin = cubin, .size = size};
	unsigned count = 0;

	if (cubin_find_functions(&reader))
		read_lines(&reader);
	for (unsigned i = 0; i < reader.count; i++) {
		const struct cubin_function *function = &reader.functions[i];

		if (function->found)
			kernels[count++] = (struct cubin_kernel){.name = function->name,
								 .folder = function->folder,
								 .file = function->file,
								 .line = function->line};
	}
	*left_out += reader.beyond;
	if (reader.rows >= CUBIN_ROWS_MAX || reader.steps >= CUBIN_STEPS_MAX) /* more may have followed */
		*left_out += reader.count - count;
	return count;
}
