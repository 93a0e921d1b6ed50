/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The names of causes. */
#include "report/why/why_words.h"

static const struct {
	const char *name, *title, *brief;
} causes[] = {
	[WHY_PYTHON] = {"python", "the GPU waits for Python", "Python"},
	[WHY_PROGRAM] = {"program", "the GPU waits for the program on the CPU", "the program"},
	[WHY_RAN] = {"ran", "the GPU waits while a line of Python runs", "Python"},
	[WHY_NATIVE] = {"native", "the GPU waits while the program runs on the CPU", "native code"},
	[WHY_LOCK] = {"lock", "the GPU waits while a thread waits for a lock", "a lock"},
	[WHY_ITEM] = {"item", "the GPU waits while a thread waits for an item of a queue", "a queue"},
	[WHY_RESULT] = {"result", "the GPU waits while a thread waits for a result", "a result"},
	[WHY_NOTICE] = {"notification", "the GPU waits while a thread waits for a notification", "a notification"},
	[WHY_REQUEST] = {"request", "no work to do: the program waits for requests or timers", "no request"},
	[WHY_GIL] = {"gil", "the GPU waits while a thread waits for the GIL", "the GIL"},
	[WHY_PIPE] = {"pipe", "the GPU waits for another thread or process", "a pipe or socket"},
	[WHY_CHILD] = {"child", "the GPU waits for a child process", "a child process"},
	[WHY_SLEEP] = {"sleep", "the GPU waits while the program sleeps", "a sleep"},
	[WHY_DISK] = {"disk", "the GPU waits for files", "files"},
	[WHY_FAULT] = {"fault", "the GPU waits while memory is paged in", "page faults"},
	[WHY_NO_CPU] = {"no_cpu", "the GPU waits as the program gets no CPU", "no CPU"},
	[WHY_WAIT] = {"wait", "the GPU waits while a thread waits", "a wait"},
	[WHY_DATA] = {"data", "the GPU waits for data", "data loading"},
	[WHY_SYNC] = {"sync", "a call waits for the GPU, which then runs out of work", "a wait for the GPU"},
	[WHY_LAUNCH] = {"launch", "small kernels run shorter than it takes to launch them", "small kernels"},
	[WHY_ALLOC] = {"alloc", "the GPU waits while CUDA hands out memory or takes it back", "memory of CUDA"},
	[WHY_CALL] = {"call", "the GPU waits while the program is in a CUDA call", "other CUDA calls"},
	[WHY_IMPORT] = {"import", "the GPU waits while Python imports modules", "imports"},
	[WHY_GC] = {"gc", "the GPU waits while Python collects garbage", "garbage collection"},
	[WHY_COMPILE] = {"compile", "the GPU waits while code is compiled or loaded", "compiling"},
	[WHY_COPY] = {"copy", "copies between host and GPU hold the GPU up", "copies"},
	[WHY_MANAGED] = {"managed", "managed memory moves between CPU and GPU, and the GPU waits", "managed memory"},
	[WHY_PROCESS] = {"process", "work waits while another process uses the GPU", "another process"},
	[WHY_RANK] = {"rank", "ranks wait in collectives for the one that comes last", "a late rank"},
	[WHY_PEER] = {"peer", "the GPU waits for other processes in a collective on the CPU", "a collective"},
	[WHY_UNSAMPLED] = {"unsampled", "the GPU waits, and no sample says for what", "not sampled"},
	/* losses without a title */
	[WHY_GPU] = {"gpu", NULL, "not begun by the GPU"},
	[WHY_UNSEEN] = {"unseen", NULL, "launch not recorded"},
	[WHY_SHORT] = {"short", NULL, "gaps under 5 us"},
};

const char *why_cause_name(enum why_cause cause)
{
	return causes[cause].name;
}

/* Without any Python code in the file it is not known whether it was Python. */
const char *why_title(const struct analyses *all, enum why_cause cause)
{
	if (cause == WHY_PYTHON && !all->model->code_count)
		cause = WHY_PROGRAM;
	return causes[cause].title;
}

const char *why_short(enum why_cause cause)
{
	return causes[cause].brief;
}
