/*
 * options.c: the environment variables of the simulated GPU, read once, and its messages on standard
 * error. README.md describes each variable.
 */
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim.h"

static struct sim_options options;
static pthread_once_t options_once = PTHREAD_ONCE_INIT;

static uint64_t read_number(const char *name, uint64_t fallback)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 10) : fallback;
}

static const char *text_or_null(const char *name)
{
	const char *text = getenv(name);

	return text && *text ? text : NULL;
}

static void options_read(void)
{
	uint64_t devices = read_number("SIMGPU_DEVICES", 1);

	options.devices = devices > SIM_MAX_DEVICES ? SIM_MAX_DEVICES : (int)devices;
	options.queue = (uint32_t)read_number("SIMGPU_QUEUE", SIM_QUEUE_MAX);
	if (options.queue < 1 || options.queue > SIM_QUEUE_MAX)
		options.queue = SIM_QUEUE_MAX;
	options.latency_ns = read_number("SIMGPU_LATENCY_US", 3) * 1000;
	options.kernel_ns = read_number("SIMGPU_KERNEL_NS", 0);
	options.drop_every = (uint32_t)read_number("SIMGPU_DROP", 0);
	options.zero_every = (uint32_t)read_number("SIMGPU_ZERO", 0);
	options.delay_ns = read_number("SIMGPU_DELAY_MS", 0) * 1000000;
	options.verbose = read_number("SIMGPU_VERBOSE", 0) != 0;
	options.injection = text_or_null("CUDA_INJECTION64_PATH");
	options.truth = text_or_null("SIMGPU_TRUTH");
	options.cupti = text_or_null("SIMGPU_CUPTI_VERSION");
	options.open_buffers = text_or_null("SIMGPU_OPEN_BUFFERS");
	options.pool_records = read_number("SIMGPU_POOL", 0);
	options.dropped_fails = read_number("SIMGPU_DROPPED_FAILS", 0) != 0;
	options.clock_falls = read_number("SIMGPU_CLOCK_FALLS", 0) != 0;
	options.unsubscribe_ends = read_number("SIMGPU_UNSUBSCRIBE_ENDS", 0) != 0;
	options.enable_gate = text_or_null("SIMGPU_ENABLE_GATE");
	options.callback_gate = text_or_null("SIMGPU_CALLBACK_GATE");
	options.callback_ns = read_number("SIMGPU_CALLBACK_US", 0) * 1000;
	options.clocks = text_or_null("SIMGPU_CLOCKS");
	options.correlation = (uint32_t)read_number("SIMGPU_CORRELATION", 0);
	options.thread_buffers = (int)read_number("SIMGPU_THREAD_BUFFERS", (uint64_t)-1);
}

const struct sim_options *sim_options(void)
{
	pthread_once(&options_once, options_read);
	return &options;
}

void sim_say(const char *format, ...)
{
	va_list arguments;

	if (!sim_options()->verbose)
		return;
	va_start(arguments, format);
	fprintf(stderr, "simgpu[%d]: ", (int)getpid());
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
}
