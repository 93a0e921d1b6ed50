/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/record/hang_dump.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/error_text.h"
#include "base/monotonic.h"
#include "base/msg.h"
#include "cmd/output/output.h"
#include "cmd/record/recording.h"

#define SECOND_NS 1000000000ull

/* Of all processes with GPU work: a rank may hang for another one.  Their children are looked at, too. */
#define PROCESSES_MOST 64u
#define LONGEST_NS (20 * SECOND_NS)
#define BYTES_MOST (16u << 20)
#define POLL_MS 10

#define LOG_SUFFIX ".gpt"

static char *list_processes(struct trigger *trigger)
{
	uint32_t pids[PROCESSES_MOST];
	unsigned count = trigger_processes(trigger, pids, PROCESSES_MOST);
	char *list = xstrdup("");

	for (unsigned i = 0; i < count; i++) {
		char *longer = xasprintf("%s%s%" PRIu32, list, i ? "," : "", pids[i]);

		free(list);
		list = longer;
	}
	return list;
}

void hang_dump_begin(void *context, const struct trigger_event *event)
{
	struct recording *recording = context;
	struct hang_dump *dump = &recording->hang_dump;
	AUTO_FREE char *pids = NULL;
	int err;

	if (dump->state != DUMP_FREE)
		return;
	pids = list_processes(recording->trigger);
	dump->at_ns = event->to_ns;
	err = own_child_start(&dump->child, (const char *[]){"dump", "-p", pids, NULL}, -1, true, LONGEST_NS);
	if (err)
		msg_warn("--trigger hang: gputrace dump could not be started: %s", start_error_text(err));
	else
		dump->state = DUMP_TAKEN;
}

/* FILE.dump.txt of FILE.gpt. */
static char *dump_name(const char *log)
{
	size_t length = strlen(log), suffix = strlen(LOG_SUFFIX);

	length -= length > suffix && !strcmp(log + length - suffix, LOG_SUFFIX) ? suffix : 0;
	return xasprintf("%.*s.dump.txt", (int)length, log);
}

static int copy_text(FILE *from, int to)
{
	char bytes[65536];
	size_t got, all = 0;

	while (all < BYTES_MOST && (got = fread(bytes, 1, sizeof(bytes), from)) > 0) {
		for (size_t at = 0; at < got;) {
			ssize_t put = write(to, bytes + at, got - at);

			if (put < 0 && errno != EINTR)
				return -errno;
			at += put > 0 ? (size_t)put : 0;
		}
		all += got;
	}
	return ferror(from) ? -EIO : 0;
}

static void write_file(struct hang_dump *dump, const char *log)
{
	AUTO_FREE char *name = dump_name(log);
	struct output output;
	int err = output_open(name, &output);

	if (!err)
		err = copy_text(dump->child.out, output.fd);
	if (!err)
		err = output_commit_new(&output);
	if (err)
		msg_error("%s: not written: %s; the recording goes on: make that possible", name, output_error(err));
	else
		msg_info("%s: what gputrace dump said then", name);
	output_close(&output);
}

void hang_dump_write(struct hang_dump *dump, const char *log, uint64_t end_ns)
{
	if (dump->state != DUMP_TAKEN || end_ns < dump->at_ns)
		return;
	while (!own_child_is_over(&dump->child, monotonic_ns()))
		(void)poll(NULL, 0, POLL_MS);
	write_file(dump, log);
	own_child_close(&dump->child);
	dump->state = DUMP_FREE;
}

void hang_dump_end(struct hang_dump *dump)
{
	own_child_close(&dump->child);
}
