"""A process that calls a Python function on request: the target of bench_calls.

Reads lines "CALLS" from standard input, answers each with nanoseconds per call.
"""
import sys
import time


def callee():
    pass


def main():
    print("ready", flush=True)
    for line in sys.stdin:
        calls = int(line)
        begin = time.perf_counter()
        for _ in range(calls):
            callee()
        print("%.3f" % ((time.perf_counter() - begin) * 1e9 / calls), flush=True)


main()
