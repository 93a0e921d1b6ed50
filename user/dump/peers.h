/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who of other processes is waited for: the other ends of pipes and sockets, children. */
#ifndef GPUTRACE_DUMP_PEERS_H
#define GPUTRACE_DUMP_PEERS_H

#include "dump/look.h"

/* Adds looks at all descendants of the process. */
void peers_add_family(look_list *looks, pid_t pid, enum look_depth depth);

/*
 * The other end of a TCP connection whose two ends are in the process's network namespace, as an inode; 0: not known,
 * or no one has accepted it.
 */
uint64_t peers_tcp_peer(pid_t pid, uint64_t inode);

/* Completes the waits of all threads. */
void peers_find(look_list *looks);

#endif
