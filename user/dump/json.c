/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The findings as one JSON document, docs/formats.md. */
#include "dump/text.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "base/safe_text.h"

#define DUMP_VERSION 1
#define FINISHED_SHOWN 256u /* the newest ones of a group */

static void put_member(FILE *out, const char *name, const char *text)
{
	fprintf(out, ", \"%s\": ", name);
	put_json_string(out, text);
}

static void put_bool(FILE *out, const char *name, bool value)
{
	fprintf(out, ", \"%s\": %s", name, value ? "true" : "false");
}

/* 0 becomes null */
static void put_number(FILE *out, const char *name, unsigned long long value)
{
	if (value)
		fprintf(out, ", \"%s\": %llu", name, value);
	else
		fprintf(out, ", \"%s\": null", name);
}

static void put_file(FILE *out, const struct dump_file *file)
{
	fprintf(out, "{\"fd\": %d, \"for\": \"%s\"", file->fd, file->writes ? "write" : "read");
	put_member(out, "path", file->path);
	fputs(", \"other_end\": [", out);
	for (unsigned i = 0; i < file->other_count; i++)
		fprintf(out, "%s%d", i ? ", " : "", (int)file->others[i]);
	fputs("]}", out);
}

static void put_wait(FILE *out, const struct dump_wait *wait, uint64_t for_ns)
{
	fprintf(out, ", \"wait\": {\"kind\": \"%s\"", wait_kind_name(wait->kind));
	put_member(out, "text", wait->text);
	put_number(out, "address", wait->address);
	put_number(out, "owner_pid", (unsigned long long)wait->owner_pid);
	put_number(out, "owner_tid", (unsigned long long)wait->owner_tid);
	put_member(out, "owner_at", wait->where);
	put_number(out, "for_ns", for_ns);
	fputs(", \"files\": [", out);
	for (unsigned i = 0; i < wait->file_count; i++) {
		fputs(i ? ", " : "", out);
		put_file(out, &wait->files[i]);
	}
	fputs("]}", out);
}

static void put_locals(FILE *out, const struct dump_frame *frame)
{
	fputs(", \"locals\": {", out);
	for (unsigned i = 0; i < frame->local_count; i++) {
		fputs(i ? ", " : "", out);
		put_json_string(out, frame->locals[i].name);
		fputs(": ", out);
		put_json_string(out, frame->locals[i].value);
	}
	fputc('}', out);
}

static void put_frame(FILE *out, const struct dump_frame *frame)
{
	if (!frame->function) {
		fprintf(out, "{\"left_out\": %u}", frame->line);
		return;
	}
	fputs("{\"function\": ", out);
	put_json_string(out, frame->function);
	put_member(out, "file", frame->file);
	put_number(out, "line", frame->line);
	if (frame->locals)
		put_locals(out, frame);
	fputc('}', out);
}

static void put_frames(FILE *out, const struct dump_frame *frames, unsigned count)
{
	fputs(",\n    \"frames\": [", out);
	for (unsigned i = 0; i < count; i++) {
		fputs(i ? ",\n     " : "", out);
		put_frame(out, &frames[i]);
	}
	fputc(']', out);
}

static void put_thread(FILE *out, const struct dump_thread *thread)
{
	fprintf(out, "   {\"tid\": %d", (int)thread->tid);
	put_member(out, "name", thread->name);
	put_member(out, "python_name", thread->python_name);
	fprintf(out, ", \"state\": \"%c\"", thread->state >= 'A' && thread->state <= 'z' ? thread->state : '?');
	put_bool(out, "moves", thread->moves);
	put_bool(out, "python", thread->tstate != 0);
	put_bool(out, "holds_gil", thread->holds_gil);
	put_bool(out, "torn", thread->torn);
	put_bool(out, "unreadable", thread->unreadable);
	put_bool(out, "in_cycle", thread->in_cycle);
	fprintf(out, ", \"run_ns\": %llu, \"switches\": %llu", (unsigned long long)thread->moved_run_ns,
		(unsigned long long)thread->moved_switches);
	if (thread->in_call)
		fprintf(out, ", \"syscall\": %ld", thread->call);
	else
		fputs(", \"syscall\": null", out);
	put_member(out, "wchan", *thread->wchan ? thread->wchan : NULL);
	put_member(out, "native", thread->native);
	put_member(out, "library", thread->library);
	put_number(out, "same_frames_ns", thread->frame_count ? thread->same_frames_ns : 0);
	put_wait(out, &thread->wait, thread->not_run_ns);
	put_frames(out, thread->frames, thread->frame_count);
	fputc('}', out);
}

