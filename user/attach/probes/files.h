/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The files that carry probes, each known by device and inode however many processes map it: CUDA libraries,
 * agents, Pythons.  Owns their links.  Where a file has probes only in those processes that are traced, it knows their
 * pids, and nothing else of them.
 */
#ifndef GPUTRACE_ATTACH_PROBES_FILES_H
#define GPUTRACE_ATTACH_PROBES_FILES_H

#include <time.h>

#include <gputrace/maps.h>
#include <gputrace/schedule.h>

#include "attach/emit.h"
#include "attach/load/links.h"
#include "attach/load/programs.h"
#include "base/lookup.h"
#include "base/user_budget.h"
#include "target/kineto.h"
#include "target/library.h"

/* What probes are for; of each that a file refuses the log has a note. */
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
	enum library_kind kind;		   /* LIBRARY_OTHER: looked at, nothing in it for us */
	char *path;			   /* where it was first seen */
	bool hides_runtime;		   /* OTHER: a CUDA runtime without names is linked in */
	int fd;				   /* -1: OTHER, and no process is held for it; or it cannot be probed */
	int unfit;			   /* -errno: why it cannot be probed, whatever is in it */
	uid_t uid;			   /* whose part of the table it takes, FILE_OF_ALL no one's */
	bool of_root;			   /* no other user could have made it */
	bool mapped;			   /* by some followed process; files_sweep */
	uint64_t unmapped_ns;		   /* since when it is not, 0: it is */
	uint64_t asked_ns;		   /* files_get, the last time */
	uint64_t looked_ns, look_cost_ns;  /* when it was looked into, and how long that took */
	unsigned failures;		   /* how often in a row it could not be opened */
	struct timespec changed;	   /* those of fd -1: when, as it was looked at */
	off_t bytes;			   /* and its size then */
	bool settled;			   /* and whether a change after that has another time */
	int number;			   /* with symbol probes: its index in the BPF side's table, -1 none yet */
	unsigned refused;		   /* 1 << enum file_probe */
	ARRAY(pid_t) pids;		   /* the processes in which it has probes, where it is not in all */
	unsigned pids_added;		   /* how many there were so far */
	bool shared;			   /* in all, as these became too many or one refused them */
	struct library_sites sites;	   /* CUDA kinds */
	uint64_t text_bytes;		   /* of its executable segment, once it has call probes */
	uint64_t unwanted_ns;		   /* since when no one needs its call probes, which stand yet; 0: some do */
	struct links call_links;	   /* symbol probes, or an agent's call and state functions */
	struct links batch_links;	   /* an agent's batch function */
	struct links schedule_links;	   /* and its schedule, which falls after the counter of ops: call_links */
	struct links dealloc_links;	   /* Python: death of code objects */
	struct links subinterpreter_links; /* Python: creation of subinterpreters */
	ARRAY(struct uprobe) subinterpreter_uprobes;
	bool subinterpreters_tried;
	struct links engine_links; /* PyTorch: the autograd engine */
	struct uprobe engine_begin, engine_node;
	bool engine_known;  /* these were found, and are not attached yet */
	bool engine_wanted; /* a process that maps it has the driver: what launches nothing does not pay for it */
	struct links profiler_links; /* PyTorch: its profiler's buffers */
	struct links nccl_links;     /* NCCL: its calls, and their ends */
	bool nccl_tried;
	int nccl_number;	  /* with probes: as number, in the table of communicators' layouts */
	struct links cupti_links; /* CUPTI: its other users */
	struct links push_links;  /* CUPTI: sessions from before we came */
	bool push_unfit;	  /* looked into, and there is no probe site for them */
	struct links event_links; /* Python: collections, imports, calls */
	bool events_tried;
	int python_calls; /* Python: 1 every call is traced, -ENOTSUP they cannot be, 0 not asked */
	bool torch_tried;
	bool kineto_known;	   /* PyTorch: kineto is */
	struct kineto_flag kineto; /* where its profiler notes that it records */
	bool written;		   /* its GPT_PROBES record was written */
	bool wanted;		   /* by some process; attach.c keeps it */
};

/* Which files have their probes only in processes that are followed. */
enum files_apart {
	FILES_SHARED,
	FILES_AGENTS_APART, /* an agent does what it is asked for where it is traced, and nowhere else */
	FILES_APART,	    /* also symbol probes and so on: who is not traced does not pay for them */
};

/*
 * An agent's file beyond some number of processes at a time, another beyond some number in all, is probed in all that
 * map it: each takes milliseconds to come and to go, which a program that forks all the time would need for nothing.
 */
#define FILE_AGENTS_MAX 64u
#define FILE_PROCESSES_MAX 16u

