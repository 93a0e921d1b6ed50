/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The process that calls NVML.  NVML is the driver's library: it may block for seconds, crash, or never answer, so it
 * is in no process of which anything else depends.  This program is part of gputrace (capture/nvml_process.c), which
 * starts it from memory, also where gputrace is linked statically: a static program cannot load libraries.  It has no
 * right of its own but its user's, and one descriptor: a socket, on which it sends struct nvml_message.  It ends with
 * gputrace.  Its arguments are the libraries to try.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "nvml/feed.h"
#include "nvml/nvml_abi.h"

#define FEED 0 /* the socket */
#define SECOND_NS 1000000000ull
#define INTERVAL_NS (SECOND_NS / 10)
#define INTERVAL_MOST_NS SECOND_NS
#define COST_PARTS 1000u /* at most this part of a core since the start: else intervals grow, up to a second */

struct nvml {
#define MEMBER(name, symbol, older, ...) int (*name)(__VA_ARGS__);
	NVML_FUNCTIONS(MEMBER, MEMBER)
#undef MEMBER
};

struct gpu {
	struct nvml_device *device;
	bool is_instance; /* of MIG: its clocks are its GPU's */
	bool lost;
};

struct reader {
	struct nvml nvml;
	struct gpu gpus[NVML_GPUS_MOST];
	uint32_t count;
	void *events; /* NULL: NVML has no event set here */
};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

/* gputrace reads all the time; where it is gone, so is the reason to go on. */
static void send_message(struct nvml_message *message)
{
	if (!message->time_ns)
		message->time_ns = clock_ns(CLOCK_MONOTONIC);
	if (send(FEED, message, sizeof(*message), MSG_NOSIGNAL) < 0)
		_exit(0);
}

static _Noreturn void end_program(enum nvml_message_kind kind, const char *what, const char *why)
{
	struct nvml_message message = {.kind = kind};

	snprintf(message.text, sizeof(message.text), "%s%s%s", what, why ? ": " : "", why ? why : "");
	send_message(&message);
	_exit(0);
}

static _Noreturn void send_none(const char *what, const char *why)
{
	end_program(NVML_NONE, what, why);
}

static const char *init_error(int error)
{
	switch (error) {
	case NVML_ERROR_DRIVER_NOT_LOADED:
		return "NVIDIA's driver is not loaded";
	case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
		return "it is of another version than the loaded driver";
	case NVML_ERROR_NO_PERMISSION:
		return "no right to use the driver";
	default:
		return "it does not start";
	}
}

/* ---- the library ------------------------------------------------------------------------------------------------- */

static void *find_function(void *library, const char *symbol, const char *older)
{
	void *found = dlsym(library, symbol);

	return found || !older ? found : dlsym(library, older);
}

