/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a command line asks for, as options_parse (command_line.h) fills it in. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/events/attribution.h"
#include "model/comm_kernels.h"
#include "attach/attach.h"
#include "base/array.h"
#include "base/msg.h"
#include "capture/trigger.h"
#include "cmd/options/moment.h"
#include "cmd/options/start_at.h"
#include "cmd/options/values.h"
#include "export/file/format.h"
#include "report/sums/activities.h"
#include "report/sums/key_averages.h"
#include "report/lines/source_lines.h"
#include "report/tree/tree.h"
#include "target/selection.h"

/*
 * A row for each subcommand: X(SUBCOMMAND, what runs it, a function of the options).  It makes SUBCOMMAND_..., a bit;
 * what is said of it is a row of subcommands.c.  Those that no word names are first and last.
 */
#define SUBCOMMANDS(X)                                                                                                 \
	X(RECORD, record_command) /* no word on the command line: trace now */                                         \
	X(TOP, record_command)                                                                                         \
	X(SERVE, serve_command)                                                                                        \
	X(REPORT, report_command)                                                                                      \
	X(EXPORT, export_command)                                                                                      \
	X(DIFF, diff_command)                                                                                          \
	X(MERGE, merge_command)                                                                                        \
	X(WHY, why_command)                                                                                            \
	X(VIEW, view_command)                                                                                          \
	X(DUMP, dump_command)                                                                                          \
	X(DOCTOR, doctor_command)                                                                                      \
	X(MCP, mcp_command)                                                                                            \
	X(ENV, env_command)                                                                                            \
	X(HELP, help_command)                                                                                          \
	X(VERSION, version_command)

enum subcommand_number {
#define SUBCOMMAND(name, ...) SUBCOMMAND_NUMBER_##name,
	SUBCOMMANDS(SUBCOMMAND)
#undef SUBCOMMAND
		SUBCOMMAND_COUNT,
};

enum subcommand {
#define SUBCOMMAND(name, ...) SUBCOMMAND_##name = 1 << SUBCOMMAND_NUMBER_##name,
	SUBCOMMANDS(SUBCOMMAND)
#undef SUBCOMMAND
		SUBCOMMANDS_WITH_OPTIONS = SUBCOMMAND_HELP - 1, /* all of them */
};

enum metric {
	METRIC_DEFAULT, /* what the log says; GPU time where there are GPU records */
	METRIC_GPU,
	METRIC_LAUNCHES,
	METRIC_CPU,
	METRIC_IDLE,
};

/* Which part of a recording is wanted; all zero: everything. */
struct slice_options {
	struct moment from, to;
	struct name_list processes; /* ids or names, none: all */
	struct selection selection; /* by what is known of processes, none: all */
	struct thread_value thread; /* tid 0: all */
	bool has_gpu;
	uint32_t gpu;
	struct steps_value steps;
	uint64_t cycle; /* of a schedule, from 1; 0: all */
};

/* --way */
enum record_way {
	RECORD_WAY_AUTO, /* BPF if that is permitted */
	RECORD_WAY_BPF,
	RECORD_WAY_AGENT,
};

