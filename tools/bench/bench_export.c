/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The speed of exports: a model of a million launches with a million kernels, and 16-frame Python stacks that change as
 * in a training loop, is written to /dev/null.  Each kernel has more texts than most do: its place in the source, where
 * it was captured and the line of a forward op.  Prints events (JSON objects in traceEvents, slices of .pftrace, rows
 *of .sqlite and .arrow, else launches) per second of CPU, and fails when Chrome JSON is below a million.
 *
 *	bench_export [LAUNCHES [FORMAT]]
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "export/arrow/arrow.h"
#include "export/chrome/chrome.h"
#include "export/export.h"
#include "export/perfetto/perfetto.h"
#include "export/sqlite/sqlite.h"
#include "report/report.h"
#include "whole_trace.h"

#define LAUNCHES 1000000u
#define STACKS 64u
#define DEPTH 16u
#define LEAST_PER_SECOND 1e6 /* events per second of CPU: the project's requirement */

/* A launch has its API row, its kernel's row and the two ends of the arrow between them. */
#define EVENTS_PER_LAUNCH 4u
#define ROWS_PER_LAUNCH 2u /* the call and the kernel; slices, too */

static void make_stacks(struct model *model)
{
	model->code_count = model->frame_count = STACKS + DEPTH;
	model->codes = xcalloc(model->code_count, sizeof(*model->codes));
	model->frames = xcalloc(model->frame_count, sizeof(*model->frames));
	for (uint32_t i = 0; i < model->code_count; i++) {
		model->codes[i] = (struct model_code){
			.name = xasprintf("TransformerEncoderLayer.forward_%u", i),
			.file = xasprintf("/usr/lib/python3/site-packages/torch/nn/modules/transformer_%u.py", i),
			.first_line = 100 + i,
			.described = true,
		};
		model->frames[i] = (struct model_frame){.code = i, .line = 110 + i};
	}
	model->stack_count = STACKS;
	model->stack_frame_count = STACKS * DEPTH;
	model->stacks = xcalloc(STACKS, sizeof(*model->stacks));
	model->stack_frames = xcalloc(model->stack_frame_count, sizeof(*model->stack_frames));
	for (uint32_t i = 0; i < STACKS; i++) {
		model->stacks[i] = (struct model_stack){.first = i * DEPTH, .depth = DEPTH};
		model->stack_frames[i * DEPTH] = DEPTH + i;
		for (uint32_t k = 1; k < DEPTH; k++)
			model->stack_frames[i * DEPTH + k] = DEPTH - k;
	}
}

static void make_launches(struct model *model, uint32_t count)
{
	model->call_count = model->gpu_count = count;
	model->calls = xcalloc(count, sizeof(*model->calls));
	model->gpu = xcalloc(count, sizeof(*model->gpu));
	for (uint32_t i = 0; i < count; i++) {
		uint64_t start = model->start_ns + 10000ull * i;

		/* Four consecutive launches have the same stack. */
		model->calls[i] = (struct model_call){
			.start_ns = start,
			.end_ns = start + 5000,
			.number = i,
			.stack = i / 4 % STACKS,
			.native = NONE,
			.args = NONE,
			.forward = 0,
			.corr = i + 1,
			.first_gpu = i,
			.gpu_count = 1,
			.api = GPT_API(GPT_DOMAIN_RUNTIME, 211),
			.class = GPT_CLASS_LAUNCH,
		};
		model->gpu[i] = (struct model_gpu){
			.start_ns = start + 20000,
			.end_ns = start + 28000,
			.call = i,
			.next = NONE,
			.captured_by = 0,
			.place = 0,
			.context = 1,
			.stream = 7,
			.corr = i + 1,
			.name = i % model->string_count,
			.grid = {264, 1, 1},
			.block = {256, 1, 1},
			.registers = 64,
			.static_shared_bytes = 16384,
			.kind = MODEL_KERNEL,
		};
	}
}

