# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Ranks that come late to collectives, on the simulated NCCL: nccl_ranks.py RANKS FOLDER [--rank R] [--kinds A,B]
[--rounds N].  Without --rank it starts a process for each rank, and fails if one fails.

In each round every kind of collective has one rank that is late, in turn: it sleeps, or has a kernel ahead in its
stream.  The ground truth of the simulated GPU says when each rank's kernel began and ended.  FOLDER is for what ranks
need to find each other.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import time

FLOAT = 7  # ncclFloat32
PERIOD_S = 0.03
LATE_MS = 12
WAYS = ["sleeps", "is queued"]


def check(result):
    """Of a call of CUDA or NCCL."""
    if result:
        sys.exit(f"{sys._getframe(1).f_code.co_name}: {result}")


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


class Rank:
    def __init__(self, ranks, rank, folder):
        self.ranks, self.rank, self.folder = ranks, rank, folder
        self.cuda, self.nccl = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libnccl.so.2")
        check(self.cuda.cuInit(0))
        context, self.stream, self.memory, devices = *(ctypes.c_void_p() for _ in range(3)), ctypes.c_int()
        check(self.cuda.cuDeviceGetCount(ctypes.byref(devices)))
        check(self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), rank % devices.value))
        check(self.cuda.cuCtxSetCurrent(context))
        check(self.cuda.cuStreamCreate(ctypes.byref(self.stream), 1))
        check(self.cuda.cuMemAlloc_v2(ctypes.byref(self.memory), ctypes.c_size_t(1 << 22)))
        self.cuda.sim_kernel.restype = ctypes.c_void_p
        self.world = self.communicator("world", ranks, rank)
        self.replayed = self.half = None

    def communicator(self, name, ranks, rank):
        made = ctypes.c_void_p()
        unique = f"{name} {os.path.realpath(self.folder)}".encode()[-127:]
        check(self.nccl.ncclCommInitRank(ctypes.byref(made), ranks, UniqueId(unique), rank))
        return made

    def launch(self, name):
        kernel = ctypes.c_void_p(self.cuda.sim_kernel(name.encode()))
        check(self.cuda.cuLaunchKernel(kernel, 1, 1, 1, 32, 1, 1, 0, self.stream, None, None))

    def all_reduce(self, count=250000):
        check(self.nccl.ncclAllReduce(self.memory, self.memory, ctypes.c_size_t(count), FLOAT, 0, self.world, self.stream))

    def send(self, to, count=1000):
        check(self.nccl.ncclSend(self.memory, ctypes.c_size_t(count), FLOAT, to, self.world, self.stream))

    def receive(self, sender, count=1000):
        check(self.nccl.ncclRecv(self.memory, ctypes.c_size_t(count), FLOAT, sender, self.world, self.stream))

    def custom(self, name):
        check(self.nccl.simNcclKernel(name.encode(), ctypes.c_uint64(100000), self.world, self.stream))

    # ---- kinds of collectives ----

    def numbered(self):
        self.all_reduce()

    def gathered(self):
        check(self.nccl.ncclAllGather(self.memory, self.memory, ctypes.c_size_t(1000), FLOAT, self.world, self.stream))

    def grouped(self):
        check(self.nccl.ncclGroupStart())
        for count in (1000, 2000, 3000):
            self.all_reduce(count)
        check(self.nccl.ncclGroupEnd())

    def several(self, in_one_stream=False):
        """In one group all ranks, and ranks 0 and 1, 2 and 3 and so on, in a stream of their own."""
        if not self.half:
            self.half, self.other_stream = self.communicator(f"half {self.rank // 2}", 2, self.rank % 2), ctypes.c_void_p()
            check(self.cuda.cuStreamCreate(ctypes.byref(self.other_stream), 1))
        check(self.nccl.ncclGroupStart())
        self.all_reduce()
        check(self.nccl.ncclAllReduce(self.memory, self.memory, ctypes.c_size_t(1000), FLOAT, 0, self.half,
                                      self.stream if in_one_stream else self.other_stream))
        check(self.nccl.ncclGroupEnd())

    def several_in_one_stream(self):
        self.several(in_one_stream=True)

    def ring(self):
        check(self.nccl.ncclGroupStart())
        self.send((self.rank + 1) % self.ranks)
        self.receive((self.rank - 1) % self.ranks)
        check(self.nccl.ncclGroupEnd())

    def pair(self):
        """Ranks 0 and 1, 2 and 3 and so on."""
        if self.rank % 2 == 0:
            self.send(self.rank + 1)
        else:
            self.receive(self.rank - 1)

    def all_to_all(self):
        check(self.nccl.ncclAlltoAll(self.memory, self.memory, ctypes.c_size_t(1000), FLOAT, self.world, self.stream))

    def replay(self):
        if not self.replayed:
            graph, self.replayed = ctypes.c_void_p(), ctypes.c_void_p()
            check(self.cuda.cuStreamBeginCapture_v2(self.stream, 2))
            self.all_reduce()
            check(self.cuda.cuStreamEndCapture(self.stream, ctypes.byref(graph)))
            check(self.cuda.cuGraphInstantiateWithFlags(ctypes.byref(self.replayed), graph, ctypes.c_ulonglong(0)))
        check(self.cuda.cuGraphLaunch(self.replayed, self.stream))

    def by_name(self):
        self.custom("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)")

    def vllm(self):
        self.custom("void vllm::cross_device_reduce_1stage<float, 4>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, float*, int, int)")

    def own(self):
        self.custom("my_own_exchange_of_everything(float*)")

    # ----

    def sleep(self):
        time.sleep(LATE_MS / 1000)

    def turn(self, kind, late, way):
        if late == self.rank and way == "sleeps":
            self.sleep()
        if late == self.rank and way == "is queued":
            self.launch(f"ahead_{LATE_MS * 1000}us")
        getattr(self, kind)()
        check(self.cuda.cuCtxSynchronize())

    def together(self):
        """The same moment on all ranks."""
        beginning = os.path.join(self.folder, "beginning")
        with open(os.path.join(self.folder, f"ready-{self.rank}"), "w"):
            pass
        if self.rank == 0:
            while not all(os.path.exists(os.path.join(self.folder, f"ready-{rank}")) for rank in range(self.ranks)):
                time.sleep(0.01)
            with open(beginning + ".new", "w") as file:
                file.write(repr(time.monotonic() + 0.1))
            os.rename(beginning + ".new", beginning)
        while not os.path.exists(beginning):
            time.sleep(0.01)
        with open(beginning) as file:
            return float(file.read())

    def run(self, kinds, rounds):
        begin = self.together()
        number = 0
        for each in range(rounds):
            for kind in kinds:
                time.sleep(max(0, begin + number * PERIOD_S - time.monotonic()))
                self.turn(kind, (each + number) % self.ranks, WAYS[each % len(WAYS)])
                number += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ranks", type=int)
    parser.add_argument("folder")
    parser.add_argument("--rank", type=int)
    parser.add_argument("--kinds", default="numbered,gathered,grouped,ring,pair,all_to_all,replay,by_name,vllm,own")
    parser.add_argument("--rounds", type=int, default=4)
    options = parser.parse_args()
    if options.rank is None:
        started = [subprocess.Popen([sys.executable, *sys.argv, "--rank", str(rank)], stdin=subprocess.DEVNULL)
                   for rank in range(options.ranks)]
        sys.exit(max(abs(process.wait()) for process in started))
    Rank(options.ranks, options.rank, options.folder).run(options.kinds.split(","), options.rounds)


main()
