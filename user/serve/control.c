/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who made the socket's folder, the socket, and the process behind it is looked at before any of them is used. */
#include "serve/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/array.h"

/* The connections that wait to be accepted. */
#define BACKLOG 8

/* How long an answer is waited for: longer than the other end waits for a file. */
#define ANSWER_S 70

enum control_request control_request_of(const char *word, size_t length)
{
	static const struct {
		const char *word;
		enum control_request request;
	} words[] = {{"status", CONTROL_STATUS}, {"write", CONTROL_WRITE}, {"stop", CONTROL_STOP}};
	typeof(&words[0]) found =
		table_find(words, row, strlen(row->word) == length && !memcmp(row->word, word, length));

	return found ? found->request : CONTROL_NONE;
}

bool control_answers(uid_t own, uid_t peer)
{
	return peer == 0 || peer == own;
}

uid_t control_peer(int fd)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 ? (uid_t)-1 : peer.uid;
}

static bool is_own(const char *folder)
{
	struct stat stat;

	return lstat(folder, &stat) == 0 && stat.st_uid == geteuid();
}

char *control_usual_path(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	AUTO_FREE char *usual = NULL;

	if (!geteuid())
		return xstrdup("/run/gputrace/serve.sock");
	usual = xasprintf("/run/user/%u", geteuid());
	/* su leaves another user's. */
	if (!runtime || *runtime != '/' || !is_own(runtime))
		runtime = is_own(usual) ? usual : NULL;
	return runtime ? xasprintf("%s/gputrace/serve.sock", runtime) : NULL;
}

static int explain_error(int err, char why[CONTROL_WHY_MAX], const char *path, const char *words)
{
	snprintf(why, CONTROL_WHY_MAX, "%.150s: %s", path, words);
	return err;
}

static int make_address(const char *path, struct sockaddr_un *address, char why[CONTROL_WHY_MAX])
{
	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(address->sun_path))
		return explain_error(-ENAMETOOLONG, why, path,
				     "too long for a socket: name a shorter one with --socket");
	memcpy(address->sun_path, path, strlen(path) + 1);
	return 0;
}

/* ---- the one that answers ---------------------------------------------------------------------------------------- */

/* Nobody but this user and root may replace what is in it. */
static bool folder_is_safe(const struct stat *stat)
{
	return (stat->st_uid == geteuid() || stat->st_uid == 0) &&
	       (!(stat->st_mode & (S_IWGRP | S_IWOTH)) || stat->st_mode & S_ISVTX);
}

/* The folder of a path that fits into an address. */
static void find_folder(const char *path, char folder[sizeof(((struct sockaddr_un *)0)->sun_path)])
{
	char *slash;

	strcpy(folder, path);
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	else
		strcpy(folder, ".");
}

