/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A FUSE file system of one file, mounted and served for uid 65534: other users, even root, have no access.
 * Prints "ready"; serves until its standard input ends.
 *
 *     serves_file FOLDER NAME SOURCE
 *
 * The file is FOLDER/NAME and has the bytes of SOURCE.  SOURCE "-": a file of one page whose reads are never answered.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define USER 65534
#define FILE_NODE 2
#define READ_MAX (128 << 10)

static int device, source = -1;
static const char *name;
static uint64_t bytes = 4096;
static char request[READ_MAX + 4096], content[READ_MAX];

static void reply(const struct fuse_in_header *to, int error, const void *data, size_t count)
{
	static char whole[sizeof(struct fuse_out_header) + READ_MAX];
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + count), .error = error, .unique = to->unique};

	memcpy(whole, &header, sizeof(header));
	if (count)
		memcpy(whole + sizeof(header), data, count);
	if (write(device, whole, header.len) < 0 && errno != ENOENT)
		perror("write");
}

static struct fuse_attr attributes(uint64_t node)
{
	return (struct fuse_attr){
		.ino = node,
		.size = node == FILE_NODE ? bytes : 0,
		.mode = node == FILE_NODE ? S_IFREG | 0755 : S_IFDIR | 0755,
		.nlink = 1,
		.uid = USER,
		.gid = USER,
		.blksize = 4096,
	};
}

static void answer_read(const struct fuse_in_header *in, const struct fuse_read_in *what)
{
	ssize_t got;

	if (source < 0)
		return;
	got = pread(source, content, what->size < READ_MAX ? what->size : READ_MAX, (off_t)what->offset);
	reply(in, got < 0 ? -errno : 0, content, got > 0 ? (size_t)got : 0);
}

static void answer(const struct fuse_in_header *in, const void *body)
{
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION,
				     .minor = FUSE_KERNEL_MINOR_VERSION,
				     .max_write = READ_MAX,
				     .max_readahead = READ_MAX};
	struct fuse_entry_out entry = {.nodeid = FILE_NODE, .attr = attributes(FILE_NODE), .entry_valid = 3600};
	struct fuse_attr_out attr = {.attr = attributes(in->nodeid)};
	struct fuse_open_out opened = {0};
	struct fuse_statfs_out statfs = {.st = {.bsize = 4096, .namelen = 255}};

	switch (in->opcode) {
	case FUSE_INIT:
		reply(in, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		reply(in, strcmp(body, name) ? -ENOENT : 0, &entry, strcmp(body, name) ? 0 : sizeof(entry));
		break;
	case FUSE_GETATTR:
		reply(in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		reply(in, 0, &opened, sizeof(opened));
		break;
	case FUSE_READ:
		answer_read(in, body);
		break;
	case FUSE_STATFS:
		reply(in, 0, &statfs, sizeof(statfs));
		break;
	case FUSE_FLUSH:
	case FUSE_RELEASE:
		reply(in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT: /* a blocked read stays blocked */
		break;
	default:
		reply(in, -ENOSYS, NULL, 0);
	}
}

static int begin(const char *folder)
{
	char options[128];

	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%d,group_id=%d", device, USER, USER);
	if (device < 0 || mount("serves_file", folder, "fuse", MS_NOSUID | MS_NODEV, options)) {
		perror(folder);
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct pollfd ends[2] = {{.fd = 0, .events = POLLIN}};
	struct stat st;

	if (argc != 4)
		return 2;
	name = argv[2];
	if (strcmp(argv[3], "-")) {
		source = open(argv[3], O_RDONLY | O_CLOEXEC);
		if (source < 0 || fstat(source, &st))
			return 1;
		bytes = (uint64_t)st.st_size;
	}
	if (begin(argv[1]))
		return 1;
	ends[1] = (struct pollfd){.fd = device, .events = POLLIN};
	printf("ready\n");
	fflush(stdout);
	while (poll(ends, 2, -1) > 0 && !ends[0].revents) {
		ssize_t got = read(device, request, sizeof(request));

		if (got >= (ssize_t)sizeof(struct fuse_in_header))
			answer((void *)request, request + sizeof(struct fuse_in_header));
		else if (errno != EINTR && errno != EAGAIN && errno != ENOENT)
			break;
	}
	close(device); /* ends blocked reads */
	umount2(argv[1], MNT_DETACH);
	return 0;
}
