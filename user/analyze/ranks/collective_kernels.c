/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "analyze/ranks/collective_kernels.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/ranks/collective_arrivals.h"
#include "model/collectives.h"

/* What a kernel is, before its texts are made. */
struct drafted {
	struct collective_kernel kernel; /* name: model.strings; line: collector.places */
	bool by_params;			 /* kernel.name is collective_read()'s text */
	int64_t rank, ranks;		 /* own number in NCCL's communicator, and its size; -1: not known */
};

/* The latest kernel of a call of NCCL or an op, on a GPU: the kernels of one follow each other there. */
struct latest {
	uint64_t key, op, number;
	uint32_t thread, device;
};

struct drafted_communicator {
	struct kept_communicator kept; /* without its name */
	char *name;
};

struct of_process {
	struct {
		ARRAY(struct drafted) list;
	} kernels;
	struct {
		ARRAY(struct collective_part) list;
	} parts;
	struct tally counts;	     /* a key's halves, GPU: how many there were of it */
	ARRAY(struct latest) latest; /* of each GPU */
	uint64_t left_out;
	bool has_ops; /* a collective of torch.distributed launched one */
};

struct kernel_collector {
	struct comm_names names;
	struct of_process **processes; /* by model.processes; NULL: no such kernel yet */
	uint32_t process_count;
	struct tally places; /* stack, caller; numbered as they come */
	ARRAY(struct drafted_communicator) communicators;
	struct tally communicators_by_key; /* its halves; more: index + 1 */
};

struct kernel_collector *kernel_collector_new(const struct model *first, const struct comm_kernels *names)
{
	struct kernel_collector *collector = xcalloc(1, sizeof(*collector));

	collector->names.own = names;
	collector->process_count = first->process_count;
	collector->processes = xcalloc(first->process_count, sizeof(*collector->processes));
	return collector;
}

void kernel_collector_free(struct kernel_collector *collector)
{
	if (!collector)
		return;
	for (uint32_t i = 0; i < collector->process_count; i++)
		if (collector->processes[i]) {
			array_free(&collector->processes[i]->kernels.list);
			array_free(&collector->processes[i]->parts.list);
			tally_free(&collector->processes[i]->counts);
			array_free(&collector->processes[i]->latest);
			free(collector->processes[i]);
		}
	for (size_t i = 0; i < collector->communicators.count; i++)
		free(collector->communicators.items[i].name);
	array_free(&collector->communicators);
	tally_free(&collector->communicators_by_key);
	comm_names_free(&collector->names);
	tally_free(&collector->places);
	free(collector->processes);
	free(collector);
}

static struct of_process *of_process(struct kernel_collector *collector, uint32_t process)
{
	struct of_process **of = &collector->processes[process];

	if (!*of)
		*of = xcalloc(1, sizeof(**of));
	return *of;
}

/* ---- keys -------------------------------------------------------------------------------------------------------- */

static uint64_t mix_hash(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3u;
	return hash;
}

/* How many there were of that key before, on that GPU. */
static uint64_t next_number(struct of_process *of, uint64_t key, uint32_t device)
{
	return tally_at(&of->counts, (struct tally_key){{(uint32_t)key, (uint32_t)(key >> 32), device}})->count++;
}

/* ---- what a kernel takes part in --------------------------------------------------------------------------------- */

struct taking_part {
	struct of_process *of;
	uint32_t kernel; /* its index */
	const struct model *model;
	const struct gpu_event *event;
	const struct model_call *call; /* that asked for it: of a graph, the captured one */
};

static void add_part(const struct taking_part *taking, uint64_t key, int64_t members)
{
	array_push(&taking->of->parts.list,
		   ((struct collective_part){.key = key, .kernel = taking->kernel, .members = members}));
}

static void add_pairs(const struct taking_part *taking, uint64_t group, uint64_t ranks, int64_t own, bool is_send)
{
	for (int64_t other = 0; other < 64; other++) {
		uint64_t key;

		if (!(ranks >> other & 1))
			continue;
		key = mix_hash(mix_hash(group, (uint64_t)(is_send ? own : other)), (uint64_t)(is_send ? other : own));
		key = mix_hash(key, taking->event->captured != NULL);
		/* a rank that sends to itself waits for no one, and each end is counted by itself */
		if (other != own)
			add_part(taking,
				 mix_hash(key, next_number(taking->of, mix_hash(key, (uint64_t)is_send + 1),
							   taking->event->op->device)),
				 2);
	}
}

