/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Looks up everything in the process's own libc, which need not be gputrace's: by the names that glibc has exported
 * since 2.2.5, and by the bytes of instructions that each of its builds contains.
 */
#include "attach/inject/addresses.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gputrace/agent.h>

#include "base/path.h"
#include "target/build_id.h"
#include "target/image.h"
#include "target/library.h"

#define TEXT_MAX (16u << 20) /* libc's text is 1.5 MB */
#define R_STATE_OFFSET 24    /* offset of r_state in struct r_debug, link.h of every glibc for 64 bits */

static int refuse_library(char *why, size_t why_size, const char *text)
{
	snprintf(why, why_size, "%s", text);
	return -ENOTSUP;
}

/* True for "libc.so.6" and, before glibc 2.34, for names like "libc-2.31.so". */
static bool name_is(const char *path, const char *library)
{
	const char *name = path_base(path);
	size_t length = strlen(library);

	return !strncmp(name, library, length) &&
	       (!strncmp(name + length, ".so.", 4) || !strncmp(name + length, "-2.", 3));
}

static bool is_loader(const char *path)
{
	const char *name = path_base(path);

	return !strncmp(name, "ld-linux", 8) || !strncmp(name, "ld-2.", 5);
}

static bool is_musl(const char *path)
{
	const char *name = path_base(path);

	/* Debian's musl is named libc.so; glibc has that name only for a linker script. */
	return !strncmp(name, "ld-musl", 7) || !strncmp(name, "libc.musl", 9) || !strcmp(name, "libc.so");
}

/* The first mapping of the library, which contains its headers. */
static const struct mapping *find_first_mapping(const struct mappings *mappings, const char *library)
{
	for (size_t i = 0; i < mappings->list.count; i++) {
		const struct mapping *mapping = &mappings->list.items[i];

		if (mapping->inode && !mapping->offset &&
		    (library ? name_is(mapping->path, library) : is_loader(mapping->path)))
			return mapping;
	}
	return NULL;
}

struct wanted {
	const char *name;
	uint64_t *address;
	uint64_t *end; /* NULL: not wanted */
};

/* Fills in the addresses that the table still lacks and the library has. */
static int look_up(pid_t pid, const struct mapping *mapping, const struct wanted *wanted, size_t count)
{
	struct image *image = NULL;
	uint64_t bias;
	int error, fd = mapping_open(pid, mapping);

	error = fd < 0 ? fd : image_open(fd, &image);
	if (error)
		return error;
	error = image_bias(image, mapping, &bias);
	for (size_t i = 0; i < count && !error; i++) {
		struct image_symbol symbol;

		if (*wanted[i].address || image_symbol(image, wanted[i].name, &symbol))
			continue;
		*wanted[i].address = symbol.address + bias;
		if (wanted[i].end)
			*wanted[i].end = symbol.address + bias + symbol.size;
	}
	image_close(image);
	return error;
}

/* ---- instructions ---------------------------------------------------------------------------------- */

static int64_t read_i32(const uint8_t *from)
{
	int32_t value;

	memcpy(&value, from, sizeof(value));
	return value;
}

uint64_t inject_errno_slot(const uint8_t *text, size_t bytes, uint64_t address)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	static const uint8_t load[] = {0x48, 0x8b, 0x05};				  /* mov x(%rip), %rax */
	static const uint8_t add_fs[] = {0x64, 0x48, 0x03, 0x04, 0x25, 0, 0, 0, 0, 0xc3}; /* add %fs:0, %rax; ret */
	static const uint8_t load_fs[] = {0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0};	  /* mov %fs:0, %rax */
	static const uint8_t add[] = {0x48, 0x03, 0x05};				  /* add x(%rip), %rax */
	size_t at = 0;

	if (bytes < 24)
		return 0;
	if (!memcmp(text, endbr64, sizeof(endbr64)))
		at = sizeof(endbr64);
	if (!memcmp(text + at, load, sizeof(load)) && !memcmp(text + at + 7, add_fs, sizeof(add_fs)))
		return address + at + 7 + (uint64_t)read_i32(text + at + 3);
	if (!memcmp(text + at, load_fs, sizeof(load_fs)) && !memcmp(text + at + 9, add, sizeof(add)) &&
	    text[at + 16] == 0xc3)
		return address + at + 16 + (uint64_t)read_i32(text + at + 12);
	return 0;
}

