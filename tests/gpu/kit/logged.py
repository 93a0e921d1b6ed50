# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads a log that is still being written.  The kit brings its own zstd: the machine may have none."""

import subprocess

import gptlog
import place

CUPTI_USE, KERNEL, STATS = 16, 67, 75
REGISTER = 1  # a value of CUPTI_USE's "what"


def _decompress(frame, size):
    return subprocess.run([str(place.UNZSTD)], input=frame, stdout=subprocess.PIPE, check=True).stdout


gptlog.decompress = _decompress


def _segments(path):
    """Yields (log, segment) for the segments written so far."""
    try:
        log = gptlog.Log(path)
    except gptlog.Damaged:  # its header is being written
        return
    for segment in log.segments:
        yield log, segment


def has_kernel(path):
    """Whether the agent has sent a kernel's record."""
    return any(KERNEL in segment.kinds for _, segment in _segments(path))


def totals_reported(path):
    """How often the agent has reported its totals; it does four times a second."""
    return sum(segment.kinds.get(STATS, 0) for _, segment in _segments(path))


def agent_registered_last(path):
    """Whether the agent was the last client that registered buffers with CUPTI."""
    uses = [record.values for log, segment in _segments(path) if CUPTI_USE in segment.kinds
            for record in segment.records(log.schema)[segment.repeated:] if record.type == CUPTI_USE]
    return [use["own"] for use in uses if use["what"] == REGISTER][-1:] == [1]
