# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Walks a log record by record, also one that is still being written: docs/log-format.md."""

import struct

HEADER = struct.Struct("<IHHQq")  # magic, version, size of the header, start, wall clock offset
RECORD = struct.Struct("<IHH")  # size, type, flags
PROCESS, PROBES, SYMBOL, NOTE = 33, 34, 35, 37


def records(path):
    """(offset, type, bytes behind the record's header) of every whole record."""
    data = path.read_bytes()
    at = HEADER.unpack_from(data)[2] if len(data) >= HEADER.size else len(data)
    while at + RECORD.size <= len(data):
        size, kind, _ = RECORD.unpack_from(data, at)
        if size < RECORD.size or at + size > len(data):
            return
        yield at, kind, data[at + RECORD.size:at + size]
        at += size


def has_python(path, pid):
    """Whether the walker knows the interpreter of that process."""
    for _, kind, body in records(path):
        if kind == PROCESS:
            of_pid, _, python = struct.unpack_from("<IIH", body, 16)
            if of_pid == pid and python:
                return True
    return False


def has_probes(path, file):
    """Whether the calls of that file are probed."""
    return any(kind == PROBES and f"({file})".encode() in body for _, kind, body in records(path))


def has_note(path, text):
    return any(kind == NOTE and text.encode() in body for _, kind, body in records(path))


def has_symbol(path, name):
    return any(kind == SYMBOL and name.encode() in body for _, kind, body in records(path))


AGENT_BATCH, CUPTI_USE = 13, 16
HELLO, KERNEL, MEMCPY, MEMSET, STATS = 64, 67, 68, 69, 75


def agent_records(path, wanted):
    """What an agent said of one type, behind the record's header."""
    for _, kind, body in records(path):
        at = 24
        while kind == AGENT_BATCH and at + 8 <= len(body):
            size, inner, _ = struct.unpack_from("<IHH", body, at)
            if size < 8:
                break
            if inner == wanted:
                yield body[at + 8:at + size]
            at += size


def has_kernel(path):
    """Whether an agent's batch in it holds a kernel's record."""
    return any(True for _ in agent_records(path, KERNEL))


def gpu_correlations(path):
    """Correlation ids of the GPU operations that came."""
    return {struct.unpack_from("<I", body, 16)[0] for kind in (KERNEL, MEMCPY, MEMSET) for body in agent_records(path, kind)}


def says_failed(path):
    """Whether an agent said that it cannot work."""
    return any(struct.unpack_from("<II", hello)[1] == 4 for hello in agent_records(path, HELLO))


def says_ready(path):
    """Whether an agent said that it records."""
    return any(struct.unpack_from("<II", hello)[1] == 2 for hello in agent_records(path, HELLO))


def totals_told(path):
    """How often an agent has told its totals: four times a second, also while another client of CUPTI records."""
    return sum(1 for _ in agent_records(path, STATS))


def registrations(path):
    """Who registered buffers with CUPTI, in order: 1 the agent, 0 somebody else."""
    uses = [struct.unpack_from("<BB", body, 20) for _, kind, body in records(path) if kind == CUPTI_USE]
    return [own for what, own in uses if what == 1]