/* Includes the latest finished ones: another rank's dump may need them (dump_file.c). */
static void put_works(FILE *out, const struct dump_group *group)
{
	const char *between = "";
	unsigned finished = 0;

	for (unsigned i = 0; i < group->work_count; i++)
		finished += work_is_over(&group->works[i]);
	for (unsigned i = 0; i < group->work_count; i++) {
		const struct dump_work *work = &group->works[i];

		if (work_is_over(work) && finished-- > FINISHED_SHOWN)
			continue;
		fprintf(out, "%s\n     {\"operation\": ", between);
		put_json_string(out, work->name);
		put_number(out, "number", work->number);
		put_bool(out, "point_to_point", work->is_p2p);
		put_member(out, "state", work_state_name(work->state));
		put_number(out, "since_ns", (unsigned long long)work->since_ns);
		if (!work_is_over(work)) {
			put_member(out, "sizes", work->sizes);
			put_frames(out, work->frames, work->frame_count);
		}
		fputc('}', out);
		between = ",";
	}
}

static void put_groups(FILE *out, const struct dump_process *process)
{
	put_bool(out, "torch", process->has_torch);
	put_number(out, "groups_at_ns", (unsigned long long)process->groups_at_ns);
	fputs(", \"groups\": [", out);
	for (unsigned i = 0; i < process->group_count; i++) {
		const struct dump_group *group = &process->groups[i];

		fputs(i ? ",\n   {\"name\": " : "\n   {\"name\": ", out);
		put_json_string(out, group->name);
		put_member(out, "description", group->description);
		fputs(", \"members\": [", out);
		for (unsigned k = 0; k < group->rank_count; k++)
			fprintf(out, "%s%llu", k ? ", " : "", (unsigned long long)group->ranks[k]);
		fputs("],\n    \"works\": [", out);
		put_works(out, group);
		fputs("]}", out);
	}
	fputc(']', out);
}

static void put_task(FILE *out, const struct dump_process *process, const struct dump_task *task)
{
	fprintf(out, "   {\"id\": %llu, \"loop\": %llu", (unsigned long long)task->id, (unsigned long long)task->loop);
	put_member(out, "name", task->name);
	put_number(out, "tid", (unsigned long long)task->tid);
	put_member(out, "kind", task->kind);
	put_member(out, "text", task->text);
	put_number(out, "awaits", task->awaits ? process->tasks[task->awaits - 1].id : 0);
	put_bool(out, "in_cycle", task->cycle != 0);
	put_bool(out, "torn", task->torn);
	put_frames(out, task->frames, task->frame_count);
	fputc('}', out);
}

static void put_tasks(FILE *out, const struct dump_process *process)
{
	put_member(out, "no_tasks", process->no_tasks);
	fprintf(out, ", \"tasks_left_out\": %u, \"tasks\": [", process->tasks_left_out);
	for (unsigned i = 0; i < process->task_count; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_task(out, process, &process->tasks[i]);
	}
	fputc(']', out);
}

