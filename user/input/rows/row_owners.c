/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "input/rows/row_owners.h"

#include <stdlib.h>
#include <string.h>

#include "input/rows/foreign_file.h"

#define PROCESSES_MAX 64u   /* of further ones no calls are kept */
#define RECENT_CALLS 65536u /* of each process; a power of two */
#define SEVERAL UINT32_MAX  /* in place of a pid */

struct recent_call {
	uint32_t corr; /* 0: none */
	uint8_t class; /* enum gpt_api_class */
	bool taken;    /* it launched one kernel, which came */
};

struct owner {
	uint32_t pid;
	struct recent_call *recent; /* by correlation id */
};

struct row_owners {
	const struct foreign_file *file;
	ARRAY(struct owner) processes;
	struct lookup of_process; /* (pid + 1, 0) to processes */
	struct lookup of_device;  /* (1, device) to its process's pid, SEVERAL */
	uint32_t *latest;	  /* by correlation id: the process (index) that called last, NONE */
	bool collects;
};

struct row_owners *row_owners_new(const struct foreign_file *file)
{
	struct row_owners *owners;

	if (file->processes.count < 2)
		return NULL;
	owners = xcalloc(1, sizeof(*owners));
	owners->file = file;
	owners->latest = xmalloc(RECENT_CALLS * sizeof(*owners->latest));
	row_owners_begin(owners);
	return owners;
}

void row_owners_free(struct row_owners *owners)
{
	if (!owners)
		return;
	for (size_t i = 0; i < owners->processes.count; i++)
		free(owners->processes.items[i].recent);
	array_free(&owners->processes);
	lookup_free(&owners->of_process);
	lookup_free(&owners->of_device);
	free(owners->latest);
	free(owners);
}

