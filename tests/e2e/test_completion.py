# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Every option of the help completes, in bash, zsh and fish, and nothing else does."""

import functools
import os
import shutil
import subprocess

import machine
import pytest
import tracing
from test_help import SUBCOMMANDS, options_of

SHARE = machine.BUILD / "share"

# compopt fails in a shell that is not completing interactively.
BASH = """compopt() { :; }
source "$1"; COMP_WORDS=("${@:2}"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _gputrace; printf '%s\\n' "${COMPREPLY[@]}"
"""


@functools.lru_cache(None)
def completions():
    subprocess.run(["make", "-s", "-C", machine.ROOT, f"BUILD={os.environ.get('GPUTRACE_BUILD', 'build')}", "pages"], check=True)
    return SHARE


def said(folder, *words):
    return tracing.command(folder, *words).must_be(0).stdout


def by_bash(folder, words):
    return said(folder, "bash", "-c", BASH, "bash", completions() / "completion.bash", *words).split()


def by_zsh(folder, words):
    shutil.copy(completions() / "completion.zsh", folder / "_gputrace")
    (folder / "offered").write_text("")
    said(folder, "zsh", "-f", machine.PROGRAMS / "completes.zsh", folder, " ".join(words))
    return (folder / "offered").read_text().split()


def by_fish(folder, words):
    line = " ".join(words)
    printed = said(folder, "fish", "--no-config", "-c", f"source {completions() / 'completion.fish'}; complete -C '{line}'")
    return [offer.split("\t")[0] for offer in printed.splitlines()]


@pytest.fixture(params=[by_bash, by_zsh, by_fish], ids=lambda shell: shell.__name__)
def offered(request, tmp_path):
    """A function (words, of which the last is to be completed) -> the shell's offers; skips without that shell."""
    if not shutil.which(request.param.__name__[3:]):
        machine.missing(f"no {request.param.__name__[3:]} (tools/deps test)", True)
    return lambda *words: request.param(tmp_path, words)


@pytest.mark.parametrize("subcommand", SUBCOMMANDS)
def test_every_option_of_the_help_completes_and_no_other(offered, tmp_path, subcommand):
    offers = offered("gputrace", *subcommand.split(), "--")
    assert sorted({offer for offer in offers if offer.startswith("--")} - {"--"}) == sorted(
        f"--{name}" for name in options_of(tmp_path, subcommand))


def test_a_subcommand_completes(offered):
    assert offered("gputrace", "me") == ["merge"]


def test_a_value_completes_where_the_help_lists_them(offered):
    assert sorted(set(offered("gputrace", "report", "x.gpt", "--backward", ""))) == ["caller", "forward"]
    assert set(offered("gputrace", "report", "x.gpt", "--format", "")) == {"text", "csv", "json", "md"}
    assert {"json.gz", "pftrace", "gpt"} < set(offered("gputrace", "export", "x.gpt", "--format", ""))


def test_an_option_of_another_subcommand_does_not_complete(offered):
    assert offered("gputrace", "doctor", "--sch") == []


def test_behind_dashes_another_program_completes(offered):
    offers = offered("gputrace", "-d", "10s", "--", "setpri")
    assert set(offers) == {"setpriv"}
