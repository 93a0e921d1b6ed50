/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A small training run as a log, with known sums, for the tests of report/ and export/ and for the files that real
 * consumers are tried on.  Every step of a process, on its main thread:
 *   train.py:23 train_step > model.py:42 Block.forward   cudaLaunchKernel      gemm, 100 us
 *   train.py:24 train_step                               cudaMemcpyAsync       1 MB pageable to device, 50 us
 *   train.py:25 train_step                               cudaMemsetAsync       64 KB, 5 us
 *   train.py:26 train_step                               cudaGraphLaunch       three kernels of 30 us, two overlap
 *   train.py:27 train_step                               cudaStreamSynchronize
 *   1 MB of GPU memory by each of the first two lines; the first one's is freed in the wait
 *   and the collector, generation 1, 40 us after the wait
 * and before the first step `import model`, 500 us, which imports `layers`, 300 us;
 * and on a thread without Python (pt_autograd_0): cuLaunchKernel, gemm, 60 us.
 * With the CPU: the main thread was sampled in Block.forward and in the kernel, and off the CPU in between.
 */
#pragma once

#include <stdbool.h>

#include "log_builder.h"

#define SAMPLE_START 1000000000ull
#define SAMPLE_WALL 1700000000000000000ll
#define SAMPLE_STEP 1000000ull /* ns */
#define SAMPLE_GPU_NS_PER_STEP 305000ull
#define SAMPLE_KERNEL "_Z4gemmILi128EEvPKfPf" /* void gemm<128>(float const*, float*) */

struct sample {
	struct log_builder log;
	uint32_t pid;
	uint32_t corr;
	const char *name; /* the name of a function, its file and a kernel; NULL: their own */
	bool cpu;	  /* with samples and waits of the main thread, and clocks of the GPU */
};

LOG_FN void sample_call(struct sample *sample, uint32_t tid, uint64_t time_ns, uint64_t stack, uint16_t api)
{
	log_call(&sample->log, (struct gpt_call){.time_ns = time_ns,
						 .pid = sample->pid,
						 .tid = tid,
						 .stack_id = stack,
						 .corr = ++sample->corr,
						 .api = api,
						 .origin = GPT_ORIGIN_AGENT,
						 .stack_state = stack ? GPT_STACK_OK : GPT_STACK_NO_THREAD});
}

LOG_FN void sample_return(struct sample *sample, uint32_t tid, uint32_t corr, uint16_t api, uint64_t start_ns,
			  uint64_t end_ns)
{
	log_agent_api(
		&sample->log,
		(struct gpt_agent_api){.start_ns = start_ns, .end_ns = end_ns, .corr = corr, .api = api, .tid = tid});
}

LOG_FN void sample_kernel(struct sample *sample, uint32_t corr, uint32_t name, uint64_t start_ns, uint64_t ns,
			  uint32_t graph_node)
{
	log_agent_kernel(&sample->log, (struct gpt_agent_kernel){.start_wall_ns = start_ns + SAMPLE_WALL,
								 .end_wall_ns = start_ns + ns + SAMPLE_WALL,
								 .corr = corr,
								 .context = 1,
								 .stream = 7,
								 .name = name,
								 .graph = graph_node ? 5 : 0,
								 .graph_node = graph_node,
								 .grid = {264, 1, 1},
								 .block = {256, 1, 1},
								 .registers = 64,
								 .static_shared_bytes = 16384});
}

/* A collection (name NULL) or an import on the main thread; a nested one has a lower frame. */
LOG_FN void sample_inside(struct sample *sample, uint64_t time_ns, uint64_t frame, const char *name, bool ends)
{
	struct gpt_pyevent event = {.time_ns = time_ns,
				    .pid = sample->pid,
				    .tid = sample->pid,
				    .frame = frame,
				    .value = name || ends ? -1 : 1,
				    .kind = name ? GPT_PYEVENT_IMPORT : GPT_PYEVENT_GC,
				    .ends = ends,
				    .name_bytes = name && !ends ? (uint32_t)strlen(name) : 0};

	log_put(&sample->log, GPT_PYEVENT, &event, sizeof(event), name, event.name_bytes);
}

/* 1 MB of GPU memory is allocated or released. */
LOG_FN void sample_memory(struct sample *sample, uint32_t corr, uint32_t operation, uint64_t address, uint64_t time_ns)
{
	log_agent_memory(&sample->log, (struct gpt_agent_memory){.time_wall_ns = time_ns + SAMPLE_WALL,
								 .address = address,
								 .bytes = 1000000,
								 .corr = corr,
								 .operation = operation,
								 .kind = 3});
}

