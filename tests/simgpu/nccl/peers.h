/*
 * peers.h: the ranks of a communicator, each in a process of its own, in memory that they share: when
 * the kernels of each have begun. A file in /dev/shm by the communicator's unique id; the last rank to
 * join removes it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define PEERS_MAX 16

/* An operation of a kernel, and which one of its kind it is. */
struct operation {
	const char *name; /* "AllReduce" */
	enum { OPERATION_OF_ALL, OPERATION_SEND, OPERATION_RECEIVE } kind;
	int peer;	 /* of a send or receive */
	uint64_t number; /* collectives of the communicator, or sends from one rank to another, are counted from 0 */
	uint64_t transfer_ns;
};

struct peers;

/* NULL: the rank is taken, or there is no memory to share. */
struct peers *peers_join(const void *id, int ranks, int rank);

/* Kernels of this rank that still wait for others end at once. */
void peers_leave(struct peers *peers);

/* The number of the rank's next operation like this one. */
uint64_t peers_next_number(struct peers *peers, const struct operation *operation);

/* The kernel that has the operation begins at that time. */
void peers_begin(struct peers *peers, const struct operation *operation, uint64_t begin_ns);

/* When the last rank that the operation needs began, and which one it is; false: not all have begun. */
bool peers_last(struct peers *peers, const struct operation *operation, uint64_t *last_ns, int *last_rank);

bool peers_have_left(const struct peers *peers);
