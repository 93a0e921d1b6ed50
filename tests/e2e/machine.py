# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Where things are on this machine: what was built, the simulated GPU, a real libcudart, every CPython.

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
VERSIONS = ("3.6", "3.7", "3.8", "3.9", "3.10", "3.11", "3.12", "3.13")
SID = ROOT / "tests/sid"  # scripts that run the Pythons of Debian unstable, in a root of their own
SID_VERSIONS = ("3.14", "3.15")
EVERY_PYTHON = tuple(os.environ.get("GPUTRACE_PYTHONS", "").split()) or (*VERSIONS, "system", *SID_VERSIONS)


def _newest(version):
    """The newest patch level that pyenv has of a version, None."""
    found = PYENV.glob(f"versions/{version}.*/bin/python3")
    return max(found, key=lambda path: int(path.parts[-3].split(".")[2]), default=None)


def python(version):
    """The interpreter of that version; without it the test is skipped, and fails where CI promised to have it."""
    if version in SID_VERSIONS:
        return sid_python(version)
    path = _newest(version) if version in VERSIONS else SYSTEM_PYTHON
    if path and path.exists():
        return path
    reason = f"no CPython {version} ({PYENV}/versions, {SYSTEM_PYTHON})"
    if os.environ.get("CI") == "true" and PYENV.is_dir():
        pytest.fail(reason)
    pytest.skip(reason)


@functools.lru_cache(None)
def _sid_problem():
    """Why there is no Debian unstable here, None when there is."""
    done = subprocess.run([ROOT / "tools/get-sid"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          universal_newlines=True)
    return done.stderr.strip().splitlines()[-1:] if done.returncode else None


def sid_python(version, isolated=False):
    """A CPython in another root with another libc; isolated: in another pid namespace, too."""
    problem = _sid_problem()
    if problem is None:
        return SID / f"{'isolated-' if isolated else ''}python{version}"
    if os.environ.get("CI") == "true":
        pytest.fail(f"no CPython {version}: {problem}")
    pytest.skip(f"no CPython {version}: {problem}")


@functools.lru_cache(None)
def any_python():
    """One interpreter for tests that do not depend on the version."""
    for version in ("3.12", "3.13", "3.11", "3.10", "3.9", "3.8"):
        if _newest(version):
            return _newest(version)
    return SYSTEM_PYTHON


@functools.lru_cache(None)
def tool(name):
    """What tools/NAME prints: the path of something it fetched, or that was there already."""
    done = subprocess.run([ROOT / "tools" / name], check=True, stdout=subprocess.PIPE, universal_newlines=True)
    return pathlib.Path(done.stdout.strip().splitlines()[-1])


@functools.lru_cache(None)
def older_torch():
    """The Python of a PyTorch whose torch.profiler keeps CUPTI's subscriber; without it the test is skipped."""
    done = subprocess.run([ROOT / "tools/get-torch", "older"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          universal_newlines=True)
    if not done.returncode:
        return pathlib.Path(done.stdout.strip())
    reason = f"no PyTorch 2.14: {(done.stderr.strip() or 'tools/get-torch failed').splitlines()[-1]}"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@functools.lru_cache(None)
def package(python, requirement):
    """The folder of a package from PyPI for that interpreter; without it the test is skipped."""
    done = subprocess.run([ROOT / "tools/get-pypi", python, requirement], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode:
        pytest.skip(f"no {requirement} for {python}: {(done.stderr.strip() or 'pip failed').splitlines()[-1]}")
    return pathlib.Path(done.stdout.strip())


def cudart():
    """A real libcudart.so.13; without a driver every call of it fails, after it was made."""
    return tool("get-cudart")


def compile_library(source, output):
    """A library with frame pointers."""
    flags = ["-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls", "-shared", "-fPIC"]
    subprocess.run([os.environ.get("CC", "gcc"), *flags, "-o", output, source], check=True)
    return output


def compile_program(source, output, *flags, compiler=None):
    subprocess.run([compiler or os.environ.get("CC", "gcc"), "-O1", *flags, "-o", output, source], check=True)
    return output