static void put_process(FILE *out, const struct dump_process *process)
{
	fprintf(out, " {\"pid\": %d, \"parent\": %d", (int)process->pid, (int)process->parent);
	put_member(out, "command", process->name);
	put_member(out, "refused", process->refused);
	put_member(out, "python", process->python);
	put_member(out, "no_python", process->no_python);
	put_member(out, "rank", process->rank);
	put_member(out, "world_size", process->world_size);
	put_member(out, "job", process->job);
	put_bool(out, "forked", process->forked);
	put_bool(out, "moves", process->moves);
	put_bool(out, "frozen", process->frozen);
	put_bool(out, "answers", !process->silent);
	put_number(out, "gil_holder", (unsigned long long)process->gil_holder);
	put_member(out, "ended_children", process->ended_children);
	fprintf(out, ", \"threads_left_out\": %u, \"look_ns\": %llu,\n  \"threads\": [", process->threads_left_out,
		(unsigned long long)process->look_ns);
	for (unsigned i = 0; i < process->thread_count; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_thread(out, &process->threads[i]);
	}
	fputc(']', out);
	put_tasks(out, process);
	put_groups(out, process);
	fputc('}', out);
}

static void put_node(FILE *out, const struct graph_node *node)
{
	fprintf(out, "{\"pid\": %d, \"tid\": %d}", (int)node->process->pid, (int)node->thread->tid);
}

static void put_cycles(FILE *out, const struct graph *graph)
{
	for (unsigned cycle = 1; cycle <= graph->cycles; cycle++) {
		size_t first = 0, at;

		while (graph->nodes.items[first].cycle != cycle)
			first++;
		fputs(cycle > 1 ? ", [" : "[", out);
		at = first;
		do {
			fputs(at == first ? "" : ", ", out);
			put_node(out, &graph->nodes.items[at]);
			at = graph->nodes.items[at].next;
		} while (at != first);
		fputc(']', out);
	}
}

static void put_roots(FILE *out, const struct graph *graph)
{
	const char *between = "";

	array_each (node, &graph->nodes) {
		if (!graph_is_root(node))
			continue;
		fprintf(out, "%s{\"waiting\": %u, \"thread\": ", between, node->waiting);
		put_node(out, node);
		fputc('}', out);
		between = ", ";
	}
}

/* Only merged dumps have it. */
static void put_host(FILE *out, const struct dump_process *process)
{
	if (process->host)
		put_member(out, "host", process->host);
}

static void put_line(FILE *out, const struct dump_frame *line)
{
	fputs(", \"at\": ", out);
	if (line)
		put_frame(out, line);
	else
		fputs("null", out);
}

static void put_ranks(FILE *out, const rank_list *ranks)
{
	for (size_t i = 0; i < ranks->count; i++) {
		const struct dump_rank *rank = &ranks->items[i];

		fprintf(out, "%s{\"pid\": %d", i ? ",\n" : "\n", (int)rank->process->pid);
		put_host(out, rank->process);
		put_number(out, "tid", rank->thread ? (unsigned long long)rank->thread->tid : 0);
		fprintf(out, rank->number < 0 ? ", \"rank\": null" : ", \"rank\": %lld", (long long)rank->number);
		put_number(out, "world_size",
			   rank->process->world_size ? strtoull(rank->process->world_size, NULL, 10) : 0);
		put_member(out, "job", rank->process->job);
		put_member(out, "collective", rank->collective ? rank->collective->function : NULL);
		put_line(out, rank->line);
		fputc('}', out);
	}
}

static void put_collective_rank(FILE *out, const struct collective_rank *rank)
{
	const struct dump_work *work = rank->work;

	fprintf(out, "{\"pid\": %d", (int)rank->process->pid);
	put_host(out, rank->process);
	fprintf(out, rank->rank < 0 ? ", \"rank\": null" : ", \"rank\": %lld", (long long)rank->rank);
	put_member(out, "part", part_name(rank->part));
	put_member(out, "operation", work ? work->name : NULL);
	put_number(out, "number", work ? work->number : 0);
	put_member(out, "state", work ? work_state_name(work->state) : NULL);
	put_member(out, "sizes", work ? work->sizes : NULL);
	put_number(out, "for_ns", rank->waited_ns);
	fprintf(out, ", \"later\": %u", rank->later);
	put_line(out, rank->line);
	put_frames(out, work ? work->frames : NULL, work ? work->frame_count : 0);
	fputc('}', out);
}

