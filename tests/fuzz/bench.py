"""A case run once: its folder written, the command called, what it leaves gathered."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass, field
from pathlib import Path

from fuzz.cases import Case
from fuzz.models import tiny_model
from fuzz.zygote import Ended, Zygote

ROOT = Path(__file__).resolve().parents[2]
NEEDS_TORCH = (
    *("dial-train", "dial-embed", "dial-eval finetune", "dial-eval curve"),
    *("dialtools merge", "dialtools center", "dialtools weigh", "dialtools cut"),
)
TINY = "dial-train --max-steps 0 --hidden 64 --vocab-size 300 --device cpu --threads 1"
MODELS = {
    "model": f"{TINY} --layers 2",
    "static": f"{TINY} --encoder static",
    "centred": "dialtools center --model model --device cpu --threads 1",
    "weighed": "dialtools weigh --model model",
}
"""How the tiny models are made, which differ in what their folders hold."""
NEEDS_SKLEARN = ("dial-eval",)
ENVIRONMENT = {
    **{name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ},
    **{"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    **{"CUDA_VISIBLE_DEVICES": "", "TERM": "dumb"},
}


@dataclass
class Outcome:
    """What is to be judged of a run.

    Attributes:
        made: names of what lies in the folder and was not there before.
        changed: names of files that were there, and are others or gone.
        temporary: names of what is left in $TMPDIR.
    """

    ended: Ended
    stdout: bytes
    stderr: str
    made: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    temporary: list[str] = field(default_factory=list)


class Bench:
    """A folder to run cases in, a zygote for each kind of command, and the tiny models."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.work = folder, folder / "work"
        self.temporary = folder / "tmp"
        self.zygotes: dict[str, Zygote] = {}

    def run(self, case: Case) -> Outcome:
        """Run a case; its files stay in `work` until the next one."""
        files = dict(case.files)
        if case.model:
            files = tiny_model(str(self.make_model())) | files
        self._lay_out(files)
        environment = ENVIRONMENT | {"TMPDIR": str(self.temporary)} | case.environment
        stdin = case.stdin if case.stdin in files else None
        ended = self._zygote(case).run(case.argv, self.folder, environment, stdin)
        present = {path for path in self.work.rglob("*") if not path.is_dir()}
        names = {str(path.relative_to(self.work)) for path in present}
        return Outcome(
            ended,
            (self.folder / "stdout").read_bytes(),
            (self.folder / "stderr").read_text(encoding="utf-8", errors="surrogateescape"),
            made=sorted(names - set(files)),
            changed=sorted(name for name in files if self._differs(name, files[name])),
            temporary=sorted(path.name for path in self.temporary.iterdir()),
        )

    def _lay_out(self, files: dict[str, bytes]) -> None:
        for folder in (self.work, self.temporary):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        (self.work / "out").mkdir()
        for name, content in files.items():
            path = self.work / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)

    def _differs(self, name: str, content: bytes) -> bool:
        path = self.work / name
        return not path.is_file() or path.read_bytes() != content

    def _zygote(self, case: Case) -> Zygote:
        words = " ".join(case.argv[:2])
        kind = "torch" if words.startswith(NEEDS_TORCH) else "light"
        if kind == "light" and words.startswith(NEEDS_SKLEARN):
            kind = "sklearn"
        if kind not in self.zygotes:
            self.zygotes[kind] = Zygote(kind)
        return self.zygotes[kind]

    def make_model(self, name: str = "model") -> Path:
        """Return the folder of a tiny model; the first call makes it."""
        model = self.folder / name
        if not model.is_dir():
            pairs = "".join(f'{{"context": ["a {n}"], "response": "b {n}"}}\n' for n in range(40))
            words = [f"{MODELS[name]} -o m in.jsonl".split()]
            self.folder.mkdir(parents=True, exist_ok=True)
            files = {"in.jsonl": pairs.encode()}
            outcome = self.run(Case("model", words, files, model="--model" in MODELS[name]))
            if outcome.ended.status:
                raise RuntimeError(outcome.stderr)
            shutil.copytree(self.work / "m", model)
        return model

    def close(self) -> None:
        for zygote in self.zygotes.values():
            zygote.close()
        shutil.rmtree(self.folder, ignore_errors=True)
