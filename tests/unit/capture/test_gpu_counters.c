/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counters of GPUs: what the process may do, and which of its messages become records.  A program of this file is
 * NVML's process where messages are hostile; where it is the real one, it reads the simulated NVML (tests/simgpu/nvml).
 */
#include <errno.h>
#include <linux/capability.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/monotonic.h"
#include "capture/gpu_counters.h"
#include "capture/nvml_process.h"
#include "nvml/nvml_abi.h"

#define UUID "GPU-73696d75-6c61-7465-642d-6770752d3030" /* "simulated-gpu-00" */
#define SECOND_NS 1000000000ull

static struct records {
	struct gpt_gpu_sample samples[512];
	struct gpt_gpu_process processes[512];
	struct gpt_gpu_error errors[2048];
	unsigned sample_count, process_count, error_count, states;
	enum gpt_nvml_state state;
	char text[256];
} got;

static void keep(void *context, const struct gpt_record *record)
{
	(void)context;
	switch (record->type) {
	case GPT_GPU_SAMPLE:
		assert_true(got.sample_count < 512);
		memcpy(&got.samples[got.sample_count++], record, record->size);
		break;
	case GPT_GPU_PROCESS:
		assert_true(got.process_count < 512);
		memcpy(&got.processes[got.process_count++], record, record->size);
		break;
	case GPT_GPU_ERROR:
		assert_true(got.error_count < 2048);
		memcpy(&got.errors[got.error_count++], record, record->size);
		break;
	default:
		assert_int_equal(record->type, GPT_NVML);
		got.states++;
		got.state = ((const struct gpt_nvml *)record)->state;
		snprintf(got.text, sizeof(got.text), "%s", ((const struct gpt_nvml *)record)->text);
	}
}

/* ---- messages of anybody ----------------------------------------------------------------------------------------- */

/* In the place of nvml_process.c: the test is the sender. */
static int sender = -1;
static int start_error; /* 0: it starts */

int __wrap_nvml_process_start(const char *const *libraries, const char *library_path, struct nvml_process_of *process);
int __real_nvml_process_start(const char *const *libraries, const char *library_path, struct nvml_process_of *process);
int __wrap_nvml_process_start(const char *const *libraries, const char *library_path, struct nvml_process_of *process)
{
	int ends[2];

	*process = (struct nvml_process_of){.socket = -1};
	if (start_error)
		return start_error;
	if (libraries)
		return __real_nvml_process_start(libraries, library_path, process);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	sender = ends[1];
	*process = (struct nvml_process_of){.pid = fork(), .socket = ends[0]};
	if (!process->pid) {
		pause();
		_exit(0);
	}
	return 0;
}

static bool driver_loaded;

bool __wrap_nvml_driver_loaded(void);
bool __wrap_nvml_driver_loaded(void)
{
	return driver_loaded;
}

static struct gpu_counters *begin(void)
{
	memset(&got, 0, sizeof(got));
	return gpu_counters_start(NULL, NULL, keep, NULL);
}

static void end(struct gpu_counters *counters)
{
	gpu_counters_stop(counters);
	close(sender);
}

/* Sends it, with the time now if it has none, and has it received. */
static void say(struct gpu_counters *counters, struct nvml_message message)
{
	if (!message.time_ns)
		message.time_ns = monotonic_ns();
	assert_int_equal(send(sender, &message, sizeof(message), 0), sizeof(message));
	gpu_counters_tick(counters);
}

static struct nvml_message gpu_named(uint32_t number, uint32_t parent, const char *uuid)
{
	struct nvml_message message = {.kind = NVML_GPU,
				       .gpu = number,
				       .of_gpu = {.parent = parent, .sm_max_mhz = 1980, .memory_max_mhz = 2619}};

	snprintf(message.of_gpu.uuid, sizeof(message.of_gpu.uuid), "%s", uuid);
	return message;
}

