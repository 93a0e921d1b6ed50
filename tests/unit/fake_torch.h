/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A libtorch_cpu as small as an observer of ops can see one: what a test does with it. */
#ifndef FAKE_TORCH_H
#define FAKE_TORCH_H

#include <stdbool.h>
#include <stdint.h>

#define FAKE_OP_BYTES 344

/* at::RecordFunction of 2.14; FAKE_SHIFT: of a version that no one has heard of. */
struct fake_op {
	uint8_t bytes[FAKE_OP_BYTES] __attribute__((aligned(8)));
	const char *name;
	void *context; /* of the callback that was there at its start */
	void (*end)(const void *op, void *context);
};

struct fake_torch {
	void (*begin)(struct fake_op *op, const char *name, uint8_t scope, int64_t sequence, uint64_t forward_thread);
	void (*finish)(struct fake_op *op); /* its end, and then its context goes */
	void (*make_async)(struct fake_op *op);
	unsigned (*callbacks)(void); /* registered ones */
	void (*hold_list)(void);     /* as a thread has it that is gone: who takes a callback away waits for ever */
	void (*slow_list)(void);     /* who takes a callback away goes on when release is called, after a while */
	bool (*list_is_held)(void);  /* someone takes one away just now */
	void (*release)(void);	     /* the list */
};

/* Exported as fake_torch. */

#endif
