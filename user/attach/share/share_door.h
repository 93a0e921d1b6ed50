/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The socket to which agents without BPF connect, and the one of them that waits to be let in. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct share_door {
	int listener; /* readable when an agent waits */
	uid_t uid;    /* whose processes are let in */
	bool by_call; /* gputrace's own filters allow process_vm_readv(2) */
	int filters;  /* number of gputrace's own seccomp filters; -1: unknown */
	int agent;    /* connection to the agent from share_door_next, -1: none */
	pid_t pid;    /* its process */
	uint64_t until_ns;
	bool agent_by_call;
	pid_t turned_away;  /* the agent that said no hello, or a wrong one; 0: none. None is let in until it is 0 */
	bool other_version; /* its hello was another version's */
	bool silent; /* it has left a question unanswered: its next answer may be to that one, so none is asked */
};

/* A name with 128 random bits, as no one else may take it before gputrace does. Free with free(). */
char *share_door_name(void);

/* Listens by that name. 0 or -errno; share_door_close also after an error. */
int share_door_open(struct share_door *door, const char *name, uid_t uid);
void share_door_close(struct share_door *door);

/*
 * The process of the next waiting agent that may come in, 0: none. Until it is let in, refused or dismissed its memory
 * is read by the agent itself (process_read_memory), if the kernel does not let gputrace read it.
 */
pid_t share_door_next(struct share_door *door);

/* Sends it the descriptors with which it starts. 0 or -EPIPE */
int share_door_let_in(struct share_door *door, int control_fd, int ring_fd);
void share_door_refuse(struct share_door *door);

/* Closes the connection without a word. */
void share_door_dismiss(struct share_door *door);
