/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Causes that are CUDA calls or launches, and compiling. */
#include <string.h>

#include "report/table/kernel_label.h"
#include "report/why/why_causes.h"

static char *call_words(const struct model *model, const struct idle_row *row)
{
	uint16_t api = (uint16_t)row->detail;

	if (row->after)
		return xasprintf("after %s", api_name(api));
	return xasprintf("%s %s", api_class(api) == GPT_CLASS_NONE ? "in" : "waited in", api_name(api));
}

static char *was_in_call(const struct model *model, const struct idle_row *row)
{
	return xasprintf("was in %s", api_name((uint16_t)row->detail));
}

static const char *call_known_by(const struct idle_charge *charge)
{
	return charge->after ? "by a call that returned before; nothing else explains it" : "by a CUDA call";
}

static char *call_place(const struct analyses *all, const struct why_line *line, char *label, enum line_brevity brevity)
{
	return cause_at(label, api_name((uint16_t)line->detail));
}

static char *sync_place(const struct analyses *all, const struct why_line *line, char *label, enum line_brevity brevity)
{
	char *at = call_place(all, line, label, brevity);

	return line->extra == NONE ? at : xjoin(at, " in ", xstrdup(why_name(all->model, line->extra)));
}

/* What would have been done while the GPU worked. */
static char *ran_after(const struct analyses *all, const struct why_line *line)
{
	AUTO_FREE char *label = NULL;

	if (!line->ran_ns)
		return xstrdup("");
	label = line_label(&all->lines, line->ran_line);
	return xasprintf(" (%s for %s of it)", label, number_time(line->ran_ns).text);
}

/* "The GPU had nothing to do for 3.1 ms in it, and for 1.2 ms after it, which would have run meanwhile." */
static char *idle_at_calls(const struct analyses *all, const struct why_line *line)
{
	const char *them = line->calls == 1 ? "it" : "them";
	uint64_t in_ns = line->ns - line->after_ns;
	AUTO_FREE char *in = in_ns ? xasprintf(" for %s in %s", number_time(in_ns).text, them) : xstrdup("");
	AUTO_FREE char *ran = ran_after(all, line);
	AUTO_FREE char *after = line->after_ns
					? xasprintf("%s for %s after %s, which would have run meanwhile%s",
						    in_ns ? ", and" : "", number_time(line->after_ns).text, them, ran)
					: xstrdup("");

	return all->why.devices.count > 1 ? xasprintf("GPUs, added up, had nothing to do%s%s.", in, after)
					  : xasprintf("The GPU had nothing to do%s%s.", in, after);
}

static char *sync_evidence(const struct analyses *all, const struct why_loss *loss, const char *others)
{
	const struct why_line *line = &loss->lines[0];
	char *text;

	text = xjoin(xasprintf("%s call%s of %s there took %s.", number_count(line->calls).text,
			       cause_plural(line->calls), api_name((uint16_t)line->detail),
			       number_time(line->calls_ns).text),
		     " ", idle_at_calls(all, line));
	if (!line->reads)
		return text;
	return xjoin(text, " ",
		     xasprintf("The line reads %s back from the GPU, %s time%s%s.",
			       number_bytes(line->read_bytes / line->reads).text, number_count(line->reads).text,
			       cause_plural(line->reads),
			       line->read_bytes / line->reads <= WHY_NUMBER_BYTES
				       ? ": one number, as .item(), float() or an `if` of a tensor do"
				       : ""));
}

static const char *sync_advice(const struct analyses *all, const struct why_loss *loss)
{
	const struct why_line *line = &loss->lines[0];

	if (line->reads && line->read_bytes / line->reads <= WHY_NUMBER_BYTES)
		return "Keep the value on the GPU (loss.detach()) and read it now and then, or once at the end, not in "
		       "each step.";
	if (line->reads)
		return "Copy to pinned memory with non_blocking=True, launch what comes next, and read the result "
		       "later.";
	return "Take the wait out where nothing on the CPU needs the result: torch.cuda.synchronize() is for "
	       "measuring.";
}

static char *launch_evidence(const struct analyses *all, const struct why_loss *loss, const char *others)
{
	uint64_t kernels = loss->count;

	return xasprintf("%s kernel%s ran for %s on average, and there was one every %s: the GPU idled between them.",
			 number_count(kernels).text, cause_plural(kernels),
			 number_time(all->idle.launch_kernel_ns / kernels).text,
			 number_time(all->idle.launch_interval_ns / kernels).text);
}

