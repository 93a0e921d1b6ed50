/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which kernels exchange data between ranks, by their names: those of NCCL, of libraries with all-reduces of their own,
 * and those that a user names (--comm-kernel).
 */
#pragma once

#include <regex.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"

/* What a kernel's name says. */
enum comm_kind {
	COMM_NONE,
	COMM_OF_ALL,  /* each rank waits for all others */
	COMM_OF_SOME, /* it exchanges data, but for whom it waits its name does not say */
};

/* The names that a user gives; zeroed: none. */
struct comm_kernels {
	ARRAY(regex_t) own;
};

/* Adds a POSIX extended regular expression; returns why it is none, which the caller frees, or NULL. */
char *comm_kernels_add(struct comm_kernels *kernels, const char *pattern);
void comm_kernels_free(struct comm_kernels *kernels);

/* name: as demangled; kernels: NULL for none of a user's. */
enum comm_kind comm_kind_of(const struct comm_kernels *kernels, const char *name);

/* The same for names that come again and again; zeroed: none of a user's. */
struct comm_names {
	const struct comm_kernels *own;
	ARRAY(uint8_t) kinds; /* by model.strings: comm_kind + 1; 0: not known yet */
};

/* string: its number in model.strings. */
enum comm_kind comm_names_kind(struct comm_names *names, uint32_t string, const char *name);
void comm_names_free(struct comm_names *names);