/* A sample for the first 20 us, a wait of 600 us, and 10 us later a sample that stands for 20 us. */
LOG_FN void sample_cpu(struct sample *sample, uint64_t at)
{
	struct gpt_sample ran = {.pid = sample->pid, .tid = sample->pid, .period_ns = 20000};

	ran.time_ns = at + 20000;
	ran.stack_id = 1;
	ran.stack_state = GPT_STACK_OK;
	ran.place = GPT_SAMPLE_USER;
	log_sample(&sample->log, ran);
	log_wait(&sample->log, (struct gpt_wait){.time_ns = at + 40000,
						 .woken_ns = at + 630000,
						 .end_ns = at + 640000,
						 .stack_id = 5,
						 .pid = sample->pid,
						 .tid = sample->pid,
						 .syscall = -1,
						 .reason = GPT_WAIT_SLEEP,
						 .stack_state = GPT_STACK_OK,
						 .waker = GPT_WAKER_INTERRUPT});
	ran.time_ns = at + 650000;
	ran.stack_id = 0;
	ran.stack_state = GPT_STACK_NO_THREAD;
	ran.place = GPT_SAMPLE_KERNEL;
	log_sample(&sample->log, ran);
}

/* Every second step at a low clock. */
LOG_FN void sample_clocks(struct sample *sample, uint32_t steps)
{
	for (uint32_t i = 0; i < steps; i++)
		log_gpu_sample(&sample->log,
			       (struct gpt_gpu_sample){.time_ns = SAMPLE_START + 1000000 + i * SAMPLE_STEP + 1234,
						       .uuid = {1, 2, 3},
						       .sm_mhz = i % 2 ? 1200 : 1980,
						       .sm_max_mhz = 1980,
						       .memory_mhz = 2619,
						       .memory_max_mhz = 2619,
						       .power_mw = 350125 + i,
						       .power_limit_mw = 700000,
						       .temperature_c = UINT32_MAX,
						       .reasons = i % 2 ? GPT_CLOCK_POWER_CAP : 0,
						       .pcie_tx = UINT64_MAX,
						       .pcie_rx = UINT64_MAX,
						       .nvlink_tx = UINT64_MAX,
						       .nvlink_rx = UINT64_MAX});
}

/* One step that begins at `at`. */
LOG_FN void sample_step(struct sample *sample, uint64_t at)
{
	static const uint16_t apis[] = {
		GPT_API(GPT_DOMAIN_RUNTIME, 211), GPT_API(GPT_DOMAIN_RUNTIME, 41),  GPT_API(GPT_DOMAIN_RUNTIME, 51),
		GPT_API(GPT_DOMAIN_RUNTIME, 311), GPT_API(GPT_DOMAIN_RUNTIME, 131), GPT_API(GPT_DOMAIN_DRIVER, 307),
	};
	uint32_t tid = sample->pid, first = sample->corr + 1;
	uint64_t wait_ns = 600000;

	for (uint32_t i = 0; i < 5; i++)
		sample_call(sample, tid, at + 10000 * i, i + 1, apis[i]);
	sample_call(sample, tid + 58, at + 45000, 0, apis[5]);
	sample_inside(sample, at + 650000, 0x7000, NULL, false);
	sample_inside(sample, at + 690000, 0x7000, NULL, true);
	if (sample->cpu)
		sample_cpu(sample, at);
	log_batch(&sample->log, sample->pid, tid + 99, at + 900000);
	for (uint32_t i = 0; i < 6; i++)
		sample_return(sample, i < 5 ? tid : tid + 58, first + i, apis[i], at + (i < 5 ? 10000 * i : 45000),
			      at + (i == 4  ? 40000 + wait_ns
				    : i < 5 ? 10000 * i + 4000
					    : 50000));
	sample_kernel(sample, first, 1, at + 20000, 100000, 0);
	log_agent_memcpy(&sample->log, (struct gpt_agent_memcpy){.start_wall_ns = at + 120000 + SAMPLE_WALL,
								 .end_wall_ns = at + 170000 + SAMPLE_WALL,
								 .corr = first + 1,
								 .context = 1,
								 .stream = 7,
								 .bytes = 1000000,
								 .kind = 1,
								 .from = 1,
								 .to = 3,
								 .is_async = 1});
	log_agent_memset(&sample->log, (struct gpt_agent_memset){.start_wall_ns = at + 180000 + SAMPLE_WALL,
								 .end_wall_ns = at + 185000 + SAMPLE_WALL,
								 .corr = first + 2,
								 .context = 1,
								 .stream = 7,
								 .bytes = 65536,
								 .memory = 3});
	sample_kernel(sample, first + 3, 2, at + 200000, 30000, 1);
	sample_kernel(sample, first + 3, 2, at + 215000, 30000, 2); /* overlaps the one before */
	sample_kernel(sample, first + 3, 1, at + 250000, 30000, 3);
	sample_kernel(sample, first + 5, 1, at + 300000, 60000, 0);
	log_agent_sync(&sample->log, (struct gpt_agent_sync){.start_wall_ns = at + 41000 + SAMPLE_WALL,
							     .end_wall_ns = at + 639000 + SAMPLE_WALL,
							     .corr = first + 4,
							     .kind = GPT_AGENT_SYNC_STREAM,
							     .context = 1,
							     .stream = 7,
							     .event = UINT32_MAX});
	sample_memory(sample, first, GPT_AGENT_MEMORY_ALLOCATED, 0x700000 + first, at + 1000);
	sample_memory(sample, first + 1, GPT_AGENT_MEMORY_ALLOCATED, 0x800000 + first, at + 11000);
	sample_memory(sample, first + 4, GPT_AGENT_MEMORY_RELEASED, 0x700000 + first, at + 500000);
	log_agent_overhead(&sample->log, (struct gpt_agent_overhead){.start_wall_ns = at + 700000 + SAMPLE_WALL,
								     .end_wall_ns = at + 705000 + SAMPLE_WALL,
								     .kind = 7u << 16,
								     .tid = tid});
	log_agent_clock(&sample->log,
			(struct gpt_agent_clock){.mono_ns = at, .wall_offset_ns = SAMPLE_WALL, .error_ns = 50});
}

