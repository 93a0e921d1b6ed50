/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Help, mostly by examples; docs/gputrace.1 says the rest. */
#include "cmd/usage.h"

#include <stddef.h>

static const char record_usage[] =
	"gputrace: which line of this Python program spends, or wastes, the GPU?\n"
	"\n"
	"  sudo gputrace -p 41230                        a running process; Ctrl-C ends it with a table\n"
	"  sudo gputrace -p 41230 -d 10s -o trace.json   ten seconds, and a timeline for Perfetto\n"
	"  sudo gputrace -d 10s -o gpu.folded            the whole machine, and stacks for flamegraph.pl\n"
	"  sudo gputrace -o all.gpt -- python train.py   start a program, trace it, keep the log\n"
	"  gputrace report all.gpt                       the table again\n"
	"  gputrace export all.gpt -o trace.json.gz      any other output from the log\n"
	"  gputrace doctor -p 41230                      what works here and what does not\n"
	"\n"
	"Usage: gputrace [OPTIONS] [-p PID[,PID...]] [-- COMMAND [ARG...]]\n"
	"       gputrace report FILE.gpt [OPTIONS]\n"
	"       gputrace export FILE.gpt -o FILE... [OPTIONS]\n"
	"       gputrace doctor [-p PID [--cupti PATH]]\n"
	"\n"
	"  -p, --pid PID[,PID...]     these processes and the children they start (default: all processes)\n"
	"  -d, --duration TIME        500ms, 10s, 2m, 1h (default: until Ctrl-C or the end of what is traced)\n"
	"  -o, --output FILE          .json or .json.gz (Chrome trace), .folded (flame graph), .gpt (log);\n"
	"                             %p in the name: one file per process; -: standard output; repeatable\n"
	"      --format FORMAT        of -o -: json, json.gz, folded, gpt\n"
	"      --metric gpu|launches  what a folded line counts (default: GPU ns where there are any)\n"
	"      --agent auto|require|off\n"
	"                             CUPTI agent: if possible, or fail, or launches without GPU times\n"
	"      --cupti PATH           the libcupti to use, instead of the one that fits the process\n"
	"      --min-complete PERCENT exit with 3 when the trace is less complete than this (default 0)\n"
	"      --trace LIST           what to record besides kernels, by commas: cuda (copies, fills and all CUDA\n"
	"                             calls), sync (waits for the GPU), memory, nvtx (ranges of a program that\n"
	"                             gputrace starts); default: cuda,memory\n"
	"      --kernels-only         nothing besides kernels: the lowest cost\n"
	"      --native               also take native stacks between Python and the launch\n"
	"      --python-calls         every Python call exactly, where the interpreter allows it (CPython 3.6 to "
	"3.10);\n"
	"                             costs 1.4 us a call\n"
	"      --buffer SIZE          ring buffer, 64K to 1G, a power of two (default 64M)\n"
	"  -q, --quiet                no progress, no messages but errors\n"
	"  -v, --verbose              say more\n"
	"      --version, --help\n"
	"\n"
	"Exit status: 0 good, 1 failed, 2 wrong usage, 3 the trace is incomplete.\n";

static const char report_usage[] =
	"gputrace report: the table of a recorded trace, the same as when it was taken\n"
	"\n"
	"  gputrace report all.gpt\n"
	"  gputrace report all.gpt --min-complete 99     exit with 3 when less complete\n"
	"\n"
	"Usage: gputrace report FILE.gpt [--min-complete PERCENT] [--metric gpu|launches] [-q] [-v]\n";

static const char export_usage[] =
	"gputrace export: any output from a recorded trace, the same as when it was taken\n"
	"\n"
	"  gputrace export all.gpt -o trace.json         for Perfetto, chrome://tracing, HTA\n"
	"  gputrace export all.gpt -o rank-%p.json.gz    one file per process\n"
	"  gputrace export all.gpt -o - --format folded | flamegraph.pl > gpu.svg\n"
	"\n"
	"Usage: gputrace export FILE.gpt -o FILE... [--format json|json.gz|folded|gpt] [--metric gpu|launches]\n"
	"                       [--min-complete PERCENT] [-q] [-v]\n";

static const char doctor_usage[] =
	"gputrace doctor: what works on this machine, or for one process, and what to do about the rest\n"
	"\n"
	"  sudo gputrace doctor\n"
	"  sudo gputrace doctor -p 41230\n"
	"\n"
	"Usage: gputrace doctor [-p PID [--cupti PATH]]\n"
	"\n"
	"Exit status: 0 when a trace can work, 1 otherwise.\n";

static const struct {
	enum subcommand subcommand;
	const char *text;
} usages[] = {
	{SUBCOMMAND_REPORT, report_usage},
	{SUBCOMMAND_EXPORT, export_usage},
	{SUBCOMMAND_DOCTOR, doctor_usage},
};

void usage_print(FILE *out, enum subcommand subcommand)
{
	const char *text = record_usage;

	for (size_t i = 0; i < sizeof(usages) / sizeof(usages[0]); i++)
		if (usages[i].subcommand == subcommand)
			text = usages[i].text;
	fputs(text, out);
}