static char *calls_evidence(const struct analyses *all, const struct why_loss *loss, const char *others)
{
	uint64_t failed = 0;
	char *text = xstrdup("");

	for (size_t i = 0; i < loss->line_count && i < 3; i++) {
		const struct why_line *line = &loss->lines[i];

		text = xjoin(text, ", ",
			     xasprintf("%s call%s of %s took %s", number_count(line->calls).text,
				       cause_plural(line->calls), api_name((uint16_t)line->detail),
				       number_time(line->calls_ns).text));
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

static const char *call_advice(const struct analyses *all, const struct why_loss *loss)
{
	uint16_t api = (uint16_t)loss->lines[0].detail;

	if (api_class(api) == GPT_CLASS_LAUNCH || api_class(api) == GPT_CLASS_GRAPH)
		return "Warm up before the loop, and see what else the stream has to do: a launch takes that long "
		       "where it waits for room in its stream, which takes some 1,000 launches, or for code that it "
		       "loads.";
	if (strstr(api_name(api), "Query"))
		return "Ask less often, or launch the GPU's next work before asking.";
	return "Make such calls before the loop, and keep what they give.";
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
		return xasprintf("in the first launch of %s", why_name(model, row->extra));
	case WHY_COMPILE_CAPTURE:
		return xstrdup("capturing a CUDA graph");
	case WHY_COMPILE_FRAMES:
		return xasprintf("compiling: %s", compiler_name((enum compiler)row->extra));
	default:
		return xstrdup("torch.compile");
	}
}

static char *first_launch(const char *kernel)
{
	AUTO_FREE char *label = kernel_label(kernel);

	return xasprintf("in the first launch of %s, which loads its code", label);
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
		return first_launch(why_name(all->model, line->extra));
	case WHY_COMPILE_CAPTURE:
		return xstrdup("capturing CUDA graphs");
	case WHY_COMPILE_FRAMES:
		return xasprintf("in the frames of %s", compiler_name((enum compiler)line->extra));
	default:
		return xasprintf("by torch.compile (%s)", why_name(all->model, line->extra));
	}
}

/* What the table `compiles` has of it, in the whole trace; NULL: nothing. */
static const struct compile_row *compile_row_of(const struct analyses *all, const struct why_line *line)
{
	const struct compiles *compiles = &all->idle.compiles;

	for (size_t i = 0; i < compiles->rows.count; i++) {
		const struct compile_row *row = &compiles->rows.items[i];

		if (row->count && row->line == line->line && row->kind == (enum why_compile)line->detail &&
		    row->what == line->extra && row->process == line->process)
			return row;
	}
	return NULL;
}

/* " (2 times; saxpy was new and launched next)" */
static char *compiled_how_often(const struct analyses *all, const struct why_line *line)
{
	const struct compile_row *row = compile_row_of(all, line);
	AUTO_FREE char *label = NULL;
	char *text;

	if (!row)
		return xstrdup("");
	text = row->count == 1 ? xstrdup(" (once") : xasprintf(" (%s times", number_count(row->count).text);
	if (row->kernel != NONE && row->kind != WHY_COMPILE_LAUNCH) {
		label = kernel_label(why_name(all->model, row->kernel));
		text = xjoin(text, "; ", xasprintf("%s was new and launched next", label));
	}
	return xjoin(text, "", xstrdup(")"));
}

static char *compile_evidence(const struct analyses *all, const struct why_loss *loss, const char *others)
{
	char *text = xstrdup("");

	for (size_t i = 0; i < loss->line_count && i < 3; i++) {
		AUTO_FREE char *what = compiled_what(all, &loss->lines[i]);
		AUTO_FREE char *often = compiled_how_often(all, &loss->lines[i]);

		text = xjoin(text, ", ", xasprintf("%s %s%s", number_time(loss->lines[i].ns).text, what, often));
	}
	return xjoin(text, "", xstrdup(" while the GPU had nothing to do."));
}

/* "Torch-Compiled Region: 1/0": whether it is the first region of its function. */
static bool is_first_of_function(const char *region)
{
	const char *count = strrchr(region, '/');

	return count && strtoul(count + 1, NULL, 10) == 0;
}

