/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What can be traced in one process, seen from outside. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <gputrace/agent.h>
#include <gputrace/cupti_users.h>

#include "attach/forks.h"
#include "attach/inject/inject.h"
#include "attach/inject/read_only.h"
#include "attach/inject/waiting.h"
#include "base/array.h"
#include "base/path.h"
#include "cmd/process/agent_path.h"
#include "cmd/doctor/doctor_checks.h"
#include "cmd/process/privileges.h"
#include "cmd/process/target_check.h"
#include "target/cupti.h"
#include "target/halt.h"
#include "target/library.h"
#include "target/process.h"
#include "target/python/pypy.h"
#include "target/python/python.h"

struct subject {
	pid_t pid;
	struct process_info info;
	struct mappings mappings;
	unsigned launch_sites;
	bool runtime, driver;	    /* libcudart and libcuda are mapped */
	ARRAY(const char *) hiding; /* names of mapped files that have a CUDA runtime inside, without its symbols */
	bool agent;
};

static bool seen_before(const struct mappings *mappings, size_t index)
{
	const struct mapping *mapping = &mappings->list.items[index];

	return mappings_of_file(mappings, mapping->device, mapping->inode) != mapping;
}

static bool holds_python(const struct subject *subject, const struct mapping *mapping)
{
	struct image *image = NULL;
	int fd = mapping_open(subject->pid, mapping);
	bool holds = fd >= 0 && !image_open(fd, &image) && library_holds_python(image);

	image_close(image);
	return holds;
}

/* Finds Python as a trace does (process_python.c): by name, else in any file that has it linked in. */
static int find_python(const struct subject *subject, struct python_info *out, char *why, size_t why_size)
{
	const struct mappings *mappings = &subject->mappings;
	int err = python_find(subject->pid, mappings, out, why, why_size);

	for (size_t i = 0; i < mappings->list.count && err; i++) {
		const struct mapping *mapping = &mappings->list.items[i];

		if (mapping->inode && !seen_before(mappings, i) && holds_python(subject, mapping))
			err = python_find_in(subject->pid, mappings, mapping, err, out, why, why_size);
	}
	return err;
}

static void check_python(const struct subject *subject)
{
	struct python_info python = {};
	char why[256] = "";
	int err = find_python(subject, &python, why, sizeof(why));

	if (!err)
		doctor_say(HEALTH_OK, "  Python", "%s, %s", python.version, python.path);
	else if (err == -ENOENT && pypy_is_mapped(subject->pid, &subject->mappings))
		doctor_say(HEALTH_LIMITED, "  Python", PYPY_WHY ": calls have no Python line");
	else if (err == -ENOENT)
		doctor_say(HEALTH_LIMITED, "  Python", "no interpreter is mapped: calls have no Python line");
	else if (err == -EAGAIN)
		doctor_say(HEALTH_LIMITED, "  Python", "the interpreter is still starting: ask again");
	else
		doctor_say(HEALTH_LIMITED, "  Python", "%s", *why ? why : strerror(-err));
	python_info_free(&python);
}

static void check_library(struct subject *subject, const struct mapping *mapping, enum library_kind kind)
{
	struct library_sites sites = {0};
	struct image *image = NULL;
	int fd = mapping_open(subject->pid, mapping);
	int err = fd < 0 ? fd : image_open(fd, &image);

	/* The name is a hint, the symbols decide: cudart can be linked into any file. */
	if (err && kind == LIBRARY_OTHER)
		return;
	if (!err)
		kind = library_kind_of_image(image, mapping->path);
	if (!err && kind == LIBRARY_OTHER && library_hides_runtime(image))
		array_push(&subject->hiding, path_base(mapping->path));
	if (!err && kind != LIBRARY_CUDA && kind != LIBRARY_CUDART && kind != LIBRARY_CUDART_STATIC)
		goto cleanup;
	if (!err)
		err = library_sites_find(image, kind, &sites);
	if (err)
		doctor_say(HEALTH_LIMITED, "  CUDA", "%s: cannot be read: %s", path_base(mapping->path),
			   strerror(-err));
	else
		doctor_say(sites.launches ? HEALTH_OK : HEALTH_LIMITED, "  CUDA",
			   "%s: %zu probe sites, %u launch, %u slow", path_base(mapping->path), sites.list.count,
			   sites.launches, sites.stepped);
	subject->launch_sites += sites.launches;
cleanup:
	library_sites_free(&sites);
	image_close(image);
}

