# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""--help of every subcommand, the man page and the accepted options agree."""

import os
import pty
import re
import subprocess

import machine
import pytest
import tracing

SUBCOMMANDS = ("", "report", "export", "diff", "merge", "why", "top", "serve", "view", "dump", "doctor", "env", "mcp")
MAN_PAGE = machine.ROOT / "docs/gputrace.1"
OPTION = re.compile(r"^  (?:-(\w), |    )--([a-z-]+)(?: (\S+))?", re.M)
USAGE = 2


def helped(folder, subcommand):
    return asked(folder, subcommand, "--help") if subcommand else asked(folder, "--help-all")


def asked(folder, *words):
    done = tracing.gputrace(folder, *words).must_be(0)
    assert done.stderr == ""
    return done.stdout


def options_of(folder, subcommand):
    """{long name: (letter, value)} of the options in the help."""
    return {name: (letter, value) for letter, name, value in OPTION.findall(helped(folder, subcommand))}


def man_page(path=MAN_PAGE):
    """Text of the man page without troff's fonts and escaped dashes."""
    return re.sub(r"\\f[BIR]|\"", "", path.read_text().replace("\\-", "-"))


def man_options(path=MAN_PAGE):
    """Like options_of, from the headings under OPTIONS."""
    section = re.search(r"^\.SH OPTIONS$(.*?)^\.SH ", man_page(path), re.M | re.S).group(1)
    found = {}
    for heading in re.findall(r"^\.TP\n\.BR? (.*)$", section, re.M):
        match = re.match(r"(?:-(\w) , )?--([a-z-]+)(?: (\S+))?$", " ".join(heading.split()))
        assert match, heading
        found[match.group(2)] = (match.group(1) or "", match.group(3) or "")
    return found


def test_the_man_page_has_every_option_with_its_letter_and_value(tmp_path):
    everything = {}
    for subcommand in SUBCOMMANDS:
        for name, (letter, value) in options_of(tmp_path, subcommand).items():
            _, other = everything.get(name, ("", ""))
            everything[name] = letter, max(value, other, key=len)  # doctor takes -p PID, others -p gpu, too
    assert len(everything) > 15
    assert man_options() == everything


def test_the_man_page_names_no_other_option(tmp_path):
    known = set().union(*(options_of(tmp_path, subcommand) for subcommand in SUBCOMMANDS))
    assert set(re.findall(r"(?<![\w-])--([a-z][a-z-]*)", man_page())) <= known


def test_the_man_page_has_every_subcommand():
    section = re.search(r"^\.SH SUBCOMMANDS$(.*?)^\.SH ", man_page(), re.M | re.S).group(1)
    assert re.findall(r"^\.TP\n\.B (\w+)$", section, re.M) == [name for name in SUBCOMMANDS if name]


@pytest.mark.parametrize("subcommand", [name for name in SUBCOMMANDS if name])
def test_the_man_page_of_a_subcommand_has_its_options_and_no_other(tmp_path, subcommand):
    build = os.environ.get("GPUTRACE_BUILD", "build")
    subprocess.run(["make", "-s", "-C", machine.ROOT, f"BUILD={build}", "pages"], check=True)
    page = machine.BUILD / f"share/man/gputrace-{subcommand}.1"
    assert man_options(page).keys() == options_of(tmp_path, subcommand).keys()
    assert helped(tmp_path, subcommand).splitlines()[0] == f"gputrace {subcommand}: " + re.search(
        rf"^gputrace-{subcommand} - (.*)$", man_page(page), re.M).group(1)


@pytest.mark.parametrize("subcommand", [name for name in SUBCOMMANDS if name])
def test_the_help_has_what_the_subcommand_takes_and_nothing_else(tmp_path, subcommand):
    helps = {name: options_of(tmp_path, name) for name in SUBCOMMANDS}
    for option in set().union(*helps.values()) - {"help", "version"}:
        value = ["x"] if any(helps[name].get(option, ("", ""))[1] for name in SUBCOMMANDS) else []
        word = ["no-such-word"] if subcommand in ("top", "serve") else []  # else it would start
        done = tracing.gputrace(tmp_path, subcommand, f"--{option}", *value, *word,
                                env={"XDG_STATE_HOME": tmp_path})  # no last trace, which view would show until Ctrl-C
        refused = done.code == USAGE and "does not apply" in done.stderr
        assert refused == (option not in helps[subcommand]), repr(done)


def test_the_help_of_tracing_shows_how_every_subcommand_is_called(tmp_path):
    for subcommand in SUBCOMMANDS:
        synopsis = re.search(r"^Usage: (gputrace.*)$", helped(tmp_path, subcommand), re.M).group(1)
        assert synopsis in helped(tmp_path, "")


