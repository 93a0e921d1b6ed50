/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What to try about a loss. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/parts.h"
#include "report/text.h"
#include "report/why/why_words.h"

static const char *sync_advice(const struct why_line *line)
{
	if (line->reads && line->read_bytes / line->reads <= WHY_NUMBER_BYTES)
		return "Keep the value on the GPU (loss.detach()) and read it now and then, or once at the end, not in "
		       "each step.";
	if (line->reads)
		return "Copy to pinned memory with non_blocking=True, launch what comes next, and read the result "
		       "later.";
	return "Take the wait out where nothing on the CPU needs the result: torch.cuda.synchronize() is for "
	       "measuring.";
}

/* "Torch-Compiled Region: 1/0": whether it is the first region of its function. */
static bool is_first_of_function(const char *region)
{
	const char *count = strrchr(region, '/');

	return count && strtoul(count + 1, NULL, 10) == 0;
}

static const char *compile_advice(const struct analyses *all, const struct why_line *line)
{
	switch (line->detail) {
	case WHY_COMPILE_JIT:
		return "Build with code for this GPU's architecture, or keep the driver's cache (CUDA_CACHE_PATH) from "
		       "run to run.";
	case WHY_COMPILE_MODULE:
	case WHY_COMPILE_LAUNCH:
		return "Warm up before the loop; CUDA_MODULE_LOADING=EAGER loads all code when the program starts.";
	default:
		if (is_first_of_function(why_name(all, line->extra)))
			return "Call the compiled function once before the loop: its first call compiles it. The "
			       "caches of PyTorch (TORCHINDUCTOR_FX_GRAPH_CACHE) shorten that from run to run.";
		return "Find out why it compiles again (TORCH_LOGS=recompiles): shapes that change want dynamic=True "
		       "or "
		       "padding.";
	}
}

/* Whether the line's process has no work of its own on a GPU. */
static bool in_worker(const struct analyses *all, const struct why_line *line)
{
	const struct model_process *process = &all->model->processes[line->process];

	return !process->calls && !process->gpu_ops;
}

static const char *no_cpu_advice(const struct why_line *line)
{
	if (line->detail == GPT_WAIT_THROTTLED)
		return "Its cgroup's quota is used up: raise cpu.max, or run fewer threads.";
	return "Run fewer threads than there are CPUs (OMP_NUM_THREADS, num_workers), or keep other programs off these "
	       "CPUs.";
}

/* How the DataLoader loads, as far as a stack or an op shows it. */
static enum why_loads loads_of(const struct why_loss *loss)
{
	for (size_t i = 0; i < loss->line_count; i++)
		if (why_loads(loss->lines[i].extra) != WHY_LOADS_UNKNOWN)
			return why_loads(loss->lines[i].extra);
	return WHY_LOADS_UNKNOWN;
}

static const char *data_advice(const struct analyses *all, const struct why_loss *loss)
{
	const struct why_line *line = &loss->lines[0];
	enum why_seen_by seen_by = why_seen_by(line->extra);
	enum why_loads loads = loads_of(loss);

	if (seen_by == WHY_SEEN_BY_STACKS && in_worker(all, line))
		return "Make that line cheaper, or give the DataLoader more num_workers or a larger prefetch_factor, "
		       "where there are CPUs left.";
	if (loads == WHY_LOADS_ITSELF && seen_by == WHY_SEEN_BY_STACKS)
		return "Give the DataLoader num_workers of 2 or more, or make that line cheaper: it runs in the "
		       "training process, so loading and training take turns.";
	if (loads == WHY_LOADS_ITSELF)
		return "Give the DataLoader num_workers of 2 or more: it loads in the training process itself now, so "
		       "loading and training take turns.";
	if (loads == WHY_LOADS_UNKNOWN)
		return "See whether the DataLoader has num_workers: without any it loads in the training process, and "
		       "loading and training take turns. If it has some: more of them, or a cheaper __getitem__.";
	return "More num_workers or a larger prefetch_factor, where there are CPUs left; else make the data set's "
	       "__getitem__ cheaper.";
}