/* Sends and receives: each is known by its number from one rank to another. */
static enum collective_basis take_pairs(const struct taking_part *taking, const struct model_collective *nccl,
					const struct collective *collective)
{
	int64_t own = collective->numbers[GPT_COLLECTIVE_RANK];
	uint64_t group = hash_text(0xcbf29ce484222325u, collective->fields[GPT_COLLECTIVE_GROUP]);

	if (own < 0 || !nccl->is_known_everywhere || nccl->pairs_are_incomplete)
		return COLLECTIVE_BY_NOTHING;
	add_pairs(taking, group, nccl->sends, own, true);
	add_pairs(taking, group, nccl->receives, own, false);
	return COLLECTIVE_BY_PAIR;
}

static struct latest *latest_of(struct of_process *of, uint32_t device)
{
	for (size_t i = 0; i < of->latest.count; i++)
		if (of->latest.items[i].device == device)
			return &of->latest.items[i];
	array_push(&of->latest, ((struct latest){.device = device}));
	return &of->latest.items[of->latest.count - 1];
}

static enum collective_basis take_number(const struct taking_part *taking, const struct model_collective *reported,
					 const struct collective *collective)
{
	int64_t members = collective->numbers[GPT_COLLECTIVE_GROUP_SIZE];
	uint64_t key = collective_key_of_op(collective, reported->sequence);
	struct latest *latest = latest_of(taking->of, taking->event->op->device);

	if (taking->event->captured) {
		add_part(taking,
			 mix_hash(mix_hash(key, UINT64_MAX), next_number(taking->of, key, taking->event->op->device)),
			 members);
		return COLLECTIVE_BY_REPLAY;
	}
	/* another kernel of the same op, or of the same group of calls */
	if (latest->key == key && latest->op == reported->op && latest->thread == taking->event->launch->thread)
		latest->number++;
	else
		*latest = (struct latest){.key = key,
					  .op = reported->op,
					  .thread = taking->event->launch->thread,
					  .device = taking->event->op->device};
	add_part(taking, latest->number ? mix_hash(key, latest->number) : key, members);
	taking->of->parts.list.items[taking->of->parts.list.count - 1].is_one_way = collective_is_one_way(collective);
	return COLLECTIVE_BY_NUMBER;
}

/* The n-th kernel of a name that runs at the same time as those of others. */
static enum collective_basis take_name(const struct taking_part *taking, enum comm_kind kind, const char *group,
				       int64_t members)
{
	const char *name = taking->model->strings[taking->event->op->name];

	if (kind != COMM_OF_ALL)
		return COLLECTIVE_BY_NOTHING;
	add_part(taking, hash_text(hash_text(0xcbf29ce484222325u, name), group), members > 0 ? members : 0);
	return COLLECTIVE_BY_NAME;
}

static bool is_pair(const struct collective *collective)
{
	const char *name = collective->fields[GPT_COLLECTIVE_NAME];

	return collective->numbers[GPT_COLLECTIVE_POINT_TO_POINT] == 1 || !strcmp(name, "send") ||
	       !strcmp(name, "recv");
}

static enum collective_basis take_reported(const struct taking_part *taking, const struct model_collective *reported,
					   const struct model_collective *nccl, const struct collective *collective,
					   enum comm_kind kind)
{
	struct collective of_nccl;
	bool is_named = reported->op && *collective->fields[GPT_COLLECTIVE_GROUP];

	if (nccl && (nccl->sends || nccl->receives || nccl->pairs_are_incomplete))
		return collective_read(&of_nccl, taking->model->strings[nccl->params])
			       ? take_pairs(taking, nccl, &of_nccl)
			       : COLLECTIVE_BY_NOTHING;
	if (is_pair(collective) || reported->is_of_several)
		return COLLECTIVE_BY_NOTHING;
	if (reported->sequence >= 0)
		return take_number(taking, reported, collective);
	return take_name(taking, kind, is_named ? collective->fields[GPT_COLLECTIVE_GROUP] : "",
			 collective->numbers[GPT_COLLECTIVE_GROUP_SIZE]);
}

/* ---- communicators and bytes ------------------------------------------------------------------------------------- */

/* "default_pg", "0 (data_parallel)" or NCCL's name. */
static char *name_of_communicator(const struct collective *collective)
{
	const char *group = collective->fields[GPT_COLLECTIVE_GROUP];
	const char *about = collective->fields[GPT_COLLECTIVE_DESCRIPTION];

	if (!*about || !strcmp(about, "undefined"))
		return xstrdup(group);
	return strcmp(about, "default_pg") != 0 ? xasprintf("%s (%s)", group, about) : xstrdup(about);
}

