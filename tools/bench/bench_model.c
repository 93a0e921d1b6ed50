/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cost of a model: a log of N launches (default 1,000,000), each with a return, a kernel and one of 1,000
 * different stacks of 16 frames, from two threads and in two streams; prints CPU seconds per million calls.
 * With a file name as second argument the log is kept there, for benches of readers of models.  Then the cost of
 * report --tree for a log with a third as many launches, each with its kernel in three ops of PyTorch, half of them in
 *a backward pass: CPU seconds per million ops.
 *
 *	bench_model [CALLS [FILE.gpt]]
 */
#include <fcntl.h>
#include <sys/resource.h>

#include "log_builder.h"
#include "log_model.h"
#include "input/gpt/gpt_trace.h"
#include "report/tree/tree.h"

#define PID 1000
#define STACKS 1000
#define FRAMES 16
#define FUNCTIONS 200
#define KERNELS 50
#define CALL_NS 5000ull	  /* from one launch to the next */
#define DELAY_NS 20000ull /* from a launch to its kernel */
#define OPS_OF_LAUNCH 3	  /* ops per launch, in the log with ops */
#define IN_FLIGHT 128	  /* launches between two batches of the agent */
#define WALL_NS 1700000000000000000ll

static void add_python(struct log_builder *log)
{
	for (uint64_t i = 0; i < FUNCTIONS; i++) {
		char name[64], file[64];

		snprintf(name, sizeof(name), "Model.layer_%u.forward", (unsigned)i);
		snprintf(file, sizeof(file), "/home/user/project/module_%u.py", (unsigned)i / 10);
		log_function(log, PID, 0x7f0000000000 + i * 512, name, file, 10 + (uint32_t)i);
	}
	for (uint64_t id = 1; id <= STACKS; id++) {
		struct gpt_pyframe frames[FRAMES];

		for (uint64_t i = 0; i < FRAMES; i++)
			frames[i] = (struct gpt_pyframe){.code = 0x7f0000000000 + (id * 7 + i * 11) % FUNCTIONS * 512,
							 .lasti = (int32_t)(id + i * 3) % 100};
		log_stack(log, PID, id, FRAMES, frames);
	}
}

static void add_names(struct log_builder *log)
{
	log_batch(log, PID, PID + 5, 1);
	log_agent_hello(log, GPT_AGENT_READY, GPT_AGENT_OK, 130001, "/usr/lib/libcupti.so.13", "");
	for (uint32_t i = 1; i <= KERNELS; i++) {
		char name[128];

		snprintf(name, sizeof(name),
			 "_ZN2at6native29vectorized_elementwise_kernelILi%uENS0_11FillFunctorIfEEEEviT0_", (unsigned)i);
		log_agent_name(log, i, name);
	}
}

enum { OP_LINEAR = 1, OP_T, OP_ADDMM, OP_EVALUATE, OP_NODE, OP_MM };

static void add_op_names(struct log_builder *log)
{
	log_agent_op_name(log, OP_LINEAR, "aten::linear");
	log_agent_op_name(log, OP_T, "aten::t");
	log_agent_op_name(log, OP_ADDMM, "aten::addmm");
	log_agent_op_name(log, OP_EVALUATE, "autograd::engine::evaluate_function: AddmmBackward0");
	log_agent_op_name(log, OP_NODE, "AddmmBackward0");
	log_agent_op_name(log, OP_MM, "aten::mm");
	log_agent_ops(log, GPT_AGENT_OPS_OBSERVING, 0, "");
}

/* from_ns, to_ns: relative to the call.  Inner ops must be added before the outer ones, as they end first. */
static void add_op(struct log_builder *log, uint32_t corr, uint32_t name, int64_t from_ns, int64_t to_ns,
		   struct gpt_agent_op op)
{
	op.start_ns = corr * CALL_NS + (uint64_t)from_ns;
	op.end_ns = corr * CALL_NS + (uint64_t)to_ns;
	op.tid = PID + corr % 2;
	op.thread = 1 + corr % 2;
	op.name = name;
	log_agent_op(log, &op);
}

/* One thread has only forward ops, the other one only backward ops. */
static void add_ops(struct log_builder *log, uint32_t corr)
{
	const struct gpt_agent_op plain = {.sequence = -1}, numbered = {.sequence = corr / 2};
	const struct gpt_agent_op node = {
		.sequence = corr / 2, .forward_thread = 1, .scope = GPT_AGENT_OP_BACKWARD_FUNCTION};

	if (corr % 2) {
		add_op(log, corr, OP_MM, -1400, 2100, plain);
		add_op(log, corr, OP_NODE, -1500, 2200, node);
		add_op(log, corr, OP_EVALUATE, -2000, 2400, plain);
	} else {
		add_op(log, corr, OP_T, -1900, -1700, plain);
		add_op(log, corr, OP_ADDMM, -1500, 2200, numbered);
		add_op(log, corr, OP_LINEAR, -2000, 2400, plain);
	}
}