static int find_errno(pid_t pid, uint64_t function, struct inject_addresses *addresses)
{
	uint8_t text[32];
	uint64_t slot;
	int error = process_read_memory(pid, function, text, sizeof(text));

	if (error)
		return error;
	slot = inject_errno_slot(text, sizeof(text), function);
	return slot ? process_read_memory(pid, slot, &addresses->errno_offset, sizeof(addresses->errno_offset))
		    : -ENOENT;
}

static uint64_t find_bytes(const uint8_t *text, size_t size, uint64_t start, const void *bytes, size_t count)
{
	const uint8_t *found = memmem(text, size, bytes, count);

	return found ? start + (uint64_t)(found - text) : 0;
}

static int find_instructions(pid_t pid, const struct mappings *mappings, const struct mapping *libc,
			     struct inject_addresses *addresses)
{
	static const uint8_t restorer[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t pop_rdi[] = {0x5f, 0xc3}; /* the end of any pop %r15; ret */

	for (size_t i = 0; i < mappings->list.count; i++) {
		const struct mapping *mapping = &mappings->list.items[i];
		size_t bytes = mapping->end - mapping->start;
		uint8_t *text;

		if (!mapping->executable || mapping->inode != libc->inode || mapping->device != libc->device ||
		    bytes > TEXT_MAX)
			continue;
		text = xmalloc(bytes);
		if (!process_read_memory(pid, mapping->start, text, bytes)) {
			addresses->restorer = find_bytes(text, bytes, mapping->start, restorer, sizeof(restorer));
			addresses->pop_rdi = find_bytes(text, bytes, mapping->start, pop_rdi, sizeof(pop_rdi));
		}
		free(text);
		if (addresses->restorer && addresses->pop_rdi)
			return 0;
	}
	return -ENOENT;
}

/* ---- an agent that is already loaded ----------------------------------------------------------------- */

/*
 * Opens the file of a mapped agent. In another mount namespace its path may lead nowhere, or to another file, and only
 * a process with rights over all others may open the mapping itself. Then it is gputrace's own file, if the build is.
 */
static int open_agent(pid_t pid, const struct mappings *mappings, const struct mapping *mapping, int agent_fd)
{
	int fd = mapping_open(pid, mapping);

	if (fd < 0 && build_id_is_of(pid, mappings, mapping, agent_fd))
		fd = fcntl(agent_fd, F_DUPFD_CLOEXEC, 0);
	return fd;
}

static int find_agent_start(pid_t pid, const struct mappings *mappings, const struct mapping *mapping, int agent_fd,
			    struct inject_addresses *addresses, char *why, size_t why_size)
{
	struct image_symbol start, version = {0}, status;
	struct image *image = NULL;
	uint32_t abi = 0;
	uint64_t bias;
	int fd = open_agent(pid, mappings, mapping, agent_fd), error;