static void a_sample_has_its_gpus_uuid_and_highest_clocks(void **state)
{
	struct gpu_counters *counters = begin();

	say(counters, (struct nvml_message){.kind = NVML_FOUND, .text = "615.71"});
	say(counters, gpu_named(0, 0, UUID));
	say(counters, (struct nvml_message){.kind = NVML_SAMPLE, .sample = {.sm_mhz = 1200, .reasons = 4}});
	end(counters);
	assert_int_equal(got.state, GPT_NVML_READ);
	assert_string_equal(got.text, "615.71");
	assert_int_equal(got.sample_count, 1);
	assert_memory_equal(got.samples[0].uuid, "simulated-gpu-00", GPT_UUID);
	assert_int_equal(got.samples[0].sm_mhz, 1200);
	assert_int_equal(got.samples[0].sm_max_mhz, 1980);
	assert_int_equal(got.samples[0].reasons, 4);
}

static void a_mig_instance_has_its_gpus_clocks(void **state)
{
	struct gpu_counters *counters = begin();

	say(counters, gpu_named(0, 0, UUID));
	say(counters, gpu_named(1, 0, "MIG-00112233-4455-6677-8899-aabbccddeeff"));
	say(counters, (struct nvml_message){.kind = NVML_SAMPLE, .gpu = 0, .sample = {.sm_mhz = 1200}});
	say(counters, (struct nvml_message){.kind = NVML_SAMPLE, .gpu = 1, .sample = {.sm_mhz = 1}});
	end(counters);
	assert_int_equal(got.sample_count, 2);
	assert_int_equal(got.samples[1].uuid[15], 0xff);
	assert_int_equal(got.samples[1].sm_mhz, 1200);
	assert_int_equal(got.samples[1].sm_max_mhz, 1980);
}

static void of_a_gpu_that_was_not_named_nothing_is_taken(void **state)
{
	struct gpu_counters *counters = begin();

	for (uint32_t kind = 0; kind < 12; kind++)
		say(counters, (struct nvml_message){.kind = kind == NVML_FOUND || kind == NVML_NONE ? 0 : kind,
						    .gpu = UINT32_MAX - kind});
	say(counters, gpu_named(1, 0, UUID)); /* not the next one */
	say(counters, gpu_named(0, 1, UUID)); /* of one that is not there */
	say(counters, (struct nvml_message){.kind = NVML_SAMPLE});
	say(counters, (struct nvml_message){.kind = NVML_EVENT, .event = {.type = NVML_EVENT_XID}});
	end(counters);
	assert_int_equal(got.sample_count + got.error_count + got.process_count, 0);
}

static void an_uuid_of_another_form_has_no_samples(void **state)
{
	static const char *const uuids[] = {"",
					    "GPU-",
					    "gpu-73696d75-6c61-7465-642d-6770752d3030",
					    "GPU-73696d75-6c61-7465-642d-6770752d303",
					    "GPU-73696d75-6c61-7465-642d-6770752d303g",
					    "GPU-73696d756c617465642d6770752d30300000",
					    "GPU-------------------------------------"};
	struct gpu_counters *counters = begin();

	for (uint32_t i = 0; i < sizeof(uuids) / sizeof(*uuids); i++) {
		say(counters, gpu_named(i, i, uuids[i]));
		say(counters, (struct nvml_message){.kind = NVML_SAMPLE, .gpu = i});
	}
	end(counters);
	assert_int_equal(got.sample_count, 0);
}

static void times_before_the_start_and_to_come_are_not_taken(void **state)
{
	struct gpu_counters *counters = begin();

	say(counters, gpu_named(0, 0, UUID));
	say(counters, (struct nvml_message){.kind = NVML_SAMPLE, .time_ns = 1});
	say(counters, (struct nvml_message){.kind = NVML_SAMPLE, .time_ns = monotonic_ns() + 3600 * SECOND_NS});
	say(counters, (struct nvml_message){.kind = NVML_SAMPLE, .time_ns = UINT64_MAX});
	end(counters);
	assert_int_equal(got.sample_count, 0);
}

