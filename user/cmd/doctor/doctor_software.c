/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is installed on the machine. Nothing of it is loaded, as gputrace runs as root; NVML in a process of its own. */
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <gputrace/agent.h>

#include "attach/share/share_control.h"
#include "cmd/process/agent_path.h"
#include "base/monotonic.h"
#include "base/path.h"
#include "capture/gpu_counters.h"
#include "capture/nvml_process.h"
#include "cmd/doctor/doctor_checks.h"
#include "cmd/process/privileges.h"
#include "target/python/python.h"

static void check_agent(void)
{
	AUTO_FREE char *path = agent_path_find();

	if (path)
		doctor_say(HEALTH_OK, "agent", "%s", path);
	else
		doctor_say(HEALTH_LIMITED, "agent", "%s not found: no GPU times; set GPUTRACE_AGENT to its path",
			   GPUTRACE_AGENT_FILE);
}

bool doctor_check_alone(void)
{
	struct share_control control;
	AUTO_FREE char *path = agent_path_find();
	int err = path ? share_control_open(&control) : -ENOENT, scope;

	if (!err)
		share_control_close(&control);
	if (err == -ENOENT)
		doctor_say(HEALTH_MISSING, "without BPF", "it takes the agent");
	else if (err)
		doctor_say(HEALTH_MISSING, "without BPF",
			   "no memory can be shared (memfd_create, F_SEAL_FUTURE_WRITE; Linux 5.1): %s",
			   strerror(-err));
	else if (privileges_may_stop_own(&scope))
		doctor_say(HEALTH_OK, "without BPF",
			   "the agent alone records a COMMAND, and your own processes (-p PID): --way agent, no right "
			   "is needed");
	else
		doctor_say(HEALTH_LIMITED, "without BPF",
			   "the agent alone records a COMMAND: --way agent, no right is needed; -p PID takes "
			   "kernel.yama.ptrace_scope 0, and it is %d, or a program started after `gputrace env`",
			   scope);
	return !err;
}

/* Appends what `print` makes of each match; returns the number of matches. */
static unsigned list_matches(const char *const *patterns, char *list, size_t size,
			     void (*print)(const char *path, char *list, size_t size))
{
	glob_t found = {0};
	unsigned count;

	list[0] = 0;
	for (size_t i = 0; patterns[i]; i++)
		glob(patterns[i], i ? GLOB_APPEND : 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++)
		print(found.gl_pathv[i], list, size);
	count = (unsigned)found.gl_pathc;
	globfree(&found);
	return count;
}

static void append_item(char *list, size_t size, const char *text)
{
	size_t used = strlen(list);

	if (used + strlen(text) + 3 < size)
		snprintf(list + used, size - used, "%s%s", used ? ", " : "", text);
}

static void print_library(const char *path, char *list, size_t size)
{
	char *real = realpath(path, NULL);

	if (real && !strstr(list, real))
		append_item(list, size, real);
	free(real);
}

static void check_cupti(void)
{
	/* Toolkits and Debian's package; wheels are in Python environments, which doctor -p sees. */
	static const char *const patterns[] = {"/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.*[0-9]",
					       "/usr/local/cuda*/targets/*/lib/libcupti.so.*[0-9]",
					       "/opt/cuda/extras/CUPTI/lib64/libcupti.so.*[0-9]",
					       "/usr/lib/*/libcupti.so.*[0-9]",
					       "/usr/lib64/libcupti.so.*[0-9]",
					       NULL};
	char list[256];

	list_matches(patterns, list, sizeof(list), print_library);
	if (*list)
		doctor_say(HEALTH_OK, "CUPTI", "%s", list);
	else
		doctor_say(HEALTH_LIMITED, "CUPTI",
			   "none on the system; a Python package may bring its own: gputrace doctor -p PID");
}

static void check_driver(void)
{
	FILE *file = fopen("/proc/driver/nvidia/version", "re");
	char line[256] = "";

	if (file && fgets(line, sizeof(line), file)) {
		const char *text = strncmp(line, "NVRM version: ", 14) == 0 ? line + 14 : line;

		line[strcspn(line, "\n")] = 0;
		doctor_say(HEALTH_OK, "GPU driver", "%s", text);
	} else {
		doctor_say(HEALTH_LIMITED, "GPU driver", "no NVIDIA driver is loaded: calls can be traced, but fail");
	}
	if (file)
		fclose(file);
}

#define NVML_WAIT_S 5u /* a driver that has no client yet takes a second or two to start */

struct nvml_answer {
	enum gpt_nvml_state state; /* 0: none yet */
	char text[128];
};

static void keep_answer(void *context, const struct gpt_record *record)
{
	struct nvml_answer *answer = context;
	const struct gpt_nvml *nvml = (const struct gpt_nvml *)record;

	if (record->type != GPT_NVML || answer->state)
		return;
	answer->state = nvml->state;
	snprintf(answer->text, sizeof(answer->text), "%s", nvml->text);
}

/* As a trace asks it. */
static void check_nvml(void)
{
	uint64_t until_ns = monotonic_ns() + NVML_WAIT_S * 1000000000ull;
	struct nvml_answer answer = {0};
	struct gpu_counters *counters =
		gpu_counters_start(nvml_libraries(), getenv("LD_LIBRARY_PATH"), keep_answer, &answer);
	bool answered;

	while (!answer.state && monotonic_ns() < until_ns) {
		gpu_counters_tick(counters);
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
	answered = answer.state;
	gpu_counters_stop(counters);
	if (answer.state == GPT_NVML_READ)
		doctor_say(HEALTH_OK, "NVML", "clocks, power, memory and errors of GPUs (driver %s)", answer.text);
	else if (answered)
		doctor_say(HEALTH_LIMITED, "NVML", "no clocks and power of GPUs: %s", answer.text);
	else
		doctor_say(HEALTH_LIMITED, "NVML",
			   "no clocks and power of GPUs: it does not answer within %u s; where nvidia-smi does not "
			   "either, the driver's messages (dmesg) say why",
			   NVML_WAIT_S);
}

static void print_python(const char *path, char *list, size_t size)
{
	unsigned major, minor;
	char text[32];

	if (sscanf(path_base(path), "python%1u.%2u", &major, &minor) != 2)
		return;
	snprintf(text, sizeof(text), "%u.%u%s", major, minor, python_layout(major << 8 | minor) ? "" : " (unknown)");
	if (!strstr(list, text))
		append_item(list, size, text);
}

static void check_pythons(void)
{
	static const char *const patterns[] = {"/usr/bin/python3.*[0-9]", "/usr/local/bin/python3.*[0-9]",
					       "/opt/*/bin/python3.*[0-9]", NULL};
	char list[256];

	list_matches(patterns, list, sizeof(list), print_python);
	doctor_say(HEALTH_OK, "Python", "%s", *list ? list : "none on the system; environments are seen with -p PID");
}

bool doctor_check_software(void)
{
	check_agent();
	check_cupti();
	check_driver();
	check_nvml();
	check_pythons();
	return true;
}