	if (fd < 0) {
		snprintf(why, why_size, "it has another build of the agent, whose file cannot be read from here (%s)",
			 mapping->path);
		return -EEXIST;
	}
	error = image_open(fd, &image);
	if (!error)
		error = image_bias(image, mapping, &bias);
	if (!error)
		error = image_symbol(image, GPUTRACE_AGENT_START, &start);
	if (!error)
		error = image_symbol(image, GPUTRACE_AGENT_ABI_SYMBOL, &version);
	if (!error)
		error = image_read(image, version.address, &abi, sizeof(abi));
	if (!error && !image_symbol(image, GPUTRACE_AGENT_STATUS, &status))
		addresses->agent_status = status.address + bias;
	image_close(image);
	if (error || abi != GPT_AGENT_ABI) {
		snprintf(why, why_size, "it has the agent of another version of gputrace (%s)", mapping->path);
		return -EEXIST;
	}
	addresses->agent_start = start.address + bias;
	return 0;
}

static const struct mapping *find_agent_mapping(const struct mappings *mappings)
{
	return array_find(&mappings->list, item,
			  item->inode && !item->offset && library_kind_of_name(item->path) == LIBRARY_AGENT);
}

bool inject_agent_is_mapped(pid_t pid, int agent_fd)
{
	struct mappings mappings = {};
	const struct mapping *agent = NULL;
	bool is = process_maps_file(pid, agent_fd);

	if (!is && !mappings_read(pid, &mappings))
		agent = find_agent_mapping(&mappings);
	is |= agent && build_id_is_of(pid, &mappings, agent, agent_fd);
	mappings_free(&mappings);
	return is;
}

/* ---- all addresses --------------------------------------------------------------------------------- */

static int find_functions(pid_t pid, const struct mappings *mappings, const struct mapping *libc,
			  struct inject_addresses *addresses, uint64_t *errno_location)
{
	const struct mapping *libdl = find_first_mapping(mappings, "libdl"),
			     *loader = find_first_mapping(mappings, NULL);
	uint64_t debug = 0;
	const struct wanted of_libc[] = {
		{"raise", &addresses->raise, NULL},
		{"swab", &addresses->swab, NULL},
		{"__errno_location", errno_location, NULL},
		{"dlopen", &addresses->dlopen, NULL}, /* from glibc 2.34 on */
		{"dlerror", &addresses->dlerror, NULL},
		{"fork", &addresses->fork, &addresses->fork_end},
	};
	const struct wanted of_loader[] = {{"_r_debug", &debug, NULL}};
	int error = look_up(pid, libc, of_libc, sizeof(of_libc) / sizeof(of_libc[0]));

	if (!error && !addresses->dlopen && libdl)
		error = look_up(pid, libdl, of_libc + 3, 2);
	if (!error && loader)
		error = look_up(pid, loader, of_loader, 1);
	addresses->loader_state = debug ? debug + R_STATE_OFFSET : 0;
	return error;
}

int inject_addresses_find(pid_t pid, const struct mappings *mappings, int agent_fd, struct inject_addresses *out,
			  char *why, size_t why_size)
{
	const struct mapping *libc = find_first_mapping(mappings, "libc"), *agent = find_agent_mapping(mappings);
	uint64_t errno_location = 0;
	int error;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < mappings->list.count; i++)
		if (is_musl(mappings->list.items[i].path))
			return refuse_library(why, why_size, "it uses musl, and CUDA needs glibc");
	if (!libc)
		return refuse_library(why, why_size, "it is statically linked: there is no loader in it");
	error = find_functions(pid, mappings, libc, out, &errno_location);
	if (error) {
		snprintf(why, why_size, "its libc cannot be read: %s", strerror(-error));
		return error;
	}
	if (!out->dlopen || !out->dlerror || !out->raise || !out->swab || !out->loader_state)
		return refuse_library(why, why_size, "its libc has no dlopen (or no loader)");
	error = errno_location ? find_errno(pid, errno_location, out) : -ENOENT;
	if (error == -EPERM || error == -EACCES) {
		snprintf(why, why_size,
			 "the kernel does not let its memory be read (kernel.yama.ptrace_scope, a filter of system "
			 "calls)");
		return error;
	}
	if (error || find_instructions(pid, mappings, libc, out))
		return refuse_library(why, why_size, "its libc is of an unknown build");
	return agent ? find_agent_start(pid, mappings, agent, agent_fd, out, why, why_size) : 0;
}

bool inject_loader_idle(pid_t pid, const struct inject_addresses *addresses)
{
	int32_t state = -1;

	return !process_read_memory(pid, addresses->loader_state, &state, sizeof(state)) && state == 0;
}