static void a_flood_makes_no_more_records_than_the_rates_allow(void **state)
{
	struct gpu_counters *counters = begin();
	uint64_t now_ns;

	say(counters, gpu_named(0, 0, UUID));
	now_ns = monotonic_ns();
	for (int i = 0; i < 3000; i++) {
		say(counters, (struct nvml_message){.kind = NVML_SAMPLE, .time_ns = now_ns});
		say(counters, (struct nvml_message){.kind = NVML_PROCESS, .time_ns = now_ns, .process = {.pid = 1}});
		say(counters, (struct nvml_message){.kind = NVML_EVENT,
						    .time_ns = now_ns,
						    .event = {.type = NVML_EVENT_XID, .data = 79}});
	}
	end(counters);
	assert_int_equal(got.sample_count, 1);
	assert_int_equal(got.process_count, NVML_PROCESSES_MOST);
	assert_int_equal(got.error_count, 1000);
}

static void text_is_made_safe_and_counts_once(void **state)
{
	struct gpu_counters *counters = begin();
	struct nvml_message message = {.kind = NVML_NONE};

	memset(message.text, '\033', sizeof(message.text));
	say(counters, message);
	say(counters, (struct nvml_message){.kind = NVML_FOUND, .text = "later"});
	end(counters);
	assert_int_equal(got.states, 1);
	assert_int_equal(got.state, GPT_NVML_ABSENT);
	assert_int_equal(strspn(got.text, "?"), sizeof(message.text) - 1);
}

static void messages_of_another_size_are_passed_over(void **state)
{
	struct gpu_counters *counters = begin();
	char bytes[2 * sizeof(struct nvml_message)] = {0};

	say(counters, gpu_named(0, 0, UUID));
	assert_int_equal(send(sender, bytes, 1, 0), 1);
	assert_int_equal(send(sender, bytes, sizeof(bytes), 0), sizeof(bytes));
	say(counters, (struct nvml_message){.kind = NVML_SAMPLE, .sample = {.sm_mhz = 1200}});
	end(counters);
	assert_int_equal(got.sample_count, 1);
}

/* A library that sends such messages for ever does not hold who receives them. */
static void a_message_of_another_size_is_received_alone(void **state)
{
	struct nvml_process_of process = {0};
	struct nvml_message message = {.kind = NVML_GPU};
	int ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	process.socket = ends[0];
	assert_int_equal(send(ends[1], "", 1, 0), 1);
	assert_int_equal(send(ends[1], &message, sizeof(message), 0), sizeof(message));
	assert_int_equal(nvml_process_receive(&process, &message), 1);
	assert_int_equal(message.kind, 0);
	assert_int_equal(nvml_process_receive(&process, &message), 1);
	assert_int_equal(message.kind, NVML_GPU);
	assert_int_equal(nvml_process_receive(&process, &message), 0);
	close(ends[0]);
	close(ends[1]);
}

static void a_lost_gpu_is_reported_once_and_has_no_samples(void **state)
{
	struct gpu_counters *counters = begin();

	say(counters, gpu_named(0, 0, UUID));
	say(counters, (struct nvml_message){.kind = NVML_LOST});
	say(counters, (struct nvml_message){.kind = NVML_LOST});
	say(counters, (struct nvml_message){.kind = NVML_SAMPLE});
	end(counters);
	assert_int_equal(got.error_count, 1);
	assert_int_equal(got.errors[0].kind, GPT_GPU_LOST);
	assert_int_equal(got.sample_count, 0);
}

static void an_nvml_that_never_answers_is_silent(void **state)
{
	end(begin());
	assert_int_equal(got.state, GPT_NVML_SILENT);
	assert_string_equal(got.text, "NVML did not answer during the recording");
}

static void without_a_library_only_a_machine_with_the_driver_lacks_something(void **state)
{
	struct gpu_counters *counters = begin();

	driver_loaded = false;
	say(counters, (struct nvml_message){.kind = NVML_NO_LIBRARY, .text = "libnvidia-ml.so.1 not found"});
	end(counters);
	assert_int_equal(got.states, 1);
	assert_int_equal(got.state, GPT_NVML_NO_DRIVER);

	counters = begin();
	driver_loaded = true;
	say(counters, (struct nvml_message){.kind = NVML_NO_LIBRARY, .text = "libnvidia-ml.so.1 not found"});
	end(counters);
	assert_int_equal(got.states, 1);
	assert_int_equal(got.state, GPT_NVML_ABSENT);
	assert_non_null(strstr(got.text, "NVIDIA_DRIVER_CAPABILITIES has to name utility"));
}

