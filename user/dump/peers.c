/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One pass over the files of all processes of the machine finds the owners of the other ends.  TCP sockets are matched
 * by the tables of the process's own network namespace, Unix sockets by sock_diag(7) in gputrace's namespace.
 */
#include "dump/peers.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <sys/wait.h>

#include "base/read_at.h"
#include "dump/process/kernel.h"
#include "target/process.h"

#define FAMILY_MAX 512 /* descendants of a process */
#define OTHERS_MAX 32  /* processes at the other end of a file */

struct relative {
	pid_t pid, parent;
	char state;
	char name[16];
};

typedef ARRAY(struct relative) relative_list;

struct end {
	uint64_t inode;
	pid_t pid;
	bool reads, writes;
};

struct ends {
	ARRAY(uint64_t) wanted;
	ARRAY(struct end) list;
};

/* ---- children ------------------------------------------------------------------------------------------------ */

static int add_relative(pid_t pid, void *context)
{
	struct relative one = {.pid = pid};
	char path[64], text[1024];
	const char *open, *close;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if (!read_small_file(AT_FDCWD, path, text, sizeof(text)))
		return 0;
	open = strchr(text, '(');
	close = strrchr(text, ')');
	if (!open || !close || close - open > (long)sizeof(one.name) || close[1] != ' ')
		return 0;
	memcpy(one.name, open + 1, (size_t)(close - open - 1));
	one.state = close[2];
	one.parent = (pid_t)strtol(close + 4, NULL, 10);
	array_push((relative_list *)context, one);
	return 0;
}

static const struct relative *relative_of(const relative_list *all, pid_t pid)
{
	return array_find(all, item, item->pid == pid);
}

static bool is_known(const look_list *looks, pid_t pid)
{
	return any_of(looks->count, i, looks->items[i].process->pid == pid);
}

void peers_add_family(look_list *looks, pid_t pid, enum look_depth depth)
{
	pid_t members[FAMILY_MAX] = {pid};
	relative_list all = {0};
	size_t count = 1;

	process_each(add_relative, &all);
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < all.count && count < FAMILY_MAX; k++) {
			const struct relative *one = &all.items[k];
			struct look look = {0};

			if (one->parent != members[i] || one->state == 'Z' || is_known(looks, one->pid))
				continue;
			members[count++] = one->pid;
			look_start(&look, one->pid, depth); /* if it fails, the look has the reason */
			array_push(looks, look);
		}
	array_free(&all);
}

static const char *state_words(char state)
{
	return state == 'T' ? ", stopped" : state == 't' ? ", stopped by a tracer" : state == 'Z' ? ", a zombie" : "";
}

/* Its pid in its own namespace, which a parent there uses to wait for it. */
static pid_t number_inside(pid_t pid)
{
	char path[64], text[4096];
	const char *at, *last;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	at = read_small_file(AT_FDCWD, path, text, sizeof(text)) ? strstr(text, "\nNSpid:") : NULL;
	for (last = at; at && *++at && *at != '\n';)
		last = *at == '\t' ? at : last;
	return last ? (pid_t)strtol(last + (*last == '\n' ? 7 : 0), NULL, 10) : pid;
}

/* The pid of the child that the thread waits for, 0: any child. */
static pid_t awaited_child(const struct dump_thread *thread)
{
	if (thread->call == SYS_waitid)
		return thread->args[0] == P_PID ? (pid_t)thread->args[1] : 0;
	return (pid_t)thread->args[0] > 0 ? (pid_t)thread->args[0] : 0;
}

static void find_children(struct look *look, struct dump_thread *thread, const relative_list *all)
{
	struct dump_wait *wait = &thread->wait;
	pid_t wanted = awaited_child(thread);
	unsigned count = 0;

	array_each (child, all) {
		if (child->parent != look->process->pid || (wanted && number_inside(child->pid) != wanted))
			continue;
		wait->text =
			arena_text(look->arena, "%s%s %d (%s%s)",
				   count    ? wait->text
				   : wanted ? "waits for"
					    : "waits for a",
				   count ? "," : " child", (int)child->pid, child->name, state_words(child->state));
		wait->owner_pid = count++ ? 0 : child->pid;
	}
	if (!count)
		wait->text = "waits for a child, of which there is none";
}

