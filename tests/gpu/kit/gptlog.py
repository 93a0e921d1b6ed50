# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Looks into a log that is still being written: docs/log-format.md."""

import struct

HEADER = struct.Struct("<IHHQq")  # magic, version, size of the header, start, wall clock offset
RECORD = struct.Struct("<IHH")  # size, type, flags
AGENT_BATCH, KERNEL = 13, 67
BATCH_HEAD = 24  # bytes of a batch behind the record's header and before the agent's records


def _records(data, at):
    """(type, bytes behind the header) of every whole record from `at` on."""
    while at + RECORD.size <= len(data):
        size, kind, _ = RECORD.unpack_from(data, at)
        if size < RECORD.size or at + size > len(data):
            return
        yield kind, data[at + RECORD.size:at + size]
        at += size


def has_kernel(path):
    """Whether the agent has sent a kernel's record."""
    data = path.read_bytes()
    if len(data) < HEADER.size:
        return False
    return any(inner == KERNEL for kind, body in _records(data, HEADER.unpack_from(data)[2]) if kind == AGENT_BATCH
               for inner, _ in _records(body, BATCH_HEAD))
