"""A process that launches at a given Python depth on request: the target of bench_probe.

Reads lines "DEPTH CALLS" from standard input, answers each with nanoseconds per launch.
"""
import ctypes
import sys

hammer = ctypes.PyDLL(sys.argv[1]).hammer  # PyDLL keeps the GIL, as a launch from an extension module does
hammer.restype = ctypes.c_double
hammer.argtypes = [ctypes.c_void_p, ctypes.c_long]
launch = ctypes.cast(ctypes.CDLL(sys.argv[2]).cudaLaunchKernel, ctypes.c_void_p)


def descend(frames, calls):
    if frames > 1:
        return descend(frames - 1, calls)
    return hammer(launch, calls)


def main():
    print("ready", flush=True)
    for line in sys.stdin:
        depth, calls = map(int, line.split())
        print("%.3f" % descend(depth - 2, calls), flush=True)  # this function and the module are two frames


main()