static const char *frames_advice(enum compiler compiler)
{
	switch (compiler) {
	case COMPILER_TRITON:
		return "Launch each kernel once before the loop with all types and constants that it gets: Triton "
		       "compiles "
		       "for each. Keep its cache (TRITON_CACHE_DIR) from run to run.";
	case COMPILER_NUMBA:
		return "Launch each kernel once before the loop with all types that it gets, or name them in "
		       "@cuda.jit: "
		       "Numba compiles for each. cache=True keeps the result from run to run.";
	default:
		return "Call the compiled function once before the loop. If it compiles later again, find out why "
		       "(TORCH_LOGS=recompiles): shapes that change want dynamic=True or padding.";
	}
}

static const char *compile_advice(const struct analyses *all, const struct why_loss *loss)
{
	const struct why_line *line = &loss->lines[0];

	switch (line->detail) {
	case WHY_COMPILE_CAPTURE:
		return "Capture each graph once before the loop. If it is captured again, see what is new then: a "
		       "shape, "
		       "or memory at another place.";
	case WHY_COMPILE_FRAMES:
		return frames_advice((enum compiler)line->extra);
	case WHY_COMPILE_JIT:
		return "Build with code for this GPU's architecture, or keep the driver's cache (CUDA_CACHE_PATH) from "
		       "run to run.";
	case WHY_COMPILE_MODULE:
	case WHY_COMPILE_LAUNCH:
		return "Warm up before the loop; CUDA_MODULE_LOADING=EAGER loads all code when the program starts.";
	default:
		if (is_first_of_function(why_name(all->model, line->extra)))
			return "Call the compiled function once before the loop: its first call compiles it. The "
			       "caches of PyTorch (TORCHINDUCTOR_FX_GRAPH_CACHE) shorten that from run to run.";
		return "Find out why it compiles again (TORCH_LOGS=recompiles): shapes that change want dynamic=True "
		       "or padding.";
	}
}

static const char *compile_known_by(const struct idle_charge *charge)
{
	return charge->what.part[2] == WHY_COMPILE_FRAMES ? "by the frames of samples and waits"
	       : charge->what.part[2] == WHY_COMPILE_TORCH
		       ? "by PyTorch's ops"
		       : "by a call, or the driver's record, of compiling or loading";
}

const struct cause cause_sync = {
	.title = "a call waits for the GPU, which then runs out of work",
	.brief = "a wait for the GPU",
	.color = COLOR_SYNC,
	.known_by_of = call_known_by,
	.words_of = call_words,
	.inner_of = was_in_call,
	.inner_brief = "in CUDA calls",
	.place = sync_place,
	.evidence = sync_evidence,
	.advice_of = sync_advice,
};
const struct cause cause_alloc = {
	.title = "the GPU waits while CUDA hands out memory or takes it back",
	.brief = "memory of CUDA",
	.color = COLOR_CALLS,
	.known_by_of = call_known_by,
	.words_of = call_words,
	.inner_of = was_in_call,
	.inner_brief = "in CUDA calls",
	.place = call_place,
	.evidence = calls_evidence,
	.advice = "Allocate before the loop and use it again. In PyTorch: no torch.cuda.empty_cache() in the loop, "
		  "and PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True where sizes change.",
};
const struct cause cause_call = {
	.title = "the GPU waits while the program is in a CUDA call",
	.brief = "other CUDA calls",
	.color = COLOR_CALLS,
	.known_by_of = call_known_by,
	.words_of = call_words,
	.inner_of = was_in_call,
	.inner_brief = "in CUDA calls",
	.place = call_place,
	.evidence = calls_evidence,
	.advice_of = call_advice,
};
const struct cause cause_launch = {
	.title = "small kernels run shorter than it takes to launch them",
	.brief = "small kernels",
	.color = COLOR_LAUNCHES,
	.known_by = "by the lengths of the kernel and of its launch",
	.words = "small kernels",
	.evidence = launch_evidence,
	.advice = "Launch them together: a CUDA graph replays them all with one launch (in PyTorch also "
		  "torch.compile(mode=\"reduce-overhead\"), in JAX one jit around the loop); larger batches make "
		  "each one longer.",
};
const struct cause cause_compile = {
	.title = "the GPU waits while code is compiled or loaded",
	.brief = "compiling",
	.color = COLOR_INTERPRETER,
	.known_by_of = compile_known_by,
	.words_of = compile_words,
	.inner = "in CUDA or PyTorch",
	.evidence = compile_evidence,
	.advice_of = compile_advice,
};
