# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One process that drives several GPUs with NCCL, on the simulated GPU: nccl_all.py GPUS COLLECTIVES [streams].

GPU 0 computes longer than the others, so all wait for it in each collective.
"""

import ctypes
import sys

FLOAT = 7  # ncclDataType_t
LONG, SHORT = b"own_5000us", b"own_20us"


def check(result):
    if result:
        sys.exit(f"failed: {result}")


def main():
    gpus, collectives = int(sys.argv[1]), int(sys.argv[2])
    cuda, nccl = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL("libnccl.so.2")
    check(cuda.cuInit(0))
    contexts, streams = ([ctypes.c_void_p() for _ in range(gpus)] for _ in range(2))
    kernels = {}
    for gpu, context in enumerate(contexts):
        check(cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), gpu))
        check(cuda.cuCtxSetCurrent(context))
        module, kernel = ctypes.c_void_p(), ctypes.c_void_p()
        check(cuda.cuModuleLoadData(ctypes.byref(module), b"// PTX"))
        check(cuda.cuModuleGetFunction(ctypes.byref(kernel), module, SHORT if gpu else LONG))
        kernels[gpu] = kernel
        if "streams" in sys.argv:
            check(cuda.cuStreamCreate(ctypes.byref(streams[gpu]), 1))
    comms = (ctypes.c_void_p * gpus)()
    check(nccl.ncclCommInitAll(comms, gpus, None))
    for number in range(collectives):
        for gpu, context in enumerate(contexts):
            check(cuda.cuCtxSetCurrent(context))
            check(cuda.cuLaunchKernel(kernels[gpu], 1, 1, 1, 32, 1, 1, 0, streams[gpu], None, None))
        check(nccl.ncclGroupStart())
        call = nccl.ncclBroadcast if number % 2 else nccl.ncclAllReduce
        for comm, stream in zip(comms, streams):
            check(call(None, None, ctypes.c_size_t(1000), FLOAT, 0, ctypes.c_void_p(comm), stream))
        check(nccl.ncclGroupEnd())
        for context in contexts:
            check(cuda.cuCtxSetCurrent(context))
            check(cuda.cuCtxSynchronize())


main()
