/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The columns of nvprof --print-gpu-trace; on a page they have a fixed width that usually suffices, as rows are written
 * at once.
 */
#include "report/sums/gpu_trace.h"

#include <inttypes.h>

/* In the order in which fill_row fills them. */
static const struct column columns[] = {
	COLUMN_NUMBER("Start", "start_ns", UNIT_NS),
	COLUMN_NUMBER("Duration", "duration_ns", UNIT_NS),
	COLUMN_NUMBER("Grid Size", NULL, UNIT_TEXT),
	COLUMN_NUMBER("Block Size", NULL, UNIT_TEXT),
	COLUMN_NUMBER("Regs", "registers", UNIT_COUNT),
	COLUMN_NUMBER("SSMem", "static_shared_bytes", UNIT_BYTES),
	COLUMN_NUMBER("DSMem", "dynamic_shared_bytes", UNIT_BYTES),
	COLUMN_NUMBER("Size", "bytes", UNIT_BYTES),
	COLUMN_NUMBER("GB/s", "bytes_per_s", UNIT_BYTES_PER_S),
	COLUMN_NUMBER("Src", "src_memory", UNIT_TEXT),
	COLUMN_NUMBER("Dst", "dst_memory", UNIT_TEXT),
	COLUMN_NUMBER("Device", "device", UNIT_ID),
	COLUMN_NUMBER("Context", "context", UNIT_ID),
	COLUMN_NUMBER("Stream", "stream", UNIT_ID),
	COLUMN_NAME("Name", "name", TEXT_TRUNCATE_MIDDLE),
	COLUMN_DATA("kind", UNIT_TEXT),
	COLUMN_DATA("grid_x", UNIT_COUNT),
	COLUMN_DATA("grid_y", UNIT_COUNT),
	COLUMN_DATA("grid_z", UNIT_COUNT),
	COLUMN_DATA("block_x", UNIT_COUNT),
	COLUMN_DATA("block_y", UNIT_COUNT),
	COLUMN_DATA("block_z", UNIT_COUNT),
	COLUMN_DATA("pid", UNIT_ID),
	COLUMN_DATA("correlation", UNIT_ID),
	COLUMN_DATA("file", UNIT_TEXT),
	COLUMN_DATA("line_number", UNIT_ID),
	COLUMN_DATA("function", UNIT_TEXT),
	COLUMN_END,
};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]) - 1)
#define SHOWN 15u

static const unsigned widths[SHOWN - 1] = {14, 9, 14, 13, 5, 9, 9, 9, 8, 14, 14, 6, 7, 6};

/* Its cells are on the stack, as a trace has millions of rows. */
struct row {
	struct cell cells[COLUMNS];
	struct number texts[COLUMNS];
	char memcpy[32];
	unsigned count;
	bool shown; /* texts are used */
};

static void add_cell(struct row *row, struct cell cell, struct number shown)
{
	if (row->shown) {
		row->texts[row->count] = shown;
		cell.text = row->texts[row->count].text;
	}
	row->cells[row->count++] = cell;
}

static void add_integer(struct row *row, uint64_t value, struct number (*how)(uint64_t))
{
	add_cell(row, (struct cell){.integer = value, .kind = CELL_INTEGER},
		 row->shown && how ? how(value) : (struct number){""});
}

static struct number number_id(uint64_t id)
{
	struct number number;

	snprintf(number.text, sizeof(number.text), "%" PRIu64, id);
	return number;
}

static void add_unknown(struct row *row, unsigned count)
{
	while (count-- > 0)
		add_cell(row, (struct cell){.kind = CELL_UNKNOWN}, (struct number){"-"});
}

/* text: stays the caller's. */
static void add_text(struct row *row, const char *text)
{
	row->cells[row->count++] = (struct cell){.text = (char *)text, .kind = CELL_TEXT};
}

/* To the microsecond, so that rows differ. */
static struct number number_start(uint64_t ns)
{
	struct number number;

	snprintf(number.text, sizeof(number.text), "%" PRIu64 ".%03u ms", ns / 1000000, (unsigned)(ns / 1000 % 1000));
	return number;
}

/* Work that was launched before the recording may also begin before it. */
static void add_start(struct row *row, uint64_t start_ns, uint64_t window_ns)
{
	struct number shown = {"-"};

	if (start_ns >= window_ns) {
		add_integer(row, start_ns - window_ns, number_start);
		return;
	}
	if (row->shown)
		snprintf(shown.text, sizeof(shown.text), "-%.30s", number_start(window_ns - start_ns).text);
	add_cell(row, (struct cell){.number = -(double)(window_ns - start_ns), .kind = CELL_NUMBER}, shown);
}

static void add_size(struct row *row, const uint32_t size[3])
{
	struct number shown = {""};

	if (row->shown)
		snprintf(shown.text, sizeof(shown.text), "(%" PRIu32 " %" PRIu32 " %" PRIu32 ")", size[0] % 1000000000,
			 size[1] % 1000000, size[2] % 1000000);
	add_cell(row, (struct cell){.kind = CELL_UNKNOWN}, shown);
}

/* unknown: flag in op->unknown which says that the source did not have the value. */
static void add_integer_of(struct row *row, const struct model_gpu *op, enum model_gpu_unknown unknown, uint64_t value,
			   struct number (*how)(uint64_t))
{
	if (op->unknown & unknown)
		add_unknown(row, 1);
	else
		add_integer(row, value, how);
}

