# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Looks into a log that is still being written: docs/log-format.md."""

import struct

HEADER = struct.Struct("<IHHQq")  # magic, version, size of the header, start, wall clock offset
RECORD = struct.Struct("<IHH")  # size, type, flags
AGENT_BATCH, CUPTI_USE, KERNEL, STATS = 13, 16, 67, 75
BATCH_HEAD = 24  # bytes of a batch behind the record's header and before the agent's records
USE = struct.Struct("<20xBB")  # of a CUPTI_USE: which function (1: registers buffers), whether it is the agent


def _records(data, at):
    """(type, bytes behind the header) of every whole record from `at` on."""
    while at + RECORD.size <= len(data):
        size, kind, _ = RECORD.unpack_from(data, at)
        if size < RECORD.size or at + size > len(data):
            return
        yield kind, data[at + RECORD.size:at + size]
        at += size


def _whole(path):
    data = path.read_bytes()
    return _records(data, HEADER.unpack_from(data)[2]) if len(data) >= HEADER.size else ()


def _agent_kinds(path):
    """Types of the records that the agent has sent."""
    return (inner for kind, body in _whole(path) if kind == AGENT_BATCH for inner, _ in _records(body, BATCH_HEAD))


def has_kernel(path):
    """Whether the agent has sent a kernel's record."""
    return KERNEL in _agent_kinds(path)


def totals_told(path):
    """How often the agent has told its totals: four times a second."""
    return sum(kind == STATS for kind in _agent_kinds(path))


def agent_registered_last(path):
    """Whether CUPTI's buffers are the agent's, and nobody else's since."""
    uses = [USE.unpack_from(body) for kind, body in _whole(path) if kind == CUPTI_USE]
    return [own for what, own in uses if what == 1][-1:] == [1]