static void check_libraries(struct subject *subject)
{
	for (size_t i = 0; i < subject->mappings.list.count; i++) {
		const struct mapping *mapping = &subject->mappings.list.items[i];
		enum library_kind kind;

		if (!mapping->inode || seen_before(&subject->mappings, i))
			continue;
		kind = library_kind_of_name(mapping->path);
		subject->agent |= kind == LIBRARY_AGENT;
		subject->runtime |= kind == LIBRARY_CUDART;
		subject->driver |= kind == LIBRARY_CUDA;
		if (kind == LIBRARY_CUDA || kind == LIBRARY_CUDART || kind == LIBRARY_OTHER)
			check_library(subject, mapping, kind);
	}
	if (subject->runtime && !subject->driver)
		doctor_say(HEALTH_LIMITED, "  CUDA",
			   "libcudart is mapped and libcuda.so.1, the driver's library, is not: CUDA has not started "
			   "there, or no driver is installed (nvidia-smi)");
	if (!subject->launch_sites)
		doctor_say(HEALTH_LIMITED, "  CUDA", "nothing that launches is mapped (yet): it is waited for");
}

/* Of files with a stripped runtime, which all of NVIDIA's own libraries are. */
static void say_hiding(const struct subject *subject, bool enters)
{
	size_t count = subject->hiding.count, more = count > 2 ? count - 2 : 0;
	char others[32] = "";

	if (!count)
		return;
	if (more)
		snprintf(others, sizeof(others), " and %zu more", more);
	doctor_say(enters ? HEALTH_OK : HEALTH_LIMITED, "  CUDA",
		   "%s%s%s%s: a runtime is linked in and its names are stripped: %s", subject->hiding.items[0],
		   count > 1 ? ", " : "", count > 1 ? subject->hiding.items[1] : "", others,
		   enters ? "the agent sees its calls" : "only the agent, which cannot come in, sees its calls");
}

static void check_cupti(const struct subject *subject, const char *given)
{
	struct cupti_choice cupti;

	cupti_choose(subject->pid, &subject->mappings, given, &cupti);
	if (cupti.refused)
		doctor_say(HEALTH_LIMITED, "  CUPTI", "%s %s; no GPU times: %s", path_base(cupti.path), cupti.refused,
			   cupti.path);
	else if (!cupti.path)
		doctor_say(HEALTH_LIMITED, "  CUPTI",
			   "none is mapped, none fits its CUDA: pip install nvidia-cuda-cupti");
	else if (cupti.major && cupti.runtime && cupti.major != cupti.runtime)
		doctor_say(HEALTH_LIMITED, "  CUPTI", "%s, for a libcudart of CUDA %u, %s: %s", path_base(cupti.path),
			   cupti.runtime, cupti.why, cupti.path);
	else
		doctor_say(HEALTH_OK, "  CUPTI", "%s %s: %s", path_base(cupti.path), cupti.why, cupti.path);
	cupti_choice_free(&cupti);
}

static const char *tool_of_file(const char *path)
{
	static const struct {
		const char *file, *name;
	} tools[] = {
#define TOOL(file, name) {file, name},
		GPT_CUPTI_USERS(TOOL)
#undef TOOL
	};

	return value_of_first(sizeof(tools) / sizeof(tools[0]), i,
			      !strncmp(path_base(path), tools[i].file, strlen(tools[i].file)), tools[i].name, NULL);
}

static bool kineto_subscribes(const struct subject *subject, const struct mapping *mapping)
{
	struct image_symbol symbol;
	struct image *image = NULL;
	int fd = mapping_open(subject->pid, mapping);
	bool subscribes = fd >= 0 && !image_open(fd, &image) && !image_symbol(image, GPT_KINETO_SUBSCRIBES, &symbol);

	image_close(image);
	return subscribes;
}

/* What can be seen of PyTorch depends on its version, which only the agent can ask for. */
static void check_torch(const struct subject *subject)
{
	array_each (mapping, &subject->mappings.list) {
		if (!mapping->inode || library_kind_of_name(mapping->path) != LIBRARY_TORCH)
			continue;
		doctor_say(HEALTH_OK, "  PyTorch", "%s: --ops records its ops and steps, --memory its tensors: %s",
			   path_base(mapping->path), mapping->path);
		return;
	}
}

/* CUPTI has one subscriber; only the agent can find out whether there is one already. */
static void check_cupti_users(const struct subject *subject)
{
	for (size_t i = 0; i < subject->mappings.list.count; i++) {
		const struct mapping *mapping = &subject->mappings.list.items[i];
		const char *tool;

		if (!mapping->inode || seen_before(&subject->mappings, i))
			continue;
		tool = tool_of_file(mapping->path);
		if (tool)
			doctor_say(HEALTH_LIMITED, "  other tools",
				   "%s (%s): where it holds CUPTI there are no GPU times", tool,
				   path_base(mapping->path));
		else if (library_kind_of_name(mapping->path) == LIBRARY_TORCH && kineto_subscribes(subject, mapping))
			doctor_say(HEALTH_OK, "  other tools",
				   "torch.profiler, which keeps CUPTI once used: borrowed between its sessions");
	}
}

/* Whether it has more filters of system calls than gputrace and its container's first process. */
static bool has_own_filter(pid_t pid)
{
	int filters = process_filters(pid);

	return filters > process_filters(getpid()) && filters > process_filters(1);
}

