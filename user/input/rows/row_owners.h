/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Whose work it is, where a file has several processes and does not say: the process whose call has its correlation
 * id.  Traces of ranks that were put into one file share ids.  Of several such calls it is
 * - one that was made before the work began, has not launched another kernel, and is of that kind of work;
 * - where each process's events stand together in the file, that of the process whose events stand before the work;
 * - else that of the process to which all other work of that GPU belongs, as far as the rules above say it.
 */
#pragma once

#include "input/rows/rows.h"

struct foreign_file;
struct row_owners;

/* NULL: the file has one process. */
struct row_owners *row_owners_new(const struct foreign_file *file);
void row_owners_free(struct row_owners *owners);

/* One pass over the sorted rows; the first one learns which GPU is whose.  All of it does nothing for NULL. */
void row_owners_begin(struct row_owners *owners);
void row_owners_add_call(struct row_owners *owners, const struct row *row, uint16_t api);

/*
 * The process of GPU work or of a wait, 0: not known.  *is_sure false: several processes have a call that it may be,
 * and nothing says whose it is; the process is that of the latest call.
 */
uint32_t row_owners_take(struct row_owners *owners, const struct row_gpu *gpu, bool *is_sure);
uint32_t row_owners_find(const struct row_owners *owners, const struct row_sync *sync, bool *is_sure);

/* Learns from all rows; 0 or -errno. */
int row_owners_collect(struct row_owners *owners, struct rows *rows);
