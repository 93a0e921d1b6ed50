# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Launches from one line while a page of the function's line table is absent: absent_lines.py LIBCUDART LAUNCHES ABSENT

Of the LAUNCHES the first ABSENT are made so.  The function is `long`, in long.py.  CPython 3.6 and later."""

import ctypes
import sys

import recorded

PAGE, NONE, READ_WRITE = 4096, 0, 3
STATEMENTS = 20000  # the line of the launch is behind the page

recorded.Stream.from_param = staticmethod(lambda value: value)
launch = recorded.launchers(sys.argv[1])[0]
launches, absent = int(sys.argv[2]), int(sys.argv[3])


def inner_page(table):
    """A page that has nothing but bytes of the table."""
    page = (id(table) + PAGE) // PAGE * PAGE + PAGE
    assert page + PAGE <= id(table) + len(table)
    return ctypes.c_void_p(page)


def before(number):
    if number in (0, absent):
        protection = NONE if number < absent else READ_WRITE
        assert ctypes.CDLL(None).mprotect(page, ctypes.c_size_t(PAGE), protection) == 0


source = "def long(a):\n" + "    a = a + 1\n" * STATEMENTS + "    for number in range(launches):\n        before(number)\n        launch(0)\n"
exec(compile(source, "long.py", "exec"))
code = long.__code__  # noqa: F821
table = code.co_linetable if hasattr(code, "co_linetable") else code.co_lnotab
page = inner_page(table)
long(1)  # noqa: F821
before(absent)
