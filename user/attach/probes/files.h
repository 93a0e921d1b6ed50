/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The files that carry probes, each known by device and inode however many processes map it: CUDA libraries,
 * agents, Pythons.  Owns their links.  If a file has probes only in traced processes, it also has their
 * pids, and knows nothing else about them.
 */
#pragma once

#include <time.h>

#include <gputrace/maps.h>
#include <gputrace/schedule.h>

#include "attach/emit/emit.h"
#include "attach/load/links.h"
#include "attach/load/programs.h"
#include "base/lookup.h"
#include "base/user_budget.h"
#include "target/kineto.h"
#include "target/library.h"

/* Purposes of probes; a note is written for each that a file refuses. */
enum file_probe {
	FILE_CALLS,
	FILE_AGENT,
	FILE_CUPTI,
	FILE_PUSHES,
	FILE_DEATHS,
	FILE_SUBINTERPRETERS,
	FILE_ENGINE,
	FILE_PROFILER,
	FILE_NCCL,
	FILE_NCCL_RANKS,
	FILE_NCCL_EXITS,
};

struct probed_file {
	dev_t device;
	uint64_t inode;
	enum library_kind kind;		  /* LIBRARY_OTHER: examined, nothing to probe */
	char *path;			  /* path where it was first seen */
	bool hides_runtime;		  /* OTHER: has a statically linked CUDA runtime without symbols */
	int fd;				  /* -1: OTHER, and no process is held for it; or it cannot be probed */
	int unfit;			  /* -errno: why it cannot be probed, whatever it contains */
	uid_t uid;			  /* user in whose share of the table it counts, FILE_OF_ALL: none */
	uid_t asker;			  /* user of the process for which it was examined first */
	bool of_root;			  /* only root can have created it */
	bool mapped;			  /* by some followed process; for files_sweep */
	uint64_t unmapped_ns;		  /* since when it is not mapped, 0: it is */
	uint64_t asked_ns;		  /* last files_get */
	uint64_t looked_ns, look_cost_ns; /* when it was examined, and how long that took */
	unsigned failures;		  /* failed attempts in a row to open it */
	struct timespec changed;	  /* if fd is -1: ctime when it was examined */
	off_t bytes;			  /* and the size then */
	bool settled;			  /* and whether a later change will have another ctime */
	int number;			  /* with symbol probes: its index in the BPF side's table, -1: none yet */
	unsigned refused;		  /* 1 << enum file_probe */
	ARRAY(pid_t) pids;		  /* the processes in which it has probes, if not in all */
	unsigned pids_added;		  /* how many processes were added so far */
	bool shared;			  /* probed in all processes, as there were too many or one refused */
	struct library_sites sites;	  /* CUDA kinds */
	uint64_t text_bytes;		  /* size of its executable segment, once it has call probes */
	uint64_t unwanted_ns;	 /* since when no process needs its call probes, still attached; 0: some process does */
	struct links call_links; /* symbol probes, or an agent's call and state functions */
	struct links batch_links;		      /* an agent's batch function */
	struct links schedule_links;		      /* its schedule, lowered after the counter of ops (call_links) */
	struct links shapes_off_links, ops_off_links; /* an agent's: fewer details (files_set_detail) */
	struct links dealloc_links;		      /* Python: death of code objects */
	struct links subinterpreter_links;	      /* Python: creation of subinterpreters */
	ARRAY(struct uprobe) subinterpreter_uprobes;
	bool subinterpreters_tried;
	struct links engine_links; /* PyTorch: the autograd engine */
	struct uprobe engine_begin, engine_node;
	bool engine_known;  /* the engine's functions were found, and are not attached yet */
	bool engine_wanted; /* a process that maps it has the driver, too: others launch nothing and need no probes */
	struct links profiler_links; /* PyTorch: its profiler's buffers */
	struct links nccl_links;     /* NCCL: its calls, and their ends */
	bool nccl_tried;
	int nccl_number;	  /* with probes: like number, but in the table of communicators' layouts */
	struct links cupti_links; /* CUPTI: other users */
	struct links push_links;  /* CUPTI: sessions from before gputrace came */
	bool push_unfit;	  /* examined, and there is no probe site for pushes */
	struct links event_links; /* Python: collections, imports, calls */
	bool events_tried;
	int python_calls; /* Python: 1 every call is traced, -ENOTSUP calls cannot be traced, 0 not requested */
	bool torch_tried;
	bool kineto_known;	   /* PyTorch: `kineto` is valid */
	struct kineto_flag kineto; /* where its profiler notes that it records */
	bool written;		   /* its GPT_PROBES record was written */
	bool wanted;		   /* by some process; tick.c updates it */
};

/* Which files have probes in followed processes only. */
enum files_apart {
	FILES_SHARED,
	FILES_AGENTS_APART, /* agents: each works in traced processes only */
	FILES_APART,	    /* also symbol probes and so on: untraced processes do not pay for them */
};

/*
 * Limits of per-process probes. An agent's file with more processes at a time, or another file with more processes in
 * all, is probed in every process that maps it: attaching and detaching in one process takes milliseconds, which a
 * program that forks all the time would pay for nothing.
 */
#define FILE_AGENTS_MAX 64u
#define FILE_PROCESSES_MAX 16u

/* Which file has which index in a table of the BPF side. */
struct file_numbers {
	struct probed_file *of[GPT_MAX_FILES]; /* NULL: free */
};

#define FILE_OF_ALL ((uid_t)-1)
#define FILES_MAX 16384u /* of all kinds, most without anything to probe */