static void make_model(struct model *model, uint32_t count)
{
	static const char *kernels[] = {
		"void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int, float*)",
		"ampere_sgemm_128x64_nn",
		"void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128_16x5_nt_align4>(Params)",
	};
	static struct model_process process = {.pid = 41230,
					       .name = "python3",
					       .exe = "",
					       .cmdline = "python3 train.py",
					       .python_path = "",
					       .agent_detail = "",
					       .cupti_path = ""};
	static struct model_thread thread = {.tid = 41230, .name = "python3"};
	static struct model_source source = {.version = "", .host = "", .kernel = "", .target = ""};
	static struct model_device device = {
		.name = "Example GPU",
		.multiprocessors = 132,
		.compute_major = 9,
		.warp_size = 32,
		.max_threads_per_multiprocessor = 2048,
		.max_blocks_per_multiprocessor = 32,
		.max_registers_per_multiprocessor = 65536,
		.max_shared_per_multiprocessor = 233472,
	};

	*model = (struct model){.sources = &source, .source_count = 1, .start_ns = 1000000000};
	model->strings = kernels;
	model->string_count = sizeof(kernels) / sizeof(kernels[0]);
	process.calls = process.gpu_ops = thread.calls = count;
	model->processes = &process;
	model->threads = &thread;
	model->devices = &device;
	model->process_count = model->thread_count = model->device_count = 1;
	make_stacks(model);
	make_launches(model, count);
	model->end_ns = model->start_ns + 10000ull * count + 100000;
}

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Events per second of CPU; negative: failed. */
static double measure_format(const struct export_format *format, const struct model *model, int fd, uint64_t events)
{
	const struct export_options options = {.process = -1};
	double begin = cpu_seconds(), spent;
	int error = export_write(fd, format, WHOLE_TRACE(model), &options);

	spent = cpu_seconds() - begin;
	if (error) {
		fprintf(stderr, "bench_export: %s: %s\n", format->name, strerror(-error));
		return -1;
	}
	printf("export %-10s %9" PRIu64 " events  %6.2f s CPU  %12.0f events per second of CPU\n", format->name, events,
	       spent, (double)events / spent);
	return (double)events / spent;
}

/* Arrows count only in Chrome JSON, where each has two objects; formats with sums by stack count launches. */
static uint64_t events_per_launch(const struct export_format *format)
{
	if (format->write == chrome_write)
		return EVENTS_PER_LAUNCH;
	return format->write == perfetto_write || format->write == sqlite_write || format->write == arrow_write
		       ? ROWS_PER_LAUNCH
		       : 1;
}

static int measure_report(const struct model *model, uint32_t launches)
{
	const struct report_options options = {.width = 100};
	FILE *out = fopen("/dev/null", "w");
	double begin = cpu_seconds(), spent;
	int error = out ? report_write(out, WHOLE_TRACE(model), &options) : -1;

	spent = cpu_seconds() - begin;
	if (out)
		fclose(out);
	printf("report            %9" PRIu32 " launches %5.2f s CPU\n", launches, spent);
	return error;
}

int main(int argc, char **argv)
{
	uint32_t launches = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : LAUNCHES;
	const char *only = argc > 2 ? argv[2] : NULL;
	struct model model;
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC), failed = 0;

	if (fd < 0 || !launches)
		return 2;
	make_model(&model, launches);
	for (const struct export_format *format = export_formats; format->name; format++) {
		bool is_chrome = format->write == chrome_write;
		double rate;
		int own;

		if (only && strcmp(format->name, only))
			continue;
		own = format->needs_path ? memfd_create(format->name, MFD_CLOEXEC) : -1;
		rate = measure_format(format, &model, own >= 0 ? own : fd, launches * events_per_launch(format));
		if (own >= 0)
			close(own);
		failed |= rate < 0 || (is_chrome && !format->gzip && rate < LEAST_PER_SECOND);
	}
	if (!only)
		failed |= measure_report(&model, launches) != 0;
	return failed;
}
