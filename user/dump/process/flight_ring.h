/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The ring of one Flight Recorder, in memory: 64 bits, libstdc++ with the ABI of C++11 (PyTorch's wheels since 2.7).
 * How an object is recognised as one, and what its entries say.
 */
#pragma once

#include "dump/process/waits.h"

#define RECORDERS_MAX 16

struct cpp_string {
	uint64_t data, length;
	union {
		char local[16];
		uint64_t capacity;
	};
};

struct cpp_vector {
	uint64_t begin, end, limit;
};

/* A node of std::unordered_map<std::string, FlightRecorder<c10::Event>*>, up to the hash (getFlightRecorder). */
struct registry_node {
	uint64_t next;
	struct cpp_string name;
	uint64_t recorder;
};

/* FlightRecorder<EventType>: the first members, equal in all versions. */
struct recorder {
	uint8_t enabled, cpp_stack, padding[6];
	uint32_t mutex_lock, mutex_count, mutex_owner, mutex_users, mutex_kind; /* struct __pthread_mutex_s */
	uint8_t mutex_rest[20];
	struct cpp_vector entries;
	uint64_t most, next, id;
};

/* The current recorder and a copy of its ring, the oldest entry first. */
struct ring {
	struct looker *looker;
	pid_t pid;
	uint64_t at; /* address of the recorder */
	uint64_t found[RECORDERS_MAX];
	unsigned found_count;
	bool has_events; /* each entry has an event for its end, until PyTorch has seen the end */
	const struct layout *layout;
	struct recorder recorder;
	uint8_t *entries;
	uint64_t *places; /* address of each entry in the process */
	unsigned count;
};

/* Whether an object of the heap may be a recorder; a recorder without entries does not count. */
bool is_recorder_like(const struct recorder *recorder);

/* Allocates entries and places, which the caller frees, and the process's groups; false: no memory. */
bool ring_make_room(struct ring *ring);

/* Reads the recorder at ring->at and its newest entries; false: there is none. */
bool ring_read(struct ring *ring);

/* Adds the groups and works of its entries to the process. */
void ring_take_groups(const struct ring *ring);
