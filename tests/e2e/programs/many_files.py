# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Maps many files with code in them, then a libcudart, and launches: many_files.py LIBCUDART FOLDER FILES"""

import mmap
import pathlib
import resource
import sys

import recorded


def map_file(path):
    path.write_bytes(b"\x90" * 4096)
    with open(path, "rb") as file:
        return mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)


def main():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))  # each mapping keeps a descriptor; 1,024 are usual
    cudart, folder, files = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    recorded.Stream.from_param = staticmethod(lambda value: value)
    mapped = [map_file(folder / str(number)) for number in range(files)]
    mapped.append(map_file(folder / "libcu_something.so"))  # a name for which a tracer may inspect the file
    launch = recorded.launchers(cudart)[0]
    for _ in range(10):
        launch(len(mapped))


if __name__ == "__main__":
    main()
