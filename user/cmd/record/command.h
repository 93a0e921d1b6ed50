/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The command of `gputrace -- COMMAND`: forked early, held until the probes are in place, then run as the user
 * and in the directory in which gputrace was started.  gputrace never kills it, and ends after it.
 */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct caller;

struct command {
	pid_t pid;	/* 0: none */
	int go;		/* write end: one byte lets it run, end of file makes it exit */
	int failed;	/* read end: errno of exec, end of file when it worked */
	int exec_errno; /* 0: it runs or ran */
	bool ended;
	int status; /* of waitpid(2), when ended */
	char **argv;
};

struct command_options {
	char **argv;
	const char *agent_path;	     /* for CUDA_INJECTION64_PATH, NULL: leave the environment alone */
	const char *cupti;	     /* the libcupti that the agent must use, NULL: the one that fits */
	bool ranges;		     /* the agent records NVTX ranges: set NVTX_INJECTION64_PATH, if it is not set */
	const char *share_name;	     /* the name by which agents find a gputrace without BPF, NULL: with BPF */
	bool stdout_to_stderr;	     /* gputrace's standard output carries an export */
	const sigset_t *signals;     /* signal mask to restore */
	const struct caller *caller; /* the user that it runs as, NULL: as gputrace */
};

/*
 * To be called first: from here on the statuses of children are kept, also where SIGCHLD is ignored, as below some
 * servers. The command has it ignored again.
 */
void command_keep_statuses(void);

/* 0 when the shell's rules find an executable file for argv[0], else -ENOENT or -EACCES; path NULL: PATH. */
int command_check(const char *name, const char *path);

int command_start(const struct command_options *options, struct command *out);

/* By which the driver loads the agent, and the agent the user's own library of that kind. */
#define COMMAND_INJECTION "CUDA_INJECTION64_PATH"
#define COMMAND_CHAINED "GPUTRACE_CHAINED_INJECTION"

/* Sets these two, and GPUTRACE_FILTERS, in this process's environment. */
void command_set_injection(const char *agent_path);

/* The user's own NVTX_INJECTION64_PATH, which the command keeps; NULL: none. */
const char *command_other_ranges(const char *agent_path);

/* Lets it run; -errno when it could not be executed. */
int command_release(struct command *command);

/* True when it has ended; never waits. */
bool command_has_ended(struct command *command);

/* True when it was released, could be executed, and has not ended; never waits. */
bool command_runs(struct command *command);

/* Waits until it has ended; signals are no longer passed on to it then (interrupt.h). */
void command_await(struct command *command);

/* Describes a failed end ("exited with status 1", "was killed by SIGKILL (Killed)"); NULL: it ended well. */
const char *command_failure(const struct command *command, char *buffer, size_t size);

/* As a shell's $?, of a status as waitpid(2) gives it: the exit status, or 128 and the signal. */
int status_as_shell(int waited);

/* As a shell's $?: of a command that has ended its status, or 128 and the signal; of one that could not be executed 126
 * or 127; else 0. */
int command_exit_status(const struct command *command);

/* A command that was not released exits; one that runs goes on. */
void command_close(struct command *command);
