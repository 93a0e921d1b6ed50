/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Probes on the agent's functions: by them it sends records and gets requests. */
#include "attach/probes/probes.h"

#include <gputrace/agent.h>

#include "attach/load/features.h"
#include "target/image.h"

/* Tests it once, as that takes a moment. */
bool agent_nop5_is_undone(void)
{
	static int undone = -1;

	if (undone < 0)
		undone = feature_probe(FEATURE_NOP5_UNDONE) != 0;
	return undone;
}

static int agent_uprobe(const struct image *agent, const char *function, const char *semaphore, struct uprobe *uprobe)
{
	int error;

	*uprobe = (struct uprobe){};
	error = image_symbol_offset(agent, function, &uprobe->offset);
	if (!error)
		error = image_symbol_offset(agent, semaphore, &uprobe->ref_counter);
	if (!agent_nop5_is_undone())
		uprobe->offset += GPUTRACE_AGENT_TRAP;
	return error;
}

struct agent_probe {
	const char *function, *semaphore;
	const struct bpf_program *program;
	struct links *links;
	bool needs_text; /* distinguishes the agent's calls of CUPTI from other clients' */
};

static int attach_agent_probe(struct files *files, struct probed_file *file, const struct image *image,
			      const struct agent_probe *probe)
{
	struct uprobe uprobe;
	int error = agent_uprobe(image, probe->function, probe->semaphore, &uprobe);

	if (!error && probe->needs_text)
		error = file_give_text(files, file, &uprobe);
	return error ? error : file_attach_uprobes(files, file, probe->links, probe->program, &uprobe, 1);
}

