/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Builds one record; writes nothing. */
#include "cmd/record/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"

/* The most bytes of the command line; more does not help a reader of a report. */
#define TARGET_MAX 1024

static char *join_command(char **command)
{
	char *text = xstrdup(command[0]);

	for (char **word = command + 1; *word && strlen(text) < TARGET_MAX; word++) {
		char *longer = xasprintf("%s %s", text, *word);

		free(text);
		text = longer;
	}
	if (strlen(text) > TARGET_MAX)
		text[TARGET_MAX] = 0;
	return text;
}

char *session_target(const struct options *options)
{
	const struct pid_list *pids = &options->pids;
	char *text;

	if (options->command)
		return join_command(options->command);
	if (options_select(options))
		return selection_text(&options->targets);
	if (!pids->list.count)
		return xstrdup("all processes");
	text = xasprintf("pid %d", (int)pids->list.items[0]);
	for (size_t i = 1; i < pids->list.count; i++) {
		char *longer = xasprintf("%s,%d", text, (int)pids->list.items[i]);

		free(text);
		text = longer;
	}
	return text;
}

#define BOOT_ID_MAX 37

/* Identifies the boot of this machine: recordings of one boot share CLOCK_MONOTONIC.  "": not known. */
static void read_boot_id(char text[BOOT_ID_MAX])
{
	FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	text[0] = '\0';
	if (!file)
		return;
	if (fgets(text, BOOT_ID_MAX, file))
		text[strcspn(text, "\n")] = '\0';
	fclose(file);
}

#define SLEPT_MAX 24
#define SLEPT_LEAST_NS 1000000 /* no sleep is shorter */

/* CLOCK_BOOTTIME - CLOCK_MONOTONIC, in ns: only the former goes on while the machine sleeps. */
static void read_slept(char text[SLEPT_MAX])
{
	struct timespec awake, since_boot;
	int64_t ns;

	clock_gettime(CLOCK_MONOTONIC, &awake);
	clock_gettime(CLOCK_BOOTTIME, &since_boot);
	ns = (since_boot.tv_sec - awake.tv_sec) * 1000000000ll + since_boot.tv_nsec - awake.tv_nsec;
	/* if the machine never slept, the difference is only the time between the two calls */
	snprintf(text, SLEPT_MAX, "%" PRId64, ns < SLEPT_LEAST_NS ? 0 : ns);
}

/* --step, for later readers of the log; "": not given, or there is a schedule, which has its own. */
static char *step_text(const struct options *options)
{
	const char *given = options->step.given;
	bool kept = given && !options->schedule.active && !strchr(given, '=');

	return kept ? xasprintf("%s%s", GPT_SESSION_STEP, given) : xstrdup("");
}

struct gpt_session *session_record(const struct options *options, bool unasked, bool no_sudo)
{
	char *target = session_target(options), *step = step_text(options);
	struct gpt_session *record;
	struct utsname host = {0};
	char min_complete[16], boot[BOOT_ID_MAX], slept[SLEPT_MAX];
	const char *texts[] = {GPUTRACE_VERSION,
			       host.nodename,
			       host.release,
			       target,
			       min_complete,
			       options_agent_name(options->agent),
			       boot,
			       slept};
	size_t bytes = 0, size;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	char *at;

	uname(&host);
	read_boot_id(boot);
	read_slept(slept);
	snprintf(min_complete, sizeof(min_complete), "%u", options->min_complete);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		bytes += strlen(texts[i]) + 1;
	for (size_t i = 0; i < options->labels.list.count; i++)
		bytes += strlen(options->labels.list.items[i]) + 1;
	bytes += *step ? strlen(step) + 1 : 0;
	bytes += unasked ? sizeof(GPT_SESSION_UNASKED) : 0;
	bytes += no_sudo ? sizeof(GPT_SESSION_NO_SUDO) : 0;
	size = gpt_padded(sizeof(*record) + bytes);
	record = xcalloc(1, size);
	record->hdr = (struct gpt_record){.size = (uint32_t)size, .type = GPT_SESSION};
	record->metric_launches = options->metric == METRIC_LAUNCHES;
	record->min_complete = options->min_complete / 1000;
	record->cpus = cpus > 0 ? (uint32_t)cpus : 0;
	record->bytes = (uint32_t)bytes;
	at = record->text;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		at = stpcpy(at, texts[i]) + 1;
	for (size_t i = 0; i < options->labels.list.count; i++)
		at = stpcpy(at, options->labels.list.items[i]) + 1;
	if (*step)
		at = stpcpy(at, step) + 1;
	if (unasked)
		at = stpcpy(at, GPT_SESSION_UNASKED) + 1;
	if (no_sudo)
		stpcpy(at, GPT_SESSION_NO_SUDO);
	free(step);
	free(target);
	return record;
}
