/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Causes that are copies. */
#include "report/why/why_causes.h"

static char *copy_words(const struct model *model, const struct idle_row *row)
{
	return xasprintf("%s a copy %s the GPU", row->after ? "after" : "in",
			 (row->detail & 0xff) == WHY_HTOD ? "to" : "from");
}

static char *copy_name(uint32_t detail, char *buffer, size_t size)
{
	struct model_gpu op = {.kind = MODEL_MEMCPY,
			       .memcpy_kind = (uint8_t)detail,
			       .from = (uint8_t)(detail >> 8),
			       .to = (uint8_t)(detail >> 16)};

	gpu_name(NULL, &op, buffer, size);
	return buffer;
}

static char *copy_evidence(const struct analyses *all, const struct why_loss *loss, const char *others)
{
	const struct why_line *line = &loss->lines[0];
	char name[128], *text;

	text = xasprintf("%s %s", number_count(line->copies).text, copy_name(line->detail, name, sizeof(name)));
	if (line->copies)
		text = xjoin(text, "", xasprintf(" of %s each", number_bytes(line->copy_bytes / line->copies).text));
	if (line->copy_ns)
		text = xjoin(text, "",
			     xasprintf(" took %s (%.1f GB/s)", number_time(line->copy_ns).text,
				       (double)line->copy_bytes / (double)line->copy_ns));
	if (line->calls)
		text = xjoin(text, line->copy_ns ? ", and" : ":",
			     xasprintf(" the program stood in %s of these calls for %s", number_count(line->calls).text,
				       number_time(line->calls_ns).text));
	return xjoin(text, "", xasprintf(". For %s no kernel ran.", number_time(line->ns).text));
}

static const char *copy_advice(const struct analyses *all, const struct why_loss *loss)
{
	const struct why_line *line = &loss->lines[0];
	bool from_gpu = (line->detail & 0xff) == WHY_DTOH;

	if (line->pageable && from_gpu)
		return "Copy into pinned memory (torch.empty(..., pin_memory=True), then .copy_(tensor, "
		       "non_blocking=True)), and read it once an event says that the copy is over.";
	if (line->pageable)
		return "Use pinned memory (pin_memory=True in the DataLoader, or tensor.pin_memory()), and "
		       ".to(device, non_blocking=True).";
	return from_gpu ? "Copy on a stream of its own while the GPU goes on, and read the result later."
			: "Copy the next batch on a stream of its own while the GPU computes this one.";
}

static char *managed_words(const struct model *model, const struct idle_row *row)
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

	if (why_managed_kind(row->detail) == MODEL_MEMCPY_MANAGED_TO_DEVICE)
		to = "to the GPU";
	else if (why_managed_kind(row->detail) == MODEL_MEMCPY_MANAGED_TO_HOST)
		to = "to the CPU";
	return xasprintf("pages moved %s%s", to, causes[why_managed_cause(row->detail)]);
}

/* Only a page fault shows who needs the pages. */
static const char *managed_why(uint32_t detail)
{
	switch (why_managed_cause(detail)) {
	case MODEL_MIGRATION_USER:
		return "The program moves pages (cudaMemPrefetchAsync)";
	case MODEL_MIGRATION_PREFETCH:
		return "The driver moves pages that it expects to be needed";
	case MODEL_MIGRATION_EVICTION:
		return "The GPU's memory is full, and pages make room for others";
	case MODEL_MIGRATION_COUNTERS:
		return "The driver moves pages that were accessed often from afar";
	default:
		break;
	}
	switch (why_managed_kind(detail)) {
	case MODEL_MEMCPY_MANAGED_TO_HOST:
		return "The CPU reads pages that lie on the GPU";
	case MODEL_MEMCPY_MANAGED_TO_DEVICE:
		return "The GPU needs pages that lie on the CPU";
	default:
		return "A GPU needs pages that lie on another one";
	}
}

static const char *managed_when(uint32_t detail)
{
	switch (why_managed_cause(detail)) {
	case MODEL_MIGRATION_UNKNOWN:
		return ", at page faults or prefetches";
	case MODEL_MIGRATION_COHERENCE:
		return ", at page faults";
	default:
		return "";
	}
}

static char *managed_evidence(const struct analyses *all, const struct why_loss *loss, const char *others)
{
	const struct why_line *line = &loss->lines[0];
	char *text = xstrdup(managed_why(line->detail));

	if (line->copies) /* else the copy after the gap is in no step */
		text = xjoin(text, ": ",
			     xasprintf("the driver moved some %s time%s (%s in all, %s)%s",
				       number_count(line->copies).text, cause_plural(line->copies),
				       number_bytes(line->copy_bytes).text, number_time(line->copy_ns).text,
				       managed_when(line->detail)));
	return xjoin(text, "",
		     xasprintf(". For %s no kernel ran, before such copies and in them.", number_time(line->ns).text));
}

static const char *managed_advice(const struct analyses *all, const struct why_loss *loss)
{
	uint32_t detail = loss->lines[0].detail;

	switch (why_managed_cause(detail)) {
	case MODEL_MIGRATION_USER:
		return "Prefetch earlier, on a stream of its own, while the GPU has other work.";
	case MODEL_MIGRATION_EVICTION:
		return "Use less memory at a time than the GPU has (smaller batches, pieces), or keep on the CPU what "
		       "is seldom needed (cudaMemAdvise with cudaMemAdviseSetPreferredLocation).";
	default:
		break;
	}
	switch (why_managed_kind(detail)) {
	case MODEL_MEMCPY_MANAGED_TO_HOST:
		return "Move the pages before the CPU reads them (cudaMemPrefetchAsync to cudaCpuDeviceId), or let it "
		       "read them where they lie (cudaMemAdvise with cudaMemAdviseSetAccessedBy).";
	case MODEL_MEMCPY_MANAGED_TO_DEVICE:
		return "Move the pages before the GPU needs them (cudaMemPrefetchAsync to the GPU), and keep there "
		       "what the CPU does not read (cudaMemAdvise with cudaMemAdviseSetPreferredLocation).";
	default:
		return "Keep a copy on each GPU of what none writes (cudaMemAdvise with cudaMemAdviseSetReadMostly), "
		       "or move the pages before they are needed (cudaMemPrefetchAsync).";
	}
}

const struct cause cause_copy = {
	.title = "copies between host and GPU hold the GPU up",
	.brief = "copies",
	.color = COLOR_COPIES,
	.known_by = "by GPU work",
	.words_of = copy_words,
	.inner = "in CUDA or PyTorch",
	.inner_brief = "in CUDA calls",
	.evidence = copy_evidence,
	.advice_of = copy_advice,
};
const struct cause cause_managed = {
	.title = "managed memory moves between CPU and GPU, and the GPU waits",
	.brief = "managed memory",
	.color = COLOR_COPIES,
	.known_by = "by GPU work",
	.words_of = managed_words,
	.evidence = managed_evidence,
	.advice_of = managed_advice,
};
