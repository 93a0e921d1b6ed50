/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds which other processes the threads wait for: the other ends of pipes and sockets, children. */
#pragma once

#include "dump/process/look.h"

/* Adds looks at all descendants of the process. */
void peers_add_family(look_list *looks, pid_t pid, enum look_depth depth);

/*
 * The inode of a TCP connection's other end, when both ends are in the process's network namespace; 0: not known, or
 * the connection is not accepted yet.
 */
uint64_t peers_tcp_peer(pid_t pid, uint64_t inode);

/* Adds the other processes to the waits of all threads. */
void peers_find(look_list *looks);