/* The returns and kernels of calls first..last, kernels of the two streams out of order. */
static void add_batch(struct log_builder *log, uint32_t first, uint32_t last, bool ops)
{
	log_batch(log, PID, PID + 5, last * CALL_NS + 2 * DELAY_NS);
	for (uint32_t corr = first; corr <= last; corr++)
		log_agent_api(log, (struct gpt_agent_api){.start_ns = corr * CALL_NS,
							  .end_ns = corr * CALL_NS + 2000,
							  .corr = corr,
							  .api = GPT_API(GPT_DOMAIN_RUNTIME, 211),
							  .tid = PID + corr % 2});
	for (uint32_t i = first; i <= last; i++) {
		uint32_t swapped = first + ((i - first) ^ 1), corr = swapped <= last ? swapped : i;
		uint64_t start_ns = WALL_NS + corr * CALL_NS + DELAY_NS;

		log_agent_kernel(log, (struct gpt_agent_kernel){.start_wall_ns = start_ns,
								.end_wall_ns = start_ns + 4000,
								.corr = corr,
								.context = 1,
								.stream = 7 + corr % 2,
								.name = 1 + corr % KERNELS,
								.grid = {256, 1, 1},
								.block = {128, 1, 1}});
	}
	for (uint32_t corr = first; ops && corr <= last; corr++)
		add_ops(log, corr);
	log_agent_clock(log,
			(struct gpt_agent_clock){.mono_ns = last * CALL_NS, .wall_offset_ns = WALL_NS, .error_ns = 50});
}

static void make_log(struct log_builder *log, uint32_t calls, bool ops)
{
	log_begin(log, 1, WALL_NS);
	log_process(log, PID, 1, 1, 1, 0x030c, "python3", "/usr/bin/python3", "python3 train.py", "");
	add_python(log);
	add_names(log);
	if (ops)
		add_op_names(log);
	for (uint32_t corr = 1; corr <= calls; corr++) {
		log_launch(log, PID, PID + corr % 2, corr * CALL_NS, 1 + corr * 31ull % STACKS, corr);
		if (corr % IN_FLIGHT == 0 || corr == calls)
			add_batch(log, corr - (corr - 1) % IN_FLIGHT, corr, ops);
	}
	log_end(log, calls * CALL_NS + 1000000);
}

static double cpu_seconds(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
	       (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static int keep_log(const struct log_builder *log, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	size_t done = 0;

	while (fd >= 0 && done < log->size) {
		ssize_t wrote = write(fd, log->data + done, log->size - done);

		if (wrote <= 0)
			break;
		done += (size_t)wrote;
	}
	if (fd < 0 || close(fd) || done < log->size) {
		perror(path);
		return -1;
	}
	return 0;
}

static int measure_tree(uint32_t calls)
{
	const struct report_options options = {.width = 100};
	const struct tree_options tree = {.min_percent = 1};
	FILE *out = fopen("/dev/null", "w");
	uint32_t ops = calls * OPS_OF_LAUNCH;
	struct log_builder log;
	struct trace *trace;
	const char *why;
	double began, took;
	int fd, err;

	make_log(&log, calls, true);
	fd = log_fd(&log);
	log_free(&log);
	began = cpu_seconds();
	err = out ? gpt_trace_open(fd, NULL, NULL, &trace, &why) : -1;
	if (!err) {
		err = report_write_tree(out, trace, &options, &tree);
		gpt_trace_close(trace);
	}
	took = cpu_seconds() - began;
	if (out)
		fclose(out);
	close(fd);
	if (err)
		fprintf(stderr, "bench_model: no tree of a log with ops (%d)\n", err);
	else
		printf("tree: %.3f s CPU per million ops (%u ops, %.2f million ops per second of CPU)\n",
		       took * 1e6 / ops, ops, ops / took / 1e6);
	return err;
}

int main(int argc, char **argv)
{
	uint32_t calls = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
	struct log_builder log;
	struct model *model;
	const char *why;
	double best = 0;
	size_t bytes;
	int fd, err = 0;

	if (!calls) {
		fprintf(stderr, "usage: bench_model [CALLS [FILE.gpt]]\n");
		return 2;
	}
	make_log(&log, calls, false);
	if (argc > 2 && keep_log(&log, argv[2]))
		return 1;
	fd = log_fd(&log);
	bytes = log.size;
	log_free(&log);
	for (int round = 0; round < 3 && !err; round++) {
		double before = cpu_seconds(), took;

		err = model_build(fd, &model, &why);
		took = cpu_seconds() - before;
		if (err)
			break;
		if (!round || took < best)
			best = took;
		if (model->call_count != calls || model_source(model)->receipt.launches_joined != calls)
			err = -1;
		model_free(model);
	}
	close(fd);
	if (err) {
		fprintf(stderr, "bench_model: the model is not what the log says (%d)\n", err);
		return 1;
	}
	printf("model: %.3f s CPU per million calls (%u calls, %.1f MB of log, best of 3)\n", best * 1e6 / calls, calls,
	       (double)bytes / 1e6);
	return measure_tree(calls / OPS_OF_LAUNCH + 1) != 0;
}
