/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Says in a few words what happened in a part of a gap. */
#include <stdlib.h>
#include <string.h>

#include "analyze/why/idle_internal.h"

static const char *name_of(const struct model *model, uint32_t name)
{
	return name == NONE || name >= model->string_count ? "?" : model->strings[name];
}

/* How a thread waits, whatever for. */
static const char *wait_words(enum why_cause cause, uint32_t reason)
{
	switch (cause) {
	case WHY_LOCK:
		return "waited for a lock";
	case WHY_ITEM:
		return "waited for an item";
	case WHY_RESULT:
		return "waited for a result";
	case WHY_NOTICE:
		return "waited for a notification";
	case WHY_GIL:
		return "waited for the GIL";
	case WHY_REQUEST:
		return "waited for requests";
	case WHY_PIPE:
		return "waited for a pipe or socket";
	case WHY_CHILD:
		return "waited for a child process";
	case WHY_SLEEP:
		return "slept";
	case WHY_DISK:
		return "waited for a file";
	case WHY_FAULT:
		return "page faults";
	case WHY_NO_CPU:
		return reason == GPT_WAIT_THROTTLED ? "no CPU: its cgroup's quota was used up"
						    : "no CPU: others had it";
	default:
		return "waited";
	}
}

/* What the culprit did while another thread waited for it. */
static char *inner_words(const struct model *model, const struct idle_row *row)
{
	switch (row->inner) {
	case WHY_RAN:
		return xstrdup("ran");
	case WHY_NATIVE:
		return row->detail == NONE ? xstrdup("ran") : xasprintf("ran %s", name_of(model, row->detail));
	case WHY_SYNC:
	case WHY_ALLOC:
	case WHY_CALL:
		return xasprintf("was in %s", api_name((uint16_t)row->detail));
	case WHY_GC:
		return xstrdup("collected garbage");
	case WHY_IMPORT:
		return xstrdup("imported");
	case WHY_COMPILE:
	case WHY_COPY:
	case WHY_DATA:
	case WHY_PEER:
		return xstrdup("in CUDA or PyTorch");
	case WHY_UNSAMPLED:
		return xstrdup("not sampled");
	default:
		return xstrdup(wait_words(row->inner, row->detail));
	}
}

static char *chain_words(const struct model *model, const struct idle_row *row)
{
	const char *first = row->cause == WHY_DATA ? "DataLoader" : wait_words(row->cause, row->detail);
	char *inner = inner_words(model, row), *words = xasprintf("%s: %s", first, inner);

	free(inner);
	return words;
}

static const char *copy_words(uint32_t detail)
{
	return (detail & 0xff) == WHY_HTOD ? "a copy to the GPU" : "a copy from the GPU";
}

static char *managed_words(uint32_t detail)
{
	static const char *const causes[MODEL_MIGRATIONS] = {
		[MODEL_MIGRATION_UNKNOWN] = "",
		[MODEL_MIGRATION_USER] = " (cudaMemPrefetchAsync)",
		[MODEL_MIGRATION_COHERENCE] = " (page faults)",
		[MODEL_MIGRATION_PREFETCH] = " (the driver's prefetch)",
		[MODEL_MIGRATION_EVICTION] = " (evicted)",
		[MODEL_MIGRATION_COUNTERS] = " (accessed often)",
	};
	const char *to = "between GPUs";

	if (why_managed_kind(detail) == MODEL_MEMCPY_MANAGED_TO_DEVICE)
		to = "to the GPU";
	else if (why_managed_kind(detail) == MODEL_MEMCPY_MANAGED_TO_HOST)
		to = "to the CPU";
	return xasprintf("pages moved %s%s", to, causes[why_managed_cause(detail)]);
}

/* The text after the #: "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__". */
static const char *loader_words(const struct model *model, const struct idle_row *row)
{
	const char *name = why_seen_by(row->extra) == WHY_SEEN_BY_OP ? name_of(model, row->detail) : NULL;
	const char *mark = name ? strchr(name, '#') : NULL;

	return mark ? mark + 1 : "DataLoader.__next__";
}

static char *call_words(const struct idle_row *row)
{
	uint16_t api = (uint16_t)row->detail;

	if (row->after)
		return xasprintf("after %s", api_name(api));
	return xasprintf("%s %s", api_class(api) == GPT_CLASS_NONE ? "in" : "waited in", api_name(api));
}

static char *compile_words(const struct model *model, const struct idle_row *row)
{
	struct model_jit jit = {.operation = (uint8_t)row->extra};

	switch (row->detail) {
	case WHY_COMPILE_JIT:
		return xasprintf("driver: %s", jit_name(&jit));
	case WHY_COMPILE_MODULE:
		return xasprintf("%s %s", row->after ? "after" : "in", api_name((uint16_t)row->extra));
	case WHY_COMPILE_LAUNCH:
		return xasprintf("in the first launch of %s", name_of(model, row->extra));
	default:
		return xstrdup("torch.compile");
	}
}

/* "waited for a child process (git)" */
static char *own_wait_words(const struct idle *idle, const struct idle_row *row)
{
	const struct ran_other *other =
		row->extra < idle->ran.others.count ? &idle->ran.others.items[row->extra] : NULL;
	const char *words = wait_words(row->cause, row->detail);

	return other && *other->name ? xasprintf("%s (%s)", words, other->name) : xstrdup(words);
}

char *idle_words(const struct idle *idle, const struct idle_row *row)
{
	const struct model *model = idle->model;

	if (row->inner != row->cause && !idle_is_edge(row->cause))
		return chain_words(model, row);
	switch (row->cause) {
	case WHY_PYTHON:
	case WHY_PROGRAM:
		return xstrdup("launched late");
	case WHY_RAN:
	case WHY_NATIVE:
		return inner_words(model, row);
	case WHY_LOCK:
	case WHY_ITEM:
	case WHY_RESULT:
	case WHY_NOTICE:
	case WHY_GIL:
	case WHY_REQUEST:
	case WHY_PIPE:
	case WHY_CHILD:
	case WHY_SLEEP:
	case WHY_DISK:
	case WHY_FAULT:
	case WHY_NO_CPU:
	case WHY_WAIT:
		return own_wait_words(idle, row);
	case WHY_UNSAMPLED:
		return xstrdup("not sampled");
	case WHY_SYNC:
	case WHY_ALLOC:
	case WHY_CALL:
		return call_words(row);
	case WHY_COPY:
		return xasprintf("%s %s", row->after ? "after" : "in", copy_words(row->detail));
	case WHY_MANAGED:
		return managed_words(row->detail);
	case WHY_COMPILE:
		return compile_words(model, row);
	case WHY_DATA:
		return xasprintf("in %s", loader_words(model, row));
	case WHY_IMPORT:
		return xasprintf("import of %s", name_of(model, row->detail));
	case WHY_GC:
		return xasprintf("GC of generation %u", row->detail);
	case WHY_PEER:
		return xstrdup(name_of(model, row->detail));
	case WHY_LAUNCH:
		return xstrdup("small kernels");
	case WHY_GPU:
		return xstrdup("GPU side");
	case WHY_UNSEEN:
		return xstrdup("launch not seen");
	default:
		return xstrdup("");
	}
}

char *idle_charge_words(const struct idle *idle, const struct idle_charge *charge)
{
	const struct idle_row row = {.cause = charge->what.part[1],
				     .inner = charge->inner,
				     .after = charge->after,
				     .detail = charge->what.part[2],
				     .extra = charge->what.part[3]};

	return idle_words(idle, &row);
}
