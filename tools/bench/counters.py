#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What counters of GPUs cost: the processor's time of the process that calls NVML, of 1 and of 8 GPUs, on the simulated NVML,
which answers at once: what the driver's own takes comes on top, and the process then asks less often.

    counters.py BUILD [SECONDS]
"""

import pathlib
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

SAMPLE = 4  # enum nvml_message_kind (user/nvml/feed.h)
MOST_PERCENT = 0.1  # of one processor: the project's number


def cpu_ns(pid):
    return int(pathlib.Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def measure(build, gpus, seconds):
    """CPU ns until its first sample and from then on, and samples of each GPU."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(build / "simgpu/libnvidia-ml.so.1", folder)
        (pathlib.Path(folder) / "nvml-script").write_text(f"gpus={gpus}\n")
        with subprocess.Popen([build / "nvml-program", "libnvidia-ml.so.1"], stdin=theirs, env={"LD_LIBRARY_PATH": folder}) as child:
            theirs.close()
            samples, start_ns, end = 0, 0, time.monotonic() + seconds
            while time.monotonic() < end:
                samples += struct.unpack_from("<I", ours.recv(4096))[0] == SAMPLE
                start_ns = start_ns or (cpu_ns(child.pid) if samples else 0)
            all_ns = cpu_ns(child.pid)
            child.kill()
    return start_ns, all_ns - start_ns, samples / gpus


def main():
    build = pathlib.Path(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 20
    failed = False
    for gpus in (1, 8):
        start_ns, used_ns, samples = measure(build, gpus, seconds)
        percent = used_ns / seconds / 1e7
        failed |= percent > MOST_PERCENT
        print(f"{gpus} GPU{'s' if gpus > 1 else ''}: {used_ns / 1e6:.1f} ms of a processor in {seconds:.0f} s ({percent:.3f} %), "
              f"{start_ns / 1e6:.1f} ms to start, {samples:.0f} samples of each; {MOST_PERCENT} % at most: "
              f"{'missed' if percent > MOST_PERCENT else 'kept'}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
