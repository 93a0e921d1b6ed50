/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The headers of an archive, as POSIX defines them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "export/file/tar.h"

#define BLOCK 512
#define LARGE (9ll << 30) /* too large for eleven octal digits */

struct read {
	char bytes[BLOCK];
};

static struct read block_at(int fd, off_t at)
{
	struct read block;

	assert_int_equal(pread(fd, block.bytes, BLOCK, at), BLOCK);
	return block;
}

static void assert_checksum(const struct read *block)
{
	unsigned sum = 0;

	for (int i = 0; i < BLOCK; i++)
		sum += i >= 148 && i < 156 ? ' ' : (unsigned char)block->bytes[i];
	assert_int_equal(strtoul(block->bytes + 148, NULL, 8), sum);
}

static void assert_zeros(const struct read *block, int from)
{
	for (int i = from; i < BLOCK; i++)
		assert_int_equal(block->bytes[i], 0);
}

static void members_follow_their_headers_in_whole_blocks(void **state)
{
	struct tar tar = {.fd = memfd_create("tar", 0), .time_s = 1767189312};
	struct read block;

	assert_int_equal(tar_begin(&tar), 0);
	assert_int_equal(write(tar.fd, "hello", 5), 5);
	assert_int_equal(tar_end(&tar, "first"), 0);
	assert_int_equal(tar_begin(&tar), 0);
	assert_int_equal(tar_end(&tar, "empty"), 0);
	assert_int_equal(tar_finish(&tar), 0);
	assert_int_equal(lseek(tar.fd, 0, SEEK_END), 5 * BLOCK);
	block = block_at(tar.fd, 0);
	assert_string_equal(block.bytes, "first");
	assert_string_equal(block.bytes + 124, "00000000005");
	assert_int_equal(strtoull(block.bytes + 136, NULL, 8), 1767189312);
	assert_memory_equal(block.bytes + 257, "ustar\00000", 8);
	assert_int_equal(block.bytes[156], '0');
	assert_checksum(&block);
	block = block_at(tar.fd, BLOCK);
	assert_string_equal(block.bytes, "hello");
	assert_zeros(&block, 5);
	block = block_at(tar.fd, 2 * BLOCK);
	assert_string_equal(block.bytes, "empty");
	assert_string_equal(block.bytes + 124, "00000000000");
	assert_checksum(&block);
	for (int i = 3; i < 5; i++) {
		block = block_at(tar.fd, i * BLOCK);
		assert_zeros(&block, 0);
	}
	close(tar.fd);
}

/* As GNU tar does it: a byte 0x80, then the number with its highest byte first. */
static void a_member_of_more_than_8_gib_has_a_binary_length(void **state)
{
	struct tar tar = {.fd = memfd_create("tar", 0)};
	struct read block;
	uint64_t bytes = 0;

	assert_int_equal(tar_begin(&tar), 0);
	assert_int_equal(lseek(tar.fd, LARGE, SEEK_CUR), BLOCK + LARGE);
	assert_int_equal(tar_end(&tar, "large"), 0);
	assert_int_equal(tar_begin(&tar), 0);
	assert_int_equal(write(tar.fd, "x", 1), 1);
	assert_int_equal(tar_end(&tar, "after"), 0);
	block = block_at(tar.fd, 0);
	assert_int_equal((unsigned char)block.bytes[124], 0x80);
	for (int i = 125; i < 136; i++)
		bytes = bytes << 8 | (unsigned char)block.bytes[i];
	assert_int_equal(bytes, LARGE);
	assert_checksum(&block);
	block = block_at(tar.fd, BLOCK + LARGE);
	assert_string_equal(block.bytes, "after");
	close(tar.fd);
}

static void what_cannot_be_a_member_is_an_error(void **state)
{
	struct tar tar = {.fd = memfd_create("tar", 0)};
	char name[TAR_NAME_MAX + 2];
	int ends[2];

	memset(name, 'n', sizeof(name));
	name[TAR_NAME_MAX + 1] = '\0';
	assert_int_equal(tar_begin(&tar), 0);
	assert_int_equal(tar_end(&tar, name), -ENAMETOOLONG);
	name[TAR_NAME_MAX] = '\0';
	assert_int_equal(tar_end(&tar, name), 0);
	close(tar.fd);
	assert_int_equal(pipe(ends), 0);
	tar.fd = ends[1];
	assert_int_equal(tar_begin(&tar), -ESPIPE);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_follow_their_headers_in_whole_blocks),
		cmocka_unit_test(a_member_of_more_than_8_gib_has_a_binary_length),
		cmocka_unit_test(what_cannot_be_a_member_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
