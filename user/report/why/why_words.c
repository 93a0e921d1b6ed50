/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sentences about rows; every figure in them is in the rows. */
#include "report/why/why_words.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "model/collectives.h"
#include "report/kernel_label.h"
#include "report/text.h"

static const char *plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/* ---- place ------------------------------------------------------------------------------------------------------- */

char *why_place(const struct analyses *all, const struct why_loss *loss, const struct why_line *line)
{
	char *label = line_label(&all->lines, line->line), *from, *text;

	switch (loss->cause) {
	case WHY_PYTHON:
	case WHY_PROGRAM:
	case WHY_UNSAMPLED:
		if (line->from_line == NONE)
			break;
		if (line->from_line == line->line) {
			text = xasprintf("between two launches of %s", label);
			free(label);
			return text;
		}
		from = line_label(&all->lines, line->from_line);
		text = xasprintf("from %s to the next launch, %s", from, label);
		free(from);
		free(label);
		return text;
	case WHY_SYNC:
	case WHY_ALLOC:
	case WHY_CALL:
		text = xasprintf("%s, %s%s%s", label, api_name((uint16_t)line->detail),
				 line->extra == NONE || loss->cause != WHY_SYNC ? "" : " in ",
				 line->extra == NONE || loss->cause != WHY_SYNC ? "" : why_name(all, line->extra));
		free(label);
		return text;
	case WHY_NATIVE:
		if (!all->lines.all.items[line->line].reason) /* a pool ran for it */
			break;
		text = xasprintf("%s, %s", label,
				 line->detail == NONE ? "no function known" : why_name(all, line->detail));
		free(label);
		return text;
	case WHY_DATA:
		if (why_seen_by(line->extra) == WHY_SEEN_BY_STACKS)
			break;
		/* fall through */
	case WHY_IMPORT:
	case WHY_GC:
		if (loss->cause != WHY_DATA && line->extra == 0)
			break;
		text = xasprintf(loss->cause == WHY_DATA && why_seen_by(line->extra) == WHY_SEEN_BY_FRAMES
					 ? "before the DataLoader's call at %s"
					 : "before the launch at %s",
				 label);
		free(label);
		return text;
	case WHY_PEER:
		text = xasprintf("%s, %s", label, why_name(all, line->detail));
		free(label);
		return text;
	case WHY_RANK:
		text = xasprintf("rank %" PRIu32 " at %s", line->detail, label);
		free(label);
		return text;
	default:
		break;
	}
	return label;
}

bool why_names_process(const struct analyses *all, uint32_t process)
{
	const struct model_process *whose = &all->model->processes[process];

	return all->active > 1 || (!whose->calls && !whose->gpu_ops);
}

char *why_where(const struct analyses *all, const struct why_loss *loss, const struct why_line *line)
{
	char *text = why_place(all, loss, line), *label, *shown;

	if (loss->cause == WHY_RANK || !why_names_process(all, line->process))
		return text;
	label = process_label(&all->model->processes[line->process]);
	shown = xasprintf("(%s)", label);
	free(label);
	return xjoin(text, " ", shown);
}

/* ---- evidence ---------------------------------------------------------------------------------------------------- */

static char *python_evidence(const struct analyses *all, const struct why_loss *loss)
{
	char *often = why_how_often(loss), *text;

	text = xasprintf("The GPU ran out of work %s, and the thread that launches was in no CUDA call%s meanwhile%s.",
			 often, model_has_all_calls(all->model) ? "" : " that gputrace follows",
			 all->idle.has_ops ? " and in no DataLoader" : "");
	free(often);
	return text;
}

static char *unsampled_evidence(const struct why_loss *loss)
{
	char *often = why_how_often(loss), *text;

	text = xasprintf("The GPU had nothing to do %s, and what the thread that launches did is in no sample and no "
			 "wait.",
			 often);
	free(often);
	return text;
}

static const char *loader_of(const char *name)
{
	const char *mark = strchr(name, '#');

	return mark ? mark + 1 : name;
}

static char *data_evidence(const struct analyses *all, const struct why_loss *loss)
{
	char *often = why_how_often(loss), *text;

	if (why_seen_by(loss->lines[0].extra) == WHY_SEEN_BY_FRAMES)
		text = xasprintf("The GPU ran out of work %s, and the next CUDA call was made inside the DataLoader "
				 "(%s of torch/utils/data/dataloader.py). Without %s it is not seen when the loop "
				 "came to that: what it did just before counts, too.",
				 often, all->model->codes[loss->lines[0].detail].name,
				 model_is_of_other_tool(all->model) ? "ops of PyTorch" : "--ops");
	else
		text = xasprintf("The GPU had nothing to do while the program was in %s, %s.",
				 loader_of(why_name(all, loss->lines[0].detail)), often);
	free(often);
	return text;
}

