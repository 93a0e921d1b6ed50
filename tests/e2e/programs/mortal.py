# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Launches once from each of many functions that exist at the same time; then new functions, which also launch, replace
the oldest.

mortal.py LIBCUDART FUNCTIONS OTHERS: the Nth function is called fN and is at line N.  CPython 3.6 and later.
"""

import sys
import types

import recorded


def make(launch):
    def template():
        launch(0)

    return template


ORDER = ("argcount", "kwonlyargcount", "nlocals", "stacksize", "flags", "code", "consts", "names", "varnames",
         "filename", "name", "firstlineno", "lnotab", "freevars", "cellvars")  # of types.CodeType up to 3.7


def renamed(code, number):
    more = {"co_name": "f%d" % number, "co_firstlineno": number}
    if hasattr(code, "co_qualname"):  # 3.11
        more["co_qualname"] = more["co_name"]
    if hasattr(code, "replace"):  # 3.8
        return code.replace(**more)
    return types.CodeType(*(more.get("co_" + name, getattr(code, "co_" + name)) for name in ORDER))


def main():
    recorded.Stream.from_param = staticmethod(lambda value: value)
    template = make(recorded.launchers(sys.argv[1])[0])
    functions, others = int(sys.argv[2]), int(sys.argv[3])
    alive = [None] * functions
    for number in range(functions + others):
        at = number % functions
        alive[at] = None
        alive[at] = types.FunctionType(renamed(template.__code__, number + 1), globals(),
                                       closure=template.__closure__)
        alive[at]()


if __name__ == "__main__":
    main()