/* As a trace decides (forks.h): if the parent is traced, too, the parent's agent is asked first.  NULL: left out. */
static const char *after_parent(const struct subject *subject, char *text, size_t size, struct inject_result *result)
{
	pid_t parent = subject->info.parent;
	enum fork_verdict verdict = FORK_MAY_ENTER;

	text[0] = '\0';
	if (subject->info.forked)
		verdict = fork_look(subject->pid, parent, result->why, sizeof(result->why));
	if (verdict == FORK_LEFT_OUT)
		return NULL;
	if (verdict == FORK_UNKNOWN_YET)
		snprintf(text, size, ", after pid %d, which has forked it, where that is traced too", (int)parent);
	return text;
}

/* Whether the agent could enter now; checks that without stopping anything. */
static bool check_agent(const struct subject *subject)
{
	struct inject_result result;
	AUTO_FREE char *path = agent_path_find();
	int fd = path ? read_only_open(path) : -1;
	int err = fd < 0 ? -ENOENT : inject_check(subject->pid, fd, &result);
	char text[128];
	const char *after = fd < 0 ? "" : after_parent(subject, text, sizeof(text), &result);
	const char *more = err || !result.why[0] ? "" : "; ";
	bool waits = waiting_agent_is_there(subject->pid);
	int scope;

	if (!after)
		err = -ENOTSUP;
	if ((!err || err == -EPERM) && !privileges_may_stop_own(&scope)) {
		snprintf(result.why, sizeof(result.why),
			 "kernel.yama.ptrace_scope is %d: root's sysctl kernel.yama.ptrace_scope=0, or root, lets it",
			 scope);
		err = -EPERM;
	}
	if (waits && has_own_filter(subject->pid))
		doctor_say(HEALTH_LIMITED, "  agent",
			   "waits there, but answers nobody if the program has set its filter of system calls "
			   "(seccomp) since then, as the filter may kill it for that; root's gputrace -p reads the "
			   "filter");
	else if (waits)
		doctor_say(HEALTH_OK, "  agent", "waits there to be asked: its user's gputrace -p needs no right");
	else if (fd < 0)
		doctor_say(HEALTH_LIMITED, "  agent", "%s cannot be read: no GPU times",
			   path ? path : GPUTRACE_AGENT_FILE);
	else if (err == -EAGAIN)
		doctor_say(HEALTH_LIMITED, "  agent", "cannot come in at this moment: %s", result.why);
	else if (err)
		doctor_say(HEALTH_LIMITED, "  agent", "cannot come in: %s", result.why);
	else if (subject->agent)
		doctor_say(HEALTH_OK, "  agent", "is in the process and can be woken by thread %d%s%s", (int)result.tid,
			   more, result.why);
	else
		doctor_say(HEALTH_OK, "  agent", "can come in by thread %d%s%s%s", (int)result.tid, after, more,
			   result.why);
	if (fd >= 0)
		close(fd);
	return waits || !err;
}

static void check_freezer(const struct subject *subject)
{
	if (process_is_frozen(subject->pid))
		doctor_say(HEALTH_LIMITED, "  freezer",
			   "its cgroup is frozen: nothing of it runs, and the agent cannot come in, until that is "
			   "thawed");
}

static void check_seccomp(const struct subject *subject)
{
	static const char *const modes[] = {"none", "strict", "a filter: entry probes are not affected by it"};
	int mode = subject->info.seccomp;

	doctor_say(HEALTH_OK, "  seccomp", "%s", mode >= 0 && mode <= 2 ? modes[mode] : "not known");
}

bool doctor_check_process(pid_t pid, const char *cupti, bool *enters)
{
	struct subject subject = {.pid = pid};
	char name[32];
	bool agent_enters;
	int err = target_thread_group(pid) == pid ? process_info_read(pid, &subject.info) : -ESRCH;

	snprintf(name, sizeof(name), "pid %d", (int)pid);
	if (!err)
		err = subject.info.kernel_thread ? -ENOEXEC : mappings_read(pid, &subject.mappings);
	if (err) {
		doctor_say(HEALTH_MISSING, name, "%s",
			   err == -ESRCH     ? "no such process"
			   : err == -ENOEXEC ? "a thread of the kernel, which runs no program"
			   : err == -EACCES  ? process_explain_refused(pid)
					     : strerror(-err));
	} else {
		subject.info.cmdline = process_cmdline(pid);
		doctor_say(HEALTH_OK, name, "%s", *subject.info.cmdline ? subject.info.cmdline : subject.info.comm);
		check_python(&subject);
		check_libraries(&subject);
		check_freezer(&subject);
		agent_enters = check_agent(&subject);
		*enters &= agent_enters;
		say_hiding(&subject, agent_enters);
		check_cupti(&subject, cupti);
		check_torch(&subject);
		check_cupti_users(&subject);
		check_seccomp(&subject);
	}
	array_free(&subject.hiding);
	mappings_free(&subject.mappings);
	process_info_free(&subject.info);
	return !err;
}