static const char *copy_advice(const struct why_line *line)
{
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

static const char *managed_advice(const struct why_line *line)
{
	switch (why_managed_cause(line->detail)) {
	case MODEL_MIGRATION_USER:
		return "Prefetch earlier, on a stream of its own, while the GPU has other work.";
	case MODEL_MIGRATION_EVICTION:
		return "Use less memory at a time than the GPU has (smaller batches, pieces), or keep on the CPU what "
		       "is seldom needed (cudaMemAdvise with cudaMemAdviseSetPreferredLocation).";
	default:
		break;
	}
	switch (why_managed_kind(line->detail)) {
	case MODEL_MEMCPY_MANAGED_TO_HOST:
		return "Move the pages before the CPU reads them (cudaMemPrefetchAsync to cudaCpuDeviceId), or let it "
		       "read them where they lie (cudaMemAdvise with cudaMemAdviseSetAccessedBy).";
	case MODEL_MEMCPY_MANAGED_TO_DEVICE:
		return "Move the pages before the GPU needs them (cudaMemPrefetchAsync to the GPU), and keep there "
		       "what the "
		       "CPU does not read (cudaMemAdvise with cudaMemAdviseSetPreferredLocation).";
	default:
		return "Keep a copy on each GPU of what none writes (cudaMemAdvise with cudaMemAdviseSetReadMostly), "
		       "or move the pages before they are needed (cudaMemPrefetchAsync).";
	}
}

static const char *call_advice(uint16_t api)
{
	if (api_class(api) == GPT_CLASS_LAUNCH || api_class(api) == GPT_CLASS_GRAPH)
		return "Warm up before the loop, and see what else the stream has to do: a launch takes that long "
		       "where it waits for room in its stream, which takes some 1,000 launches, or for code that it "
		       "loads.";
	if (strstr(api_name(api), "Query"))
		return "Ask less often, or launch the GPU's next work before asking.";
	return "Make such calls before the loop, and keep what they give.";
}

/* Causes with one piece of advice. */
static const char *const by_cause[WHY_LOSSES] = {
	[WHY_PYTHON] = "See what runs there: take it out of the loop, give it to a thread or process of its own, or "
		       "launch the GPU's next work before it.",
	[WHY_PROGRAM] = "Take it out of the loop, give it to a thread or process of its own, or launch the GPU's next "
			"work before it.",
	[WHY_RAN] = "Take it out of the loop, give it to a thread or process of its own, or launch the GPU's next work "
		    "before it.",
	[WHY_NATIVE] = "Take it out of the loop, give it to a thread or process of its own, or launch the GPU's next "
		       "work before it.",
	[WHY_LOCK] = "Hold the lock for less at that line, or let the thread that launches go on without it. If it is "
		     "the lock of a queue.SimpleQueue: have items put into the queue earlier.",
	[WHY_ITEM] = "Have items put into the queue earlier: make what is done at that line cheaper, or let more "
		     "threads or processes do it.",
	[WHY_RESULT] = "Start that work earlier, or ask for its result later; else make it cheaper, or divide it among "
		       "more workers.",
	[WHY_NOTICE] = "Make what is done at that line before it notifies cheaper, or let the thread that launches go "
		       "on without it.",
	[WHY_REQUEST] = "Nothing to mend where it serves requests: none had come. Where a task slept or had asked for "
			"something itself, see that task.",
	[WHY_GIL] = "That line keeps the GIL: give it to a process of its own, or release the GIL in it "
		    "(Py_BEGIN_ALLOW_THREADS; of ctypes CDLL, not PyDLL).",
	[WHY_PIPE] = "Ask for the next item before it is needed, or make what the other one does there cheaper: more "
		     "processes, larger pieces.",
	[WHY_CHILD] = "Start the child earlier, and wait for it where its result is needed.",
	[WHY_SLEEP] = "Wait for an event in the place of a sleep, or launch the GPU's next work before it.",
	[WHY_DISK] = "Read ahead in a thread of its own, in larger pieces, or from a faster disk.",
	[WHY_FAULT] = "Touch the memory before the loop (MAP_POPULATE, a copy of the file in memory); see whether the "
		      "machine swaps.",
	[WHY_WAIT] = "See what it waits for there.",
	[WHY_LAUNCH] = "Launch them together: a CUDA graph replays them all with one launch (in PyTorch also "
		       "torch.compile(mode=\"reduce-overhead\"), in JAX one jit around the loop); larger batches make "
		       "each one longer.",
	[WHY_ALLOC] = "Allocate before the loop and use it again. In PyTorch: no torch.cuda.empty_cache() in the loop, "
		      "and PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True where sizes change.",
	[WHY_IMPORT] = "Import these before the loop.",
	[WHY_GC] = "gc.freeze() when all is set up, and gc.disable() in the loop with gc.collect() now and then.",
	[WHY_PROCESS] = "Give each process a GPU of its own (CUDA_VISIBLE_DEVICES), or run them under MPS, so that "
			"their kernels share it.",
	[WHY_PEER] = "See what the process that comes last does before it (`gputrace why` with --process). Of tensors "
		     "on GPUs the backend nccl makes kernels, which need no copy to the CPU.",
	[WHY_RANK] = "See what that rank does before the collective that the others do not: more data, a slower CPU or "
		     "GPU, work that only it has (`gputrace why` with --process).",
};

static const char *advice(const struct analyses *all, const struct why_loss *loss)
{
	const struct why_line *line = &loss->lines[0];

	switch (loss->cause) {
	case WHY_NO_CPU:
		return no_cpu_advice(line);
	case WHY_UNSAMPLED:
		return all->idle.ran.samples && all->idle.ran.waits
			       ? "Sample more often (-F)."
			       : "Record with --cpu and --off-cpu: what ran, and what was waited for.";
	case WHY_DATA:
		return data_advice(all, loss);
	case WHY_SYNC:
		return sync_advice(line);
	case WHY_CALL:
		return call_advice((uint16_t)line->detail);
	case WHY_COMPILE:
		return compile_advice(all, line);
	case WHY_COPY:
		return copy_advice(line);
	case WHY_MANAGED:
		return managed_advice(line);
	default:
		return by_cause[loss->cause];
	}
}

char *why_advice(const struct analyses *all, const struct why_loss *loss)
{
	return xstrdup(advice(all, loss));
}