struct files {
	struct programs *programs;
	enum files_apart apart;
	struct links left;	    /* of processes that have ended; detached many at a time */
	bool fair;		    /* files are shared among users: one user cannot use up what others need */
	bool stops;		    /* processes are held when they map new files */
	size_t open_most;	    /* maximum of files kept open at a time */
	uint64_t left_out;	    /* files with CUDA calls that could not be probed and were forgotten */
	struct user_counts crowded; /* users with too many files, of whom the log has a note */
	struct user_counts named;   /* counts a user's unprobed files: the log names the first ones */
	struct file_numbers call_numbers, nccl_numbers;
	attach_emit emit;
	void *emit_context;
	ARRAY(struct probed_file *) list;
	struct lookup by_inode; /* (1 + device, inode) to index in list, NONE: forgotten */
	bool python_calls;	/* the user asked for them */
	bool agents; /* their records are wanted: agents and users of CUPTI are probed, torch.profiler's buffers read */
	unsigned activity_sets; /* what agents record besides kernels */
	bool ops;		/* PyTorch's ops, too */
	bool shapes;		/* and the arguments of each op (--shapes) */
	bool schedule_begun;
	struct gpt_schedule schedule;
	bool forward_lines;    /* and the Python stacks of ops with an autograd number */
	bool torch_memory;     /* and allocations and frees of PyTorch's allocators */
	bool memory_lines;     /* and the Python stack of each of these events */
	uint32_t detail_level; /* of ops and their inputs (gputrace/details.h) */
};

/* Sets open_most by the limits of the process. */
void files_limit(struct files *files);

/*
 * The entry of a file that a process of that user has mapped; a new one is created and its symbols examined. NULL if it
 * cannot be opened, or there is no room for it. again_ns: when to ask again, if that is before the time already in it
 * (0: none).
 */
struct probed_file *files_get(struct files *files, pid_t pid, uid_t uid, const struct mapping *mapping,
			      uint64_t *again_ns);

/* Whether the file has an entry. */
bool files_have(const struct files *files, const struct mapping *mapping);

/* Closes and forgets files that are not `mapped`: at once if there are many, else after a while. */
void files_sweep(struct files *files, uint64_t now_ns);
/*
 * Call before files_get: if a user's process has mapped a file for which there is no room, files that were examined and
 * have nothing to probe are forgotten, those not requested for longest: the user's own, or if all are too many, of the
 * user for whom most of them were examined.
 */
void files_make_room(struct files *files, uid_t uid, const struct mapping *mapping);

void files_close(struct files *files);

/* Gives the file one of `most` numbers, if it has none; -ENOSPC */
int files_number(const struct files *files, struct probed_file *file, struct file_numbers *numbers, int most,
		 int *number);
void files_give_number(struct file_numbers *numbers, int *number);

/* The entry of one of gputrace's own files by path (the agent before any process has mapped it). */
struct probed_file *files_get_path(struct files *files, const char *path);

/* When the file may be examined again, 0: at any time. */
uint64_t file_rests_until(const struct probed_file *file);

/* Opens the file as ELF, by a descriptor of its own; the caller closes it. 0 or -errno. */
int file_open_image(const struct probed_file *file, struct image **out);

/*
 * Writes a note, once for a file and a purpose, about what is missing as its probes could not be attached. True if it
 * did: only the first of a user's many files are named, and all are counted.
 */
bool file_note_refused(struct files *files, struct probed_file *file, enum file_probe what, int error);

/*
 * Attaches probes at sites of the file for one of its links: in its processes, now and when more come, or in all that
 * map it. On -errno nothing is attached.
 */
int file_attach_uprobes(struct files *files, struct probed_file *file, struct links *links,
			const struct bpf_program *program, const struct uprobe *uprobes, size_t count);

/* A followed process maps the file or will: the file's probes are attached there from now on. */
void file_add_process(struct files *files, struct probed_file *file, pid_t pid);
/* Whether the file's calls are seen in the process. */
bool file_is_probed_in(const struct files *files, const struct probed_file *file, pid_t pid);
/* The process has ended, or is no longer traced. */
void files_remove_process(struct files *files, pid_t pid);

/* Moves all that is attached to a file to `to`. */
void file_move_links(struct probed_file *file, struct links *to);

/* Sets whether processes that map the file need no hold any more (known) or must be held again. */
void files_mark_known(struct files *files, const struct probed_file *file, bool known);

/* The executable segment that contains a file offset: its start in the file, and its size; -ENOEXEC. */
int file_text_segment(int fd, uint64_t offset, uint64_t *start, uint64_t *bytes);

/*
 * Call before the probe is attached: gives its program the executable segment that it is in (GPT_TEXT_COOKIE). 0 or
 * -errno.
 */
int file_give_text(const struct files *files, const struct probed_file *file, struct uprobe *uprobe);

bool library_kind_has_calls(enum library_kind kind);

/* ---- file_room.c ------------------------------------------------------------------------------------------------- */

/* Whether a file that was examined may be kept open. */
bool file_may_stay_open(const struct files *files, const struct probed_file *file);

/* Whether there is room for one more file of the user. */
bool files_have_part(const struct files *files, uid_t uid);

/* The same; if not, the log gets a note, once for each user. */
bool files_have_room(struct files *files, uid_t uid);

/* Whether the log names one more unprobed file of the user; that others are not named is noted once for each user. */
bool files_may_name(struct files *files, uid_t uid);
