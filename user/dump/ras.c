/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which of the processes that were looked at listen at the port of NCCL's RAS service.  The port alone proves nothing:
 * the process must have the listening socket open.
 */
#include "dump/ras.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PORT 28028   /* NCCL's default, unless NCCL_RAS_ADDR names another one */
#define LISTENS "0A" /* the state LISTEN in /proc/net/tcp */
#define PIDS_MAX 256 /* per service */
#define ADDRESS_CHARS 64

/* A listening socket. */
struct listener {
	uint64_t inode;
	struct sockaddr_storage at;
};

/* All listening sockets of the network namespace that was read last. */
struct listeners {
	char network[64];
	ARRAY(struct listener) list;
};

/* ---- sockets that listen --------------------------------------------------------------------------------------- */

/* "0100007F:6D7C", or four such words: each word in the byte order of the machine, the port as a number. */
static bool parse_address(const char *text, struct sockaddr_storage *out)
{
	struct sockaddr_in *four = (struct sockaddr_in *)out;
	struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
	const char *colon = strchr(text, ':');
	size_t words = colon ? (size_t)(colon - text) / 8 : 0;
	uint32_t address[4];

	memset(out, 0, sizeof(*out));
	if (words != 1 && words != 4)
		return false;
	for (size_t i = 0; i < words; i++) {
		char word[9] = "";

		memcpy(word, text + 8 * i, 8);
		address[i] = (uint32_t)strtoul(word, NULL, 16);
	}
	if (words == 1) {
		four->sin_family = AF_INET;
		four->sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 16));
		memcpy(&four->sin_addr, address, sizeof(four->sin_addr));
	} else {
		six->sin6_family = AF_INET6;
		six->sin6_port = htons((uint16_t)strtoul(colon + 1, NULL, 16));
		memcpy(&six->sin6_addr, address, sizeof(six->sin6_addr));
	}
	return true;
}

static void read_listeners(pid_t pid, const char *table, struct listeners *listeners)
{
	char path[64], line[512], local[64], state[8];
	unsigned long long inode;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, table);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		struct listener listener;

		if (sscanf(line, "%*s %63s %*s %7s %*s %*s %*s %*s %*s %llu", local, state, &inode) != 3 ||
		    strcmp(state, LISTENS) != 0 || !inode || !parse_address(local, &listener.at))
			continue;
		listener.inode = inode;
		array_push(&listeners->list, listener);
	}
	if (file)
		fclose(file);
}

/* Reads the listeners of the process's network namespace. */
static bool find_listeners(pid_t pid, struct listeners *listeners)
{
	char path[64], network[64] = "";
	ssize_t got;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	got = readlink(path, network, sizeof(network) - 1);
	if (got <= 0)
		return false;
	if (!strcmp(network, listeners->network))
		return true;
	memcpy(listeners->network, network, sizeof(network));
	listeners->list.count = 0;
	read_listeners(pid, "tcp", listeners);
	read_listeners(pid, "tcp6", listeners);
	return true;
}

/* ---- processes ------------------------------------------------------------------------------------------------- */

static bool has_socket(pid_t pid, uint64_t inode)
{
	char path[64], wanted[64], target[64];
	const struct dirent *entry;
	bool found = false;
	DIR *folder;

	snprintf(wanted, sizeof(wanted), "socket:[%llu]", (unsigned long long)inode);
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	folder = opendir(path);
	while (folder && !found && (entry = readdir(folder))) {
		ssize_t got = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);

		target[got > 0 ? got : 0] = '\0';
		found = !strcmp(target, wanted);
	}
	if (folder)
		closedir(folder);
	return found;
}

pid_t ras_owner(const pid_t *pids, unsigned count, uint64_t inode)
{
	return value_of_first(count, i, has_socket(pids[i], inode), pids[i], 0);
}

static uint16_t port_of(const struct sockaddr_storage *at)
{
	return ntohs(at->ss_family == AF_INET ? ((const struct sockaddr_in *)at)->sin_port
					      : ((const struct sockaddr_in6 *)at)->sin6_port);
}

/* "HOST:PORT" */
static uint16_t wanted_port(const struct dump_process *process)
{
	const char *colon = process->ras_address ? strrchr(process->ras_address, ':') : NULL;
	unsigned long port = colon ? strtoul(colon + 1, NULL, 10) : PORT;

	return port <= UINT16_MAX ? (uint16_t)port : 0;
}

static const char *address_text(struct arena *arena, const struct sockaddr_storage *at)
{
	const void *address = at->ss_family == AF_INET ? (const void *)&((const struct sockaddr_in *)at)->sin_addr
						       : &((const struct sockaddr_in6 *)at)->sin6_addr;
	char text[ADDRESS_CHARS] = "";

	inet_ntop(at->ss_family, address, text, sizeof(text));
	return arena_text(arena, at->ss_family == AF_INET ? "%s:%u" : "[%s]:%u", text, port_of(at));
}

static struct dump_ras *service_of(ras_list *list, const struct look *look, const char *network,
				   const struct listener *listener)
{
	for (size_t i = 0; i < list->count; i++) {
		struct dump_ras *ras = &list->items[i];

		if (!memcmp(&ras->at, &listener->at, sizeof(ras->at)) && !strcmp(ras->network, network) &&
		    is_same_text(ras->job, look->process->job))
			return ras;
	}
	array_push(list, ((struct dump_ras){.arena = look->arena,
					    .job = look->process->job,
					    .address = address_text(look->arena, &listener->at),
					    .pids = arena_take(look->arena, PIDS_MAX * sizeof(pid_t)),
					    .at = listener->at}));
	memcpy(list->items[list->count - 1].network, network, sizeof(list->items[0].network));
	return &list->items[list->count - 1];
}

static void find_of(ras_list *list, const struct look *look, struct listeners *listeners)
{
	const struct dump_process *process = look->process;
	uint16_t port = wanted_port(process);

	if (process->refused || !find_listeners(process->pid, listeners))
		return;
	array_each (listener, &listeners->list) {
		struct dump_ras *ras;

		if (port_of(&listener->at) != port || !has_socket(process->pid, listener->inode))
			continue;
		ras = service_of(list, look, listeners->network, listener);
		if (ras->pids && ras->pid_count < PIDS_MAX)
			((pid_t *)ras->pids)[ras->pid_count++] = process->pid;
	}
}

void ras_find(ras_list *list, const look_list *looks)
{
	struct listeners listeners = {0};

	memset(list, 0, sizeof(*list));
	for (size_t i = 0; i < looks->count; i++)
		find_of(list, &looks->items[i], &listeners);
	array_free(&listeners.list);
}
