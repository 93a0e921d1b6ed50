# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Calls NCCL itself, with no PyTorch, on the simulated GPU and the simulated NCCL: nccl_calls.py RANKS [RANK].

Without RANK it starts one process for each rank and fails if one fails.  A rank makes its communicator.  For each line
of standard input (a rank that this program started: once) it works and prints as JSON the collective of each kernel, in
order, then "done".
"""

import ctypes
import json
import os
import subprocess
import sys

INT64, HALF, FLOAT = 4, 6, 7  # ncclDataType_t
TYPES = {INT64: "Long", HALF: "Half", FLOAT: "Float"}


def say(line):
    """Writes the line at once: ranks share standard output, and an unbuffered print writes the newline separately."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


class Rank:
    def __init__(self, ranks, rank):
        self.ranks = ranks
        self.cuda = ctypes.CDLL("libcuda.so.1")
        self.nccl = ctypes.CDLL("libnccl.so.2")
        self.call(self.cuda.cuInit, 0)
        context, module, self.kernel, self.memory = (ctypes.c_void_p() for _ in range(4))
        self.call(self.cuda.cuDevicePrimaryCtxRetain, ctypes.byref(context), 0)
        self.call(self.cuda.cuCtxSetCurrent, context)
        self.call(self.cuda.cuModuleLoadData, ctypes.byref(module), b"// PTX")
        self.call(self.cuda.cuModuleGetFunction, ctypes.byref(self.kernel), module, b"own_10us")
        self.call(self.cuda.cuMemAlloc_v2, ctypes.byref(self.memory), ctypes.c_size_t(1 << 20))
        self.rank = rank
        self.world = self.communicator(b"of all %d" % os.getppid(), ranks, rank)
        self.alone = self.communicator(b"alone %d" % rank, 1, 0)
        self.said = []
        self.made = {}  # communicator: collectives so far

    def call(self, function, *arguments):
        result = function(*arguments)
        if result:
            sys.exit(f"{function.__name__}: {result}")

    def communicator(self, name, ranks, rank):
        made = ctypes.c_void_p()
        self.call(self.nccl.ncclCommInitRank, ctypes.byref(made), ranks, UniqueId(name), rank)
        return made

    def expect(self, name, dtype, elements_in, elements_out, comm=None, collectives=1, number=True):
        """Adds the expected values of the next kernel."""
        comm = comm or self.world
        self.said.append({"Collective name": name, "dtype": TYPES[dtype], "In msg nelems": elements_in,
                          "Out msg nelems": elements_out, "Group size": self.ranks if comm is self.world else 1})
        if number:
            self.said[-1]["Seq"] = self.made.get(comm.value, 0)
        self.made[comm.value] = self.made.get(comm.value, 0) + collectives

    def all_reduce(self, count, comm=None, dtype=FLOAT):
        self.call(self.nccl.ncclAllReduce, self.memory, self.memory, ctypes.c_size_t(count), dtype, 0,
                  comm or self.world, None)

    def work(self):
        nccl, memory, world, size = self.nccl, self.memory, self.world, ctypes.c_size_t
        self.expect("allreduce", FLOAT, 1000, 1000)
        self.all_reduce(1000)
        self.own_kernel()
        self.expect("allgather", HALF, 10, 10 * self.ranks)
        self.call(nccl.ncclAllGather, memory, memory, size(10), HALF, world, None)
        self.expect("reduce_scatter", FLOAT, 10 * self.ranks, 10)
        self.call(nccl.ncclReduceScatter, memory, memory, size(10), FLOAT, 0, world, None)
        self.expect("broadcast", INT64, 7, 7)
        self.call(nccl.ncclBcast, memory, size(7), INT64, 0, world, None)
        self.expect("broadcast", INT64, 8, 8)
        self.call(nccl.ncclBroadcast, memory, memory, size(8), INT64, 0, world, None)
        self.expect("reduce", FLOAT, 9, 9)
        self.call(nccl.ncclReduce, memory, memory, size(9), FLOAT, 0, 1, world, None)
        self.expect("allreduce", FLOAT, 20, 20, comm=self.alone)
        self.all_reduce(20, comm=self.alone)
        self.group()
        self.own_kernel()

    def group(self):
        """Several calls, one kernel; nested groups count as one."""
        size = ctypes.c_size_t
        self.expect("allreduce", FLOAT, 600, 600, collectives=3)
        self.call(self.nccl.ncclGroupStart)
        self.all_reduce(100)
        self.call(self.nccl.ncclGroupStart)
        self.all_reduce(200)
        self.call(self.nccl.ncclGroupEnd)
        self.all_reduce(300)
        self.call(self.nccl.ncclGroupEnd)
        self.expect("coalesced", FLOAT, 15, 15, collectives=0, number=False)
        self.call(self.nccl.ncclGroupStart)
        self.call(self.nccl.ncclSend, self.memory, size(5), FLOAT, (self.rank + 1) % self.ranks, self.world, None)
        self.call(self.nccl.ncclRecv, self.memory, size(10), FLOAT, (self.rank - 1) % self.ranks, self.world,
                  None)
        self.call(self.nccl.ncclGroupEnd)

    def own_kernel(self):
        """A kernel launched between calls of NCCL belongs to no collective."""
        self.said.append(None)
        self.call(self.cuda.cuLaunchKernel, self.kernel, 1, 1, 1, 32, 1, 1, 0, None, None, None)

    def report(self):
        self.call(self.cuda.cuCtxSynchronize)
        say(json.dumps(self.said))
        self.said = []


def run_ranks(ranks):
    command = [sys.executable, __file__, str(ranks)]
    started = [subprocess.Popen([*command, str(rank)], stdin=subprocess.DEVNULL) for rank in range(ranks)]
    return max(process.wait() for process in started)


def main():
    ranks = int(sys.argv[1])
    if len(sys.argv) == 2:
        sys.exit(run_ranks(ranks))
    rank = Rank(ranks, int(sys.argv[2]))
    if sys.stdin.isatty() or not sys.stdin.readable():
        sys.exit("lines on standard input say when to work")
    lines = sys.stdin
    say("ready")
    if not lines.buffer.peek(1):  # started by this program
        rank.work()
        rank.report()
    for _ in lines:
        rank.work()
        rank.report()
        say("done")


main()