static char *sync_evidence(const struct analyses *all, const struct why_loss *loss)
{
	const struct why_line *line = &loss->lines[0];
	char *text;

	(void)all;
	text = xasprintf("%s call%s of %s there took %s. The GPU had nothing to do for %s in %s, and for %s after %s, "
			 "which would have run meanwhile.",
			 number_count(line->calls).text, plural(line->calls), api_name((uint16_t)line->detail),
			 number_time(line->calls_ns).text, number_time(line->ns - line->after_ns).text,
			 line->calls == 1 ? "it" : "them", number_time(line->after_ns).text,
			 line->calls == 1 ? "it" : "them");
	if (!line->reads)
		return text;
	return xjoin(text, " ",
		     xasprintf("The line reads %s back from the GPU, %s time%s%s.",
			       number_bytes(line->read_bytes / line->reads).text, number_count(line->reads).text,
			       plural(line->reads),
			       line->read_bytes / line->reads <= WHY_NUMBER_BYTES
				       ? ": one number, as .item(), float() or an `if` of a tensor do"
				       : ""));
}

static char *launch_evidence(const struct analyses *all, const struct why_loss *loss)
{
	uint64_t kernels = loss->count;

	return xasprintf("%s kernel%s ran for %s on average, and there was one every %s: the GPU idled between them.",
			 number_count(kernels).text, plural(kernels),
			 number_time(all->idle.launch_kernel_ns / kernels).text,
			 number_time(all->idle.launch_interval_ns / kernels).text);
}

static char *calls_evidence(const struct why_loss *loss)
{
	uint64_t failed = 0;
	char *text = xstrdup("");

	for (size_t i = 0; i < loss->line_count && i < 3; i++) {
		const struct why_line *line = &loss->lines[i];

		text = xjoin(text, ", ",
			     xasprintf("%s call%s of %s took %s", number_count(line->calls).text, plural(line->calls),
				       api_name((uint16_t)line->detail), number_time(line->calls_ns).text));
	}
	for (size_t i = 0; i < loss->line_count; i++)
		failed += loss->lines[i].failed;
	text = xjoin(text, "", xstrdup("."));
	if (failed)
		text = xjoin(text, " ",
			     xasprintf("%s of the calls failed: there was no memory, and the caller gave some back "
				       "and asked again.",
				       number_count(failed).text));
	return text;
}

/* Largest first, each module once. */
static char *import_evidence(const struct analyses *all, const struct why_loss *loss)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < loss->line_count && i < 3; i++)
		text = xjoin(text, ", ",
			     xasprintf("import of %s %s", why_name(all, loss->lines[i].detail),
				       number_time(loss->lines[i].ns).text));
	return xjoin(text, "", xstrdup(" without work on the GPU."));
}

static char *gc_evidence(const struct why_loss *loss)
{
	uint64_t of[3] = {0}, count[3] = {0}, other = 0;
	char *text = xstrdup("");

	for (size_t i = 0; i < loss->line_count; i++) {
		const struct why_line *line = &loss->lines[i];

		if (line->detail < 3) {
			of[line->detail] += line->ns;
			count[line->detail] += line->count;
		} else {
			other += line->count;
		}
	}
	for (unsigned i = 3; i-- > 0;)
		if (count[i])
			text = xjoin(text, ", ",
				     xasprintf("%s collection%s of generation %u: %s", number_count(count[i]).text,
					       plural(count[i]), i, number_time(of[i]).text));
	if (other)
		text = xjoin(text, ", ", xasprintf("%s collection%s", number_count(other).text, plural(other)));
	return xjoin(text, "",
		     xasprintf(" without work on the GPU, %s at the longest.", number_time(loss->longest_ns).text));
}

static char *first_launch(const char *kernel)
{
	char *label = kernel_label(kernel), *text = xasprintf("in the first launch of %s, which loads its code", label);

	free(label);
	return text;
}

