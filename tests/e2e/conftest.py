# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What every end-to-end test needs: root, a build, and the helper modules."""

import collections
import fcntl
import os
import pathlib
import resource
import shutil
import signal
import sys
import tempfile

import pytest

HERE = pathlib.Path(__file__).resolve().parent
for folder in (HERE.parent, HERE.parent / "simgpu", HERE / "consumers", HERE):
    sys.path.insert(0, str(folder))

import browser  # noqa: E402
import machine  # noqa: E402
import tracing  # noqa: E402

# `sudo make check` is root's, as in CI: gputrace and tools/demo would work for the user who called sudo.
for name in ("SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND"):
    os.environ.pop(name, None)

LONG_S = 300  # of a longer run it is reported which files took most of the time

# A folder in which concurrent runs note the test files that they take (make check-e2e-all DIVIDED=FOLDER).
DIVIDED = os.environ.get("GPUTRACE_TEST_DIVIDED")


class Divided:
    """Takes the files that no other run has taken.  A test marked `alone` waits until the tests of other runs are over.
    Programs shared by a file's tests run until its last test, so the whole file stays alone."""

    def __init__(self, folder):
        folder.mkdir(exist_ok=True)
        self.folder, self.taken, self.alone = folder, {}, None
        self.next, self.running = (os.open(folder / name, os.O_CREAT | os.O_RDWR) for name in ("next", "running"))

    def takes(self, file):
        if file not in self.taken:
            try:
                os.close(os.open(self.folder / f"{file.parent.name}-{file.name}", os.O_CREAT | os.O_EXCL))
                self.taken[file] = True
            except FileExistsError:
                self.taken[file] = False
        return self.taken[file]

    def wait_for(self, item):
        alone = item.path if item.get_closest_marker("alone") else None
        if alone and alone == self.alone:
            return
        self.alone = alone
        fcntl.flock(self.running, fcntl.LOCK_UN)
        fcntl.flock(self.next, fcntl.LOCK_EX)  # else a run that waits for all others would wait for ever
        fcntl.flock(self.running, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(self.next, fcntl.LOCK_UN)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session):
        """As pytest's own, except that a file is taken one test before its first test, which must be known then."""
        if session.testsfailed:
            raise session.Interrupted(f"{session.testsfailed} errors while tests were collected")
        items = (item for item in session.items if self.takes(item.path))
        item = next(items, None)
        while item:
            following = next(items, None)
            self.wait_for(item)
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if session.shouldfail or session.shouldstop:
                raise session.Failed(session.shouldfail) if session.shouldfail else session.Interrupted(session.shouldstop)
            item = following
        fcntl.flock(self.running, fcntl.LOCK_UN)
        return True


MEMORY_MOST = 8 << 30  # bytes that this process, and each one that a test starts, may allocate


def limit_memory():
    """What another program on the machine does must not take its memory away by way of a test.  The simulated GPU lifts
    the limit in its programs, as it reserves addresses."""
    now, most = resource.getrlimit(resource.RLIMIT_DATA)
    if now == resource.RLIM_INFINITY or now > MEMORY_MOST:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_MOST, most))


def keep_traces_apart(config):
    """The last traces are kept there, not in the home of who runs the tests."""
    folder = tempfile.mkdtemp(prefix="gputrace-state-")
    os.environ["XDG_STATE_HOME"] = folder
    config.add_cleanup(lambda: shutil.rmtree(folder, ignore_errors=True))


def pytest_configure(config):
    limit_memory()
    keep_traces_apart(config)
    # A shell's background job ignores SIGINT, and so do all its children: they would not get a test's Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line("markers", "torch: needs PyTorch, several GB once (make check-torch)")
    config.addinivalue_line("markers", "trace_processor: needs Perfetto's trace_processor (make check-trace-processor)")
    config.addinivalue_line("markers", "public_traces: needs the traces of HTA's own tests (make check-public-traces)")
    config.addinivalue_line("markers", "further: shows on one more CPython or way of CUPTI what others show (make check-further)")
    config.addinivalue_line("markers", "alone: no other test runs meanwhile where several runs divide the files between them")
    if DIVIDED:
        config.pluginmanager.register(Divided(pathlib.Path(DIVIDED)))
    config.addinivalue_line("markers", "kernels: depends on the kernel, so it runs on others too (make check-kernels)")


def pytest_report_header(config):
    if machine.LEFT_OUT:
        return (f"no pyenv in {machine.PYENV}: CPython {', '.join(machine.LEFT_OUT)} are not tested, and no CPython that is built "
                "in another way")
    return None


processor_s = collections.Counter()  # by file: what its tests and the ended processes that these started took of a processor


def processor_time():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item):
    before = processor_time()
    yield
    processor_s[item.nodeid.partition("::")[0]] += processor_time() - before


