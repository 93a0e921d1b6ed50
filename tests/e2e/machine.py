# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Paths of this machine: the build, the simulated GPU, a real libcudart, every CPython.

Knows nothing of traces.
"""

import functools
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("GPUTRACE_BUILD", "build")
GPUTRACE = BUILD / "gputrace"
AGENT = BUILD / "libgputrace-agent.so"
SIMGPU = BUILD / "simgpu"
SIMGPU_RUN = ROOT / "tests/simgpu/simgpu-run"
WORKLOADS = ROOT / "tests/workloads"
PROGRAMS = ROOT / "tests/e2e/programs"

PYENV = pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))
SYSTEM_PYTHON = pathlib.Path("/usr/bin/python3")
SYSTEM_VERSION = pathlib.Path(os.path.realpath(SYSTEM_PYTHON)).name.replace("python", "")
VERSIONS = ("3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14", "3.15")
ROOTS = ROOT / "tests/roots"  # scripts that run the Pythons of Debian's suites, each in its own root
IN_ROOTS = tuple(version for version in VERSIONS if (ROOTS / f"python{version}").exists())


def _newest(version):
    """The newest patch level of a version in pyenv, or None."""
    found = PYENV.glob(f"versions/{version}.*/bin/python3")
    return max(found, key=lambda path: int(path.parts[-3].split(".")[2]), default=None)


# Without pyenv, the versions that only pyenv could have are left out; conftest.py reports that once.
LEFT_OUT = () if PYENV.is_dir() else tuple(version for version in VERSIONS if version not in (*IN_ROOTS, SYSTEM_VERSION))
# Versions of which pyenv has all parts: symbols of the evaluation loop, archives to link.
BUILT = tuple(version for version in VERSIONS if version not in ("3.14", "3.15")) if PYENV.is_dir() else ()
# If pyenv lacks the system Python's version, the system's stands for it and is not run a second time as "system".
_SYSTEM = ("system",) if SYSTEM_VERSION not in VERSIONS or _newest(SYSTEM_VERSION) else ()
EVERY_PYTHON = tuple(os.environ.get("GPUTRACE_PYTHONS", "").split()) or (
    *(version for version in VERSIONS if version not in LEFT_OUT), *_SYSTEM)

# CPythons by the way to find frames and by the form of lines (enum gpt_py_walk, enum gpt_linetable); of each kind the oldest
# or the newest first.
_KINDS = (("3.6", "3.7", "3.8", "3.9"), ("3.10",), ("3.12", "3.11"), ("3.15", "3.14", "3.13"))


def each_kind(versions):
    """The versions as parameters of a test; all but one of each kind have the marker `further`."""
    chosen = {next((version for version in kind if version in versions), None) for kind in _KINDS} - {None}
    return [version if version in chosen or not chosen else pytest.param(version, marks=pytest.mark.further)
            for version in versions]


def missing(reason, promised):
    """Skips the test; in CI it fails if the missing thing should be there (promised)."""
    if os.environ.get("CI") == "true" and promised:
        pytest.fail(reason)
    pytest.skip(reason)


def built_python(version):
    """The interpreter built by pyenv, with all its parts beside it; without it the test is skipped."""
    return _newest(version) or missing(f"no CPython {version} in {PYENV}/versions",
                                        PYENV.is_dir() and version not in ("3.14", "3.15"))


def python(version):
    """The interpreter of that version: pyenv's, the system's, or a Debian suite's; without any the test is skipped."""
    if _newest(version):
        return _newest(version)
    if version in ("system", SYSTEM_VERSION) and SYSTEM_PYTHON.exists():
        return SYSTEM_PYTHON
    if version in IN_ROOTS:
        return root_python(version)
    return missing(f"no CPython {version} ({PYENV}/versions, {SYSTEM_PYTHON}, Debian's suites)", PYENV.is_dir())


@functools.lru_cache(None)
def _root_of(version):
    """(root of the suite with that CPython, None), or (None, reason)."""
    done = subprocess.run([ROOT / "tools/get-debian", version], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)
    if done.returncode:
        return None, (done.stderr.strip() or "tools/get-debian failed").splitlines()[-1]
    return pathlib.Path(done.stdout.strip()), None


def debian_root(version):
    """The root of the suite with that CPython; tests must not change it."""
    folder, problem = _root_of(version)
    return folder or missing(f"no CPython {version}: {problem}", True)


def root_python(version, isolated=False):
    """A CPython in another root with another libc; isolated: in another pid namespace, too."""
    debian_root(version)
    return ROOTS / f"{'isolated-' if isolated else ''}python{version}"


def python_headers(version):
    """(prefix of include/, whether the headers have the patch level of the generated tables, as pyenv's have)"""
    if _newest(version):
        return _newest(version).parents[1], True
    if version not in IN_ROOTS:
        python(version)
    return debian_root(version) / f"opt/headers{version}/usr", False


@functools.lru_cache(None)
def any_python():
    """One interpreter for tests that do not depend on the version."""
    for version in ("3.12", "3.13", "3.11", "3.10", "3.9", "3.8"):
        if _newest(version):
            return _newest(version)
    return SYSTEM_PYTHON


@functools.lru_cache(None)
def tool(name):
    """The path that tools/NAME prints, of a file that it downloaded or found."""
    done = subprocess.run([ROOT / "tools" / name], check=True, stdout=subprocess.PIPE, universal_newlines=True)
    return pathlib.Path(done.stdout.strip().splitlines()[-1])


@functools.lru_cache(None)
def older_torch():
    """The Python of a PyTorch whose torch.profiler keeps CUPTI's subscriber; without it the test is skipped."""
    done = subprocess.run([ROOT / "tools/get-torch", "older"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)
    if not done.returncode:
        return pathlib.Path(done.stdout.strip())
    reason = f"no older PyTorch: {(done.stderr.strip() or 'tools/get-torch failed').splitlines()[-1]}"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@functools.lru_cache(None)
def package(python, *requirements):
    """The folder of packages from PyPI for that interpreter; without them the test is skipped."""
    done = subprocess.run([ROOT / "tools/get-pypi", python, *requirements], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode:
        pytest.skip(f"no {', '.join(requirements)} for {python}: {(done.stderr.strip() or 'pip failed').splitlines()[-1]}")
    return pathlib.Path(done.stdout.strip())


def cudart():
    """A real libcudart.so.13; without a driver all its functions can be called, and fail."""
    return tool("get-cudart")


def compile_library(source, output, *more):
    """A library with frame pointers."""
    flags = [*more, "-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-shared", "-fPIC"]
    subprocess.run([os.environ.get("CC", "gcc"), *flags, "-o", output, source], check=True)
    return output


def compile_program(source, output, *flags, compiler=None):
    subprocess.run([compiler or os.environ.get("CC", "gcc"), "-O1", *flags, "-o", output, source], check=True)
    return output