def under_headings(text):
    """{heading: [options]} of a help text, in its order."""
    found = {}
    for line in text.split("Usage: ")[1].splitlines():
        if re.match(r"[A-Z][a-z ]+:$", line):
            found[line[:-1]] = options = []
        elif OPTION.match(line):
            options.append(OPTION.match(line).group(2))
    return found


def test_the_first_page_says_what_each_subcommand_answers_and_has_ten_options(tmp_path):
    page = asked(tmp_path, "--help")
    everything = options_of(tmp_path, "")
    assert len(page.splitlines()) <= 45 and max(map(len, page.splitlines())) <= 110
    listed = re.search(r"^What do you want to know\?$(.*?)^$", page, re.M | re.S).group(1)
    assert sorted(re.findall(r"^  (\w+) +\S", listed, re.M)) == sorted(name for name in SUBCOMMANDS if name)
    assert re.search(r"^  dump +it hangs", page, re.M) and re.search(r"^  diff +what changed", page, re.M)
    options = OPTION.findall(page)
    assert len(options) == 10 and [name for _, name, _ in options][:3] == ["pid", "duration", "output"]
    assert all(everything[name][0] == letter for letter, name, _ in options)
    assert all(where in page for where in ("gputrace SUBCOMMAND --help", "gputrace --help-all", "man gputrace"))


def test_help_is_a_word_as_well(tmp_path):
    assert asked(tmp_path, "help") == asked(tmp_path, "--help")
    assert asked(tmp_path, "help", "all") == asked(tmp_path, "--help-all")
    assert asked(tmp_path, "help", "dump") == asked(tmp_path, "dump", "--help")


def test_the_help_of_tracing_has_the_ten_options_that_most_people_need_first(tmp_path):
    found = under_headings(helped(tmp_path, ""))
    assert list(found) == ["What most people need", "What to trace", "What to record", "Report", "Output", "Other"]
    assert len(found["What most people need"]) == 10
    assert found["What most people need"][:3] == ["pid", "duration", "output"]


@pytest.mark.parametrize("subcommand", SUBCOMMANDS)
def test_the_help_has_each_option_once_under_a_heading(tmp_path, subcommand):
    under = sum(under_headings(helped(tmp_path, subcommand)).values(), [])
    assert sorted(under) == sorted(options_of(tmp_path, subcommand))


def command_lines(page):
    """[(subcommand, [long options])] of the commands that a page has in `code`."""
    lines = re.findall(r"`(?:sudo )?gputrace ([^`]*)`", page.read_text())
    return [(words[0] if words[0] in SUBCOMMANDS else "", re.findall(r"(?<!\S)--([a-z][a-z-]*)", " ".join(words[:words.index("--")]
             if "--" in words else words))) for words in (line.split() for line in lines)]


@pytest.mark.parametrize("page", ["README.md", "docs/skill/SKILL.md", "docs/troubleshooting.md"])
def test_the_commands_of_a_page_have_options_that_there_are(tmp_path, page):
    lines = command_lines(machine.ROOT / page)
    assert len(lines) >= 5
    helps = {subcommand: options_of(tmp_path, subcommand) for subcommand, _ in lines}
    wrong = [(subcommand, option) for subcommand, options in lines for option in options if option not in helps[subcommand]]
    assert not wrong


def test_the_skill_for_assistants_is_one_page_with_a_name_and_when_to_use_it():
    text = (machine.ROOT / "docs/skill/SKILL.md").read_text()
    head = re.match(r"---\nname: gputrace\ndescription: (.{50,1024})\n---\n", text)
    assert head and len(text.splitlines()) <= 80
    assert {name for name in SUBCOMMANDS if name} - {"top", "view", "env"} <= set(re.findall(r"\b[a-z]+\b", text))


def test_a_binary_format_is_not_written_to_a_terminal(tmp_path):
    master, terminal = pty.openpty()
    done = tracing.subprocess.run([machine.GPUTRACE, "export", "x.gpt", "-o", "-", "--format", "gpt"], cwd=tmp_path,
                                  stdout=terminal, stderr=tracing.subprocess.PIPE, universal_newlines=True)
    os.close(terminal)
    os.close(master)
    assert done.returncode == USAGE and "terminal" in done.stderr


def test_what_takes_long_says_what_it_is_at(tmp_path):
    """The command ends once it has seen the progress line about itself."""
    said = tmp_path / "said"
    wait = f'echo "half way"; until grep -q "a long thing: .* s, half way" {said}; do sleep 0.1; done; echo more; exit 3'
    with open(said, "wb") as file:
        done = subprocess.run([machine.ROOT / "tools/with-progress", "a long thing", "sh", "-c", wait], stderr=file,
                              timeout=tracing.PATIENCE_S)
    assert done.returncode == 3
    assert said.read_text().endswith("half way\nmore\n")  # the command's own output, shown because it failed
