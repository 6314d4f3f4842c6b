"""Generated documents say what the commands say."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from all_commands import COMMANDS, LOADED
from at_work import ended

from dialtools.cli import _man
from dialtools.cli._command import Group
from dialtools.cli._help import group_page, page
from dialtools.eval.tasks import oos, retrieve, route, space
from dialtools.metrics import clusterings, detection, f1
from dialtools.metrics.ranking import selection
from dialtools.options import environment

ROOT = Path(__file__).resolve().parents[2]
CONSTRAINTS = (ROOT / "constraints.txt").read_text(encoding="utf-8")
DOCUMENTS = _man.documents()
MAN_PAGES = sorted(path.name for path in (ROOT / "man").iterdir())


@pytest.mark.parametrize("path", sorted(DOCUMENTS))
def test_man_pages_and_completions_are_those_of_the_commands(path: str):
    click = importlib.metadata.version("click")
    if path.startswith("completions") and f"click=={click}\n" not in CONSTRAINTS:
        pytest.skip(f"click {click} writes its own")
    assert (ROOT / path).read_text(encoding="utf-8") == DOCUMENTS[path], "run `make man`"


def rendered(path: Path) -> list[str]:
    """The lines of a page on a terminal of 80 columns."""
    page = ended("groff", "-k", "-man", "-Tutf8", "-rLL=80n", "-P-c", path, text=True)
    assert page.stderr == ""
    return re.sub(r".\x08", "", page.stdout).splitlines()  # bold is a letter twice


LITERAL_COLUMNS = 78
"""Columns of a line that is shown as it stands: with its indent of two it fits into 80."""


def literal_lines(path: Path) -> list[str]:
    """The lines that are shown as they stand, as a reader sees them."""
    blocks = re.findall(r"^\.nf\n(.*?)^\.fi", path.read_text(encoding="utf-8"), re.M | re.S)
    text = re.sub(r"\\f[BIR]|\\&", "", "".join(blocks)).replace("\\-", "-").replace("\\e", "\\")
    return [line for line in text.splitlines() if not line.startswith(".")]


@pytest.mark.parametrize("name", MAN_PAGES)
def test_a_man_page_fits_into_eighty_columns(name: str):
    path, columns = ROOT / "man" / name, LITERAL_COLUMNS
    lines = literal_lines(path)
    if shutil.which("groff"):
        lines, columns = rendered(path), 80
    assert [line for line in lines if len(line) > columns] == []


@pytest.mark.parametrize("name", sorted({*LOADED, *COMMANDS}))
def test_help_fits_into_eighty_columns(name: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("COLUMNS", "80")
    command = COMMANDS.get(name) or LOADED[name]
    text = group_page(command) if isinstance(command, Group) else page(command)
    assert [line for line in text.splitlines() if len(line) > 80] == []


@pytest.mark.parametrize("name", LOADED)
def test_the_variable_that_a_man_page_names_sets_its_flag(name: str):
    text = DOCUMENTS[f"man/{name}.1"].replace("\\-", "-")
    variable, flag = re.findall(r"such as (\w+) for (--[\w-]+)", text)[0]
    command = next(
        c for title, c in COMMANDS.items() if title.split()[0] == name and flag in page(c)
    )
    spec = next(spec for spec in command.specs if spec.flag == flag)
    value = spec.choices[0] if spec.choices else "7"
    layer = environment(command.options, name, {variable: value})
    assert layer.values == {spec.key: value}


def test_man_pages_tell_of_colour_the_cache_of_models_and_what_is_left_beside_an_output():
    for name in ("dial-train", "dial-embed", "dial-eval"):
        text = DOCUMENTS[f"man/{name}.1"]
        for word in ("NO_COLOR", "HF_HOME", "OMP_NUM_THREADS", "OUTPUT.partial/", "dialtools.toml"):
            assert word.replace("-", "\\-") in text, (name, word)
    assert "HF_HOME" not in DOCUMENTS["man/dial-pairs.1"]


def test_every_installed_command_has_a_launcher_and_a_man_page():
    scripts = {
        e.name
        for e in importlib.metadata.entry_points(group="console_scripts")
        if e.value.startswith("dialtools")
    }
    assert scripts == set(_man.COMMANDS) == {p.name for p in (ROOT / "bin").iterdir()}


def test_a_flag_means_the_same_in_every_command():
    shared = (
        "output",
        "quiet",
        "verbose",
        "limit",
        "seed",
        "from_",
        "to",
        "on_error",
        "overwrite",
        "config",
        "jobs",
        "device",
    )
    shorts: dict[str, set[str | None]] = {}
    for command in COMMANDS.values():
        for spec in command.specs:
            if spec.name in shared:
                shorts.setdefault(spec.name, set()).add(spec.short)
    assert all(len(kinds) == 1 for kinds in shorts.values()), shorts


def names_of_scores() -> dict[str, set[str]]:
    """Return the metrics of tasks that have several, from the code that computes them."""
    verdict = oos.Verdict(*[np.arange(2)] * 4, oos=1)
    return {
        "oos": {*oos.at_threshold(verdict, 0.5), *detection.MEASURES},
        "route": {*route.measures(np.arange(2), np.arange(2))},
        "select": {*selection(np.zeros((1, 2), np.int64))},
        "act": {f"{name}-f1" for name in (*f1.AVERAGES, "samples")},
        "retrieve": {*retrieve.METRICS, "same-of-K"},
        "cluster": {*clusterings.MEASURES},
        "space": {*space.measures(np.eye(3, dtype=np.float32), np.array([0, 0, 1]))},
        "sts": {"spearman", "pearson"},
        "infer": {"accuracy", "majority"},
    }


@pytest.mark.parametrize("task", names_of_scores())
def test_the_help_of_a_task_says_what_its_scores_are(task: str):
    words = set(re.findall(r"[\w-]+", import_module(f"dialtools.eval.options.{task}").__doc__))
    assert names_of_scores()[task] <= words


def test_no_two_flags_of_a_command_share_a_letter():
    for command in COMMANDS.values():
        letters = [s.short for s in command.specs if s.short]
        assert len(letters) == len(set(letters)), command.name


def known_flags() -> set[str]:
    keys = {s.key for c in COMMANDS.values() for s in c.specs}
    return {f"--{key}" for key in keys} | {f"--no-{key}" for key in keys} | {"--help", "--version"}


def test_readme_names_only_flags_that_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip().startswith("dial-")]
    used = {flag for line in lines for flag in re.findall(r"(?<=\s)--[a-z][a-z-]*", line)}
    assert used <= known_flags(), used - known_flags()


@pytest.mark.parametrize("page", ["dialtools.7", "dialtools-methods.7", "dialtools-records.5"])
def test_man_pages_of_the_suite_name_only_flags_that_exist(page: str):
    text = (ROOT / "man" / page).read_text(encoding="utf-8").replace("\\-", "-")
    used = set(re.findall(r"--[a-z][a-z0-9-]*", text))
    assert used <= known_flags(), used - known_flags()


def test_the_methods_of_the_papers_name_only_tasks_of_dial_eval():
    text = (ROOT / "man" / "dialtools-methods.7").read_text(encoding="utf-8").replace("\\-", "-")
    told = " ".join(re.findall(r"^\.B Evaluation\n(.*?)^\.TP", text, re.DOTALL | re.MULTILINE))
    used = set(re.findall(r'\.BR? "?(?:dial-eval )?([a-z]+)"?(?=[ \n])', told))
    assert {"select", "plot"} <= used <= {name.split()[-1] for name in COMMANDS} | {"finetune"}, (
        used
    )
