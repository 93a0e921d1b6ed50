/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a tensor of PyTorch keeps its data: from the Python object to the TensorImpl and its StorageImpl.  The few
 * offsets that this needs are the same in all versions, or are found in the objects themselves, which refer to each
 * other: a TensorImpl has the address of its Python object.
 */
#pragma once

#include <stdbool.h>

#include "target/python/python_objects.h"

struct tensor_storage {
	uint64_t data, bytes; /* data 0: none */
};

struct tensor {
	struct tensor_storage own, grad; /* grad: of its gradient, which may have no Python object */
	bool has_graph;			 /* it is the result of an op that a backward pass would go through */
};

/* False: there is no tensor at this address that makes sense. */
bool tensor_read(const struct python_reader *reader, uint64_t object, struct tensor *out);