struct options {
	enum subcommand subcommand;
	enum subcommand help_for; /* SUBCOMMAND_HELP: of which subcommand */
	bool help_all;		  /* and, of tracing: with every option */
	struct pid_list pids;
	bool gpu_processes;	  /* -p gpu: all processes that have CUDA */
	struct selection targets; /* which of these are recorded, none: all */
	uint64_t duration_ns;	  /* 0: no limit */
	uint64_t recorder_ns;	  /* --flight-recorder: only so much of the end is kept; 0: everything */
	uint64_t recorder_bytes;  /* in at most so much memory */
	unsigned recorder_keep;	  /* how many of its files stay, 0: all */
	struct trigger_options trigger;
	struct start_at start_at;
	struct {
		uint64_t bytes, span_ns; /* when a file is over; both 0: there is only one */
		unsigned keep;		 /* how many are kept, 0: all */
	} rotate;
	uint64_t interval_ns; /* top: time between updates; serve: of sums; 0: the default */
	struct {
		ARRAY(const char *) list; /* as given, with variables put in; "-" at most once */
		ARRAY(char *) made;	  /* the ones that had variables, to be freed */
	} outputs;
	struct {
		ARRAY(const char *) list; /* "key=value", as given */
	} labels;
	const char *format;			  /* of "-" or of the report, NULL: not given */
	const struct table_format *report_format; /* NULL: text */
	bool whole_report;			  /* also on a terminal */
	const char *report_table;		  /* the only table of the report that is wanted, NULL: all */
	enum metric metric;
	struct attribution attribution;
	enum attach_agent agent;
	enum record_way way;
	const char *cupti; /* NULL: the one that fits each process */
	bool has_min_complete;
	unsigned min_complete; /* thousandths of a percent */
	bool has_fail_above;
	unsigned fail_above; /* diff: thousandths of a percent */
	size_t buffer_bytes;
	uint64_t memory_limit;		     /* bytes; 0: none */
	unsigned sums_limit;		     /* of serve: thousandths of a percent of a processor */
	unsigned cost_limit;		     /* thousandths of a percent of a thread's second; 0: none */
	uint64_t cpu_frequency;		     /* samples of each CPU a second; 0: none */
	uint64_t off_cpu_min_ns;	     /* the shortest wait that is recorded; 0: none */
	bool cpu_unwanted, off_cpu_unwanted; /* not by default either (options_default_activity) */
	bool gpu_counters_unwanted;
	bool native;
	bool as_root; /* the command runs as gputrace does, not as the user who called sudo */
	bool python_calls;
	bool ops;		/* record: PyTorch's ops; report: their table instead of the report */
	bool shapes;		/* and their arguments' shapes */
	bool forward_lines;	/* and the Python stacks of ops with an autograd number */
	bool torch_memory;	/* record: memory that PyTorch's allocators hand out and take back */
	bool memory_lines;	/* and the Python stack of each of these events */
	unsigned activity_sets; /* besides kernels: 1 << enum gpt_agent_activity_set */
	bool has_activity_sets; /* --trace or --kernels-only was given */
	enum msg_level level;
	char **command;	 /* NULL-terminated, NULL: none */
	const char *log; /* report, export; diff, merge: the first one; why: NULL: it records */
	bool reads_last; /* no log was named: the last that is kept, for diff the last two */
	bool keeps_log;	 /* record: the log is kept as the last trace */
	struct {
		ARRAY(const char *) list;
	} logs;				  /* diff, merge: all of them */
	size_t before;			  /* diff: how many of the logs are of before; 0: not said by -- */
	struct comm_kernels comm_kernels; /* names of kernels that exchange data between ranks */
	bool unaligned;			  /* merge: keeps logs without common collectives, aligned by wall clock */
	struct slice_options slice;
	struct step_value step;	      /* how steps are found */
	struct gpt_schedule schedule; /* record: which steps; active 0: everything is recorded */
	uint32_t proof_ms;	      /* record: --prove-cost, the length of its windows; 0: not given */
	bool captures;		      /* record: only between cudaProfilerStart and cudaProfilerStop */
	const char *capture_end;      /* as given, NULL: not; then captures_wanted is the number of ranges, 0: any */
	uint32_t captures_wanted;
	enum folded_by folded_by;	   /* export: of .folded */
	struct key_averages_options table; /* report --ops */
	unsigned lists;			   /* enum activity_list: print these instead of the report */
	bool wants_tree;		   /* print the tree of calls instead of the report */
	struct tree_options tree;
	bool wants_layers; /* print the layers of the model instead of the report */
	bool wants_lines;  /* print the source instead of the report */
	uint64_t every_ns; /* print a row for each period of that length instead of the report; 0: not asked for */
	const char *every_text;
	struct lines_options lines;
	bool lines_word;	  /* the next word may say which file or function */
	const char *tree_option;  /* a given option that is for the tree of calls only, NULL: none */
	const char *depth_option; /* a given option that is for trees only, NULL: none */
	const char *table_option; /* a given option that is for the table of ops only, NULL: none */
	bool all_processes;	  /* dump: all processes that have Python */
	bool locals;		  /* dump: values of local variables */
	bool may_record;	  /* mcp: tools that look at processes */
	bool asks_ras;		  /* dump: ask NCCL's RAS service */
	uint64_t hang_ns;	  /* dump: watch until a process stands still for this long; 0: look now */
	bool keeps_on;		  /* dump: and go on watching then */
	uint16_t port;		  /* view: 0: any; serve: 0: the default */
	const char *socket;	  /* serve: where it answers, or is asked; NULL: the usual place */
	const char *profiles;	  /* serve: a folder for a profile of each minute; NULL: none */
	unsigned profiles_keep;	  /* how many stay there */
	uint64_t max_size;	  /* the most bytes of a file; 0: no limit */
	const char *max_size_text;
};

/* True when another text than the report is printed. */
static inline bool options_replace_report(const struct options *options)
{
	return options->wants_tree || options->wants_layers || options->wants_lines || options->lists ||
	       options->every_ns || (options->ops && options->subcommand == SUBCOMMAND_REPORT);
}

/* Frees what options_parse has filled in. */
void options_free(struct options *options);

/* As on the command line, e.g. "auto". */
const char *options_agent_name(enum attach_agent agent);

/* What --cpu and --off-cpu record if nothing else is said. */
#define OPTIONS_FREQUENCY 99 /* in step with no usual clock, so that periodic work is not sampled at one phase */
#define OPTIONS_OFF_CPU_MIN_NS 100000

/* What is recorded of threads without being asked for, where that is permitted. */
struct default_activity {
	bool cpu, off_cpu;
};

struct default_activity options_default_activity(const struct options *options);

/* True when the log is written into several files. */
bool options_rotate(const struct options *options);

/* True when the processes to be recorded are chosen by what is known of them. */
bool options_select(const struct options *options);

/* True when not all of the recording is wanted. */
bool options_want_slice(const struct options *options);

/* True when only some steps are wanted. */
bool options_want_steps(const struct options *options);

/* True when one of the outputs is standard output: no report is printed there then. */
bool options_use_stdout(const struct options *options);
