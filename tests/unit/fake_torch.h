/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A minimal libtorch_cpu, as much as an observer of ops sees, and what a test can do with it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FAKE_OP_BYTES 344

/* at::RecordFunction of 2.14; with FAKE_SHIFT that of an unknown version. */
struct fake_op {
	uint8_t bytes[FAKE_OP_BYTES] __attribute__((aligned(8)));
	const char *name;
	void *context; /* of the callback that was registered when the op started */
	void (*end)(const void *op, void *context);
};

struct fake_torch {
	void (*begin)(struct fake_op *op, const char *name, uint8_t scope, int64_t sequence, uint64_t forward_thread);
	void (*finish)(struct fake_op *op); /* calls its end callback, then deletes its context */
	void (*make_async)(struct fake_op *op);
	unsigned (*callbacks)(void); /* registered ones */
	void (*stop_list)(void);     /* held as by a thread that is gone: removing a callback blocks forever */
	void (*slow_list)(void);     /* removing a callback blocks until release is called, and a while longer */
	bool (*list_is_held)(void);  /* a callback is being removed */
	void (*release)(void);	     /* the list */
};
