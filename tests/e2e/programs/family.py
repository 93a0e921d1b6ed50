# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Processes that start processes; each launches and writes FOLDER/truth-PID.json.

family.py LIBCUDART FOLDER HOW [GENERATIONS]
  HOW: subprocess, exec (another program in the same process), fork, or "mp-" and a start method of
  multiprocessing.  CPython 3.6 to 3.15, standard library only.
"""

import multiprocessing
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "workloads"))

import gpu  # noqa: E402
import model  # noqa: E402


def launches(library, folder, generation):
    """Launches from the start; the number of launches differs between generations."""
    gpu._counts.clear()  # a forked child inherits the counts
    gpu.setup(library, record=True, fake_kernels=True)
    for _ in range(3 + generation):
        model.Block(None).forward()
        model.attention(None, 2)
    gpu.write_truth(os.path.join(folder, "truth-%d-%d.json" % (os.getpid(), generation)), generation=generation)


def by_subprocess(library, folder, generation):
    if generation:
        command = [sys.executable, __file__, library, folder, "subprocess", str(generation - 1)]
        subprocess.run(command, check=True)


def by_exec(library, folder, generation):
    if generation:
        command = [sys.executable, __file__, library, folder, "exec", str(generation - 1)]
        os.execv(sys.executable, command)


def by_fork(library, folder, generation):
    for child in range(generation):
        pid = os.fork()
        if not pid:
            launches(library, folder, 10 + child)
            os._exit(0)
        if os.waitpid(pid, 0)[1]:
            sys.exit("a child failed")


def by_multiprocessing(method, library, folder, generation):
    context = multiprocessing.get_context(method)
    children = [context.Process(target=launches, args=(library, folder, 10 + i)) for i in range(generation)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    if any(child.exitcode for child in children):
        sys.exit("a child failed")


WAYS = {"subprocess": by_subprocess, "exec": by_exec, "fork": by_fork}


def main():
    library, folder, how, generation = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    launches(library, folder, generation)
    if how.startswith("mp-"):
        by_multiprocessing(how[3:], library, folder, generation)
    else:
        WAYS[how](library, folder, generation)


if __name__ == "__main__":
    main()