static void load_nvml(struct nvml *nvml, char **paths)
{
	void *library = NULL;

	for (; *paths && !library; paths++)
		library = dlopen(*paths, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		end_program(NVML_NO_LIBRARY, "libnvidia-ml.so.1 not found", NULL);
#define LOAD(name, symbol, older, ...) nvml->name = (int (*)(__VA_ARGS__))find_function(library, symbol, older);
#define LOAD_REQUIRED(name, symbol, older, ...)                                                                        \
	LOAD(name, symbol, older, __VA_ARGS__)                                                                         \
	if (!nvml->name)                                                                                               \
		send_none("libnvidia-ml.so.1 lacks", symbol);
	NVML_FUNCTIONS(LOAD_REQUIRED, LOAD)
#undef LOAD_REQUIRED
#undef LOAD
}

/* ---- GPUs -------------------------------------------------------------------------------------------------------- */

/* False: NVML has no such number.  A lost GPU is reported once. */
static bool check_answer(struct reader *reader, uint32_t gpu, int error)
{
	if (error == NVML_ERROR_GPU_IS_LOST && !reader->gpus[gpu].lost) {
		reader->gpus[gpu].lost = true;
		send_message(&(struct nvml_message){.kind = NVML_LOST, .gpu = gpu});
	}
	return error == NVML_SUCCESS;
}

#define READ(reader, index, name, unknown, to, ...)                                                                    \
	do {                                                                                                           \
		if ((reader)->gpus[index].lost || !(reader)->nvml.name ||                                              \
		    !check_answer(reader, index, (reader)->nvml.name(__VA_ARGS__)))                                    \
			(to) = (unknown);                                                                              \
	} while (0)

static void register_events(struct reader *reader, struct nvml_device *device, uint32_t *missing)
{
	unsigned long long wanted = NVML_EVENT_ECC_SINGLE_BIT | NVML_EVENT_ECC_DOUBLE_BIT | NVML_EVENT_XID, known = 0;
	const struct nvml *nvml = &reader->nvml;

	*missing = 1;
	if (!reader->events || !nvml->event_types || !nvml->event_register || nvml->event_types(device, &known))
		return;
	if ((known & wanted) && nvml->event_register(device, known & wanted, reader->events) == NVML_SUCCESS)
		*missing = (known & NVML_EVENT_XID) == 0;
}

static void add_gpu(struct reader *reader, struct nvml_device *device, uint32_t parent)
{
	struct nvml_message message = {.kind = NVML_GPU, .gpu = reader->count};
	uint32_t index = reader->count;

	if (index == NVML_GPUS_MOST ||
	    reader->nvml.uuid(device, message.of_gpu.uuid, sizeof(message.of_gpu.uuid)) != NVML_SUCCESS)
		return;
	message.of_gpu.uuid[sizeof(message.of_gpu.uuid) - 1] = 0;
	message.of_gpu.parent = parent == UINT32_MAX ? index : parent;
	reader->gpus[reader->count++] = (struct gpu){.device = device, .is_instance = parent != UINT32_MAX};
	READ(reader, index, clock_max, NVML_UNKNOWN, message.of_gpu.sm_max_mhz, device, NVML_CLOCK_SM,
	     &message.of_gpu.sm_max_mhz);
	READ(reader, index, clock_max, NVML_UNKNOWN, message.of_gpu.memory_max_mhz, device, NVML_CLOCK_MEM,
	     &message.of_gpu.memory_max_mhz);
	READ(reader, index, power_limit, NVML_UNKNOWN, message.of_gpu.power_limit_mw, device,
	     &message.of_gpu.power_limit_mw);
	register_events(reader, device, &message.of_gpu.events_missing);
	send_message(&message);
}

/* MIG instances have UUIDs of their own, by which CUPTI names them; clocks and power are the GPU's. */
static void add_instances(struct reader *reader, struct nvml_device *device, uint32_t parent)
{
	unsigned enabled = 0, pending;
	struct nvml_device *instance;

	if (!reader->nvml.mig || !reader->nvml.mig_device || reader->nvml.mig(device, &enabled, &pending) || !enabled)
		return;
	for (unsigned i = 0; i < 16; i++) /* more instances than any GPU has */
		if (reader->nvml.mig_device(device, i, &instance) == NVML_SUCCESS)
			add_gpu(reader, instance, parent);
}

static void add_gpus(struct reader *reader)
{
	struct nvml_device *device;
	unsigned count = 0;

	if (reader->nvml.count(&count) != NVML_SUCCESS)
		send_none("NVML does not say how many GPUs there are", NULL);
	for (unsigned i = 0; i < count && i < NVML_GPUS_MOST; i++) {
		uint32_t parent = reader->count;

		if (reader->nvml.device(i, &device) != NVML_SUCCESS)
			continue;
		add_gpu(reader, device, UINT32_MAX);
		if (reader->count > parent)
			add_instances(reader, device, parent);
	}
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

static uint64_t field_bytes(const struct nvml_field *field, uint64_t unit)
{
	uint64_t value = field->value_type == 1 ? field->number : field->large;

	return field->returned == NVML_SUCCESS && value <= UINT64_MAX / unit ? value * unit : NVML_UNKNOWN_BYTES;
}

static void read_traffic(struct reader *reader, uint32_t gpu, struct nvml_message *message)
{
	struct nvml_field fields[4] = {
		{.field = NVML_FIELD_PCIE_TX_BYTES, .returned = NVML_ERROR_NOT_SUPPORTED},
		{.field = NVML_FIELD_PCIE_RX_BYTES, .returned = NVML_ERROR_NOT_SUPPORTED},
		{.field = NVML_FIELD_NVLINK_TX_KIB, .scope = UINT32_MAX, .returned = NVML_ERROR_NOT_SUPPORTED},
		{.field = NVML_FIELD_NVLINK_RX_KIB, .scope = UINT32_MAX, .returned = NVML_ERROR_NOT_SUPPORTED}};
	int error = NVML_SUCCESS;

	READ(reader, gpu, fields, NVML_ERROR_NOT_SUPPORTED, error, reader->gpus[gpu].device, 4, fields);
	for (int i = 0; error && i < 4; i++)
		fields[i].returned = error;
	message->sample.pcie_tx = field_bytes(&fields[0], 1);
	message->sample.pcie_rx = field_bytes(&fields[1], 1);
	message->sample.nvlink_tx = field_bytes(&fields[2], 1024);
	message->sample.nvlink_rx = field_bytes(&fields[3], 1024);
}

static void send_sample(struct reader *reader, uint32_t gpu)
{
	struct nvml_message message = {.kind = NVML_SAMPLE, .gpu = gpu, .time_ns = clock_ns(CLOCK_MONOTONIC)};
	struct nvml_device *device = reader->gpus[gpu].device;
	unsigned long long reasons = 0;

	READ(reader, gpu, clock, NVML_UNKNOWN, message.sample.sm_mhz, device, NVML_CLOCK_SM, &message.sample.sm_mhz);
	READ(reader, gpu, clock, NVML_UNKNOWN, message.sample.memory_mhz, device, NVML_CLOCK_MEM,
	     &message.sample.memory_mhz);
	READ(reader, gpu, power, NVML_UNKNOWN, message.sample.power_mw, device, &message.sample.power_mw);
	READ(reader, gpu, power_limit, NVML_UNKNOWN, message.sample.power_limit_mw, device,
	     &message.sample.power_limit_mw);
	READ(reader, gpu, temperature, NVML_UNKNOWN, message.sample.temperature_c, device, NVML_TEMPERATURE_GPU,
	     &message.sample.temperature_c);
	READ(reader, gpu, reasons, NVML_UNKNOWN_BYTES, reasons, device, &reasons);
	message.sample.reasons = reasons;
	read_traffic(reader, gpu, &message);
	message.sample.took_ns = clock_ns(CLOCK_MONOTONIC) - message.time_ns;
	if (!reader->gpus[gpu].lost)
		send_message(&message);
}

static void send_processes(struct reader *reader, uint32_t gpu)
{
	struct nvml_process list[NVML_PROCESSES_MOST] = {0};
	unsigned count = NVML_PROCESSES_MOST;

	if (reader->gpus[gpu].lost || !reader->nvml.processes ||
	    !check_answer(reader, gpu, reader->nvml.processes(reader->gpus[gpu].device, &count, list)))
		return;
	for (unsigned i = 0; i < count && count <= NVML_PROCESSES_MOST; i++)
		send_message(&(struct nvml_message){.kind = NVML_PROCESS,
						    .gpu = gpu,
						    .process = {.pid = list[i].pid, .bytes = list[i].used_bytes}});
}

static void send_event(const struct reader *reader, const struct nvml_event *event)
{
	for (uint32_t gpu = 0; gpu < reader->count; gpu++)
		if (reader->gpus[gpu].device == event->device) {
			send_message(&(struct nvml_message){
				.kind = NVML_EVENT, .gpu = gpu, .event = {.type = event->type, .data = event->data}});
			return;
		}
}

/* Waits in NVML for events where it can. */
static void wait_until(struct reader *reader, uint64_t until_ns)
{
	uint64_t now_ns;

	while ((now_ns = clock_ns(CLOCK_MONOTONIC)) < until_ns) {
		uint64_t left_ns = until_ns - now_ns;
		struct timespec rest = {.tv_sec = (time_t)(left_ns / SECOND_NS),
					.tv_nsec = (long)(left_ns % SECOND_NS)};
		struct nvml_event event = {0};
		int error = reader->events && reader->nvml.event_wait && left_ns >= 1000000
				    ? reader->nvml.event_wait(reader->events, &event, (unsigned)(left_ns / 1000000))
				    : NVML_ERROR_NOT_SUPPORTED;

		if (error == NVML_SUCCESS)
			send_event(reader, &event);
		else if (error != NVML_ERROR_TIMEOUT)
			nanosleep(&rest, NULL);
	}
}

static uint64_t next_sample_ns(uint64_t start_ns, uint64_t start_cpu_ns)
{
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t paid_ns = start_ns + (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start_cpu_ns) * COST_PARTS;

	if (paid_ns < now_ns + INTERVAL_NS)
		return now_ns + INTERVAL_NS;
	return paid_ns < now_ns + INTERVAL_MOST_NS ? paid_ns : now_ns + INTERVAL_MOST_NS;
}

static void read_for_ever(struct reader *reader)
{
	uint64_t start_ns = clock_ns(CLOCK_MONOTONIC), start_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t processes_ns = 0;

	for (;;) {
		for (uint32_t gpu = 0; gpu < reader->count; gpu++)
			if (!reader->gpus[gpu].is_instance)
				send_sample(reader, gpu);
		if (clock_ns(CLOCK_MONOTONIC) >= processes_ns) {
			for (uint32_t gpu = 0; gpu < reader->count; gpu++)
				send_processes(reader, gpu);
			processes_ns = clock_ns(CLOCK_MONOTONIC) + SECOND_NS;
		}
		wait_until(reader, next_sample_ns(start_ns, start_cpu_ns));
	}
}

static int run_reader(int argc, char **paths)
{
	static struct reader reader;
	struct nvml_message found = {.kind = NVML_FOUND};
	int error;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 0);
	load_nvml(&reader.nvml, paths + 1);
	error = reader.nvml.init();
	if (error)
		send_none("NVML", init_error(error));
	if (reader.nvml.driver)
		reader.nvml.driver(found.text, sizeof(found.text));
	found.text[sizeof(found.text) - 1] = 0;
	send_message(&found);
	if (reader.nvml.event_set && reader.nvml.event_wait && reader.nvml.event_set(&reader.events))
		reader.events = NULL;
	add_gpus(&reader);
	read_for_ever(&reader);
	return 0;
}

/*
 * A program that is linked today takes __libc_start_main of glibc 2.34.  This one takes the first one, which later
 * glibcs still have, so that it runs wherever the static gputrace does.
 */
#if defined(__x86_64__)
#define OLDEST "GLIBC_2.2.5"
__asm__(".globl _start\n_start:\n\txor %ebp, %ebp\n\tmov %rsp, %rdi\n\tmov %rdx, %rsi\n\tand $-16, %rsp\n\tcall "
	"start_main\n");
#elif defined(__aarch64__)
#define OLDEST "GLIBC_2.17"
__asm__(".globl _start\n_start:\n\tmov x29, #0\n\tmov x30, #0\n\tmov x1, x0\n\tmov x0, sp\n\tbl start_main\n");
#endif
__asm__(".symver dlopen, dlopen@" OLDEST);
__asm__(".symver dlsym, dlsym@" OLDEST);
__asm__(".symver oldest_start_main, __libc_start_main@" OLDEST);

int oldest_start_main(int (*main)(int, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
		      void (*at_exit)(void), void *stack_end);

__attribute__((used)) void start_main(long *stack, void (*at_exit)(void));
void start_main(long *stack, void (*at_exit)(void))
{
	oldest_start_main(run_reader, (int)stack[0], (char **)(stack + 1), NULL, NULL, at_exit, stack);
	__builtin_trap();
}