def pytest_terminal_summary(terminalreporter):
    """Lists the files that took most of a long run."""
    seconds = collections.Counter()
    for reports in terminalreporter.stats.values():
        for report in reports:
            if hasattr(report, "duration"):
                seconds[report.nodeid.partition("::")[0]] += report.duration
    if sum(seconds.values()) < LONG_S:
        return
    taken = sum(processor_s.values())
    terminalreporter.section(f"{sum(seconds.values()):.0f} s, {taken:.0f} of a processor, most of it in")
    for file, taken in processor_s.most_common(30):
        terminalreporter.write_line(f"{seconds[file]:6.0f} s, {taken:4.0f} of a processor  {file}")


def pytest_runtest_setup(item):
    if "consumers" in item.path.parts:  # these tests only read files
        return
    if os.geteuid() != 0:
        pytest.exit("end-to-end tests trace other processes: run them as root", returncode=4)
    for path, goal in ((machine.GPUTRACE, "all"), (machine.AGENT, "all"), (machine.SIMGPU / "libcuda.so.1", "simgpu")):
        if not path.exists():
            pytest.exit(f"{path} is missing: make {goal}", returncode=4)


@pytest.fixture(scope="session", params=machine.EVERY_PYTHON)
def every_python(request):
    return machine.python(request.param)


@pytest.fixture(scope="session", params=machine.each_kind(machine.EVERY_PYTHON))
def kind_of_python(request):
    """For tests in which only the walk of frames and the form of lines differ; the other versions are `further` tests."""
    return machine.python(request.param)


# What CUPTI may do with a client's open buffers when another client registers, and whether it has one buffer for all
# threads or one for each (tests/simgpu/README.md).  The behaviour of the real CUPTI is not known.
# tests/unit/agent_simgpu.py tries all ten combinations.
WAYS = (("forgotten", "0"), ("given-new", "1"), ("kept-old", "0"), ("kept-new", "1"))


def way(param):
    return {"SIMGPU_OPEN_BUFFERS": param[0], "SIMGPU_THREAD_BUFFERS": param[1]}


@pytest.fixture(params=WAYS, ids="-".join)
def any_cupti(request, monkeypatch):
    """For tests that run beside another client of CUPTI on the simulated GPU."""
    for name, value in way(request.param).items():
        monkeypatch.setenv(name, value)


SOME_WAYS = [WAYS[0], *(pytest.param(way, marks=pytest.mark.further) for way in WAYS[1:-1]), WAYS[-1]]


@pytest.fixture(params=SOME_WAYS, ids="-".join)
def some_cupti(request, monkeypatch):
    """The same for a test that starts PyTorch to show once more, of another kind of trace, what a test with any_cupti shows."""
    for name, value in way(request.param).items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="module", params=WAYS, ids="-".join)
def lasting_cupti(request):
    """any_cupti, as the environment of a program that runs during several tests."""
    return way(request.param)


@pytest.fixture(scope="module", params=SOME_WAYS, ids="-".join)
def lasting_some_cupti(request):
    """some_cupti, as the environment of a program that runs during several tests."""
    return way(request.param)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    path, why = browser.find()
    if not path:
        pytest.skip(why)
    running = browser.Browser(path, tmp_path_factory.mktemp("browser"))
    yield running
    running.close()


@pytest.fixture
def cudart():
    return machine.cudart()


def folder_of_gputrace(mode):
    """A folder with a copy of gputrace: the build folder may be accessible to root only."""
    folder = pathlib.Path(tempfile.mkdtemp())
    folder.chmod(mode)
    for path in (machine.GPUTRACE, machine.AGENT):
        shutil.copy(path, folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def public():
    """A folder that any user may enter."""
    yield from folder_of_gputrace(0o755)


@pytest.fixture
def desk():
    """A folder in which any user may write."""
    yield from folder_of_gputrace(0o777)


@pytest.fixture(params=("", "unified", "freezer"), ids=("v2", "v2 beside v1", "v1"))
def cgroup(request):
    """A new cgroup, and a function that freezes and thaws it."""
    hierarchy = pathlib.Path("/sys/fs/cgroup", request.param)
    unified = request.param != "freezer"
    folder = hierarchy / f"gputrace-test-{os.getpid()}"
    if unified and not (hierarchy / "cgroup.controllers").exists():
        pytest.skip("no such hierarchy is mounted here")
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no cgroup can be made here: {error}")
    file, words = (folder / "cgroup.freeze", "01") if unified else (folder / "freezer.state", ("THAWED", "FROZEN"))

    def freeze(frozen):
        """Ends when the kernel says so: a process that waits for a processor is frozen only once it has one."""
        file.write_text(words[frozen])
        state = folder / "cgroup.events" if unified else file
        word = f"frozen {words[frozen]}" if unified else words[frozen]
        tracing.until(lambda: word in state.read_text())

    yield folder, freeze
    folder.rmdir()
