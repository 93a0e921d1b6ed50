# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Packages of `make wheel deb tarball` as users get them: in a bare Debian 12, by pip and pipx; used and removed."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import machine
import pytest
import reading
import tracing
from reading import simulated

BARE = "3.11"  # the CPython of Debian 12, which comes without pip
MOST_BYTES = 10 << 20
USER = 1000
AS_USER = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups")
STEPS = 20

# Makes a root in memory on top of the suite's root $1, with folder $2 at the same path, and runs the sh command $4 in
# folder $3.
ENTER = """set -eu
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay overlay -o "lowerdir=$1,upperdir=/mnt/upper,workdir=/mnt/work" /mnt/root
mkdir -p "/mnt/root$2"
mount --bind "$2" "/mnt/root$2"
mount -t proc proc /mnt/root/proc
mount --rbind /sys /mnt/root/sys
mount --rbind /dev /mnt/root/dev
exec chroot /mnt/root env -i -C "$3" HOME="$3/home" PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin sh -euc "$4"
"""


def in_bare_debian(home, script):
    """Runs a script with sh as root; only the folder with the packages is visible from this machine."""
    return tracing.command(home, "unshare", "-m", "sh", "-c", ENTER, "sh", machine.debian_root(BARE), home.parent, home,
                           script).must_be(0).stdout


def make(*words, **environment):
    build = os.environ.get("GPUTRACE_BUILD", "build")
    subprocess.run(["make", "-s", "-C", machine.ROOT, f"BUILD={build}", *words], check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, **environment})
    found = (machine.BUILD / "packages").glob("gputrace[-_]*.*")
    return {path.suffix: path for path in found if path.is_file()}


@pytest.fixture(scope="module")
def packages():
    """{suffix: path} in a folder that any user may enter."""
    folder = pathlib.Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield {suffix: pathlib.Path(shutil.copy(path, folder)) for suffix, path in make("wheel", "deb", "tarball").items()}
    shutil.rmtree(folder)


@pytest.fixture
def home(packages):
    """A folder of USER, beside the packages."""
    folder = packages[".whl"].parent / "own"
    (folder / "home").mkdir(parents=True)
    subprocess.run(["chown", "-R", f"{USER}:{USER}", folder], check=True)
    yield folder
    shutil.rmtree(folder)


def agent_of(said):
    """The agent's path in the output of `gputrace doctor`."""
    return next(line for line in said.splitlines() if line.startswith("agent")).split(None, 2)[2]


def test_packages_are_small(packages):
    assert set(packages) == {".whl", ".deb", ".gz"}
    assert all(path.stat().st_size < MOST_BYTES for path in packages.values())


def test_packages_made_again_by_another_user_elsewhere_are_the_same_bytes(packages):
    before = {suffix: path.read_bytes() for suffix, path in packages.items()}
    shutil.rmtree(machine.BUILD / "packages")
    mask = os.umask(0o077)
    try:
        again = make("wheel", "deb", "tarball", TZ="Asia/Kolkata", LC_ALL="C.UTF-8")
    finally:
        os.umask(mask)
    assert {suffix: path.read_bytes() for suffix, path in again.items()} == before


def with_pip(packages, folder):
    """Gives a Python without pip the pip of the Python that runs this test."""
    import pip
    shutil.copytree(pathlib.Path(pip.__file__).parent, folder / "pip", ignore=shutil.ignore_patterns("__pycache__"))
    return f"PYTHONPATH={folder} python{BARE} -m pip --python own/bin/python3 install --quiet --no-index {packages['.whl']}"


@pytest.fixture
def installed(packages, home):
    """A virtual environment of USER in a bare Debian, with the wheel, and the output of `doctor` there."""
    pip = with_pip(packages, home)
    steps = f"python{BARE} -m venv --without-pip own; {pip}; own/bin/gputrace doctor || true"
    said = in_bare_debian(home, f'{" ".join(AS_USER)} sh -euc "{steps}"')
    return home / "own", said


def test_the_wheel_works_for_a_user_of_a_bare_debian_with_nothing_but_python(installed):
    prefix, said = installed
    assert agent_of(said) == str(prefix / "lib/gputrace/libgputrace-agent.so")
    assert (prefix / "share/man/man1/gputrace-report.1").exists()
    assert (prefix / "share/gputrace/SKILL.md").read_bytes() == (machine.ROOT / "docs/skill/SKILL.md").read_bytes()


