/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The table of all options, used by the command line, the help and a test of the man page. */
#include "cmd/options/option_rows.h"

#include <string.h>

#include "cmd/options/option_parser.h"

static int parse_quiet(struct parse *parse, const char *value)
{
	parse->options->level = MSG_QUIET;
	return 0;
}

static int parse_verbose(struct parse *parse, const char *value)
{
	parse->options->level = MSG_VERBOSE;
	return 0;
}

static int parse_help(struct parse *parse, const char *value)
{
	parse->options->help_for = parse->options->subcommand;
	parse->options->subcommand = SUBCOMMAND_HELP;
	return 0;
}

static int parse_help_all(struct parse *parse, const char *value)
{
	parse->options->help_all = true;
	return parse_help(parse, value);
}

static int parse_version(struct parse *parse, const char *value)
{
	parse->options->subcommand = SUBCOMMAND_VERSION;
	return 0;
}

/* The shortest hang: dump looks up to eight times within it, and each look costs something. */
#define HANG_MIN_NS 1000000000ull

static int parse_when(struct parse *parse, const char *value)
{
	static const char hang[] = "hang=";

	if (!strncmp(value, hang, sizeof(hang) - 1) &&
	    value_duration(value + sizeof(hang) - 1, &parse->options->hang_ns) == 0 &&
	    parse->options->hang_ns >= HANG_MIN_NS)
		return 0;
	return option_fail(parse, "--when %s: hang=TIME is accepted, of 1 s or more, as in hang=30s", value);
}

static int parse_pid_or_gpu(struct parse *parse, const char *value)
{
	if (strcmp(value, "gpu") != 0)
		return parse_pid(parse, value);
	parse->options->gpu_processes = true;
	return 0;
}

static int parse_dump_format(struct parse *parse, const char *value)
{
	if (strcmp(value, "text") != 0 && strcmp(value, "json") != 0)
		return option_fail(parse, "--format %s: dump has text and json", value);
	parse->options->format = value;
	return 0;
}

static int parse_no_keep(struct parse *parse, const char *value)
{
	parse->options->keeps_log = false;
	return 0;
}

static int parse_port(struct parse *parse, const char *value)
{
	uint64_t port;

	if (value_count(value, 65535, &port))
		return option_fail(parse, "--port %s: a number from 1 to 65535 is accepted", value);
	parse->options->port = (uint16_t)port;
	return 0;
}

#define RECORD SUBCOMMAND_RECORD
#define TOP SUBCOMMAND_TOP
#define SERVE SUBCOMMAND_SERVE
#define REPORT SUBCOMMAND_REPORT
#define EXPORT SUBCOMMAND_EXPORT
#define DOCTOR SUBCOMMAND_DOCTOR
#define DIFF SUBCOMMAND_DIFF
#define WHY SUBCOMMAND_WHY
#define VIEW SUBCOMMAND_VIEW
#define MERGE SUBCOMMAND_MERGE
#define DUMP SUBCOMMAND_DUMP
#define ALL SUBCOMMANDS_WITH_OPTIONS
#define SELECTS (RECORD | TOP | SERVE | REPORT | EXPORT | DIFF | WHY | VIEW)

#define OFFSET(member) offsetof(struct options, member)

