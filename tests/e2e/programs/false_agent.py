# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A process that speaks as an agent, and says what it likes: it loads a copy of the agent that does not start, and calls
the function by which agents hand their records over.

    false_agent.py AGENT schedule      once: a schedule and a step that were not requested, and bytes that are no record
    false_agent.py AGENT flood         all the time, as fast as it can: small batches, which leave no room for others

Prints "ready"; "sent" when a gputrace listens and the first records are with it.  Killed by the test.
"""

import ctypes
import struct
import sys

HELLO, STEP, SCHEDULE = 64, 88, 89  # enum gpt_agent_record_type


def record(kind, body):
    return struct.pack("<IHH", 8 + len(body), kind, 0) + body


def schedule():
    plan = record(SCHEDULE, struct.pack("<Q8I", 1, 5, 1, 1, 1, 1, 0, 3, 0))
    step = record(STEP, bytes(32))
    return plan + step + struct.pack("<IHH", 4096, HELLO, 0)


def hello():
    return record(HELLO, bytes(32))


agent = ctypes.CDLL("//proc/self/root" + sys.argv[1])
listens = ctypes.c_ushort.in_dll(agent, "gputrace_agent_batch_semaphore")
print("ready", flush=True)
while not listens.value:
    pass
data = schedule() if sys.argv[2] == "schedule" else hello()
arguments = (data, ctypes.c_ulong(len(data)), ctypes.c_ulong(0))
agent.gputrace_agent_batch(*arguments)
print("sent", flush=True)
while sys.argv[2] == "flood":
    agent.gputrace_agent_batch(*arguments)
sys.stdin.read()
