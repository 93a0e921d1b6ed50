# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes functions, launches once from each and destroys it, so that later code objects reuse its address.

short_lived.py LIBCUDART TRUTH COUNT.  TRUTH has the number of different addresses.  CPython 3.6 to 3.15.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "workloads"))

import gpu  # noqa: E402

# The launch's line depends on the number: the line table of another function would give a wrong line.
SOURCE = """
def made_{0}(gpu):
{1}    gpu.launch(gpu.at("tick_10us"), *gpu.SHAPE, None)
"""


def launch_once(number):
    names = {}
    exec(compile(SOURCE.format(number, "\n" * (number % 7)), "made_%d.py" % number, "exec"), names)
    function = names.pop("made_%d" % number)
    function(gpu)
    return id(function.__code__)


def main():
    gpu.setup(sys.argv[1], record=True, fake_kernels=True)
    names, addresses = int(sys.argv[3]), []
    # The truth of gpu.at() would keep code objects alive, so count here.
    gpu._recording = False
    for number in range(names):
        addresses.append(launch_once(number))
    gpu.write_truth(sys.argv[2], names=names, addresses=len(set(addresses)))


if __name__ == "__main__":
    main()