static void add_launch(struct row *row, const struct model_gpu *op)
{
	if (op->kind != MODEL_KERNEL) {
		add_unknown(row, 5);
		return;
	}
	if (op->unknown & MODEL_GPU_NO_LAUNCH) {
		add_unknown(row, 2);
	} else {
		add_size(row, op->grid);
		add_size(row, op->block);
	}
	add_integer_of(row, op, MODEL_GPU_NO_REGISTERS, op->registers, number_count);
	add_integer_of(row, op, MODEL_GPU_NO_STATIC_SHARED, op->static_shared_bytes, number_bytes);
	add_integer_of(row, op, MODEL_GPU_NO_DYNAMIC_SHARED, op->dynamic_shared_bytes, number_bytes);
}

static void add_copy(struct row *row, const struct model_gpu *op)
{
	uint64_t ns = gpu_ns(op);

	if (op->kind == MODEL_KERNEL) {
		add_unknown(row, 4);
		return;
	}
	add_integer_of(row, op, MODEL_GPU_NO_BYTES, op->bytes, number_bytes);
	if (ns && !(op->unknown & MODEL_GPU_NO_BYTES))
		add_cell(row, (struct cell){.number = (double)op->bytes / (double)ns * 1e9, .kind = CELL_NUMBER},
			 row->shown ? number_tenths((double)op->bytes / (double)ns) : (struct number){""});
	else
		add_unknown(row, 1);
	if (op->kind == MODEL_MEMCPY)
		add_text(row, gpu_memory_kind(op->from));
	else
		add_unknown(row, 1);
	add_text(row, gpu_memory_kind(op->to));
}

static void add_name(struct row *row, const struct model *model, const struct model_gpu *op)
{
	static const char *const kinds[] = {
		[MODEL_KERNEL] = "kernel", [MODEL_MEMCPY] = "memcpy", [MODEL_MEMSET] = "memset"};

	if (op->kind == MODEL_MEMCPY) {
		snprintf(row->memcpy, sizeof(row->memcpy), "[CUDA memcpy %s]", gpu_memcpy_kind(op->memcpy_kind));
		add_text(row, row->memcpy);
	} else if (op->kind == MODEL_MEMSET) {
		add_text(row, "[CUDA memset]");
	} else {
		add_text(row, op->name == NONE ? "(name not known)" : model->strings[op->name]);
	}
	add_text(row, op->kind < MODEL_GPU_KINDS ? kinds[op->kind] : "");
}

/* Adds what a page has as text. */
static void add_sizes(struct row *row, const struct model_gpu *op)
{
	if (op->kind != MODEL_KERNEL || op->unknown & MODEL_GPU_NO_LAUNCH) {
		add_unknown(row, 6);
		return;
	}
	for (unsigned i = 0; i < 3; i++)
		add_integer(row, op->grid[i], NULL);
	for (unsigned i = 0; i < 3; i++)
		add_integer(row, op->block[i], NULL);
}

/* Adds the innermost Python line of the stack that it counts for. */
static void add_line(struct row *row, const struct model *model, uint32_t stack)
{
	const struct model_frame *frame;

	if (!stack_has_frames(model, stack)) {
		add_unknown(row, 3);
		return;
	}
	frame = &model->frames[model->stack_frames[model->stacks[stack].first]];
	add_text(row, model->codes[frame->code].file);
	add_integer(row, frame->line, NULL);
	add_text(row, model->codes[frame->code].name);
}

static void fill_row(struct row *row, const struct analyses *all, const struct gpu_event *event)
{
	const struct model_gpu *op = event->op;
	const struct model *model = all->model;

	add_start(row, op->start_ns, all->window.start_ns);
	add_integer(row, gpu_ns(op), number_time);
	add_launch(row, op);
	add_copy(row, op);
	add_integer(row, op->device, number_id);
	add_integer(row, op->context, number_id);
	add_integer(row, op->stream, number_id);
	add_name(row, model, op);
	add_sizes(row, op);
	add_integer(row, model->processes[op->process].pid, NULL);
	add_integer(row, op->corr, NULL);
	add_line(row, model, event->stack);
}

/* ---- on a page --------------------------------------------------------------------------------------------------- */

static void put_line(struct report *report, const char *const texts[SHOWN])
{
	for (unsigned i = 0; i < SHOWN - 1; i++)
		fprintf(report->out, "  %*s", (int)widths[i], texts[i]);
	fputs("  ", report->out);
	text_put(report->out, texts[SHOWN - 1], UINT32_MAX, TEXT_TRUNCATE_END);
	fputc('\n', report->out);
}

/* ------------------------------------------------------------------------------------------------------------------ */

void gpu_trace_begin(struct report *report)
{
	const char *titles[SHOWN];

	report_title(report, "gpu_trace", "GPU activities in the order in which they began",
		     "start: since the start of the recording");
	if (report->writer) {
		table_writer_begin_rows(report->writer, columns);
		return;
	}
	for (unsigned i = 0; i < SHOWN; i++)
		titles[i] = columns[i].title;
	fputs(report->color ? "\033[2m" : "", report->out);
	put_line(report, titles);
	fputs(report->color ? "\033[0m" : "", report->out);
}

bool gpu_trace_add(void *context, const struct analyses *all, const struct gpu_event *event)
{
	struct report *report = context;
	struct row row = {.shown = !report->writer || report->writer->format->is_brief};
	const char *texts[SHOWN];

	if (report->writer && report->writer->rows >= report->rows)
		return true;
	fill_row(&row, all, event);
	if (report->writer) {
		table_writer_put_row(report->writer, row.cells);
		return !ferror(report->out);
	}
	for (unsigned i = 0; i < SHOWN; i++)
		texts[i] = row.cells[i].text;
	put_line(report, texts);
	return !ferror(report->out);
}

void gpu_trace_end(struct report *report)
{
	const struct model_receipt *receipt = &model_source(report->model)->receipt;

	if (receipt->gpu_ops_untimed)
		report_line(report, "  %s GPU operations that CUPTI could not time are not in this list",
			    number_count(receipt->gpu_ops_untimed).text);
}