/* Who has which place in a table of the BPF side. */
struct file_numbers {
	struct probed_file *of[GPT_MAX_FILES]; /* NULL: no one */
};

#define FILE_OF_ALL ((uid_t)-1)
#define FILES_MAX 16384u /* of all kinds, most of which have nothing for us */

struct files {
	struct programs *programs;
	enum files_apart apart;
	struct links left;	    /* of processes that are over; detached many at a time */
	bool fair;		    /* users' files: what one has leaves as much for the others */
	bool holds;		    /* processes are held for new files */
	size_t open_most;	    /* files that are kept open at a time */
	uint64_t left_out;	    /* files with CUDA calls that could not be probed and are forgotten */
	struct user_counts crowded; /* users of whom the log knows that they have too many */
	struct user_counts named;   /* files of a user that are not probed: the log names the first */
	struct file_numbers call_numbers, nccl_numbers;
	attach_emit emit;
	void *emit_context;
	ARRAY(struct probed_file *) list;
	struct lookup by_inode; /* (1 + device, inode) to list, NONE: forgotten */
	bool python_calls;	/* the user asked for them */
	bool foreign_buffers;	/* agents are let in, and what goes to torch.profiler instead is taken from there */
	unsigned activity_sets; /* what agents shall take besides kernels */
	bool ops;		/* of PyTorch, too */
	bool shapes;		/* and what they are called with */
	bool schedule_begun;
	struct gpt_schedule schedule;
	bool forward_lines; /* and the Python stacks of those with an autograd number */
	bool torch_memory;  /* and what its allocators hand out and take back */
	bool memory_lines;  /* and the Python stack of each of these events */
};

/* Finds out how many may be open. */
void files_limit(struct files *files);

/*
 * The entry of a file that a process of that user has mapped, made (and its symbols examined) when it is new; NULL when
 * it cannot be opened, or there is no room for it.  again_ns: when to ask again, if that is before what stands there
 * (0: nothing does).
 */
struct probed_file *files_get(struct files *files, pid_t pid, uid_t uid, const struct mapping *mapping,
			      uint64_t *again_ns);

/* Closes and forgets those that are not `mapped`: at once where there are many, else after a while. */
void files_sweep(struct files *files, uint64_t now_ns);
void files_close(struct files *files);

/* A number of `most` for the file, where it has none; -ENOSPC */
int files_number(const struct files *files, struct probed_file *file, struct file_numbers *numbers, int most,
		 int *number);
void files_give_number(struct file_numbers *numbers, int *number);

/* The entry of a gputrace file by path (the agent before any process has mapped it). */
struct probed_file *files_get_path(struct files *files, const char *path);

/* The file as ELF, by a descriptor of its own; the caller closes it. -errno */
int file_open_image(const struct probed_file *file, struct image **out);

/*
 * Notes in the log, once for a file and a purpose, what is missing as its probes could not be attached.  True when it
 * did: of a user's many files only the first are named, and all are counted.
 */
bool file_note_refused(struct files *files, struct probed_file *file, enum file_probe what, int error);

/*
 * Probes sites of the file for one of its links: in its processes, now and when they come, or in all that map it.
 * -errno; nothing is attached then.
 */
int file_attach_uprobes(struct files *files, struct probed_file *file, struct links *links,
			const struct bpf_program *program, const struct uprobe *uprobes, size_t count);

/* A process that is followed maps the file or will: what is probed in it is probed there from now on. */
void file_add_process(struct files *files, struct probed_file *file, pid_t pid);
/* It is over, or is no longer traced. */
void files_remove_process(struct files *files, pid_t pid);

/* All that is attached to a file is handed over. */
void file_move_links(struct probed_file *file, struct links *to);

/* From now on a process that maps the file need not be held for it, or must be again. */
void files_mark_known(struct files *files, const struct probed_file *file, bool known);

/* The executable segment that holds a file offset: where it starts in the file, and its size; -ENOEXEC. */
int file_text_segment(int fd, uint64_t offset, uint64_t *start, uint64_t *bytes);

/* Before the probe is attached: its program will know the executable segment that it is in (GPT_TEXT_COOKIE). -errno */
int file_give_text(const struct files *files, const struct probed_file *file, struct uprobe *uprobe);

bool library_kind_has_calls(enum library_kind kind);

/* ---- file_room.c ------------------------------------------------------------------------------------------------- */

/* Whether a file that was looked into may be kept open. */
bool file_may_stay_open(const struct files *files, const struct probed_file *file);

/* Whether there is room for one more file of the user; where there is none the log gets a note, once for each user. */
bool files_have_room(struct files *files, uid_t uid);

/* Whether the log names one more file of the user that is not probed; which are not is noted, once for each user. */
bool files_may_name(struct files *files, uid_t uid);

#endif
