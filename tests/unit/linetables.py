# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Line tables of many code objects and what the interpreter itself says about them.

Run by test_model_lines with each CPython it finds (3.6 and later). One line per code object:

    KIND FIRST_LINE TABLE_IN_HEX LINE,LINE,...

KIND is enum gpt_linetable, the lines are those of the instructions at byte offsets 0, 2, 4, ...; 0: no line.
They come from PyCode_Addr2Line, the function behind every traceback.
"""
import ctypes
import importlib.util
import sys
import types

MODULES = ("argparse", "ast", "asyncio.base_events", "collections", "contextlib", "dataclasses", "difflib",
           "email.message", "functools", "heapq", "inspect", "json.decoder", "logging", "pickle", "random",
           "tarfile", "textwrap", "threading", "tokenize", "typing", "unittest.mock")

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
    for name in MODULES:
        spec = importlib.util.find_spec(name)
        if not spec:  # dataclasses in 3.6
            continue
        with open(spec.origin, encoding="utf-8") as source:
            yield name, source.read()


def main():
    addr2line = ctypes.pythonapi.PyCode_Addr2Line
    addr2line.argtypes = (ctypes.py_object, ctypes.c_int)
    addr2line.restype = ctypes.c_int
    kind = 3 if sys.version_info >= (3, 11) else 2 if sys.version_info >= (3, 10) else 1
    for name, source in sources():
        for code in code_objects(compile(source, name, "exec")):
            table = code.co_lnotab if kind == 1 else code.co_linetable
            lines = (addr2line(code, offset) for offset in range(0, len(code.co_code), 2))
            print(kind, code.co_firstlineno, table.hex() or "-", ",".join(str(max(line, 0)) for line in lines))


main()