void row_owners_begin(struct row_owners *owners)
{
	if (!owners)
		return;
	for (size_t i = 0; i < owners->processes.count; i++)
		memset(owners->processes.items[i].recent, 0, RECENT_CALLS * sizeof(struct recent_call));
	memset(owners->latest, 0xff, RECENT_CALLS * sizeof(*owners->latest));
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

void row_owners_add_call(struct row_owners *owners, const struct row *row, uint16_t api)
{
	uint32_t *index;

	if (!owners || !row->corr || !row->pid)
		return;
	index = lookup_put(&owners->of_process, foreign_epoch(row->pid), 0, (uint32_t)owners->processes.count);
	if (*index >= PROCESSES_MAX)
		return;
	if (*index == owners->processes.count)
		array_push(
			&owners->processes,
			((struct owner){.pid = row->pid, .recent = xcalloc(RECENT_CALLS, sizeof(struct recent_call))}));
	owners->processes.items[*index].recent[row->corr % RECENT_CALLS] =
		(struct recent_call){.corr = row->corr, .class = (uint8_t)api_class(api)};
	owners->latest[row->corr % RECENT_CALLS] = *index;
}

static struct recent_call *call_of(const struct owner *owner, uint32_t corr)
{
	struct recent_call *call = &owner->recent[corr % RECENT_CALLS];

	return corr && call->corr == corr ? call : NULL;
}

/* Kinds of work that a call of another kind never makes; a call that is not known may make any. */
static bool can_make(enum gpt_api_class class, uint8_t kind)
{
	switch (class) {
	case GPT_CLASS_LAUNCH:
		return kind == MODEL_KERNEL;
	case GPT_CLASS_MEMCPY:
		return kind == MODEL_MEMCPY;
	case GPT_CLASS_MEMSET:
		return kind != MODEL_MEMCPY; /* a kernel may set it */
	default:
		return true;
	}
}

/* ---- whose it is ------------------------------------------------------------------------------------------------- */

/* Of the processes with a call that it may be: their number, the last of them, and two that are asked for. */
struct candidates {
	uint32_t count;
	const struct owner *last, *near, *of_device;
};

/* A record of a GPU; kind: enum model_gpu_kind, of a wait any. */
struct wanted {
	uint32_t corr, near_pid, device;
	uint8_t kind;
	bool is_wait;
};

static bool fits_call(const struct recent_call *call, const struct wanted *wanted)
{
	if (!call)
		return false;
	return wanted->is_wait || (!call->taken && can_make((enum gpt_api_class)call->class, wanted->kind));
}

static struct candidates candidates_for(const struct row_owners *owners, const struct wanted *wanted)
{
	const uint32_t *of_device = lookup_get(&owners->of_device, 1, wanted->device);
	struct candidates found = {0};

	array_each (owner, &owners->processes) {
		if (!fits_call(call_of(owner, wanted->corr), wanted))
			continue;
		found.count++;
		found.last = owner;
		if (owner->pid == wanted->near_pid)
			found.near = owner;
		if (of_device && *of_device == owner->pid)
			found.of_device = owner;
	}
	return found;
}

static void collect_owner(struct row_owners *owners, uint32_t device, uint32_t pid)
{
	uint32_t *known = lookup_put(&owners->of_device, 1, device, pid);

	if (*known != pid)
		*known = SEVERAL;
}

/* NULL: not known. */
static const struct owner *latest_of(const struct row_owners *owners, uint32_t corr)
{
	uint32_t index = owners->latest[corr % RECENT_CALLS];

	return index != NONE && call_of(&owners->processes.items[index], corr) ? &owners->processes.items[index] : NULL;
}

/* NULL: it is not known, or *is_sure is false. */
static const struct owner *choose_owner(const struct row_owners *owners, const struct wanted *wanted, bool *is_sure)
{
	struct candidates found = candidates_for(owners, wanted);

	*is_sure = true;
	if (found.count == 1)
		return found.last;
	if (found.near && !owners->file->is_mixed)
		return found.near;
	if (found.of_device && !owners->collects)
		return found.of_device;
	*is_sure = found.count == 0;
	return NULL;
}

static uint32_t latest_pid(const struct row_owners *owners, uint32_t corr)
{
	const struct owner *latest = latest_of(owners, corr);

	return latest ? latest->pid : 0;
}

uint32_t row_owners_find(const struct row_owners *owners, const struct row_sync *sync, bool *is_sure)
{
	const struct wanted wanted = {sync->row.corr, sync->near_pid, sync->device, 0, true};
	const uint32_t *of_device = owners ? lookup_get(&owners->of_device, 1, sync->device) : NULL;
	const struct owner *owner;

	*is_sure = true;
	if (!owners)
		return 0;
	/* a wait may begin in the very microsecond of its call, so other calls do not rule that one out */
	if (of_device && *of_device != SEVERAL && owners->file->is_mixed)
		return *of_device;
	owner = choose_owner(owners, &wanted, is_sure);
	return owner ? owner->pid : latest_pid(owners, sync->row.corr);
}

uint32_t row_owners_take(struct row_owners *owners, const struct row_gpu *gpu, bool *is_sure)
{
	const struct wanted wanted = {gpu->row.corr, gpu->near_pid, gpu->work.device, gpu->work.kind, false};
	const struct owner *owner;
	struct recent_call *call;

	*is_sure = true;
	if (!owners)
		return 0;
	owner = choose_owner(owners, &wanted, is_sure);
	if (!owner)
		return latest_pid(owners, gpu->row.corr);
	if (owners->collects)
		collect_owner(owners, gpu->work.device, owner->pid);
	call = call_of(owner, gpu->row.corr);
	call->taken = call->class == GPT_CLASS_LAUNCH;
	return owner->pid;
}

int row_owners_collect(struct row_owners *owners, struct rows *rows)
{
	const struct row *row;
	bool is_sure;
	int err;

	if (!owners || !rows->has_ownerless)
		return 0;
	err = rows_again(rows);
	owners->collects = true;
	while (!err && (row = rows_next(rows)))
		if (row->kind == ROW_CALL)
			row_owners_add_call(owners, row, ((const struct row_call *)row)->api);
		else if (row->kind == ROW_GPU && !row->pid)
			row_owners_take(owners, (const struct row_gpu *)row, &is_sure);
	owners->collects = false;
	return err ? err : rows->error;
}
