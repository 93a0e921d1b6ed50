# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Questions of tests to a log, also to one that is still being written; ../gptlog.py reads it."""

import collections
import pathlib

import gptlog

CALL, CALL_ARGS, EXIT, MAPPED, BATCH, CUPTI_USE = 1, 2, 11, 12, 13, 16
NESTED_IN_SYMBOL = 1  # flag of CALL
PROCESS, PROBES, SYMBOL, NOTE, END = 33, 34, 35, 37, 38
WAIT, NCCL, SOURCE = 20, 25, 26
HELLO, KERNEL, MEMCPY, MEMSET, AGENT_CLOCK, STATS, OPS, TORCH_MEMORY = 64, 67, 68, 69, 74, 75, 85, 86
READY, STOPPED, FAILED, BORROWING = 2, 3, 4, 5  # states of HELLO
OBSERVING, REFUSED = 2, 4  # states of OPS
REGISTER, OTHER = 1, 0  # of CUPTI_USE: what, own
STACK_OK, STACK_UNREADABLE = 0, 4  # stack_state of calls


FOLLOWED = 4  # number of logs whose unpacked records are kept
_unpacked = {}  # {(path, inode, start of the recording): {offset of a segment: its records}}


def _records_of(path, log, segment):
    """A segment's records without repeated ones; unpacked once, however often a test asks while the log grows."""
    key = (path, path.stat().st_ino, log.start_ns)
    known = _unpacked.setdefault(key, {})
    while len(_unpacked) > FOLLOWED:
        del _unpacked[next(iter(_unpacked))]
    if segment.offset not in known:
        known[segment.offset] = segment.records(log.schema)[segment.repeated:]
    return known[segment.offset]


def records(path, *types):
    """Every record of these types, also those of an agent, in a log that may be cut short."""
    try:
        log = gptlog.Log(path)
    except gptlog.Damaged:  # its header is being written
        return
    for segment in log.segments:
        if not set(types) & set(segment.kinds):
            continue
        for record in _records_of(pathlib.Path(path), log, segment):
            yield from (one for one in (record, *record.records) if one.type in types)


def says(path, kind, text):
    """Whether a record of that type has these bytes after its fields."""
    return any(text in record.tail for record in records(path, kind))


def has_process(path, pid):
    """Whether gputrace has examined that process."""
    return any(record.values["pid"] == pid for record in records(path, PROCESS))


def has_python(path, pid):
    """Whether the walker knows the interpreter of that process."""
    return any(record.values["pid"] == pid and record.values["python"] for record in records(path, PROCESS))


def has_probes(path, file):
    """Whether the calls of that file are probed."""
    return says(path, PROBES, f"({file})".encode())


def has_note(path, text):
    return says(path, NOTE, text.encode())


def has_symbol(path, name):
    return says(path, SYMBOL, name.encode())


def has_source(path, text):
    """Whether the source of a notebook's cell in the log contains the text."""
    return says(path, SOURCE, text.encode())


def has_calls(path):
    return any(True for _ in records(path, CALL, CALL_ARGS))


def stack_states(path):
    """{enum gpt_stack_state: number of calls}"""
    return collections.Counter(call.values["stack_state"] for call in records(path, CALL, CALL_ARGS))


def exits(path):
    """The processes that have ended."""
    return [record.values["pid"] for record in records(path, EXIT)]


def mapped_times(path, pid):
    """Times at which that process mapped files with code, as recorded so far."""
    return sorted(record.values["time_ns"] for record in records(path, MAPPED) if record.values["pid"] == pid)


def has_call_seen_by_both(path):
    """Whether an agent reported a call that a symbol probe had reported."""
    return any(call.flags & NESTED_IN_SYMBOL for call in records(path, CALL))


def has_kernel(path):
    """Whether an agent's batch in the log has a kernel's record."""
    return any(True for _ in records(path, KERNEL))


def agent_wall_offsets(path):
    """CLOCK_REALTIME - CLOCK_MONOTONIC in ns, as sampled by agents."""
    return [record.values["wall_offset_ns"] for record in records(path, AGENT_CLOCK)]


def gpu_operations(path):
    """Number of GPU operations in the log."""
    return sum(1 for _ in records(path, KERNEL, MEMCPY, MEMSET))


def gpu_operations_since(path, begin_ns):
    """Number of GPU operations whose call began later than that; one segment may have the agent's start and much more."""
    since = {record.values["corr"] for record in records(path, CALL, CALL_ARGS) if record.values["time_ns"] > begin_ns}
    return sum(record.values["corr"] in since for record in records(path, KERNEL, MEMCPY, MEMSET))


def gpu_correlations(path):
    """Correlation ids of the GPU operations in the log."""
    return {record.values["corr"] for record in records(path, KERNEL, MEMCPY, MEMSET)}


def says_failed(path):
    """Whether an agent has reported that it cannot work."""
    return any(hello.values["state"] == FAILED for hello in records(path, HELLO))


def agent_states(path):
    """The states that agents have reported, in order."""
    return [hello.values["state"] for hello in records(path, HELLO)]


def says_ready(path):
    """Whether an agent has reported that it records."""
    return any(hello.values["state"] == READY for hello in records(path, HELLO))


def says_ready_in(path, pid):
    """Whether the agent of that process has reported that it records."""
    return any(hello.type == HELLO and hello.values["state"] == READY
               for batch in records(path, BATCH) if batch.values["pid"] == pid for hello in batch.records)


def says_observing(path):
    """Whether an agent has reported that it records ops of PyTorch."""
    return any(ops.values["state"] == OBSERVING for ops in records(path, OPS))


def has_block(path, size):
    """Whether an allocator of PyTorch has handed out a block of that many bytes."""
    return any(event.values["bytes"] == size for event in records(path, TORCH_MEMORY))


def says_refused(path):
    """Whether an agent has reported that it cannot record ops of a PyTorch."""
    return any(ops.values["state"] == REFUSED for ops in records(path, OPS))


def totals_reported(path):
    """Number of reports of an agent's totals: four a second, also while another client of CUPTI records."""
    return sum(1 for _ in records(path, STATS))


def registrations(path):
    """The clients that registered buffers with CUPTI, in order: 1 the agent, 0 another client."""
    return [use.values["own"] for use in records(path, CUPTI_USE) if use.values["what"] == REGISTER]
