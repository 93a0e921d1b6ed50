# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Maps a file that is no library, then a libcudart with the same name and, if the filesystem reuses it, the same inode;
launches: inodes.py LIBCUDART FOLDER"""

import mmap
import os
import pathlib
import shutil
import sys

import recorded


def main():
    cudart, path = sys.argv[1], pathlib.Path(sys.argv[2]) / "libcudart.so.99"
    recorded.Stream.from_param = staticmethod(lambda value: value)
    path.write_bytes(b"\x90" * 4096)
    with open(path, "rb") as file:
        mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC).close()
    first = path.stat().st_ino
    os.unlink(path)
    shutil.copy(cudart, path)
    print("the same inode" if path.stat().st_ino == first else "another inode")
    launch = recorded.launchers(str(path))[0]
    for number in range(10):
        launch(number)


if __name__ == "__main__":
    main()
