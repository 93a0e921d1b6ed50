# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The forms in which users have CPython, made from the one that pyenv built: stripped, static, embedded.

Knows nothing of traces.
"""

import os
import pathlib
import shutil
import subprocess

import machine

# Libraries that libpython3.N.a needs; glibc 2.34 has most of them in libc.
LIBRARIES = ("-lm", "-ldl", "-lpthread", "-lutil", "-lz")


class Built:
    """Paths of the parts of one version in pyenv."""

    def __init__(self, version):
        self.executable = pathlib.Path(os.path.realpath(machine.built_python(version)))
        self.prefix = self.executable.parents[1]
        self.version = version
        self.library = self._one("lib/libpython*.so.1.0")
        self.archive = self._one(f"lib/python{version}/config-*/libpython*.a")
        self.main = self._one(f"lib/python{version}/config-*/python.o")

    def _one(self, pattern):
        (path,) = self.prefix.glob(pattern)
        return path


def _compile(*words):
    subprocess.run([os.environ.get("CC", "gcc"), *map(str, words)], check=True)


def _strip(path):
    subprocess.run(["strip", "-s", path], check=True)


def _new_prefix(built, folder):
    """Makes bin/, and lib/ with the standard library and a copy of libpython; returns that copy."""
    for name in ("bin", "lib"):
        (folder / name).mkdir()
    (folder / f"lib/python{built.version}").symlink_to(built.prefix / f"lib/python{built.version}")
    return shutil.copy(built.library, folder / "lib")


def shared_stripped(version, folder):
    """A libpython without .symtab below $ORIGIN/../lib, and a small executable."""
    built, output = Built(version), folder / "bin/python3"
    library = _new_prefix(built, folder)
    _strip(library)
    _compile("-o", output, built.main, library, "-Wl,-rpath,$ORIGIN/../lib", *LIBRARIES)
    return output


def _static(version, folder, *flags):
    built, output = Built(version), folder / f"bin/python{version}"
    _new_prefix(built, folder)
    _compile("-o", output, built.main, "-Wl,--export-dynamic", "-Wl,--whole-archive", built.archive,
             "-Wl,--no-whole-archive", *flags, *LIBRARIES)
    return output


def static(version, folder):
    """As in conda and uv: all of Python is in the executable, which exports it; a libpython beside it is not used."""
    return _static(version, folder)


def static_stripped(version, folder):
    output = _static(version, folder)
    _strip(output)
    return output


def without_runtime(version, folder):
    """Stripped, and without exporting what gputrace starts from."""
    script = folder / "hide.map"
    script.write_text("{ local: _PyRuntime; PyInterpreterState_Head; };\n")  # the second for 3.6
    output = _static(version, folder, f"-Wl,--version-script={script}")
    _strip(output)
    return output


def _environment(built):
    environment = {"PYTHONHOME": built.prefix}
    if built.version == "3.12":  # else 3.12.1 aborts when ctypes is imported again after Py_Finalize
        environment["PYTHONMALLOC"] = "malloc"
    return environment


def linked(version, folder):
    """programs/embedded.c, linked with libpython."""
    built, output = Built(version), folder / "embedded"
    _compile("-O1", "-o", output, machine.PROGRAMS / "embedded.c", "-Wl,--no-as-needed", built.library,
             f"-Wl,-rpath,{built.prefix}/lib", "-ldl", "-lpthread")
    return [output, "-"], _environment(built)


def inside_engine(version, folder):
    """The same, but it opens a library of another name that contains all of Python and exports it."""
    built, output, engine = Built(version), folder / "embedded", folder / "engine.so"
    _compile("-shared", "-o", engine, "-Wl,--whole-archive", built.archive, "-Wl,--no-whole-archive", *LIBRARIES)
    _compile("-O1", "-o", output, machine.PROGRAMS / "embedded.c", "-ldl", "-lpthread")
    return [output, engine], _environment(built)


def opened(version, folder):
    """The same, but it opens libpython at run time."""
    built, output = Built(version), folder / "embedded"
    _compile("-O1", "-o", output, machine.PROGRAMS / "embedded.c", "-ldl", "-lpthread")
    return [output, built.library], _environment(built)