const struct option_row option_rows[] = {
	{"pid", 'p', "a process id, or gpu", "PID[,PID...]|gpu",
	 "trace these processes and the children they start (default: all processes); gpu: all\n"
	 "that have CUDA loaded, now or later",
	 RECORD | TOP | SERVE, .parse = parse_pid_or_gpu},
	{"pid", 'p', "a process id, or gpu", "PID[,PID...]|gpu",
	 "look at these processes and the children they start, or at all that have CUDA loaded", WHY,
	 .parse = parse_pid_or_gpu},
	{"pid", 'p', "a process id", "PID[,PID...]", "what can be traced in this process, and what cannot", DOCTOR,
	 .parse = parse_pid},
	{"pid", 'p', "a process id, or gpu", "PID[,PID...]|gpu",
	 "look at these processes and their children, or at all that have CUDA loaded", DUMP,
	 .parse = parse_pid_or_gpu},
	{"locals", 0, NULL, NULL, "with the local variables of each Python frame, as short text", DUMP,
	 .flag = OFFSET(locals)},
	{"when", 0, "hang=TIME", "hang=TIME", "watch, and look when a process has not got on for that time: hang=30s",
	 DUMP, .parse = parse_when},
	{"keep", 0, NULL, NULL, "with --when: go on watching after a hang", DUMP, .flag = OFFSET(keeps_on)},
	{"all", 0, NULL, NULL, "look at all processes that have Python", DUMP, .flag = OFFSET(all_processes)},
	{"nccl-ras", 0, NULL, NULL, "ask NCCL's RAS service in these processes for the job's status", DUMP,
	 .flag = OFFSET(asks_ras)},
	{"duration", 'd', "a time such as 10s", "TIME",
	 "10 (seconds), 500ms, 2m, 1h (default: until Ctrl-C or until the program ends)", RECORD | WHY | TOP | SERVE,
	 .parse = parse_duration},
	{"start-at", 0, "a moment such as 14:30:00, +5s or /10s", "MOMENT",
	 "begin at that moment of the wall clock, on all hosts: 14:30:00, a date with its\n"
	 "time and zone, @SECONDS; +5s: from now; /10s: at the next multiple (default: at once)",
	 RECORD | WHY, .parse = parse_start_at},
	{"flight-recorder", 0, "a time such as 30s", "TIME[,SIZE][,keep=N]",
	 "keep only the last TIME, in at most SIZE of memory (default 500M), for as long as it\n"
	 "takes; kill -USR1 writes it into a file of its own, and so does a crash; the end as ever",
	 RECORD | WHY, .parse = parse_flight_recorder},
	{"flight-recorder", 0, "a time such as 30s", "TIME[,SIZE][,keep=N]",
	 "a file has the last TIME (default 30s), kept in at most SIZE of memory (default 500M);\n"
	 "of the files the last N stay",
	 SERVE, .parse = parse_flight_recorder},
	{"trigger", 0, "what happens, such as idle>200ms", "WHAT[,before=TIME][,after=TIME][,max=N/h]",
	 "with --flight-recorder: write when a process leaves its GPU without work for longer\n"
	 "(idle>200ms), a step of training takes longer than that (step>2s, --ops) or than the\n"
	 "median (step>1.5x), PyTorch's memory runs out (oom, --memory), code is compiled or\n"
	 "loaded later than the first work (compile), a line keeps a GPU without work for longer\n"
	 "(gap:line>50ms, gap:train.py:41>50ms), a rank comes later than the median one to a\n"
	 "collective of NCCL (late>100ms), a process hangs on its GPU (hang=30s, with a dump\n"
	 "beside it), or NVML reports an error (xid); repeatable",
	 RECORD | WHY | SERVE, .parse = parse_trigger},
	{"rotate", 0, "a size such as 1G or a time such as 10m", "SIZE|TIME[,keep=N]",
	 "write a new log (-o TRACE.gpt) whenever one has SIZE or is TIME long, and keep the\n"
	 "last N; a full disk pauses it",
	 RECORD, .parse = parse_rotate},
	{"interval", 0, "a time such as 500ms", "TIME",
	 "from one look to the next (default 500ms, without a terminal 2s); more where the\n"
	 "looks would take over 2 % of a processor",
	 TOP, .parse = parse_interval},
	{"interval", 0, "a time such as 10s", "TIME",
	 "how often /metrics has new sums of GPUs, 2s to 60s (default 10s)", SERVE, .parse = parse_interval},
	{"output", 'o', "a file name", "FILE",
	 "the name of written files, such as all.gpt, to which the time is added:\n"
	 "all.20261130-140320.gpt\n"
	 "(default: gputrace-20261130-140320.gpt in the current folder)",
	 SERVE, .parse = parse_log_output},
	{"profiles", 0, "a folder", "FOLDER[,keep=N]",
	 "a pprof profile of each minute there, GPU time by stack; the last N stay (default\n"
	 "1440, a day)",
	 SERVE, .parse = parse_profiles},
	{"output", 'o', "a file name", "FILE",
	 ".json or .json.gz (Chrome trace), .folded (flame graph), .gpt (log),\n"
	 ".speedscope.json, .pb.gz (pprof), .prof (pstats, snakeviz), .pftrace (Perfetto),\n"
	 ".arrow (pyarrow), .sqlite (tables of nsys), .html (page), .svg (flame graph),\n"
	 ".pickle (PyTorch's memory_viz, with --memory);\n"
	 "%p in the name: one file per process; %r: one per rank of a job (--ops);\n"
	 "%q{VARIABLE}: what that is in gputrace's environment, such as RANK;\n"
	 "FOLDER/: one per process, named as torch.profiler does for TensorBoard;\n"
	 "-: standard output; repeatable",
	 RECORD | EXPORT, .parse = option_add_output},
	{"output", 'o', "a file name", "FILE",
	 "also write what was recorded: .gpt (log), .json, .json.gz, .folded; repeatable", WHY,
	 .parse = option_add_output},
	{"no-keep", 0, NULL, NULL, "do not keep the log as the last trace, which report and others read without a FILE",
	 RECORD | WHY, .parse = parse_no_keep},
	{"format", 0, "a format", "FORMAT",
	 "of -o -: json, json.gz, folded, speedscope,\npprof, pstats, pftrace, arrow, sqlite, pickle, svg, html, gpt",
	 EXPORT, .parse = parse_format},
	{"format", 0, "a format", "FORMAT",
	 "of the report: text, csv, json, md; or of -o -: json, json.gz, folded, speedscope,\n"
	 "pprof, pstats, pftrace, arrow, sqlite, pickle, svg, html, gpt",
	 RECORD, .parse = parse_format},
	{"format", 0, "a format", "FORMAT", "of the report: text, csv, json, md (to paste)",
	 REPORT | WHY | DIFF | MERGE, .parse = parse_report_format},
	{"format", 0, "a format", "FORMAT", "text or json", DUMP, .parse = parse_dump_format},
	{"table", 0, "the name of a table", "NAME", "only this table of the report: kernels, gpu_lines, idle ...",
	 RECORD | REPORT | MERGE, .parse = parse_table},
	{"table", 0, "the name of a table", "NAME", "only this table of a report in csv, json or md", WHY | DIFF,
	 .parse = parse_table},
	{"all", 0, NULL, NULL, "also on a terminal the whole report, not only what fits into 50 lines",
	 RECORD | REPORT | MERGE, .flag = OFFSET(whole_report)},
	{"metric", 0, "gpu, launches, cpu or idle", "gpu|launches|cpu|idle",
	 "what a folded line or a box of a .svg counts (default: GPU ns where there are any);\n"
	 "cpu: CPU time (--cpu), also of .prof; idle: GPUs that had nothing to do, by the line\n"
	 "to blame",
	 RECORD | REPORT | EXPORT | WHY, .choice = OFFSET(metric), .first = METRIC_GPU},
	{"backward", 0, "caller or forward", "caller|forward",
	 "PyTorch's backward work is put on the line that called backward() (default), or\n"
	 "on the line of the forward op, where --forward-lines recorded it",
	 RECORD | REPORT | EXPORT | DIFF | WHY, .parse = parse_backward},
	{"graphs", 0, "replay or capture", "replay|capture",
	 "the work of CUDA graphs is put on the stack that launched the graph, or on the one\n"
	 "that was captured (default: lines that were captured, folded stacks of launches)",
	 RECORD | REPORT | EXPORT | DIFF | WHY, .choice = OFFSET(attribution.graphs), .first = GRAPHS_REPLAY},
	{"agent", 0, "auto, require or off", "auto|require|off",
	 "CUPTI agent: if possible, or fail, or launches without GPU times", RECORD | WHY | TOP | SERVE,
	 .choice = OFFSET(agent)},
	{"way", 0, "auto, bpf or agent", "auto|bpf|agent",
	 "how to record: by the kernel (needs root), or by the agent alone (needs no right;\n"
	 "a COMMAND, or your own processes); default: by the kernel where that is permitted",
	 RECORD | WHY | SERVE, .choice = OFFSET(way)},
	{"cupti", 0, "the path of a libcupti", "PATH", "the libcupti to use, instead of the one that fits the process",
	 RECORD | DOCTOR | WHY | TOP | SERVE, .parse = parse_cupti},
	{"min-complete", 0, "a percentage", "PERCENT",
	 "exit with 3 when the trace is less complete than this (default 0)", RECORD, .parse = parse_min_complete},
	{"min-complete", 0, "a percentage", "PERCENT",
	 "exit with 3 when the trace is less complete than this (default: what was\n"
	 "asked for when it was taken)",
	 REPORT | EXPORT | WHY, .parse = parse_min_complete},
	{"trace", 0, "a list such as cuda,sync", "LIST",
	 "what to record besides kernels, by commas: cuda (copies, fills and all CUDA\n"
	 "calls), sync (waits for the GPU), memory, nvtx (ranges of a program that\n"
	 "gputrace starts); default: cuda,memory",
	 RECORD | WHY | TOP | SERVE, .parse = parse_trace},
	{"kernels-only", 0, NULL, NULL, "nothing besides kernels: the lowest cost", RECORD | WHY | TOP | SERVE,
	 .parse = parse_kernels_only},
	{"label", 'M', "a name and a value, NAME=VALUE", "NAME=VALUE",
	 "keep this with the trace, in its log, report and timeline, as in -M run=17;\n"
	 "repeatable",
	 RECORD | WHY, .parse = parse_label},
	{"as-root", 0, NULL, NULL, "run COMMAND as root, not as the user who called sudo", RECORD | WHY,
	 .flag = OFFSET(as_root)},
	{"cpu", 0, NULL, NULL,
	 "which lines have the CPU: samples of all threads that are followed, --frequency a second",
	 RECORD | WHY | TOP | SERVE, .parse = parse_cpu},
	{"no-cpu", 0, NULL, NULL, "without the samples that are taken by default (-p, COMMAND; root)",
	 RECORD | WHY | TOP | SERVE, .flag = OFFSET(cpu_unwanted)},
	{"frequency", 'F', "a number", "HZ",
	 "--cpu, and how often each CPU is sampled a second, 1 to 10000 (default 99;\n"
	 "without --cpu as often as the GPU's gaps need, up to 997)",
	 RECORD | WHY | TOP | SERVE, .parse = parse_frequency},
	{"off-cpu", 0, NULL, "[MIN]",
	 "where the threads that are followed wait, for what and who woke them; waits shorter\n"
	 "than MIN (default 100us) are left out: --off-cpu=1ms",
	 RECORD | WHY | TOP | SERVE, .parse = parse_off_cpu},
	{"no-off-cpu", 0, NULL, NULL, "without the waits that are recorded by default (-p, COMMAND; root)",
	 RECORD | WHY | TOP | SERVE, .flag = OFFSET(off_cpu_unwanted)},
	{"no-gpu-counters", 0, NULL, NULL, "without the clocks, power and memory of GPUs that are recorded by default",
	 RECORD | WHY | TOP | SERVE, .flag = OFFSET(gpu_counters_unwanted)},
	{"native", 0, NULL, NULL, "also take native stacks between Python and the launch", RECORD | WHY,
	 .flag = OFFSET(native)},
	{"python-calls", 0, NULL, NULL,
	 "every Python call exactly, where the interpreter allows it\n"
	 "(CPython 3.6 to 3.10); costs 1.4 us a call",
	 RECORD | WHY, .flag = OFFSET(python_calls)},
	{"memory", 0, NULL, NULL,
	 "--ops, and what PyTorch's allocators hand out and take back: [memory] in the\n"
	 "trace, and who held memory at its peak, to the end, and when it ran out",
	 RECORD | WHY | TOP | SERVE, .flag = OFFSET(torch_memory)},
	{"memory-lines", 0, NULL, NULL,
	 "--memory, with the Python line of each such event; without it those of GPUs and\n"
	 "of 64 KB and more on the CPU have one. Costs one launch's price for each",
	 RECORD | WHY, .flag = OFFSET(memory_lines)},
	{"ops", 0, NULL, NULL,
	 "PyTorch's ops and what the program names (record_function), and which op\n"
	 "each launch belongs to",
	 RECORD | WHY | TOP | SERVE, .flag = OFFSET(ops)},
	{"shapes", 0, NULL, NULL,
	 "--ops, and what each was called with: dimensions, types and strides of tensors,\n"
	 "values of numbers",
	 RECORD | WHY, .flag = OFFSET(shapes)},
	{"forward-lines", 0, NULL, NULL,
	 "--ops, and the Python stack of each op that autograd may come back to: backward\n"
	 "nodes learn the line of the forward op that made them; costs one launch's price\n"
	 "for each of these ops",
	 RECORD | WHY, .flag = OFFSET(forward_lines)},
	{"ops", 0, NULL, NULL, "instead of the report the table of ops, as torch.profiler's key_averages()", REPORT,
	 .flag = OFFSET(ops)},
	{"sort", 0, "what to sort by", "KEY",
	 "what the table of ops is sorted by, most first: cpu_time_total,\n"
	 "self_cuda_time_total, count and all else that torch.profiler has",
	 REPORT, .parse = parse_sort, .only_with = OFFSET(table_option)},
	{"rows", 0, "a number", "NUMBER", "show NUMBER rows of the table of ops (default 100)", REPORT,
	 .parse = parse_rows, .only_with = OFFSET(table_option)},
	{"top-level", 0, NULL, NULL, "outermost ops only", REPORT, .flag = OFFSET(table.top_level),
	 .only_with = OFFSET(table_option)},
	{"group-by-shape", 0, NULL, NULL, "a row for each op and shapes of its inputs (--shapes)", REPORT,
	 .flag = OFFSET(table.by_shape), .only_with = OFFSET(table_option)},
	{"group-by-stack", 0, "a number", "NUMBER",
	 "a row for each op and the NUMBER innermost Python lines that called it", REPORT,
	 .parse = parse_group_by_stack, .only_with = OFFSET(table_option)},
	{"tree", 0, NULL, NULL,
	 "instead of the report one tree of calls: Python functions, ops of PyTorch, and\n"
	 "what ran, with the time of each",
	 RECORD | REPORT, .flag = OFFSET(wants_tree)},
	{"by", 0, "gpu, cpu, calls or memory", "gpu|cpu|calls|memory",
	 "what the tree counts: GPU time (default), CPU time by samples (without --cpu\nas calls), "
	 "time in CUDA calls and ops, or PyTorch's memory at its peak",
	 RECORD | REPORT, .choice = OFFSET(tree.by), .only_with = OFFSET(tree_option)},
	{"layers", 0, NULL, NULL,
	 "instead of the report the layers of the model (modules of PyTorch): GPU time and\n"
	 "idle time of each, as a tree and by class; --table layer_kernels, layer_steps",
	 RECORD | REPORT, .flag = OFFSET(wants_layers)},
	{"layers", 0, NULL, NULL, "all that changed in the layers of the model (modules of PyTorch), and their kernels",
	 DIFF, .flag = OFFSET(wants_layers)},
	{"min-percent", 0, "a percentage", "PERCENT",
	 "hide nodes of a tree (--tree, --layers) below PERCENT of its time (default 1)", RECORD | REPORT,
	 .parse = parse_min_percent, .only_with = OFFSET(depth_option)},
	{"depth", 0, "a number", "NUMBER", "show NUMBER levels of a tree (default: all)", RECORD | REPORT,
	 .parse = parse_depth, .only_with = OFFSET(depth_option)},
	{"show-all", 0, NULL, NULL, "show all frames of libraries in the tree", RECORD | REPORT,
	 .flag = OFFSET(tree.all_frames), .only_with = OFFSET(tree_option)},
	{"lines", 0, NULL, "[FILE|FUNCTION]",
	 "instead of the report the source, with what each line costs beside it: of a file,\n"
	 "of a function, or of the functions that own most; tracing: --lines=FUNCTION",
	 RECORD | REPORT, .parse = parse_lines},
	{"every", 0, "a length of time", "LENGTH",
	 "instead of the report a row for each LENGTH of the trace (1h): how busy GPUs were,\n"
	 "steps, and the largest loss",
	 REPORT, .parse = parse_every},
	{"schedule", 0, "numbers of steps", "skip_first=N,wait=N,warmup=N,active=N,repeat=N",
	 "--ops, recorded in some steps only, counted as torch.profiler.schedule does;\n"
	 "%c in the name of an output is the number of the cycle. Ends after the last",
	 RECORD | WHY, .parse = parse_schedule},
	{"capture-range", 0, "cudaProfilerApi", "cudaProfilerApi",
	 "--ops, recorded only between the program's cudaProfilerStart and cudaProfilerStop\n"
	 "(torch.cuda.profiler); %c in the name of an output is the number of the range",
	 RECORD | WHY, .parse = parse_capture_range},
	{"capture-range-end", 0, "stop, repeat or repeat:N", "stop|repeat|repeat:N",
	 "the trace ends with the first range (default), with the program, or after N", RECORD | WHY,
	 .parse = parse_capture_range_end},
	{"prove-cost", 0, "a length of time", "LENGTH",
	 "--ops, recorded in one of each two windows of LENGTH (1s to 5s), in random order;\n"
	 "the report is what that costs a step, with its 95 % interval",
	 RECORD, .parse = parse_prove_cost},
	{"step", 0, "what steps are found by", "BY",
	 "what a step begins with: optimizer, backward, profiler, range:NAME (default:\n"
	 "profiler or optimizer, whichever is seen first); without --schedule as for report",
	 RECORD, .parse = parse_step},
	{"gpu-trace", 0, NULL, NULL, "instead of the report every GPU activity in order, as nvprof --print-gpu-trace",
	 RECORD | REPORT, .parse = parse_gpu_trace},
	{"gpu-sum", 0, NULL, NULL, "instead of the report GPU activities by name, as nvprof", RECORD | REPORT,
	 .parse = parse_gpu_sum},
	{"api-sum", 0, NULL, NULL, "instead of the report CUDA calls by name, as nvprof", RECORD | REPORT,
	 .parse = parse_api_sum},
	{"buffer", 0, "a size such as 64M", "SIZE", "ring buffer, 64K to 1G, a power of two (default 64M)",
	 RECORD | WHY | TOP | SERVE, .parse = parse_buffer},
	{"cost-limit", 0, "a percentage", "PERCENT",
	 "leave out detail (samples, waits, inputs of ops, ops, stacks), launches never, while\n"
	 "recording costs some thread more than this part of a second (root)",
	 RECORD | WHY | TOP | SERVE, .parse = parse_cost_limit},
	{"sums-limit", 0, "a percentage", "PERCENT",
	 "how much of a processor the sums of GPUs for /metrics may take (default 0.15%): where\n"
	 "all takes more, intervals are left out at random, and counted; 100%: none is",
	 SERVE, .parse = parse_sums_limit},
	{"memory-limit", 0, "a size such as 200M", "SIZE",
	 "what gputrace holds while it records, at least 100M: near it detail is left out\n"
	 "as for --cost-limit, at it records are dropped and counted",
	 RECORD | WHY | TOP | SERVE, .parse = parse_memory_limit},
	{"from", 0, "a time", "TIME",
	 "only what begins at that time or later: 90, 500ms, 2m or 1:30 after the start,\n"
	 "14:03:20 or 2026-11-22T14:03:20 by the wall clock here (Z or +01:00: not here)",
	 REPORT | EXPORT | DIFF | WHY | VIEW, .parse = parse_from},
	{"to", 0, "a time", "TIME", "only what begins before that time", REPORT | EXPORT | DIFF | WHY | VIEW,
	 .parse = parse_to},
	{"process", 0, "a process id or name", "PROCESS[,...]",
	 "only these processes: their ids, or names as of a program or script", REPORT | EXPORT | DIFF | WHY | VIEW,
	 .parse = parse_process},
	{"user", 0, "a user", "USER[,...]",
	 "only processes of these users, by name or number; tracing: those that have CUDA\n"
	 "loaded, now or later, and the children they start; so the next four",
	 SELECTS, .parse = parse_user},
	{"comm", 0, "the name of a process", "NAME[,...]", "only processes of this name (comm), or pattern: 'pt_*'",
	 SELECTS, .parse = parse_comm},
	{"cgroup", 0, "a cgroup", "PATH[,...]", "only processes in this cgroup or below it, or pattern: '*/job_17*'",
	 SELECTS, .parse = parse_cgroup},
	{"container", 0, "a container", "ID|NAME[,...]",
	 "only processes in this container of Docker, Podman, containerd, CRI-O, LXC or nspawn", SELECTS,
	 .parse = parse_container},
	{"pod", 0, "a pod", "NAME[,...]", "only processes in this pod: NAME, NAMESPACE/NAME or uid", SELECTS,
	 .parse = parse_pod},
	{"thread", 0, "a thread id", "[PID/]TID", "only the calls of this thread, and their GPU work",
	 REPORT | EXPORT | DIFF | WHY | VIEW, .parse = parse_thread},
	{"gpu", 0, "the number of a GPU", "NUMBER", "only what this GPU did, and the calls of the threads that made it",
	 RECORD | REPORT | EXPORT | DIFF | WHY | VIEW, .parse = parse_gpu},
	{"step", 0, "what steps are found by", "BY",
	 "where a step of training ends or begins: optimizer, backward, profiler,\n"
	 "range:NAME (NVTX, record_function), py:FUNCTION, py:MODULE.FUNCTION,\n"
	 "py:FILE:FUNCTION or py:FILE:LINE (a function's first line),\n"
	 "burst:TIME (GPU work after that long without any)\n"
	 "(default: the first of the first three that --ops recorded)",
	 REPORT | EXPORT | DIFF | WHY | VIEW, .parse = parse_step},
	{"steps", 0, "numbers of steps", "FIRST..LAST", "only these steps of each process",
	 REPORT | EXPORT | DIFF | WHY | VIEW, .parse = parse_steps},
	{"cycle", 0, "the number of a cycle", "NUMBER",
	 "only this cycle of what --schedule recorded (default: each by itself)", REPORT | EXPORT,
	 .parse = parse_cycle},
	{"max-size", 0, "a size such as 200M", "SIZE",
	 "files of at most this size, cut at times: trace.1.json.gz, trace.2.json.gz ...", EXPORT,
	 .parse = parse_max_size},
	{"folded-by", 0, "self-cpu, self-cuda or layer", "self-cpu|self-cuda|layer",
	 "folded: Python stacks of PyTorch's ops by their own time, as export_stacks()\n"
	 "of torch.profiler; or modules of PyTorch that called each other (--layers)",
	 EXPORT, .choice = OFFSET(folded_by), .first = FOLDED_BY_SELF_CPU},
	{"output", 'o', "a file name", "FILE", ".folded: differential stacks for flamegraph.pl; -: standard output",
	 DIFF, .parse = parse_folded_output},
	{"output", 'o', "a file name", "FILE",
	 "all ranks as .json or .json.gz (Chrome trace), .pftrace (Perfetto), .tar (Perfetto:\n"
	 "a trace of each rank, and how their clocks stand); %r in the name: a file for each\n"
	 "rank, named by it; repeatable",
	 MERGE, .parse = parse_merge_output},
	{"comm-kernel", 0, "a regular expression", "REGEX",
	 "kernels of these names (POSIX extended) exchange data between ranks, too; repeatable", MERGE | REPORT | WHY,
	 .parse = parse_comm_kernel},
	{"unaligned", 0, NULL, NULL,
	 "logs that have no collective in common with the others are put there by their\n"
	 "wall clocks, which may be off; wall clocks may be far apart, and MASTER_PORT differ",
	 MERGE, .flag = OFFSET(unaligned)},
	{"fail-above", 0, "a percentage", "PERCENT",
	 "exit with 4 when the median step takes longer than before, or has more GPU time in\n"
	 "it, by more than this; the whole 95 % interval of the difference must lie above",
	 DIFF, .parse = parse_fail_above},
	{"allow-record", 0, NULL, NULL, "tools that look at processes, too: list_processes, dump and record",
	 SUBCOMMAND_MCP, .flag = OFFSET(may_record)},
	{"port", 0, "a port", "NUMBER", "the port on 127.0.0.1 (default: any that is free)", VIEW, .parse = parse_port},
	{"port", 0, "a port", "NUMBER", "the port of /metrics on 127.0.0.1 (default 9877)", SERVE, .parse = parse_port},
	{"socket", 0, "a path", "PATH",
	 "where status, write and stop are asked for (default: gputrace/serve.sock in /run as\n"
	 "root, else in $XDG_RUNTIME_DIR)",
	 SERVE, .parse = parse_socket},
	{"quiet", 'q', NULL, NULL, "no progress, no messages but errors", ALL, .parse = parse_quiet},
	{"verbose", 'v', NULL, NULL, "print more messages", ALL, .parse = parse_verbose},
	{"help", 'h', NULL, NULL, "a page of help", ALL, .parse = parse_help},
	{"help-all", 0, NULL, NULL, "all options of tracing, and how each subcommand is called", RECORD,
	 .parse = parse_help_all},
	{"version", 'V', NULL, NULL, "the version of gputrace", ALL, .parse = parse_version},
	{0},
};

_Static_assert(sizeof(option_rows) / sizeof(option_rows[0]) <= OPTION_ROWS_MAX, "the tables of getopt have this room");