def test_what_the_wheel_installs_traces_a_program_with_its_agent(installed, tmp_path):
    """On this machine, as root: the wheel's own gputrace and agent are used, and every launch has its GPU time."""
    prefix, _ = installed
    program = [machine.any_python(), machine.WORKLOADS / "train.py", "--steps", STEPS]
    done = tracing.command(tmp_path, prefix / "bin/gputrace", "-o", "trace.gpt", "--agent", "require", "--", *tracing.on_simgpu(
        tmp_path / "gpu.json", *program)).must_be(0)
    launches = len(reading.simulated_launches(simulated.load(tmp_path / "gpu.json")))
    assert launches > STEPS
    assert f"Complete: {launches:,} of {launches:,} launches joined, 0 lost" in done.stdout


def test_the_wheel_is_removed_whole(packages, installed):
    prefix, _ = installed
    in_bare_debian(prefix.parent, f"{' '.join(AS_USER)} env PYTHONPATH={prefix.parent} python{BARE} -m pip --python own/bin/python3 "
                                  "uninstall --quiet --yes gputrace")
    assert not [path for path in prefix.rglob("*gputrace*") if path.is_file()]


def with_pipx(home, version, line, *indexed):
    """Runs a line of sh as USER, on this machine, in which `pipx` is that of PyPI.  What pipx installs first comes from an
    index of its own, with the files that are indexed."""
    python = machine.SYSTEM_PYTHON if machine.SYSTEM_PYTHON.exists() else pathlib.Path(sys.executable)
    pipx = shutil.copytree(machine.package(python, f"pipx{version}"), home / "pipx")
    index = home / "index"
    index.mkdir()
    for path in indexed:
        shutil.copy(path, index)
    got = tracing.command(home, sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", index, "pip", "setuptools", "wheel")
    if got.code:
        pytest.skip(f"no pip from PyPI: {got.stderr.strip().splitlines()[-1]}")
    subprocess.run(["chown", "-R", f"{USER}:{USER}", home], check=True)
    done = tracing.command(home.parent, *AS_USER, "env", "-i", f"HOME={home / 'home'}", "PATH=/usr/bin:/bin", f"PYTHONPATH={pipx}",
                           "PIP_NO_INDEX=1", f"PIP_FIND_LINKS={index}", "sh", "-c", f"pipx() {{ {python} -m pipx \"$@\"; }}; {line}")
    assert "agent" in done.stdout, repr(done)
    agent = pathlib.Path(agent_of(done.stdout))
    assert home in agent.parents and agent.read_bytes()[:4] == b"\x7fELF"


def test_pipx_run_gives_a_gputrace_that_finds_its_agent(packages, home):
    with_pipx(home, "", "pipx run gputrace doctor", packages[".whl"])


def readmes_line(tool):
    """The README's line that installs a package by that tool, beside the package."""
    readme = (machine.ROOT / "README.md").read_text()
    return re.search(rf"^    ((?:sudo )?{tool} install \S+) +#", readme, re.M).group(1)


def test_the_readmes_line_for_debian_installs_its_package(packages, home):
    said = in_bare_debian(home, f'cd {home.parent}; sudo() {{ "$@"; }}; {readmes_line("apt")} >&2; gputrace doctor || true')
    assert agent_of(said) == "/usr/lib/gputrace/libgputrace-agent.so"


def test_the_readmes_line_for_pipx_works_with_debians(packages, home):
    with_pipx(home, "==1.1.0", f'{readmes_line("pipx")} >&2; {home}/home/.local/bin/gputrace doctor')


def test_the_readmes_line_for_an_environment_works_in_one(packages, home):
    """An environment that is no distribution's, as conda's; its pip is that of the Python that runs this test."""
    pip = with_pip(packages, home).partition(" install ")[0].replace("own/", f"{home}/own/")
    (home / "steps").write_text(f"""python{BARE} -m venv --without-pip own
        cd {home.parent}
        pip() {{ env {pip} "$@" --no-index; }}
        {readmes_line('pip')} >&2
        {home}/own/bin/gputrace doctor || true""")
    said = in_bare_debian(home, f"{' '.join(AS_USER)} sh -eu steps")
    assert agent_of(said) == str(home / "own/lib/gputrace/libgputrace-agent.so")


PAGES = sorted((machine.ROOT / "docs").rglob("*.md"))  # the README's lines are above
MANAGED = "externally-managed-environment"


def lines_of_pages():
    """What the pages say to do with a wheel."""
    text = "\n".join(page.read_text() for page in PAGES)
    found = (line.split(" #")[0].strip() for either in re.findall(r"^    (\S.*)$|`([^`\n]+)`", text, re.MULTILINE) for line in either)
    return list(dict.fromkeys(line for line in found if ".whl" in line))


@pytest.fixture(scope="module")
def debian_user(packages):
    """A function that runs a line of sh as a user of Debian 12, with its pip and a pipx of that time."""
    if not pathlib.Path("/usr/bin/pip").exists() or not list(pathlib.Path("/usr/lib").glob("python3*/EXTERNALLY-MANAGED")):
        pytest.skip("no Debian with a pip, from 12 on")
    folder = packages[".whl"].parent / "user"
    (folder / "home").mkdir(parents=True)
    shutil.copy(packages[".whl"], folder)
    pipx = shutil.copytree(machine.package(machine.SYSTEM_PYTHON, "pipx==1.1.0"), folder / "pipx")
    got = tracing.command(folder, machine.SYSTEM_PYTHON, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder / "index",
                          "pip", "setuptools", "wheel")
    if got.code:
        pytest.skip(f"no pip from PyPI: {got.stderr.strip().splitlines()[-1]}")
    (folder / "bin").mkdir()
    (folder / "bin/pipx").write_text(f'#!/bin/sh\nPYTHONPATH={pipx} exec python3 -m pipx "$@"\n')
    (folder / "bin/pipx").chmod(0o755)
    subprocess.run(["chown", "-R", f"{USER}:{USER}", folder], check=True)

    def run(line, *variables):
        return tracing.command(folder, *AS_USER, "env", "-i", f"HOME={folder / 'home'}", f"PATH={folder / 'bin'}:/usr/bin:/bin",
                               "PIP_NO_INDEX=1", f"PIP_FIND_LINKS={folder / 'index'}", *variables, "sh", "-euc", line)

    yield run
    shutil.rmtree(folder)


@pytest.mark.parametrize("line", lines_of_pages())
def test_a_line_of_the_pages_does_what_they_say_on_debian(debian_user, line):
    """With pip alone a virtual environment is needed there, as the pages say."""
    done = debian_user(line)
    if line.startswith("pip "):
        assert done.code and MANAGED in done.stderr
        debian_user("python3 -m venv --clear --without-pip other").must_be(0)
        debian_user(line, "PIP_PYTHON=other/bin/python3").must_be(0)
        done = debian_user("other/bin/gputrace --version")
    elif line == "pipx install ./gputrace-*.whl":
        done.must_be(0)
        done = debian_user("~/.local/bin/gputrace --version")
    if line.endswith("doctor"):  # its status is about this machine
        assert agent_of(done.stdout).endswith("libgputrace-agent.so")
    else:
        assert done.must_be(0).stdout.splitlines()[-1] == "gputrace " + (machine.ROOT / "VERSION").read_text().strip()


def test_the_pages_know_what_pip_says():
    assert any(MANAGED in page.read_text() for page in PAGES) and len(lines_of_pages()) >= 4


def test_the_debian_package_is_installed_run_and_removed_whole(packages, home):
    said = in_bare_debian(home, f"""touch before; sleep 0.01
        dpkg --install {packages['.deb']} >&2; gputrace doctor || true; gputrace --version
        for file in $(dpkg --listfiles gputrace); do [ -e $file ]; done
        dpkg --listfiles gputrace | grep -c -e man1/gputrace-why.1.gz -e completions/gputrace -e _gputrace -e gputrace.fish -e gputrace/SKILL.md
        dpkg --purge gputrace >&2; find /usr /etc /var/lib -xdev -newer before -name '*gputrace*'""")
    assert agent_of(said) == "/usr/lib/gputrace/libgputrace-agent.so"
    assert said.splitlines()[-2:] == ["gputrace " + (machine.ROOT / "VERSION").read_text().strip(), "5"]


def test_lintian_finds_no_error_in_the_debian_package(packages):
    if not shutil.which("lintian"):
        machine.missing("no lintian (tools/deps test)", True)
    done = subprocess.run(["lintian", "--allow-root", "--fail-on", "error", packages[".deb"]], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True)
    assert done.returncode == 0, done.stdout


def test_the_tarball_runs_where_it_is_unpacked(packages, home):
    said = in_bare_debian(home, f"tar -xf {packages['.gz']}; gputrace-*/bin/gputrace doctor || true; ls gputrace-*/share/man/man1 gputrace-*/share/gputrace")
    folder, = home.glob("gputrace-*")
    assert agent_of(said) == str(folder / "lib/gputrace/libgputrace-agent.so")
    assert {"gputrace-diff.1", "SKILL.md"} <= set(said.split())
