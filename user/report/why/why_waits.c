/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Causes that samples and waits of threads show (--cpu, --off-cpu). */
#include "base/array.h"
#include "report/why/why_causes.h"
#include "report/why/why_shares.h"

/* " at train.py:33 train"; ": for 61.2 ms at ..." where that is not all of it */
static char *waited_at(const struct analyses *all, const struct why_loss *loss)
{
	AUTO_FREE char *at = NULL;

	if (loss->via_line == NONE)
		return xstrdup("");
	at = line_label(&all->lines, loss->via_line);
	return loss->via_ns == loss->ns ? xasprintf(" at %s", at)
					: xasprintf(": for %s at %s", number_time(loss->via_ns).text, at);
}

char *cause_waited(const struct analyses *all, const struct why_loss *loss, const char *others)
{
	AUTO_FREE char *often = cause_how_often(loss), *at = waited_at(all, loss);

	return xasprintf("The GPU had nothing to do %s, while the thread that launches waited%s.%s", often, at, others);
}

static char *ran_evidence(const struct analyses *all, const struct why_loss *loss, const char *others)
{
	struct why_shares shares = why_shares_of(all, loss->cause);
	uint64_t ns;
	uint32_t function = why_most_of(&shares.functions, &ns);
	AUTO_FREE char *often = cause_how_often(loss);
	char *text;

	text = xasprintf("The GPU had nothing to do %s, while the thread that launches ran, by samples.", often);
	if (shares.waited_ns)
		text = xjoin(text, " ",
			     xasprintf("For %s of that it waited for threads without Python, which ran for its line.",
				       number_time(shares.waited_ns).text));
	if (function != NONE && *why_name(all->model, function) != '[') /* a file's name, not a symbol */
		text = xjoin(text, " ",
			     xasprintf("The native function seen most is %s: %s.", why_name(all->model, function),
				       number_time(ns).text));
	why_shares_free(&shares);
	return text;
}

/* A place that is no line: a pool that ran for the launching thread. */
static char *native_place(const struct analyses *all, const struct why_line *line, char *label,
			  enum line_brevity brevity)
{
	if (!all->lines.all.items[line->line].reason)
		return label;
	return cause_at(label, line->detail == NONE ? "no function known" : why_name(all->model, line->detail));
}

static char *native_words(const struct model *model, const struct idle_row *row)
{
	return row->detail == NONE ? xstrdup("ran") : xasprintf("ran %s", why_name(model, row->detail));
}

static const char *no_cpu_wait(uint32_t reason)
{
	return reason == GPT_WAIT_THROTTLED ? "no CPU: its cgroup's quota was used up" : "no CPU: others had it";
}

static const char *no_cpu_advice(const struct analyses *all, const struct why_loss *loss)
{
	if (loss->lines[0].detail == GPT_WAIT_THROTTLED)
		return "Its cgroup's quota is used up: raise cpu.max, or run fewer threads.";
	return "Run fewer threads than there are CPUs (OMP_NUM_THREADS, num_workers), or keep other programs off these "
	       "CPUs.";
}

const struct cause cause_ran = {
	.title = "the GPU waits while a line of Python runs",
	.brief = "Python",
	.color = COLOR_RAN,
	.known_by = "by CPU samples",
	.words = "ran",
	.inner = "ran",
	.inner_brief = "running Python",
	.evidence = ran_evidence,
	.advice = CAUSE_TAKE_OUT,
};
const struct cause cause_native = {
	.title = "the GPU waits while the program runs on the CPU",
	.brief = "native code",
	.color = COLOR_RAN,
	.known_by = "by CPU samples",
	.words_of = native_words,
	.inner_of = native_words,
	.inner_brief = "running native code",
	.place = native_place,
	.evidence = ran_evidence,
	.advice = CAUSE_TAKE_OUT,
};
/* Causes with the same evidence: brief, wait, title, advice. */
#define WAIT_CAUSE(name, shortly, waits, titled, advised)                                                              \
	const struct cause cause_##name = {.title = (titled),                                                          \
					   .brief = (shortly),                                                         \
					   .color = COLOR_WAITED,                                                      \
					   .wait = (waits),                                                            \
					   .evidence = cause_waited,                                                   \
					   .advice = (advised)};

WAIT_CAUSE(lock, "a lock", "waited for a lock", "the GPU waits while a thread waits for a lock",
	   "Hold the lock for less at that line, or let the thread that launches go on without it. If it is the lock "
	   "of a queue.SimpleQueue: have items put into the queue earlier.")
WAIT_CAUSE(item, "a queue", "waited for an item", "the GPU waits while a thread waits for an item of a queue",
	   "Have items put into the queue earlier: make what is done at that line cheaper, or let more threads or "
	   "processes do it.")
WAIT_CAUSE(
	result, "a result", "waited for a result", "the GPU waits while a thread waits for a result",
	"Start that work earlier, or ask for its result later; else make it cheaper, or divide it among more workers.")
WAIT_CAUSE(
	notification, "a notification", "waited for a notification",
	"the GPU waits while a thread waits for a notification",
	"Make what is done at that line before it notifies cheaper, or let the thread that launches go on without it.")
const struct cause cause_request = {
	.title = "no work to do: the program waits for requests or timers",
	.brief = "no request",
	.color = COLOR_NO_REQUEST,
	.wait = "waited for requests",
	.evidence = cause_waited,
	.advice = "Nothing to mend where it serves requests: none had come. Where a task slept or had asked for "
		  "something "
		  "itself, see that task.",
};
WAIT_CAUSE(gil, "the GIL", "waited for the GIL", "the GPU waits while a thread waits for the GIL",
	   "That line keeps the GIL: give it to a process of its own, or release the GIL in it "
	   "(Py_BEGIN_ALLOW_THREADS; of ctypes CDLL, not PyDLL).")
WAIT_CAUSE(pipe, "a pipe or socket", "waited for a pipe or socket", "the GPU waits for another thread or process",
	   "Ask for the next item before it is needed, or make what the other one does there cheaper: more processes, "
	   "larger pieces.")
WAIT_CAUSE(child, "a child process", "waited for a child process", "the GPU waits for a child process",
	   "Start the child earlier, and wait for it where its result is needed.")
WAIT_CAUSE(sleep, "a sleep", "slept", "the GPU waits while the program sleeps",
	   "Wait for an event in the place of a sleep, or launch the GPU's next work before it.")
WAIT_CAUSE(disk, "files", "waited for a file", "the GPU waits for files",
	   "Read ahead in a thread of its own, in larger pieces, or from a faster disk.")
WAIT_CAUSE(
	fault, "page faults", "page faults", "the GPU waits while memory is paged in",
	"Touch the memory before the loop (MAP_POPULATE, a copy of the file in memory); see whether the machine swaps.")
const struct cause cause_no_cpu = {
	.title = "the GPU waits as the program gets no CPU",
	.brief = "no CPU",
	.color = COLOR_NO_CPU,
	.wait_of = no_cpu_wait,
	.evidence = cause_waited,
	.advice_of = no_cpu_advice,
};
WAIT_CAUSE(wait, "a wait", "waited", "the GPU waits while a thread waits", "See what it waits for there.")