static char *compiled_what(const struct analyses *all, const struct why_line *line)
{
	struct model_jit jit = {.operation = (uint8_t)line->extra};

	switch (line->detail) {
	case WHY_COMPILE_JIT:
		return xasprintf("by the driver (%s)", jit_name(&jit));
	case WHY_COMPILE_MODULE:
		return xasprintf("in %s", api_name((uint16_t)line->extra));
	case WHY_COMPILE_LAUNCH:
		return first_launch(why_name(all, line->extra));
	default:
		return xasprintf("by torch.compile (%s)", why_name(all, line->extra));
	}
}

static char *compile_evidence(const struct analyses *all, const struct why_loss *loss)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < loss->line_count && i < 3; i++) {
		char *what = compiled_what(all, &loss->lines[i]);

		text = xjoin(text, ", ", xasprintf("%s %s", number_time(loss->lines[i].ns).text, what));
		free(what);
	}
	return xjoin(text, "", xstrdup(" while the GPU had nothing to do."));
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

static char *copy_evidence(const struct why_loss *loss)
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

static char *managed_evidence(const struct why_loss *loss)
{
	const struct why_line *line = &loss->lines[0];
	char *text = xstrdup(managed_why(line->detail));

	if (line->copies) /* else the copy after the gap is in no step */
		text = xjoin(text, ": ",
			     xasprintf("the driver moved some %s time%s (%s in all, %s)%s",
				       number_count(line->copies).text, plural(line->copies),
				       number_bytes(line->copy_bytes).text, number_time(line->copy_ns).text,
				       managed_when(line->detail)));
	return xjoin(text, "",
		     xasprintf(". For %s no kernel ran, before such copies and in them.", number_time(line->ns).text));
}

static char *process_evidence(const struct analyses *all, const struct why_loss *loss)
{
	const struct model_process *other = &all->model->processes[loss->lines[0].detail];
	char *often = why_how_often(loss), *text;

	text = xasprintf("Work of this program was launched and had to wait %s, while %s (pid %" PRIu32
			 ") ran kernels on the same GPU.",
			 often, other->name, other->pid);
	free(often);
	return text;
}

/* Says how often that rank was the last. */
static char *rank_evidence(const struct analyses *all, const struct why_loss *loss)
{
	const struct why_line *line = &loss->lines[0];
	uint64_t times = 0;
	struct collective collective;
	bool known = collective_read(&collective, why_name(all, line->extra));

	for (size_t i = 0; i < loss->line_count; i++)
		if (loss->lines[i].detail == line->detail)
			times += loss->lines[i].count;
	return xasprintf("Rank %" PRIu32
			 " came last to %s of %s collectives (%s among them), and the other ranks' GPUs "
			 "waited in them, for %s at the longest.",
			 line->detail, number_count(times).text,
			 number_count(all->why.open_collectives ? all->why.open_collectives->complete : 0).text,
			 known ? collective.fields[GPT_COLLECTIVE_NAME] : "?", number_time(loss->longest_ns).text);
}

static char *peer_evidence(const struct analyses *all, const struct why_loss *loss)
{
	char *often = why_how_often(loss), *text;

	text = xasprintf("The GPU had nothing to do %s, while %s of its process had not ended: it ends when the last "
			 "process has come to it and the data has gone from CPU to CPU.",
			 often, why_name(all, loss->lines[0].detail));
	free(often);
	return text;
}

char *why_evidence(const struct analyses *all, const struct why_loss *loss)
{
	switch (loss->cause) {
	case WHY_PYTHON:
	case WHY_PROGRAM:
		return python_evidence(all, loss);
	case WHY_RAN:
	case WHY_NATIVE:
		return why_ran_evidence(all, loss);
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
		return why_waits_evidence(all, loss);
	case WHY_UNSAMPLED:
		return unsampled_evidence(loss);
	case WHY_DATA:
		return why_seen_by(loss->lines[0].extra) == WHY_SEEN_BY_STACKS ? why_waits_evidence(all, loss)
									       : data_evidence(all, loss);
	case WHY_SYNC:
		return sync_evidence(all, loss);
	case WHY_LAUNCH:
		return launch_evidence(all, loss);
	case WHY_ALLOC:
	case WHY_CALL:
		return calls_evidence(loss);
	case WHY_IMPORT:
		return import_evidence(all, loss);
	case WHY_GC:
		return gc_evidence(loss);
	case WHY_COMPILE:
		return compile_evidence(all, loss);
	case WHY_MANAGED:
		return managed_evidence(loss);
	case WHY_PROCESS:
		return process_evidence(all, loss);
	case WHY_RANK:
		return rank_evidence(all, loss);
	case WHY_PEER:
		return peer_evidence(all, loss);
	default:
		return copy_evidence(loss);
	}
}
