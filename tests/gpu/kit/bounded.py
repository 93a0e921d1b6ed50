# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs a command with a time-out.  Unlike subprocess.run, does not wait for a process that a driver blocks in the
kernel."""

import os
import signal
import subprocess
import tempfile
import time

POLL_S = 0.05
AFTER_KILL_S = 5


def end_group(process):
    """Kills the process with its children, and waits a little."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        pass
    end = time.monotonic() + AFTER_KILL_S
    while time.monotonic() < end and process.poll() is None:
        time.sleep(POLL_S)


def run(words, timeout_s):
    """(exit status, or None after the time-out; its output)"""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=output,
                                   stderr=subprocess.STDOUT, start_new_session=True)
        end = time.monotonic() + timeout_s
        while process.poll() is None and time.monotonic() < end:
            time.sleep(POLL_S)
        status = process.poll()
        if status is None:
            end_group(process)
        output.seek(0)
        return status, output.read().decode("utf-8", "replace")