LOG_FN void sample_stacks(struct sample *sample)
{
	const uint64_t train = 0x1000, forward = 0x2000, main_code = 0x3000;
	uint32_t pid = sample->pid;

	log_function(&sample->log, pid, main_code, "main", "/home/user/train.py", 90);
	log_function(&sample->log, pid, train, "train_step", "/home/user/train.py", 20);
	log_function(&sample->log, pid, forward, sample->name ? sample->name : "Block.forward",
		     sample->name ? sample->name : "/home/user/model.py", 40);
	log_stack(&sample->log, pid, 1, 3,
		  (struct gpt_pyframe[]){{.code = forward, .lasti = 4},
					 {.code = train, .lasti = 6},
					 {.code = main_code, .lasti = 14}});
	for (uint32_t i = 2; i <= 5; i++)
		log_stack(&sample->log, pid, i, 2,
			  (struct gpt_pyframe[]){{.code = train, .lasti = 2 * (int)(i + 2)},
						 {.code = main_code, .lasti = 14}});
}

LOG_FN void sample_process(struct sample *sample, uint32_t pid, uint32_t steps, uint64_t offset)
{
	sample->pid = pid;
	sample->corr = 0; /* CUPTI numbers every process from 1 */
	log_process(&sample->log, pid, 1, SAMPLE_START, SAMPLE_START - 5, 3 << 8 | 12, "python3", "/usr/bin/python3",
		    "/usr/bin/python3 train.py", "/usr/lib/libpython3.12.so.1.0");
	log_thread(&sample->log, pid, pid, SAMPLE_START, "python3");
	log_thread(&sample->log, pid, pid + 58, SAMPLE_START, "pt_autograd_0");
	log_batch(&sample->log, pid, pid + 99, SAMPLE_START);
	log_agent_hello(&sample->log, GPT_AGENT_READY, GPT_AGENT_OK, 130001, "/usr/lib/libcupti.so.13", "");
	log_agent_clock(&sample->log, (struct gpt_agent_clock){
					      .mono_ns = SAMPLE_START, .wall_offset_ns = SAMPLE_WALL, .error_ns = 50});
	log_agent_device(&sample->log,
			 &(struct gpt_agent_device){.memory_bytes = 80000000000,
						    .multiprocessors = 132,
						    .compute_major = 9,
						    .warp_size = 32,
						    .max_threads_per_multiprocessor = 2048,
						    .max_threads_per_block = 1024,
						    .max_blocks_per_multiprocessor = 32,
						    .max_registers_per_multiprocessor = 65536,
						    .max_registers_per_block = 65536,
						    .max_shared_per_multiprocessor = 233472,
						    .max_shared_per_block = 49152,
						    .uuid = {1, 2, 3}},
			 "Example GPU");
	log_agent_name(&sample->log, 1, sample->name ? sample->name : SAMPLE_KERNEL);
	log_agent_name(&sample->log, 2, "triton_poi_fused_relu_0");
	sample_stacks(sample);
	sample_inside(sample, SAMPLE_START + offset + 100000, 0x9000, "model", false);
	sample_inside(sample, SAMPLE_START + offset + 200000, 0x8000, "layers", false);
	sample_inside(sample, SAMPLE_START + offset + 500000, 0x8000, "layers", true);
	sample_inside(sample, SAMPLE_START + offset + 600000, 0x9000, "model", true);
	for (uint32_t i = 0; i < steps; i++)
		sample_step(sample, SAMPLE_START + offset + 1000000 + i * SAMPLE_STEP);
}

/* The whole log, with one process or more; the times of later processes are a little after those of the first. */
LOG_FN int sample_log_of(struct sample sample, uint32_t processes, uint32_t steps)
{
	int fd;

	log_begin(&sample.log, SAMPLE_START, SAMPLE_WALL);
	log_session(&sample.log, "0.1.0", "host", "6.18.0", "-p 41230", 2, 0, 0);
	for (uint32_t i = 0; i < processes; i++)
		sample_process(&sample, 41230 + 100 * i, steps, 5000 * i);
	if (sample.cpu)
		sample_clocks(&sample, steps);
	log_text(&sample.log, GPT_PROBES, 0, "libcudart.so.13: 43 sites");
	log_end(&sample.log, SAMPLE_START + 2000000 + steps * SAMPLE_STEP);
	fd = log_fd(&sample.log);
	log_free(&sample.log);
	return fd;
}

LOG_FN int sample_log(uint32_t processes, uint32_t steps)
{
	return sample_log_of((struct sample){0}, processes, steps);
}
