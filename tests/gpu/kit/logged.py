# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Looks into a log that is still being written.  zstd is the kit's own: machines need not have it."""

import subprocess

import gptlog
import place

CUPTI_USE, KERNEL, STATS = 16, 67, 75
REGISTER = 1  # of CUPTI_USE


def _decompress(frame, size):
    return subprocess.run([str(place.UNZSTD)], input=frame, stdout=subprocess.PIPE, check=True).stdout


gptlog.decompress = _decompress


def _segments(path):
    """Of what is there so far: (log, segment)."""
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
    """How often the agent has reported its totals: four times a second."""
    return sum(segment.kinds.get(STATS, 0) for _, segment in _segments(path))


def agent_registered_last(path):
    """Whether CUPTI's buffers are the agent's, and no one else's since."""
    uses = [record.values for log, segment in _segments(path) if CUPTI_USE in segment.kinds
            for record in segment.records(log.schema)[segment.repeated:] if record.type == CUPTI_USE]
    return [use["own"] for use in uses if use["what"] == REGISTER][-1:] == [1]