/* Opens the folder, locked until it is closed: only one gputrace at a time looks for a socket there. */
static int open_folder(const char *path, char why[CONTROL_WHY_MAX])
{
	char folder[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct stat stat = {0};
	int fd, err = 0;

	find_folder(path, folder);
	if (mkdir(folder, 0700) < 0 && errno != EEXIST)
		return explain_error(-errno, why, folder, strerror(errno));
	fd = open(folder, O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &stat) < 0)
		err = explain_error(-errno, why, folder, strerror(errno));
	else if (!folder_is_safe(&stat))
		err = explain_error(-EPERM, why, folder,
				    "other users may change what is in it: name another with --socket");
	else if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		err = explain_error(-EBUSY, why, folder, "another gputrace is starting there: try again");
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

/* Whether a process listens: a connection is refused where none does. */
static bool is_alive(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool refused;

	if (fd < 0)
		return true;
	refused = connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 && errno == ECONNREFUSED;
	close(fd);
	return !refused;
}

/* Removes the socket of a gputrace that has ended; what else has the name stays. */
static int remove_stale(const char *path, const struct sockaddr_un *address, char why[CONTROL_WHY_MAX])
{
	char words[96];
	struct stat stat;

	if (lstat(path, &stat) < 0)
		return errno == ENOENT ? 0 : explain_error(-errno, why, path, strerror(errno));
	if (!S_ISSOCK(stat.st_mode))
		return explain_error(-EEXIST, why, path,
				     "is there and is no socket: remove it, or name another with --socket");
	if (stat.st_uid != geteuid()) {
		snprintf(words, sizeof(words), "is a socket of user %u: name another with --socket", stat.st_uid);
		return explain_error(-EPERM, why, path, words);
	}
	if (is_alive(address))
		return explain_error(-EADDRINUSE, why, path, "a gputrace serves there: gputrace serve stop ends it");
	return unlink(path) < 0 ? explain_error(-errno, why, path, strerror(errno)) : 1;
}

/* Binds below the opened folder: who can rename its path leads nowhere else. */
static int bind_in(int folder, const char *path, int fd, struct control_socket *bound)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	mode_t mask;
	struct stat stat;
	int err;

	snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%.64s", folder, name);
	mask = umask(0177);
	err = bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 ? -errno : 0;
	umask(mask);
	if (!err && fstatat(folder, name, &stat, AT_SYMLINK_NOFOLLOW) < 0)
		err = -errno;
	if (!err)
		*bound = (struct control_socket){.device = stat.st_dev, .inode = stat.st_ino};
	return err;
}

static int listen_at(int folder, const char *path, struct control_socket *bound, char why[CONTROL_WHY_MAX])
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), err;

	if (fd < 0)
		return explain_error(-errno, why, path, strerror(errno));
	err = bind_in(folder, path, fd, bound);
	if (!err && listen(fd, BACKLOG) < 0)
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return explain_error(err, why, path, strerror(-err));
}

int control_listen(const char *path, struct control_socket *bound, bool *replaced, char why[CONTROL_WHY_MAX])
{
	struct sockaddr_un address;
	int err = make_address(path, &address, why), folder, fd;

	*replaced = false;
	if (err)
		return err;
	folder = open_folder(path, why);
	if (folder < 0)
		return folder;
	fd = remove_stale(path, &address, why);
	*replaced = fd > 0;
	if (fd >= 0)
		fd = listen_at(folder, path, bound, why);
	close(folder);
	return fd;
}

void control_remove(const char *path, const struct control_socket *bound)
{
	struct stat stat;

	if (lstat(path, &stat) == 0 && stat.st_dev == bound->device && stat.st_ino == bound->inode)
		unlink(path);
}

/* ---- the one that asks ------------------------------------------------------------------------------------------- */

int control_ask(const char *path, const char *word, char answer[CONTROL_ANSWER_MAX + 1], char why[CONTROL_WHY_MAX])
{
	struct sockaddr_un address;
	int err = make_address(path, &address, why), fd;
	ssize_t got = 0;
	uid_t peer;

	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
		err = explain_error(-errno, why, path,
				    errno == ENOENT || errno == ECONNREFUSED ? "no gputrace serves there"
									     : strerror(errno));
		goto cleanup;
	}
	peer = control_peer(fd);
	if (!control_answers(peer, geteuid()) && peer != 0) {
		err = explain_error(-EPERM, why, path, "a process of another user answers there: it is not asked");
		goto cleanup;
	}
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &(struct timeval){.tv_sec = ANSWER_S}, sizeof(struct timeval));
	/* One that is not let ask has its answer already. */
	(void)send(fd, word, strlen(word), MSG_NOSIGNAL);
	got = recv(fd, answer, CONTROL_ANSWER_MAX, 0);
	if (got <= 0)
		err = explain_error(got < 0 ? -errno : -ECONNRESET, why, path,
				    got >= 0	      ? "it ended without an answer"
				    : errno == EAGAIN ? "it does not answer: it is halted, or hangs"
						      : strerror(errno));
	else
		answer[got] = '\0';
cleanup:
	if (fd >= 0)
		close(fd);
	return err ? err : (int)got;
}
