/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "cmd/options/subcommands.h"

#include <string.h>

const struct subcommand_row subcommand_rows[SUBCOMMAND_COUNT] = {
	{
		.subcommand = SUBCOMMAND_RECORD,
		.needs = NEEDS_PROCESSES,
		.summary = "which line of this Python program spends, or wastes, the GPU?",
		.examples =
			"sudo gputrace -p 41230                        a running process; Ctrl-C ends it with a table\n"
			"sudo gputrace -p 41230 -d 10s -o trace.json   ten seconds, and a timeline for Perfetto\n"
			"sudo gputrace -d 10s -o gpu.folded            the whole machine, and stacks for "
			"flamegraph.pl\n"
			"sudo gputrace -o all.gpt -- python train.py   start a program, trace it, keep the log\n"
			"gputrace report                               the table of the last trace again\n"
			"gputrace export -o trace.json.gz              any other output from it\n"
			"gputrace doctor -p 41230                      what works here and what does not\n",
		.synopsis = "[OPTIONS] [-p PID[,PID...]] [-- COMMAND [ARG...]]\n",
		.exit_status =
			"0 good, 1 failed, 2 wrong usage, 3 the trace is incomplete; with a COMMAND its own, if\n"
			"that is not 0 (128 + signal), and 125 instead of 1.",
	},
	{
		.name = "top",
		.subcommand = SUBCOMMAND_TOP,
		.needs = NEEDS_PROCESSES,
		.question = "what does the GPU do right now?",
		.summary = "the report of the last seconds as a screen, while programs run",
		.examples = "sudo gputrace top                             the whole machine\n"
			    "sudo gputrace top -p 41230 --ops              a process, with PyTorch's ops\n"
			    "sudo gputrace top -d 1m | tee top.txt         without a terminal: blocks of lines\n",
		.synopsis = "top [OPTIONS] [-p PID[,PID...]]\n",
		.exit_status = "0 ended by q, Ctrl-C or with the programs, 1 failed, 2 wrong usage.",
	},
	{
		.name = "serve",
		.subcommand = SUBCOMMAND_SERVE,
		.needs = NEEDS_FILES_OR_PROCESSES,
		.reads_log = true,
		.question = "what happened just now? always on, and numbers for Prometheus",
		.summary = "the flight recorder as a service: files when something happens, /metrics for Prometheus",
		.examples = "sudo gputrace serve -p gpu                    all programs with CUDA; "
			    "http://127.0.0.1:9877/metrics\n"
			    "sudo gputrace serve status                    what it has seen\n"
			    "sudo gputrace serve write                     the last seconds into a file\n"
			    "sudo gputrace serve stop\n",
		.synopsis = "serve [OPTIONS] [-p PID[,PID...]|gpu]\n"
			    "serve status|write|stop [--socket PATH]\n",
		.exit_status = "0 ended by stop, by a signal or with the programs, 1 failed, 2 wrong usage.",
	},
	{
		.name = "report",
		.subcommand = SUBCOMMAND_REPORT,
		.needs = NEEDS_FILES,
		.reads_log = true,
		.question = "the tables again: a log of gputrace, nsys, nvprof or torch.profiler",
		.summary = "the table of a recorded trace, the same as when it was taken",
		.examples = "gputrace report                                the last trace\n"
			    "gputrace report all.gpt\n"
			    "gputrace report all.gpt --from 1:30 --to 1:40  ten seconds of it\n"
			    "gputrace report all.gpt --process train.py --gpu 0\n"
			    "gputrace report theirs.sqlite                  of nsys, nvprof or torch.profiler\n"
			    "gputrace report all.gpt --tree                 Python functions, ops, kernels\n"
			    "gputrace report all.gpt --layers               modules of a PyTorch model\n"
			    "gputrace report all.gpt --lines train_step     source, with what each line costs\n"
			    "gputrace report all.gpt --min-complete 99     exit with 3 when less complete\n",
		.synopsis = "report [FILE.gpt] [OPTIONS]\n",
		.exit_status = "0 good, 1 failed, 2 wrong usage, 3 the trace is incomplete.",
	},
	{
		.name = "export",
		.subcommand = SUBCOMMAND_EXPORT,
		.needs = NEEDS_FILES,
		.reads_log = true,
		.question = "a timeline, flame graph or table for another tool",
		.summary = "any output from a recorded trace, the same as when it was taken",
		.examples = "gputrace export all.gpt -o trace.json         for Perfetto, chrome://tracing, HTA\n"
			    "gputrace export all.gpt -o rank-%p.json.gz    one file per process\n"
			    "gputrace export all.gpt -o part.json.gz --max-size 200M\n"
			    "gputrace export all.gpt -o - --format folded | flamegraph.pl > gpu.svg\n",
		.synopsis = "export [FILE.gpt] -o FILE... [OPTIONS]\n",
		.exit_status = "0 good, 1 failed, 2 wrong usage, 3 the trace is incomplete.",
	},
	{
		.name = "diff",
		.subcommand = SUBCOMMAND_DIFF,
		.needs = NEEDS_FILES,
		.reads_log = true,
		.question = "what changed between two runs?",
		.summary = "what a step of training costs more, or less, than in another recording",
		.examples =
			"gputrace diff before.gpt after.gpt\n"
			"gputrace diff before.gpt after.gpt --fail-above 5   for CI: exit with 4 when it is slower\n"
			"gputrace diff old*.gpt -- new*.gpt                  several runs of each\n"
			"gputrace diff before.gpt after.gpt -o - | flamegraph.pl > diff.svg\n",
		.synopsis = "diff [BEFORE.gpt AFTER.gpt] [OPTIONS]\n"
			    "diff BEFORE.gpt... -- AFTER.gpt... [OPTIONS]\n",
		.exit_status = "0 good, 1 failed, 2 wrong usage, 4 more than --fail-above.",
	},
	{
		.name = "merge",
		.subcommand = SUBCOMMAND_MERGE,
		.needs = NEEDS_FILES,
		.reads_log = true,
		.question = "which rank of a job was late? one clock for the logs of all",
		.summary = "logs of several ranks on one clock: who was late, at which collective, by which line; "
			   "dumps of several hosts",
		.examples =
			"gputrace merge rank*.gpt                       clocks, ranks, who was late\n"
			"gputrace merge rank*.gpt -o all.json.gz        and one timeline of all ranks\n"
			"gputrace merge rank*.gpt -o all.tar            one for each, with Perfetto's manifest\n"
			"gputrace merge rank*.gpt -o rank-%r.json.gz    one for each, for HTA\n"
			"gputrace merge host*.json                      dumps of a hung job: which rank has not come\n",
		.synopsis = "merge FILE.gpt... [OPTIONS]\n"
			    "merge DUMP.json...\n",
		.exit_status = "0 good, 1 failed or logs that do not belong together, 2 wrong usage.",
	},
	{
		.name = "why",
		.subcommand = SUBCOMMAND_WHY,
		.needs = NEEDS_FILES_OR_PROCESSES,
		.reads_log = true,
		.question = "why does the GPU stand still, and what can I try?",
		.summary = "why the GPU stood still: the three largest losses in words, and what to try",
		.examples = "sudo gputrace why -p 41230 -d 10s             a running process, for ten seconds\n"
			    "sudo gputrace why -- python train.py          a program from start to end\n"
			    "gputrace why all.gpt                          a recorded trace\n",
		.synopsis = "why [FILE.gpt] [OPTIONS]\n"
			    "why [OPTIONS] -p PID[,PID...]\n"
			    "why [OPTIONS] -- COMMAND [ARG...]\n",
		.exit_status =
			"0 good, 1 failed, 2 wrong usage, 3 the trace is incomplete; with a COMMAND its own, if\n"
			"that is not 0 (128 + signal), and 125 instead of 1.",
	},
	{
		.name = "view",
		.subcommand = SUBCOMMAND_VIEW,
		.needs = NEEDS_FILES,
		.reads_log = true,
		.question = "what happened when? a log as a timeline in the browser",
		.summary = "a recorded trace in a browser on this machine, at any zoom, until Ctrl-C",
		.examples = "gputrace view all.gpt                         prints an address to open\n"
			    "gputrace view all.gpt --port 8080             from another machine: ssh -L "
			    "8080:127.0.0.1:8080 HOST\n",
		.synopsis = "view [FILE.gpt] [OPTIONS]\n",
		.exit_status = "0 ended by Ctrl-C, 1 failed, 2 wrong usage.",
	},
	{
		.name = "dump",
		.subcommand = SUBCOMMAND_DUMP,
		.needs = NEEDS_PROCESSES,
		.question = "it hangs: what does each thread do and wait for?",
		.summary = "it hangs: what each thread does and waits for, now, without stopping any",
		.examples = "sudo gputrace dump -p 41230                   a process and its children\n"
			    "sudo gputrace dump -p gpu                     all that have CUDA loaded\n"
			    "sudo gputrace dump -p 41230 --format json     for programs\n"
			    "sudo gputrace dump --when hang=30s -p 41230   once it has hung for 30 s\n",
		.synopsis = "dump -p PID[,PID...]|gpu [--format text|json] [--when hang=TIME [--keep]]\n"
			    "dump --all [--format text|json] [--when hang=TIME [--keep]]\n",
		.exit_status = "0 it moves, or no hang was seen, 1 failed, 2 wrong usage, 4 it stands still.",
	},
	{
		.name = "doctor",
		.subcommand = SUBCOMMAND_DOCTOR,
		.needs = NEEDS_PROCESSES,
		.question = "what works here, and what does not?",
		.summary = "what works on this machine, or for one process, and what to do about the rest",
		.examples = "sudo gputrace doctor\n"
			    "sudo gputrace doctor -p 41230\n",
		.synopsis = "doctor [-p PID [--cupti PATH]]\n",
		.exit_status = "0 when a trace can work, 1 otherwise, 2 wrong usage.",
	},
	{
		.name = "mcp",
		.subcommand = SUBCOMMAND_MCP,
		.reads_log = true,
		.question = "how can an assistant ask? a server for it",
		.summary =
			"a server of the Model Context Protocol for assistants: traces of a folder, on standard input "
			"and output",
		.examples = "gputrace mcp                                  the traces of this folder\n"
			    "gputrace mcp ~/traces --allow-record          and processes: dump, record\n",
		.synopsis = "mcp [FOLDER] [--allow-record]\n",
		.exit_status = "0 the client has ended, 1 failed, 2 wrong usage.",
	},
	{
		.name = "env",
		.subcommand = SUBCOMMAND_ENV,
		.question = "how do I let a job be traced later, without root?",
		.summary = "lines for a shell: programs started after them can be traced later, without any right",
		.examples = "eval \"$(gputrace env)\"; python serve.py &     in a job script, or a container's entry\n"
			    "gputrace -p $! -d 10s -o trace.json           later, as the same user\n",
		.synopsis = "env\n",
		.exit_status = "0 good, 1 failed, 2 wrong usage.",
	},
	{.subcommand = SUBCOMMAND_HELP},
	{.subcommand = SUBCOMMAND_VERSION},
};

const struct subcommand_row *subcommand_by_name(const char *name)
{
	return find_item(subcommand_rows, SUBCOMMAND_COUNT, item, item->name && !strcmp(item->name, name));
}

const struct subcommand_row *subcommand_row_of(enum subcommand subcommand)
{
	return find_item(subcommand_rows, SUBCOMMAND_COUNT, item, item->subcommand == subcommand);
}

const char *subcommand_words(enum subcommand subcommand)
{
	const struct subcommand_row *row = subcommand_row_of(subcommand);

	return row->name ? row->name : "tracing";
}

enum subcommand_needs subcommand_needs(const struct options *options)
{
	enum subcommand_needs needs = subcommand_row_of(options->subcommand)->needs;

	if (needs != NEEDS_FILES_OR_PROCESSES)
		return needs;
	return options->log || options->reads_last ? NEEDS_FILES : NEEDS_PROCESSES;
}