static void find_ended(struct look *look, const relative_list *all)
{
	const char *text = NULL;

	for (size_t i = 0; i < all->count; i++)
		if (all->items[i].parent == look->process->pid && all->items[i].state == 'Z')
			text = arena_text(look->arena, "%s%s%d (%s)", text ? text : "", text ? ", " : "",
					  (int)all->items[i].pid, all->items[i].name);
	look->process->ended_children = text;
}

/* ---- sockets ------------------------------------------------------------------------------------------------- */

/* The peer's inode of a Unix socket in gputrace's network namespace; 0: not known. */
static uint64_t unix_peer(uint64_t inode)
{
	struct {
		struct nlmsghdr header;
		struct unix_diag_req request;
	} ask = {.header = {.nlmsg_len = sizeof(ask), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
		 .request = {.sdiag_family = AF_UNIX,
			     .udiag_states = ~0u,
			     .udiag_ino = (uint32_t)inode,
			     .udiag_show = UDIAG_SHOW_PEER,
			     .udiag_cookie = {~0u, ~0u}}};
	_Alignas(struct nlmsghdr) char answer[1024];
	const struct nlmsghdr *header = (const struct nlmsghdr *)answer;
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
	ssize_t got = -1;
	uint64_t peer = 0;

	if (fd >= 0 && send(fd, &ask, sizeof(ask), 0) == sizeof(ask))
		got = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
	if (got >= (ssize_t)NLMSG_LENGTH(sizeof(struct unix_diag_msg)) && header->nlmsg_type == SOCK_DIAG_BY_FAMILY) {
		size_t at = NLMSG_LENGTH(sizeof(struct unix_diag_msg));

		while (at + sizeof(struct nlattr) <= (size_t)got) {
			const struct nlattr *attribute = (const struct nlattr *)(answer + at);

			if (attribute->nla_type == UNIX_DIAG_PEER && attribute->nla_len >= NLA_HDRLEN + 4)
				peer = *(const uint32_t *)(answer + at + NLA_HDRLEN);
			if (attribute->nla_len < NLA_HDRLEN)
				break;
			at += NLA_ALIGN(attribute->nla_len);
		}
	}
	if (fd >= 0)
		close(fd);
	return peer;
}

/* The peer's inode of a TCP connection with both ends in one network namespace; 0: not known. */
static uint64_t tcp_peer(pid_t pid, const char *table, uint64_t inode)
{
	char path[64], line[512], local[64], remote[64], mine[64] = "", others[64] = "";
	unsigned long long number;
	uint64_t peer = 0;

	snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, table);
	for (int pass = 0; pass < 2; pass++) {
		FILE *file = fopen(path, "re");

		while (file && fgets(line, sizeof(line), file)) {
			if (sscanf(line, "%*s %63s %63s %*s %*s %*s %*s %*s %*s %llu", local, remote, &number) != 3)
				continue;
			if (!pass && number == inode) {
				memcpy(mine, local, sizeof(mine));
				memcpy(others, remote, sizeof(others));
			}
			if (pass && *mine && !strcmp(local, others) && !strcmp(remote, mine))
				peer = number;
		}
		if (file)
			fclose(file);
	}
	return peer;
}

uint64_t peers_tcp_peer(pid_t pid, uint64_t inode)
{
	uint64_t peer = tcp_peer(pid, "tcp", inode);

	return peer ? peer : tcp_peer(pid, "tcp6", inode);
}

static uint64_t socket_peer(pid_t pid, uint64_t inode)
{
	uint64_t peer = unix_peer(inode);

	return peer ? peer : peers_tcp_peer(pid, inode);
}

/* ---- ends ---------------------------------------------------------------------------------------------------- */

static bool is_wanted(const struct ends *ends, uint64_t inode)
{
	return any_of(ends->wanted.count, i, ends->wanted.items[i] == inode);
}

