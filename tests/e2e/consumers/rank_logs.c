/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes the logs of three ranks of a job, for checks of the output of gputrace merge:  rank_logs FOLDER
 * 0.gpt is of one machine; 1.gpt and 2.gpt are of another, whose clock is days ahead and runs faster.  All have the
 * same pid.  Every collective ends at the same time on all ranks.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rank_log.h"

static int write_log(const char *folder, const struct rank *rank)
{
	struct log_builder log = {0};
	char path[4096];
	struct stat stat;
	FILE *out;
	int fd, failed;

	snprintf(path, sizeof(path), "%s/%u.gpt", folder, rank->number);
	out = fopen(path, "w");
	if (!out)
		return -1;
	log_rank(&log, rank);
	fd = log_fd(&log);
	log_free(&log);
	failed = fstat(fd, &stat) || sendfile(fileno(out), fd, &(off_t){0}, (size_t)stat.st_size) != stat.st_size;
	close(fd);
	return fclose(out) || failed ? -1 : 0;
}

int main(int argc, char **argv)
{
	const struct rank ranks[] = {
		{.number = 0, .world = 3, .boot = "boot-a", .host = "node-a"},
		{.number = 1,
		 .world = 3,
		 .boot = "boot-b",
		 .host = "node-b",
		 .slept = "5000000000",
		 .late_every = 4,
		 .late_ms = 20,
		 .offset_ns = 300000000000123,
		 .drift = 37e-6},
		{.number = 2,
		 .world = 3,
		 .boot = "boot-b",
		 .host = "node-b",
		 .slept = "5000000000",
		 .offset_ns = 300000000000123,
		 .drift = 37e-6},
	};

	if (argc != 2)
		return 2;
	for (size_t i = 0; i < sizeof(ranks) / sizeof(ranks[0]); i++)
		if (write_log(argv[1], &ranks[i]))
			return 1;
	return 0;
}
