/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "export/file/tar.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 512

/* As in POSIX, pax(1); numbers are octal. */
struct header {
	char name[100];
	char mode[8], uid[8], gid[8];
	char size[12], time[12];
	char checksum[8];
	char type;
	char link[100];
	char magic[6], version[2];
	char user[32], group[32];
	char major[8], minor[8];
	char prefix[155];
	char padding[12];
};

_Static_assert(sizeof(struct header) == BLOCK, "a header is a block");

/* A size too long for eleven digits (8 GiB) is binary after a byte 0x80, as GNU tar writes it and others read it. */
static void put_size(char *field, uint64_t bytes)
{
	if (bytes < 1ull << 33) {
		snprintf(field, 12, "%011" PRIo64, bytes);
		return;
	}
	memset(field, 0, 12);
	field[0] = (char)0x80;
	for (int i = 11; bytes; i--, bytes >>= 8)
		field[i] = (char)bytes;
}

static void make_header(struct header *header, const char *name, uint64_t bytes, uint64_t time_s)
{
	unsigned sum = 0;

	memset(header, 0, sizeof(*header));
	snprintf(header->name, sizeof(header->name), "%s", name);
	snprintf(header->mode, sizeof(header->mode), "%07o", 0644);
	snprintf(header->uid, sizeof(header->uid), "%07o", 0);
	snprintf(header->gid, sizeof(header->gid), "%07o", 0);
	put_size(header->size, bytes);
	snprintf(header->time, sizeof(header->time), "%011" PRIo64, time_s & 077777777777);
	header->type = '0';
	memcpy(header->magic, "ustar", sizeof("ustar"));
	memcpy(header->version, "00", 2);
	memset(header->checksum, ' ', sizeof(header->checksum)); /* counts as blanks in the sum */
	for (size_t i = 0; i < sizeof(*header); i++)
		sum += ((const unsigned char *)header)[i];
	snprintf(header->checksum, sizeof(header->checksum), "%06o", sum);
}

static int write_at(int fd, const void *bytes, size_t length, off_t at)
{
	const char *from = bytes;

	while (length) {
		ssize_t written = pwrite(fd, from, length, at);

		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written ? -errno : -EIO;
		from += written;
		at += written;
		length -= (size_t)written;
	}
	return 0;
}

int tar_begin(struct tar *tar)
{
	tar->header = lseek(tar->fd, 0, SEEK_CUR);
	if (tar->header < 0 || lseek(tar->fd, BLOCK, SEEK_CUR) < 0)
		return -errno;
	return 0;
}

int tar_end(struct tar *tar, const char *name)
{
	static const char zeros[BLOCK];
	off_t end = lseek(tar->fd, 0, SEEK_CUR);
	struct header header;
	size_t rest;
	int err;

	if (end < 0)
		return -errno;
	if (strlen(name) > TAR_NAME_MAX)
		return -ENAMETOOLONG;
	make_header(&header, name, (uint64_t)(end - tar->header - BLOCK), tar->time_s);
	err = write_at(tar->fd, &header, sizeof(header), tar->header);
	rest = (size_t)(-end & (BLOCK - 1));
	if (!err)
		err = write_at(tar->fd, zeros, rest, end);
	if (!err && lseek(tar->fd, (off_t)rest, SEEK_CUR) < 0)
		err = -errno;
	return err;
}

int tar_finish(struct tar *tar)
{
	static const char zeros[2 * BLOCK];
	off_t end = lseek(tar->fd, 0, SEEK_CUR);

	return end < 0 ? -errno : write_at(tar->fd, zeros, sizeof(zeros), end);
}