static int add_ends(pid_t pid, void *context)
{
	struct ends *ends = context;
	const struct dirent *entry;
	char path[64];
	DIR *folder;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		char target[64];
		ssize_t got = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
		const char *inode;
		struct stat stat;
		struct end end = {.pid = pid};

		target[got > 0 ? got : 0] = '\0';
		inode = strchr(target, '[');
		if (!inode || (strncmp(target, "pipe:", 5) != 0 && strncmp(target, "socket:", 7) != 0))
			continue;
		end.inode = strtoull(inode + 1, NULL, 10);
		if (!is_wanted(ends, end.inode) || fstatat(dirfd(folder), entry->d_name, &stat, AT_SYMLINK_NOFOLLOW))
			continue;
		end.reads = stat.st_mode & S_IRUSR; /* the link's mode is the open mode (proc(5)) */
		end.writes = stat.st_mode & S_IWUSR;
		array_push(&ends->list, end);
	}
	if (folder)
		closedir(folder);
	return 0;
}

/* The inode of a file's other end. */
static uint64_t other_end(const struct dump_process *process, const struct dump_file *file)
{
	return !strncmp(file->path, "socket:", 7) ? socket_peer(process->pid, file->inode) : file->inode;
}

static void want_ends(const look_list *looks, struct ends *ends)
{
	for (size_t i = 0; i < looks->count; i++) {
		struct dump_process *process = looks->items[i].process;

		for (unsigned k = 0; k < process->thread_count; k++)
			for (unsigned f = 0; f < process->threads[k].wait.file_count; f++) {
				struct dump_file *file = &process->threads[k].wait.files[f];

				file->peer = file->inode ? other_end(process, file) : 0;
				if (file->peer)
					array_push(&ends->wanted, file->peer);
			}
	}
}

static void find_others(struct look *look, struct dump_file *file, const struct ends *ends)
{
	bool is_pipe = !strncmp(file->path, "pipe:", 5);
	pid_t *others = arena_take(look->arena, OTHERS_MAX * sizeof(*others));

	file->others = others;
	for (size_t i = 0; others && i < ends->list.count && file->other_count < OTHERS_MAX; i++) {
		const struct end *end = &ends->list.items[i];

		if (end->inode != file->peer || (is_pipe && !(file->writes ? end->reads : end->writes)))
			continue;
		if (!any_of(file->other_count, k, others[k] == end->pid))
			others[file->other_count++] = end->pid;
	}
}

/* Appends ", whose other end process 12 (python) has", and sets the process that the thread waits for. */
static void say_others(struct look *look, struct dump_wait *wait, struct dump_file *file, const relative_list *all)
{
	const char *names = NULL;
	pid_t self = look->process->pid, stopped = 0;
	unsigned count = 0;

	for (unsigned i = 0; i < file->other_count; i++) {
		const struct relative *other = relative_of(all, file->others[i]);

		if (file->others[i] == self)
			continue;
		names = arena_text(look->arena, "%s%s%d (%s%s)", names ? names : "", names ? ", " : "",
				   (int)file->others[i], other ? other->name : "?",
				   other ? state_words(other->state) : "");
		if (other && other->state == 'T')
			stopped = other->pid;
		wait->owner_pid = file->others[i];
		count++;
	}
	if (count > 1)
		wait->owner_pid = stopped;
	if (count)
		wait->text = arena_text(look->arena, "%s, whose other end process%s %s %s", wait->text,
					count > 1 ? "es" : "", names, count > 1 ? "have" : "has");
	else if (file->other_count)
		wait->text = arena_text(look->arena, "%s, whose other end no process but this one has", wait->text);
	else if (file->peer)
		wait->text = arena_text(look->arena, "%s, whose other end no process has", wait->text);
}

void peers_find(look_list *looks)
{
	struct ends ends = {0};
	relative_list all = {0};

	process_each(add_relative, &all);
	want_ends(looks, &ends);
	if (ends.wanted.count)
		process_each(add_ends, &ends);
	array_each (look, looks) {
		find_ended(look, &all);
		for (unsigned k = 0; k < look->process->thread_count; k++) {
			struct dump_thread *thread = &look->process->threads[k];

			if (thread->wait.kind == WAIT_CHILD)
				find_children(look, thread, &all);
			for (unsigned f = 0; f < thread->wait.file_count; f++)
				if (thread->wait.files[f].peer)
					find_others(look, &thread->wait.files[f], &ends);
			if (thread->wait.kind == WAIT_FILE && thread->wait.file_count == 1)
				say_others(look, &thread->wait, &thread->wait.files[0], &all);
		}
	}
	array_free(&all);
	array_free(&ends.wanted);
	array_free(&ends.list);
}
