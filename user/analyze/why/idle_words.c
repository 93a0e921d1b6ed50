/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What happened in a part of a gap, in a few words. */
#include <string.h>

#include "analyze/why/idle_internal.h"

static const char *name_of(const struct model *model, uint32_t name)
{
	return name == NONE || name >= model->string_count ? "?" : model->strings[name];
}

static const char *copy_words(uint32_t detail)
{
	return (detail & 0xff) == WHY_HTOD ? "a copy to the GPU" : "a copy from the GPU";
}

/* "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__": what follows the mark. */
static const char *loader_words(const struct model *model, const struct idle_row *row)
{
	const char *name = row->extra == WHY_SEEN_BY_OP ? name_of(model, row->detail) : NULL;
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

static char *compile_words(const struct idle_row *row)
{
	struct model_jit jit = {.operation = (uint8_t)row->extra};

	switch (row->detail) {
	case WHY_COMPILE_JIT:
		return xasprintf("driver: %s", jit_name(&jit));
	case WHY_COMPILE_MODULE:
		return xasprintf("%s %s", row->after ? "after" : "in", api_name((uint16_t)row->extra));
	default:
		return xstrdup("torch.compile");
	}
}

char *idle_words(const struct model *model, const struct idle_row *row)
{
	switch (row->cause) {
	case WHY_PYTHON:
		return xstrdup("launched late");
	case WHY_SYNC:
	case WHY_ALLOC:
	case WHY_CALL:
		return call_words(row);
	case WHY_COPY:
		return xasprintf("%s %s", row->after ? "after" : "in", copy_words(row->detail));
	case WHY_COMPILE:
		return compile_words(row);
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
