/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* libFuzzer target: mutated dumps; reads them and finds their ranks and collectives. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dump/dump_file.h"
#include "dump/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

#define RANK(number, works)                                                                                            \
	"{\"pid\": " number ", \"parent\": 1, \"rank\": \"" number "\", \"job\": \"h:1\", \"world_size\": \"3\", "     \
	"\"torch\": true, \"groups_at_ns\": 9000000000, \"threads\": [{\"tid\": " number                               \
	", \"wait\": {\"kind\": \"cuda\", \"text\": \"w\"}, \"frames\": [{\"function\": \"f\", \"file\": \"a.py\", "   \
	"\"line\": 3}]}], \"groups\": [{\"name\": \"0\", \"description\": \"d\", \"members\": [2, 3], \"works\": "     \
	"[" works "]}]}"
#define WORK(number, state)                                                                                            \
	"{\"operation\": \"nccl:all_reduce\", \"number\": " number ", \"point_to_point\": false, \"state\": \"" state  \
	"\", \"since_ns\": 1, \"sizes\": \"[4]\", \"frames\": []}"

static const char document[] = "{\"schema\": \"gputrace dump\", \"version\": 1, \"host\": \"a\", \"processes\": [" RANK(
	"2", WORK("1", "completed") ", " WORK("2", "scheduled")) ", " RANK("3", WORK("1", "given_up")) "]}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static FILE *nowhere;
	look_list looks = {0};
	rank_list ranks;
	collective_list collectives;
	int fd = memfd_create("file", MFD_CLOEXEC);

	nowhere = nowhere ? nowhere : fopen("/dev/null", "w");
	if (!nowhere || fd < 0 || write(fd, data, size) != (ssize_t)size || lseek(fd, 0, SEEK_SET))
		abort();
	free(dump_file_read(fd, &looks));
	close(fd);
	ranks_find(&ranks, &looks);
	collectives_find(&collectives, &looks, &ranks);
	dump_print_ranks(nowhere,
			 &(struct dump_findings){.looks = &looks, .ranks = &ranks, .collectives = &collectives});
	dump_print_ranks_json(nowhere,
			      &(struct dump_findings){.looks = &looks, .ranks = &ranks, .collectives = &collectives});
	collectives_free(&collectives);
	array_free(&ranks);
	looks_free(&looks);
	return 0;
}

/* Most inputs start from a valid dump. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	if ((size < 16 || seed % 64 == 0) && max_size > sizeof(document)) {
		size = strlen(document);
		memcpy(data, document, size);
	}
	return LLVMFuzzerMutate(data, size, max_size);
}
