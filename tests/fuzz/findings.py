"""Findings: failing runs folded by what they are, each with its smallest case, kept in a folder."""

from __future__ import annotations

import re
import shlex
import shutil
import stat
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from fuzz import oracle
from fuzz.bench import Bench, Outcome
from fuzz.cases import Case
from fuzz.minimise import minimised

LOOKS = 4
"""How often a message is looked into: the same words may come from several places."""
SECONDS_TO_MINIMISE = 15
SLOW = 3.0
"""Seconds of a run above which it is not minimised: there are too many to make."""


@dataclass
class Finding:
    """A way to fail: what is wrong and where, how often, and its smallest case."""

    what: str
    seed: str
    case: Case
    seen: int = 1

    @property
    def slug(self) -> str:
        return re.sub(r"\W+", "-", self.what.lower()).strip("-")[:90]


class Findings:
    """All that was found."""

    def __init__(self, bench: Bench, folder: Path) -> None:
        self.bench, self.folder = bench, folder
        self.found: dict[str, Finding] = {}
        self._looks: Counter[str] = Counter()
        self._known: dict[str, str] = {}

    def look(self, case: Case, outcome: Outcome, seed: str) -> str:
        """Judge a run; return what is wrong in a word, or nothing."""
        wrong = self.wrong(case, outcome)
        if not wrong:
            return ""
        said = outcome.stderr.splitlines()
        seen = f"{case.argv[0]} {wrong[0]} {oracle.shape(said[0] if said else '')}"
        self._looks[seen] += 1
        if self._looks[seen] > LOOKS:
            self.found[self._known[seen]].seen += 1
            return wrong[0]
        what = self._known[seen] = self._what(case, outcome, wrong[0])
        if what in self.found:
            self.found[what].seen += 1
        else:
            self.found[what] = Finding(what, seed, self._smallest(case, outcome, what))
            self._keep(self.found[what])
        return wrong[0]

    def wrong(self, case: Case, outcome: Outcome) -> list[str]:
        """Return what is wrong with a run by itself, or beside one without its bad records."""
        wrong = oracle.complaints(case, outcome)
        aside = self.bench.work / "out" / "q.jsonl"
        if wrong or outcome.ended.status != 3 or not aside.exists():
            return wrong
        if smaller := oracle.without_rejected(case, aside.read_bytes()):
            alone = self.bench.run(smaller)
            lines = (alone.stdout, outcome.stdout)
            if "--no-rank" in case.argv:  # rows in no order
                lines = tuple(sorted(text.splitlines()) for text in lines)
            if alone.ended.status or lines[0] != lines[1]:
                return ["skipping records is not leaving them out"]
        return []

    def _what(self, case: Case, outcome: Outcome, wrong: str) -> str:
        """Return what findings are folded by."""
        debugged = outcome.stderr
        if "defect" in wrong:
            words = [*case.words[:1], ["--debug"], *case.words[1:]]
            debugged = self.bench.run(replace(case, words=words)).stderr
        if place := oracle.place_of(debugged):
            return f"{wrong}: {place}"
        last = outcome.stderr.splitlines()[-1] if "skipping" not in wrong and outcome.stderr else ""
        return f"{case.title}: {wrong}: {oracle.shape(last)}"

    def _smallest(self, case: Case, outcome: Outcome, what: str) -> Case:
        def fails(smaller: Case) -> bool:
            if not smaller.words or smaller.argv[0] != case.argv[0]:
                return False
            again = self.bench.run(smaller)
            wrong = self.wrong(smaller, again)
            return bool(wrong) and self._what(smaller, again, wrong[0]) == what

        if outcome.ended.seconds > SLOW:
            return case
        return minimised(case, fails, SECONDS_TO_MINIMISE)

    def _keep(self, finding: Finding) -> None:
        """Write the case as files and a script that runs it."""
        home = self.folder / finding.slug
        self.bench.run(finding.case)
        home.mkdir(parents=True, exist_ok=True)
        if finding.case.model:
            shutil.copytree(self.bench.make_model(), self.folder / "model", dirs_exist_ok=True)
        for name, content in finding.case.files.items():
            path = home / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
        script = home / "run.sh"
        script.write_text(self.script(finding), encoding="utf-8", errors="surrogateescape")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)

    def script(self, finding: Finding) -> str:
        case = finding.case
        command = " ".join(map(quoted, case.argv))
        if case.stdin:
            command += f" < {quoted(case.stdin)}"
        settings = "".join(f"{key}={quoted(text)} " for key, text in case.environment.items())
        model = "cp -rn ../model .\n" if case.model else ""
        note = f"# {finding.what}\n# seed {finding.seed}\n"
        return f'{note}cd "$(dirname "$0")"\nmkdir -p out\n{model}{settings}{command}\n'


def quoted(word: str) -> str:
    """Return a word for bash, odd characters escaped."""
    if word.isascii() and word.isprintable():
        return shlex.quote(word)
    raw = word.encode("utf-8", "surrogateescape")
    return "$'" + "".join(f"\\x{byte:02x}" for byte in raw) + "'"