static void put_collectives(FILE *out, const collective_list *collectives)
{
	for (size_t i = 0; i < collectives->count; i++) {
		const struct collective *collective = &collectives->items[i];

		fputs(i ? ",\n{\"operation\": " : "\n{\"operation\": ", out);
		put_json_string(out, collective->name);
		put_number(out, "number", collective->number);
		put_bool(out, "point_to_point", collective->is_p2p);
		put_member(out, "job", collective->process->job);
		put_member(out, "group", collective->group->name);
		put_member(out, "description", collective->group->description);
		fprintf(out, ", \"not_looked_at\": %u, \"members\": [", collective->not_looked_at);
		for (unsigned k = 0; k < collective->group->rank_count; k++)
			fprintf(out, "%s%llu", k ? ", " : "", (unsigned long long)collective->group->ranks[k]);
		fputs("],\n  \"ranks\": [", out);
		for (size_t k = 0; k < collective->ranks.count; k++) {
			fputs(k ? ",\n   " : "\n   ", out);
			put_collective_rank(out, &collective->ranks.items[k]);
		}
		fputs("]}", out);
	}
}

static void put_services(FILE *out, const ras_list *services)
{
	for (size_t i = 0; i < services->count; i++) {
		const struct dump_ras *ras = &services->items[i];

		fputs(i ? ",\n{\"pids\": [" : "\n{\"pids\": [", out);
		for (unsigned k = 0; k < ras->pid_count; k++)
			fprintf(out, "%s%d", k ? ", " : "", (int)ras->pids[k]);
		fputc(']', out);
		put_member(out, "address", ras->address);
		put_number(out, "accepted", (unsigned long long)ras->accepted);
		put_member(out, "why", ras->why);
		fputs(", \"lines\": ", out);
		fputs(ras->lines ? "[" : "null", out);
		for (unsigned k = 0; ras->lines && k < ras->line_count; k++) {
			fputs(k ? ",\n " : "", out);
			put_json_string(out, ras->lines[k]);
		}
		fputs(ras->lines ? "]}" : "}", out);
	}
}

static void put_found_ranks(FILE *out, const struct dump_findings *found)
{
	fputs("\"ranks\": [", out);
	put_ranks(out, found->ranks);
	fputs("],\n\"collectives\": [", out);
	put_collectives(out, found->collectives);
	fputc(']', out);
}

void dump_print_ranks_json(FILE *out, const struct dump_findings *found)
{
	fprintf(out,
		"{\"schema\": \"gputrace dump ranks\", \"version\": %d, \"generator\": \"gputrace " GPUTRACE_VERSION
		"\",\n",
		DUMP_VERSION);
	put_found_ranks(out, found);
	fputs("}\n", out);
}

void dump_print_json(FILE *out, const struct dump_findings *found)
{
	const look_list *looks = found->looks;
	char host[HOST_NAME_MAX + 1] = "";

	gethostname(host, sizeof(host) - 1);
	fprintf(out,
		"{\"schema\": \"gputrace dump\", \"version\": %d, \"generator\": \"gputrace " GPUTRACE_VERSION "\",\n",
		DUMP_VERSION);
	fputs("\"host\": ", out);
	put_json_string(out, host);
	fputs(",\n\"processes\": [", out);
	for (size_t i = 0; i < looks->count; i++) {
		fputs(i ? ",\n" : "\n", out);
		put_process(out, looks->items[i].process);
	}
	fputs("],\n\"cycles\": [", out);
	put_cycles(out, found->graph);
	fputs("],\n\"roots\": [", out);
	put_roots(out, found->graph);
	fputs("],\n", out);
	put_found_ranks(out, found);
	fputs(",\n\"ras\": [", out);
	put_services(out, found->services);
	fputs("]}\n", out);
}