/* None: of groups of calls on several that could not be told apart. */
static uint32_t communicator_of(struct kernel_collector *collector, const struct model *part, uint32_t process,
				const struct model_collective *reported, const struct collective *collective)
{
	bool is_of_one = !reported->op && !reported->is_known_everywhere;
	uint64_t key = collective_group_key(collective);
	struct tally_entry *known;
	char *name;

	if (!*collective->fields[GPT_COLLECTIVE_GROUP])
		return NONE;
	if (is_of_one)
		key = mix_hash(key, process);
	known = tally_at(&collector->communicators_by_key,
			 (struct tally_key){{(uint32_t)key, (uint32_t)(key >> 32), is_of_one}});
	if (!known->more) {
		name = name_of_communicator(collective);
		if (is_of_one)
			name = xjoin(name, " of process ", xasprintf("%u", part->processes[process].pid));
		array_push(&collector->communicators,
			   ((struct drafted_communicator){
				   {key, NONE, collective->numbers[GPT_COLLECTIVE_GROUP_SIZE], is_of_one}, name}));
		known->more = collector->communicators.count;
	}
	return (uint32_t)(known->more - 1);
}

/* ---- events ------------------------------------------------------------------------------------------------------ */

static enum comm_kind kind_of(struct kernel_collector *collector, const struct model *part, uint32_t name)
{
	return name == NONE ? COMM_NONE : comm_names_kind(&collector->names, name, part->strings[name]);
}

static struct drafted draft_of(struct kernel_collector *collector, const struct gpu_event *event)
{
	const struct model_gpu *op = event->op;
	struct drafted drafted = {.rank = -1,
				  .ranks = -1,
				  .kernel = {.start_ns = op->start_ns,
					     .end_ns = op->end_ns,
					     .launch_ns = event->launch ? event->launch->start_ns : 0,
					     .name = op->name,
					     .line = NONE,
					     .communicator = NONE,
					     .bytes = -1,
					     .corr = op->corr,
					     .device = op->device,
					     .stream = op->stream,
					     .basis = COLLECTIVE_BY_NOTHING}};

	if (event->attributed)
		drafted.kernel.line =
			tally_number(&collector->places, (struct tally_key){{event->stack, event->caller}});
	return drafted;
}

static void add_kernel(struct kernel_collector *collector, const struct model *part, const struct gpu_event *event,
		       const struct model_collective *reported, enum comm_kind kind)
{
	struct of_process *of = of_process(collector, event->op->process);
	struct taking_part taking = {.of = of,
				     .kernel = (uint32_t)of->kernels.list.count,
				     .model = part,
				     .event = event,
				     .call = event->captured ? event->captured : event->launch};
	struct drafted drafted = draft_of(collector, event);
	struct collective collective;

	if (reported && (!collective_read(&collective, part->strings[reported->params]) ||
			 collective.numbers[GPT_COLLECTIVE_GROUP_SIZE] == 1))
		return;
	if (of->kernels.list.count == ARRIVALS_MAX) {
		of->left_out++;
		return;
	}
	if (reported) {
		drafted.by_params = true;
		of->has_ops |= reported->op != 0;
		drafted.rank = collective.numbers[GPT_COLLECTIVE_RANK];
		drafted.ranks = collective.numbers[GPT_COLLECTIVE_GROUP_SIZE];
		drafted.kernel.name = reported->params;
		drafted.kernel.basis = (uint8_t)take_reported(&taking, reported, model_nccl_call_of(part, taking.call),
							      &collective, kind);
		drafted.kernel.communicator =
			communicator_of(collector, part, event->op->process, reported, &collective);
		/* later kernels of an op, or of a group of calls, carry what the first one has */
		drafted.kernel.bytes =
			drafted.kernel.basis == COLLECTIVE_BY_NUMBER && latest_of(of, event->op->device)->number
				? 0
				: collective_bytes(&collective);
	} else {
		drafted.kernel.basis = (uint8_t)take_name(&taking, kind, "", 0);
	}
	array_push(&of->kernels.list, drafted);
}

void kernel_collector_add_gpu(struct kernel_collector *collector, const struct model *part,
			      const struct gpu_event *event)
{
	const struct model_call *call = event->captured ? event->captured : event->launch;
	const struct model_collective *reported = NULL;
	enum comm_kind kind;

	if (event->op->kind != MODEL_KERNEL || !gpu_ns(event->op))
		return;
	kind = kind_of(collector, part, event->op->name);
	if (call)
		reported = model_collective_of_call(part, call);
	/* an op may launch other kernels, too */
	if (reported && reported->op && kind == COMM_NONE)
		reported = NULL;
	if (reported || kind != COMM_NONE)
		add_kernel(collector, part, event, reported, kind);
}