/* Passes by semaphores what the user wants besides kernels. */
static int attach_activity_sets(struct files *files, struct probed_file *file, const struct image *image)
{
	static const struct {
		const char *function, *semaphore;
	} sets[GPT_AGENT_SET_COUNT] = {
#define SET(enumerator, name)                                                                                          \
	[GPT_AGENT_SET_##enumerator] = {"gputrace_agent_activity_set_" #name,                                          \
					"gputrace_agent_activity_set_" #name "_semaphore"},
		GPT_AGENT_ACTIVITY_SETS(SET)
#undef SET
	};
	struct uprobe uprobes[GPT_AGENT_SET_COUNT + 5];
	size_t count = 0;
	int error = 0;

	for (unsigned i = 0; i < GPT_AGENT_SET_COUNT && !error; i++)
		if (files->activity_sets >> i & 1)
			error = agent_uprobe(image, sets[i].function, sets[i].semaphore, &uprobes[count++]);
	if (files->ops && !error)
		error = agent_uprobe(image, GPUTRACE_AGENT_OPS, GPUTRACE_AGENT_OPS_SEMAPHORE, &uprobes[count++]);
	if (files->shapes && !error)
		error = agent_uprobe(image, GPUTRACE_AGENT_SHAPES, GPUTRACE_AGENT_SHAPES_SEMAPHORE, &uprobes[count++]);
	if (files->forward_lines && !error)
		error = agent_uprobe(image, GPUTRACE_AGENT_FORWARD_LINES, GPUTRACE_AGENT_FORWARD_LINES_SEMAPHORE,
				     &uprobes[count++]);
	if (files->torch_memory && !error)
		error = agent_uprobe(image, GPUTRACE_AGENT_TORCH_MEMORY, GPUTRACE_AGENT_TORCH_MEMORY_SEMAPHORE,
				     &uprobes[count++]);
	if (files->memory_lines && !error)
		error = agent_uprobe(image, GPUTRACE_AGENT_MEMORY_LINES, GPUTRACE_AGENT_MEMORY_LINES_SEMAPHORE,
				     &uprobes[count++]);
	/* one link for all: each costs an RCU grace period when it is detached */
	return error ? error
		     : file_attach_uprobes(files, file, &file->call_links,
					   files->programs->bpf->progs.agent_activity_set, uprobes, count);
}

static int raise_schedule(struct files *files, struct probed_file *file, const struct uprobe *uprobes, size_t count)
{
	return file_attach_uprobes(files, file, &file->schedule_links, files->programs->bpf->progs.agent_activity_set,
				   uprobes, count);
}

static struct uprobe schedule_place(struct uprobe first, unsigned place)
{
	first.offset += (uint64_t)place * GPUTRACE_AGENT_SCHEDULE_STEP;
	first.ref_counter += (uint64_t)place * sizeof(uint16_t);
	return first;
}

/*
 * Attached before the session of ops starts, which reads it, and detached after it: an agent that has not left keeps
 * its number.
 */
static int attach_schedule(struct files *files, struct probed_file *file, const struct image *image)
{
	const uint32_t *field = &files->schedule.skip_first;
	struct uprobe uprobes[GPT_SCHEDULE_SEMAPHORES], first;
	unsigned place = 0;
	size_t count = 0;
	int error;

	if (!files->ops)
		return 0;
	error = agent_uprobe(image, GPUTRACE_AGENT_SCHEDULE, GPUTRACE_AGENT_SCHEDULE_SEMAPHORES, &first);
	for (unsigned i = 0; i < GPT_SCHEDULE_FIELDS; i++, field++)
		for (unsigned bit = 0; bit < gpt_schedule_field_bits(i); bit++, place++)
			if (*field >> bit & 1)
				uprobes[count++] = schedule_place(first, place);
	if (files->schedule_begun)
		uprobes[count++] = schedule_place(first, GPT_SCHEDULE_BEGUN);
	return error ? error : raise_schedule(files, file, uprobes, count);
}

static int begin_schedule(struct files *files, struct probed_file *file)
{
	struct image *image = NULL;
	struct uprobe uprobe;
	int error = file_open_image(file, &image);

	if (error)
		return error;
	error = agent_uprobe(image, GPUTRACE_AGENT_SCHEDULE, GPUTRACE_AGENT_SCHEDULE_SEMAPHORES, &uprobe);
	image_close(image);
	uprobe = schedule_place(uprobe, GPT_SCHEDULE_BEGUN);
	return error ? error : raise_schedule(files, file, &uprobe, 1);
}

int files_begin_schedule(struct files *files)
{
	int error = 0;

	files->schedule_begun = true;
	for (size_t i = 0; i < files->list.count && !error; i++)
		if (files->list.items[i]->kind == LIBRARY_AGENT &&
		    links_are_attached(&files->list.items[i]->call_links))
			error = begin_schedule(files, files->list.items[i]);
	return error;
}

/* Attached before any agent is asked to have stacks taken, so that none is missed. */
static int attach_stacks(struct files *files, struct probed_file *file, const struct image *image)
{
	const struct agent_probe probe = {GPUTRACE_AGENT_STACK, GPUTRACE_AGENT_STACK_SEMAPHORE,
					  files->programs->bpf->progs.agent_stack, &file->call_links, false};

	return files->forward_lines || files->torch_memory ? attach_agent_probe(files, file, image, &probe) : 0;
}

/* By a counter that is raised, not by one that is lowered: another gputrace may want all of a program's ops. */
static int lower_one(struct files *files, struct probed_file *file, bool off, const struct agent_probe *probe)
{
	struct image *image = NULL;
	int error;

	if (links_are_attached(probe->links) == off)
		return 0;
	if (!off) {
		links_detach(probe->links);
		return 0;
	}
	error = file_open_image(file, &image);
	if (error)
		return error;
	error = attach_agent_probe(files, file, image, probe);
	image_close(image);
	return error;
}

static int lower_detail(struct files *files, struct probed_file *file)
{
	const struct bpf_program *program = files->programs->bpf->progs.agent_activity_set;
	const struct agent_probe shapes = {GPUTRACE_AGENT_SHAPES_OFF, GPUTRACE_AGENT_SHAPES_OFF_SEMAPHORE, program,
					   &file->shapes_off_links, false};
	const struct agent_probe ops = {GPUTRACE_AGENT_OPS_OFF, GPUTRACE_AGENT_OPS_OFF_SEMAPHORE, program,
					&file->ops_off_links, false};
	int error = lower_one(files, file, files->shapes && files->detail_level > GPT_DETAIL_SHAPES, &shapes);

	return error ? error : lower_one(files, file, files->ops && files->detail_level > GPT_DETAIL_OPS, &ops);
}

int files_set_detail(struct files *files, uint32_t level)
{
	int error = 0;

	files->detail_level = level;
	for (size_t i = 0; i < files->list.count; i++) {
		struct probed_file *file = files->list.items[i];
		int one = 0;

		if (file->kind == LIBRARY_AGENT && links_are_attached(&file->call_links))
			one = lower_detail(files, file);
		error = error ? error : one;
	}
	return error;
}

int file_attach_agent(struct files *files, struct probed_file *file)
{
	const struct gputrace_bpf *bpf = files->programs->bpf;
	const struct agent_probe probes[] = {
		/* The listener for batches must be attached before the session that sends them starts. */
		{GPUTRACE_AGENT_BATCH, GPUTRACE_AGENT_BATCH_SEMAPHORE, bpf->progs.agent_batch, &file->batch_links,
		 false},
		{GPUTRACE_AGENT_STATE, GPUTRACE_AGENT_SEMAPHORE, bpf->progs.agent_state, &file->call_links, true},
		{GPUTRACE_AGENT_CALL, GPUTRACE_AGENT_SEMAPHORE, bpf->progs.call_agent, &file->call_links, false},
	};
	struct image *image = NULL;
	int error = 0;

	if (file->kind != LIBRARY_AGENT || links_are_attached(&file->call_links))
		return 0;
	error = file_open_image(file, &image);
	if (error)
		return error;
	error = attach_schedule(files, file, image);
	if (!error)
		error = attach_stacks(files, file, image);
	if (!error)
		error = attach_activity_sets(files, file, image);
	if (!error)
		error = lower_detail(files, file);
	for (size_t i = 0; i < sizeof(probes) / sizeof(probes[0]) && !error; i++)
		error = attach_agent_probe(files, file, image, &probes[i]);
	image_close(image);
	if (error) {
		links_detach(&file->call_links);
		links_detach(&file->batch_links);
		links_detach(&file->schedule_links);
		links_detach(&file->shapes_off_links);
		links_detach(&file->ops_off_links);
		file_note_refused(files, file, FILE_AGENT, error);
		return error;
	}
	/* If it is not probed in all processes, each one that maps it must be noticed. */
	if (file->shared || files->apart == FILES_SHARED)
		files_mark_known(files, file, true);
	return 0;
}

int file_raise_agent_counter(struct links *links, const struct probed_file *agent, pid_t pid, const char *function,
			     const char *semaphore)
{
	struct uprobe uprobe;
	struct image *image = NULL;
	int error;

	if (!agent || links->fds.count)
		return 0;
	error = file_open_image(agent, &image);
	if (error)
		return error;
	error = agent_uprobe(image, function, semaphore, &uprobe);
	if (!error)
		error = links_raise_counter(links, agent->fd, &uprobe, pid);
	image_close(image);
	return error;
}