static void a_process_that_cannot_be_started_is_missed_where_there_is_a_driver(void **state)
{
	start_error = -EPERM;
	driver_loaded = false;
	gpu_counters_stop(begin());
	assert_int_equal(got.states, 1);
	assert_int_equal(got.state, GPT_NVML_NO_DRIVER);

	driver_loaded = true;
	gpu_counters_stop(begin());
	start_error = 0;
	assert_int_equal(got.states, 1);
	assert_int_equal(got.state, GPT_NVML_ABSENT);
	assert_string_equal(got.text, "gputrace-nvml does not start: Operation not permitted");
}

/* ---- the process itself ------------------------------------------------------------------------------------------ */

/* Waits for its next message. */
static struct nvml_message receive_message(const struct nvml_process_of *process)
{
	struct nvml_message message;
	int received;

	while (!(received = nvml_process_receive(process, &message)))
		usleep(1000);
	assert_int_equal(received, 1);
	return message;
}

static const char *const no_library[] = {"libnvidia-ml-of-no-machine.so.1", NULL};

static void without_a_library_the_process_says_so_and_ends(void **state)
{
	struct nvml_process_of process;
	struct nvml_message message;
	int received;

	assert_int_equal(nvml_process_start(no_library, NULL, &process), 0);
	message = receive_message(&process);
	assert_int_equal(message.kind, NVML_NO_LIBRARY);
	assert_string_equal(message.text, "libnvidia-ml.so.1 not found");
	while (!(received = nvml_process_receive(&process, &message)))
		usleep(1000);
	assert_int_equal(received, -EPIPE);
	nvml_process_end(&process);
}

static void read_status(pid_t pid, char status[8192])
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	assert_non_null(file);
	status[fread(status, 1, 8191, file)] = '\0';
	fclose(file);
}

static void start_simulated(struct nvml_process_of *process)
{
	const char *const library[] = {SIMULATED_NVML, NULL};

	assert_int_equal(nvml_process_start(library, NULL, process), 0);
	assert_int_equal(receive_message(process).kind, NVML_FOUND);
}

static void the_process_has_no_capability_and_gets_none(void **state)
{
	struct nvml_process_of process;
	char status[8192];

	start_simulated(&process);
	read_status(process.pid, status);
	assert_non_null(strstr(status, "NoNewPrivs:\t1\n"));
	assert_non_null(strstr(status, "CapPrm:\t0000000000000000\n"));
	assert_non_null(strstr(status, "CapEff:\t0000000000000000\n"));
	assert_non_null(strstr(status, "CapInh:\t0000000000000000\n"));
	nvml_process_end(&process);
}

static void the_process_does_not_run_before_others(void **state)
{
	int before = getpriority(PRIO_PROCESS, 0);
	struct nvml_process_of process;

	if (setpriority(PRIO_PROCESS, 0, -10))
		skip(); /* who runs before others needs CAP_SYS_NICE */
	start_simulated(&process);
	assert_int_equal(getpriority(PRIO_PROCESS, (id_t)process.pid), 0);
	nvml_process_end(&process);
	assert_int_equal(setpriority(PRIO_PROCESS, 0, before), 0);
}

static void the_process_has_no_variable_and_one_descriptor(void **state)
{
	struct nvml_process_of process;
	char path[64], name[16];
	FILE *file;
	int open_files = 0;

	if (geteuid())
		skip(); /* who looks into it needs CAP_SYS_PTRACE */
	assert_int_equal(setenv("GPUTRACE_TEST_VARIABLE", "1", 1), 0);
	start_simulated(&process);
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)process.pid);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fread(name, 1, sizeof(name), file), 0);
	fclose(file);
	for (int fd = 0; fd < 64; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)process.pid, fd);
		open_files += readlink(path, name, sizeof(name)) >= 0;
	}
	assert_int_equal(open_files, 1);
	nvml_process_end(&process);
}

