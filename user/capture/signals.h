/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Signals as something to poll while a trace runs, and passing them on to the command. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* SIGINT, SIGTERM and SIGHUP end a trace. */
bool signal_ends_trace(int number);

/*
 * Whether a signal to end that came now is a request of its own: what comes within 0.2 s of the one before belongs to
 * that, as timeout(1) sends two. A signal handler may call it.
 */
bool signal_is_request(void);

/* Those three, and the ones that are only for a command: SIGQUIT, SIGUSR1, SIGUSR2 and SIGWINCH. */
#define PASSED_SIGNALS 7
extern const int passed_signals[PASSED_SIGNALS];

/*
 * From here on SIGUSR1 asks this gputrace for a file (struct stop_signals), is not passed on to a command, and never
 * ends the program.
 */
void signals_claim_write(void);
/* In a child that executes a command: SIGUSR1 is as before. */
void signals_give_back_write(void);
/* Whether it is passed on to a command. */
bool signal_is_passed(int number);

/*
 * Sends the signal to the process, a child of the caller that has not been waited for.  code: si_code of the signal
 * that the caller got.  What a terminal sent to the caller's whole process group has reached the process already.  A
 * signal handler may call it.
 */
void signal_pass_on(pid_t process, int number, int code);

/*
 * Blocks the signals that end a trace, with_command also the other ones (not a SIGHUP that is ignored), and returns a
 * file descriptor for them, or -errno; *old is the mask before.
 */
int stop_signals_open(bool with_command, sigset_t *old);

struct stop_signals {
	unsigned count;	    /* of requests to end the trace, taken now */
	bool write;	    /* a file is asked for */
	bool from_terminal; /* Ctrl-C: every process of the foreground group got it, the traced command too */
};

/* Takes what is pending, and passes it on to the command, unless that is 0; never waits. */
struct stop_signals stop_signals_take(int fd, pid_t command);

/* Unblocks them again: what is still pending is delivered now. */
void stop_signals_close(int fd, const sigset_t *old);