/* ---- the result -------------------------------------------------------------------------------------------------- */

/* The name of a kernel's function alone would be shorter, but others may have it. */
static uint32_t keep_kernel_name(struct rank_texts *texts, struct tally *kept, uint32_t name)
{
	struct tally_entry *entry = tally_at(kept, (struct tally_key){{name}});

	if (!entry->more)
		entry->more = rank_texts_keep(texts, xstrdup(texts->model->strings[name])) + 1ull;
	return (uint32_t)(entry->more - 1);
}

/* Keeps the kernels of a GPU, NONE: of all, and what they take part in. */
static void keep_kernels(struct rank_texts *texts, struct tally *names, const struct of_process *of,
			 struct kernels_of_process *to)
{
	AUTO_FREE uint32_t *kept = xcalloc(of->kernels.list.count, sizeof(*kept)); /* index + 1 */
	int64_t ranks = 0;

	to->rank = -1;
	for (size_t i = 0; i < of->kernels.list.count; i++) {
		struct drafted *drafted = &of->kernels.list.items[i];

		if (to->device != NONE && drafted->kernel.device != to->device)
			continue;
		if (drafted->ranks > ranks) {
			ranks = drafted->ranks;
			to->rank = drafted->rank;
		}
		drafted->kernel.name = drafted->by_params ? rank_texts_keep_collective(texts, drafted->kernel.name)
							  : keep_kernel_name(texts, names, drafted->kernel.name);
		drafted->kernel.line = rank_texts_keep_line(texts, drafted->kernel.line);
		array_push(&to->kernels.list, drafted->kernel);
		kept[i] = (uint32_t)to->kernels.list.count;
	}
	for (size_t i = 0; i < of->parts.list.count; i++) {
		struct collective_part part = of->parts.list.items[i];

		if (!kept[part.kernel])
			continue;
		part.kernel = kept[part.kernel] - 1;
		array_push(&to->parts.list, part);
	}
}

/* Which GPUs of a process are ranks, in their order; a NONE: the process is one.  The caller frees the list. */
static struct tally gpus_that_are_ranks(const struct of_process *of)
{
	struct tally gpus = {0};

	for (size_t i = 0; i < of->kernels.list.count && !of->has_ops; i++)
		tally_at(&gpus, (struct tally_key){{of->kernels.list.items[i].kernel.device}});
	if (gpus.count < 2) {
		tally_free(&gpus);
		tally_at(&gpus, (struct tally_key){{NONE}});
	}
	tally_sort_by_key(&gpus);
	return gpus;
}

static void keep_process(struct rank_texts *texts, struct tally *names, const struct of_process *of, uint32_t process,
			 struct collective_kernels *kernels)
{
	struct tally gpus = gpus_that_are_ranks(of);

	for (size_t i = 0; i < gpus.count; i++) {
		struct kernels_of_process to = {.process = process,
						.pid = texts->model->processes[process].pid,
						.name = xstrdup(texts->model->processes[process].name),
						.left_out = i ? 0 : of->left_out,
						.device = gpus.entries[i].key.part[0]};

		keep_kernels(texts, names, of, &to);
		array_push(&kernels->processes.list, to);
	}
	tally_free(&gpus);
}

void kernel_collector_finish(struct kernel_collector *collector, const struct model *model, struct lines *lines,
			     struct collective_kernels *kernels)
{
	struct rank_texts texts = {
		.kept = &kernels->texts, .model = model, .lines = lines, .places = &collector->places};
	struct tally names = {0};

	*kernels = (struct collective_kernels){0};
	for (uint32_t i = 0; i < collector->process_count; i++) {
		if (collector->processes[i])
			keep_process(&texts, &names, collector->processes[i], i, kernels);
	}
	array_each (drafted, &collector->communicators) {
		drafted->kept.name = rank_texts_keep(&texts, drafted->name);
		drafted->name = NULL;
		array_push(&kernels->communicators, drafted->kept);
	}
	tally_free(&names);
	rank_texts_free(&texts);
}

void collective_kernels_free(struct collective_kernels *kernels)
{
	array_each (of, &kernels->processes.list) {
		free(of->name);
		array_free(&of->kernels.list);
		array_free(&of->parts.list);
	}
	array_free(&kernels->processes.list);
	array_free(&kernels->causes.list);
	array_free(&kernels->communicators);
	kept_texts_free(&kernels->texts);
}