/* Ctrl-C reaches each process of the terminal; the recording may go on after it. */
static void signals_that_end_a_recording_do_not_end_the_process(void **state)
{
	static const int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
	struct nvml_process_of process;
	struct nvml_message message;
	uint64_t sent_ns;

	start_simulated(&process);
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		assert_int_equal(kill(process.pid, signals[i]), 0);
	sent_ns = monotonic_ns();
	do
		message = receive_message(&process);
	while (message.kind != NVML_SAMPLE || message.time_ns <= sent_ns);
	nvml_process_end(&process);
}

/* As uid 0 of a container, which has no capability in gputrace's user namespace. */
static void who_has_its_user_but_no_capability_cannot_get_into_it(void **state)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}, {0}};
	struct nvml_process_of process;
	char path[64], name[256];
	int status;
	pid_t child;

	start_simulated(&process);
	snprintf(path, sizeof(path), "/proc/%d/root", (int)process.pid);
	child = fork();
	if (!child) {
		if (syscall(SYS_capset, &header, none))
			_exit(2);
		if (readlink("/proc/self/root", name, sizeof(name)) < 0)
			_exit(3);
		_exit(readlink(path, name, sizeof(name)) < 0 && ptrace(PTRACE_SEIZE, process.pid, 0, 0) < 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	nvml_process_end(&process);
}

static void the_simulated_nvml_has_the_simulated_gpu(void **state)
{
	const char *const library[] = {SIMULATED_NVML, NULL};
	struct gpu_counters *counters;

	memset(&got, 0, sizeof(got));
	counters = gpu_counters_start(library, NULL, keep, NULL);
	while (!got.sample_count) {
		gpu_counters_tick(counters);
		usleep(1000);
	}
	gpu_counters_stop(counters);
	assert_int_equal(got.state, GPT_NVML_READ);
	assert_string_equal(got.text, "simulated");
	assert_memory_equal(got.samples[0].uuid, "simulated-gpu-00", GPT_UUID);
	assert_int_equal(got.samples[0].sm_mhz, 1980);
	assert_true(got.samples[0].pcie_tx == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sample_has_its_gpus_uuid_and_highest_clocks),
		cmocka_unit_test(a_mig_instance_has_its_gpus_clocks),
		cmocka_unit_test(of_a_gpu_that_was_not_named_nothing_is_taken),
		cmocka_unit_test(an_uuid_of_another_form_has_no_samples),
		cmocka_unit_test(times_before_the_start_and_to_come_are_not_taken),
		cmocka_unit_test(a_flood_makes_no_more_records_than_the_rates_allow),
		cmocka_unit_test(text_is_made_safe_and_counts_once),
		cmocka_unit_test(messages_of_another_size_are_passed_over),
		cmocka_unit_test(a_message_of_another_size_is_received_alone),
		cmocka_unit_test(a_lost_gpu_is_reported_once_and_has_no_samples),
		cmocka_unit_test(an_nvml_that_never_answers_is_silent),
		cmocka_unit_test(without_a_library_only_a_machine_with_the_driver_lacks_something),
		cmocka_unit_test(a_process_that_cannot_be_started_is_missed_where_there_is_a_driver),
		cmocka_unit_test(without_a_library_the_process_says_so_and_ends),
		cmocka_unit_test(the_process_has_no_capability_and_gets_none),
		cmocka_unit_test(the_process_does_not_run_before_others),
		cmocka_unit_test(the_process_has_no_variable_and_one_descriptor),
		cmocka_unit_test(signals_that_end_a_recording_do_not_end_the_process),
		cmocka_unit_test(who_has_its_user_but_no_capability_cannot_get_into_it),
		cmocka_unit_test(the_simulated_nvml_has_the_simulated_gpu),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
