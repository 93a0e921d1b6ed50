# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints the line tables of many code objects, and the lines that the interpreter itself gives for them.

Run by test_model_lines with each CPython it finds (3.6 and later); linetables.py COUNT takes COUNT of the modules
below. One line per code object:

    KIND FIRST_LINE TABLE_IN_HEX LINE,LINE,...

KIND is enum gpt_linetable, the lines are those of the instructions at byte offsets 0, 2, 4, ...; 0: no line.
The lines come from PyCode_Addr2Line, which every traceback uses. They must agree with the code objects' own
co_lines() and co_positions(), or with dis.findlinestarts().
"""
import ctypes
import dis
import importlib.util
import sys
import types

MODULES = ("argparse", "ast", "asyncio.base_events", "asyncio.tasks", "base64", "bdb", "calendar", "codecs",
           "collections", "configparser", "contextlib", "copy", "csv", "ctypes", "dataclasses", "datetime",
           "decimal", "difflib", "dis", "email.message", "enum", "fractions", "functools", "heapq",
           "http.client", "inspect", "ipaddress", "json.decoder", "locale", "logging", "os", "pathlib", "pdb",
           "pickle", "platform", "pydoc", "random", "shutil", "ssl", "statistics", "subprocess", "tarfile",
           "tempfile", "textwrap", "threading", "tokenize", "traceback", "typing", "unittest.mock",
           "urllib.request", "warnings", "zipfile")

TRICKY = '''
def one_liner(): return [x for x in range(3) if x]

def generator(n):
    """doc"""
    try:
        for i in range(n):
            with open("/dev/null") as f, open("/dev/null") as g:
                yield i if f else g
    except (ValueError,
            OSError) as e:
        raise RuntimeError(
            "a" +
            str(e)
        ) from e
    finally:
        n = None


def backwards(a,
              b=lambda y:
              y + 1,
              *c):
    return b(
        a,
        *[
            c,
            (lambda z: (
                z
            ))(1)
        ]
    )


async def coroutine():
    async with a as b:
        async for i in b:
            await i
    return {k: v async for k,
            v in b}


class Class(object,
            metaclass=type):
    x: int = 1

    def method(self):
        while True:
            if self.x:
                continue
            elif self:
                break
            del self
        else:
            return 1
        assert self, (
            "message")


def far_apart(x):
    call(x,
%s
         x)
    return x


def many_instructions(x):
    x = (%s)
    return x
''' % ("\n" * 700, " + ".join("x[%d]" % i for i in range(600)))


def code_objects(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from code_objects(const)


def sources():
    yield "<tricky>", TRICKY
    for name in MODULES[:int(sys.argv[1])]:
        spec = importlib.util.find_spec(name)
        if not spec or not spec.origin.endswith(".py"):  # not every version has every module
            continue
        with open(spec.origin, encoding="utf-8") as source:
            yield name, source.read()


def by_ranges(code):
    """The line of each instruction, from the functions that a debugger uses; 0: none."""
    size = len(code.co_code) // 2
    lines = [0] * size
    if hasattr(code, "co_lines"):  # 3.10
        for start, end, line in code.co_lines():
            lines[start // 2:end // 2] = [line or 0] * (end // 2 - start // 2)
        return lines
    starts = list(dis.findlinestarts(code))
    for (start, line), (end, _) in zip(starts, starts[1:] + [(2 * size, None)]):
        lines[start // 2:end // 2] = [line] * (end // 2 - start // 2)
    return lines


def main():
    addr2line = ctypes.pythonapi.PyCode_Addr2Line
    addr2line.argtypes = (ctypes.py_object, ctypes.c_int)
    addr2line.restype = ctypes.c_int
    kind = 3 if sys.version_info >= (3, 11) else 2 if sys.version_info >= (3, 10) else 1
    for name, source in sources():
        for code in code_objects(compile(source, name, "exec")):
            table = code.co_lnotab if kind == 1 else code.co_linetable
            lines = [max(addr2line(code, offset), 0) for offset in range(0, len(code.co_code), 2)]
            assert lines == by_ranges(code), (name, code)
            if kind == 3:
                assert lines == [position[0] or 0 for position in code.co_positions()], (name, code)
            print(kind, code.co_firstlineno, table.hex() or "-", ",".join(map(str, lines)))


main()
