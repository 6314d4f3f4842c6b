"""The package: the same bytes each time, whole, and clean to those who check packages."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from at_work import ended

from dialtools import RELEASED, __version__

ROOT = Path(__file__).resolve().parents[1]
BIN = Path(sys.executable).parent
LEFT_OUT = {".ci/run"}
WRITTEN = ("dialtools", "tests", "bench", "examples", "papers", "docs", "man", "bin")
PAGES = sorted((ROOT / "man").iterdir())


def built(tree: Path, folder: Path) -> dict[str, bytes]:
    """Return the files that are built of a tree, by name."""
    ended(
        sys.executable,
        "-m",
        "hatchling",
        "build",
        "--directory",
        folder,
        cwd=tree,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1700000000"},
    )
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the source of this checkout."""
    folder = tmp_path_factory.mktemp("dist")
    assert len(built(ROOT, folder)) == 2
    return folder


@pytest.fixture(scope="module")
def source(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source, unpacked."""
    folder = tmp_path_factory.mktemp("source")
    packed = next(distributions.glob("*.tar.gz"))
    subprocess.run(["tar", "-xzf", packed, "-C", folder], check=True)
    return folder / f"dialtools-{__version__}"


def test_what_is_built_of_the_source_is_byte_for_byte_what_is_built_of_the_checkout(
    distributions: Path, source: Path, tmp_path: Path
):
    first = {path.name: path.read_bytes() for path in distributions.iterdir()}
    assert built(source, tmp_path) == first


def test_the_source_holds_all_that_is_under_version_control(source: Path):
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("needs a git checkout")
    listed = ended("git", "ls-files", cwd=ROOT)
    tracked = {name for name in listed.stdout.decode().splitlines() if (ROOT / name).exists()}
    packed = {str(path.relative_to(source)) for path in source.rglob("*") if path.is_file()}
    assert tracked - packed <= LEFT_OUT


def test_the_wheel_brings_commands_pages_and_completions(distributions: Path):
    with zipfile.ZipFile(next(distributions.glob("*.whl"))) as wheel:
        names = wheel.namelist()
    shared = {name.partition(".data/data/")[2] for name in names}
    assert {f"share/man/man{page.suffix[1:]}/{page.name}" for page in PAGES} <= shared
    for folder in ("bash-completion/completions/dial-pairs", "zsh/site-functions/_dial-pairs"):
        assert f"share/{folder}" in shared
    assert not any(name.startswith("tests/") for name in names)


def scripts(*patterns: str) -> list[str]:
    return sorted(str(path) for pattern in patterns for path in ROOT.glob(pattern))


def present(*names: str) -> list[str]:
    return [name for name in (*names, *scripts("*.md")) if (ROOT / name).exists()]


CHECKS = {
    "pyroma": ["--min", "10", "."],
    "validate-pyproject": ["pyproject.toml"],
    "deptry": ["."],
    "codespell": present(*WRITTEN, "pyproject.toml", "Makefile"),
    "shellcheck": ["-x", "-P", "SCRIPTDIR", *scripts("*/*.sh", ".ci/run")],
}


@pytest.mark.parametrize("tool", CHECKS)
def test_a_checker_of_projects_finds_nothing(tool: str):
    ended(BIN / tool, *CHECKS[tool], cwd=ROOT, text=True)


def test_checkers_of_packages_find_nothing(distributions: Path):
    both, wheel = sorted(distributions.iterdir()), next(distributions.glob("*.whl"))
    for command in (["twine", "check", "--strict", *both], ["check-wheel-contents", wheel]):
        ended(BIN / command[0], *command[1:], text=True)


def test_completions_of_bash_are_sound():
    """What the template of click writes is for bash to say: findings of style are left to it."""
    files = scripts("completions/bash/*")
    done = subprocess.run(
        [BIN / "shellcheck", "-s", "bash", "-S", "warning", *files], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_man_pages_are_clean_to_mandoc():
    if not shutil.which("mandoc"):
        pytest.skip("needs mandoc")
    done = subprocess.run(
        ["mandoc", "-T", "lint", "-W", "warning", *PAGES], capture_output=True, text=True
    )
    assert done.stdout + done.stderr == ""


def test_version_and_day_of_release_are_the_same_everywhere():
    for page in PAGES:
        head = re.search(r"^\.TH .*$", page.read_text(encoding="utf-8"), re.MULTILINE)
        assert head and f'"{RELEASED}" "dialtools {__version__}"' in head[0], page.name
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {__version__}\ndate-released: {RELEASED}\n" in citation
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)", changelog, re.MULTILINE)[0] == __version__
