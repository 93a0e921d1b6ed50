/*
 * peers.c: what ranks of a communicator share.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "peers.h"

#define ID_BYTES 128
#define RING 1024 /* operations of a kind that may be under way */

/* When a rank began its operation of that number. */
struct slot {
	_Atomic uint64_t number; /* + 1, 0: none yet */
	_Atomic uint64_t begin_ns;
};

struct shared {
	int ranks;
	int joined;
	pid_t pids[PEERS_MAX];
	struct slot of_all[PEERS_MAX][RING];
	struct slot sends[PEERS_MAX][PEERS_MAX][RING], receives[PEERS_MAX][PEERS_MAX][RING]; /* from, to */
};

struct peers {
	struct shared *shared;
	int ranks, rank;
	uint64_t of_all, sends[PEERS_MAX], receives[PEERS_MAX]; /* so far */
	_Atomic bool has_left;
};

static void path_of(const uint8_t *id, char *path, size_t size)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (int i = 0; i < ID_BYTES; i++)
		hash = (hash ^ id[i]) * 0x100000001b3u;
	snprintf(path, size, "/dev/shm/simgpu-nccl-%u-%016llx", (unsigned)getuid(), (unsigned long long)hash);
}

/* Left behind by a job that ended before all of its ranks had joined. */
static bool is_stale(const struct shared *shared)
{
	for (int i = 0; i < PEERS_MAX; i++)
		if (shared->pids[i] && kill(shared->pids[i], 0) && errno == ESRCH)
			return true;
	return false;
}

/* Opens the file and locks it; it may be removed in between. */
static int open_locked(const char *path)
{
	struct stat here, there;

	for (;;) {
		int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

		if (fd < 0 || flock(fd, LOCK_EX))
			return fd;
		if (!fstat(fd, &here) && !stat(path, &there) && here.st_ino == there.st_ino)
			return fd;
		close(fd);
	}
}

/* The mapping keeps the file open, and its lock. */
static void close_locked(int fd)
{
	flock(fd, LOCK_UN);
	close(fd);
}

static struct shared *join(const char *path, int ranks, int rank)
{
	int fd = open_locked(path);
	struct shared *shared = NULL;

	if (fd < 0 || ftruncate(fd, sizeof(*shared)))
		return NULL;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (shared == MAP_FAILED) {
		shared = NULL;
	} else if (is_stale(shared)) {
		munmap(shared, sizeof(*shared));
		unlink(path);
		close_locked(fd);
		return join(path, ranks, rank);
	} else if ((shared->ranks && shared->ranks != ranks) || shared->pids[rank]) {
		munmap(shared, sizeof(*shared));
		shared = NULL;
	} else {
		shared->ranks = ranks;
		shared->pids[rank] = getpid();
		if (++shared->joined == ranks)
			unlink(path);
	}
	close_locked(fd);
	return shared;
}

struct peers *peers_join(const void *id, int ranks, int rank)
{
	struct peers *peers = calloc(1, sizeof(*peers));
	char path[64];

	path_of(id, path, sizeof(path));
	if (peers && ranks <= PEERS_MAX)
		peers->shared = join(path, ranks, rank);
	if (!peers || !peers->shared) {
		free(peers);
		return NULL;
	}
	peers->ranks = ranks;
	peers->rank = rank;
	return peers;
}

/* Its kernels may still be placed by another thread: nothing is freed. */
void peers_leave(struct peers *peers)
{
	atomic_store(&peers->has_left, true);
}

bool peers_have_left(const struct peers *peers)
{
	return atomic_load(&peers->has_left);
}

uint64_t peers_next_number(struct peers *peers, const struct operation *operation)
{
	switch (operation->kind) {
	case OPERATION_SEND:
		return peers->sends[operation->peer]++;
	case OPERATION_RECEIVE:
		return peers->receives[operation->peer]++;
	case OPERATION_OF_ALL:
		break;
	}
	return peers->of_all++;
}

static struct slot *slot_of(const struct peers *peers, const struct operation *operation, int rank)
{
	uint64_t at = operation->number % RING;
	bool sends = operation->kind == OPERATION_SEND, is_own = rank == peers->rank;
	int from = sends ? peers->rank : operation->peer, to = sends ? operation->peer : peers->rank;

	if (operation->kind == OPERATION_OF_ALL)
		return &peers->shared->of_all[rank][at];
	return sends == is_own ? &peers->shared->sends[from][to][at] : &peers->shared->receives[from][to][at];
}

void peers_begin(struct peers *peers, const struct operation *operation, uint64_t begin_ns)
{
	struct slot *slot = slot_of(peers, operation, peers->rank);

	atomic_store(&slot->begin_ns, begin_ns);
	atomic_store(&slot->number, operation->number + 1);
}

/* Whether the rank has begun; *last_ns grows. */
static bool has_begun(const struct peers *peers, const struct operation *operation, int rank, uint64_t *last_ns,
		      int *last_rank)
{
	struct slot *slot = slot_of(peers, operation, rank);
	uint64_t number = atomic_load(&slot->number), begin_ns = atomic_load(&slot->begin_ns);

	if (number < operation->number + 1)
		return false;
	if (number > operation->number + 1) {
		fprintf(stderr, "simgpu: more than %d operations of a communicator are under way\n", RING);
		abort();
	}
	if (begin_ns > *last_ns) {
		*last_ns = begin_ns;
		*last_rank = rank;
	}
	return true;
}

bool peers_last(struct peers *peers, const struct operation *operation, uint64_t *last_ns, int *last_rank)
{
	*last_ns = 0;
	if (operation->kind != OPERATION_OF_ALL)
		return has_begun(peers, operation, peers->rank, last_ns, last_rank) &&
		       has_begun(peers, operation, operation->peer, last_ns, last_rank);
	for (int i = 0; i < peers->ranks; i++)
		if (!has_begun(peers, operation, i, last_ns, last_rank))
			return false;
	return true;
}
