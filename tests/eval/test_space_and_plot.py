"""dial-eval space and plot: the table, the pictures, and the page in a real browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from score_files import Evaluate, write

from dialtools.metrics import space
from dialtools.plots.curve import draw_trade_off
from dialtools.plots.figure import fonts_for
from dialtools.plots.map import IN_LEGEND, colours, draw_map, write_page

Command = Callable[..., subprocess.CompletedProcess]
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
TEXTS = ("fly to rome", "预订 酒店", "حجز فندق", "😀 fun", "a </script> b", "$x_1$ & <b>")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Sixty rows of three labels, in two parts."""
    draw = np.random.default_rng(0)
    rows = [
        {
            "text": f"{TEXTS[i % 6]} {i}",
            "label": ("weather", "音乐", "موسيقى")[i % 3],
            "split": ("train", "test")[i % 2],
        }
        for i in range(60)
    ]
    return write(
        tmp_path / "x.jsonl",
        rows,
        embedding=draw.normal(size=(60, 6)) + 2 * np.eye(6)[[i % 3 for i in range(60)]],
    )


def test_space_tells_each_file_and_part(evaluate: Evaluate, file: Path, tmp_path: Path):
    found = {
        (r["setting"], r["metric"]): r["value"]
        for r in evaluate("space", file, "--plot", tmp_path / "p.svg")
    }
    rows = [json.loads(line) for line in file.read_text().splitlines() if '"test"' in line]
    x = np.array([r["embedding"] for r in rows], np.float32)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    classes = np.unique([r["label"] for r in rows], return_inverse=True)[1]
    assert found["test", "uniformity"] == pytest.approx(space.uniformity(x), rel=1e-5)
    assert found["test", "alignment"] == pytest.approx(space.alignment(x, classes), rel=1e-5)
    assert found["test", "margin"] > 0 and {part for part, _ in found} == {"train", "test"}
    assert "x.jsonl test" in (tmp_path / "p.svg").read_text()


def test_without_labels_there_is_what_needs_none(
    evaluate: Evaluate, command: Command, file: Path, tmp_path: Path
):
    unlabelled = tmp_path / "u.jsonl"
    unlabelled.write_text(file.read_text().replace('"label"', '"intent"'))
    metrics = {r["metric"] for r in evaluate("space", "--part", "test", unlabelled)}
    assert metrics == {"uniformity", "average-cosine", "effective-rank", "isotropy"}
    failed = command("space", "--plot", tmp_path / "p.png", unlabelled, code=1)
    assert "no labels (label), so no alignment to draw" in failed.stderr


@pytest.mark.parametrize("flag", ["--label", "--split"])
def test_a_column_that_is_named_is_there(command: Command, file: Path, flag: str):
    said = command("space", flag, "intnet", file, code=1).stderr
    assert "no column 'intnet'; there are " in said


def test_of_many_rows_a_sample_is_taken(evaluate: Evaluate, file: Path):
    assert {r["n"] for r in evaluate("space", "--part", "test", "--max-rows", 10, file)} == {10}


def test_the_first_rows_are_drawn_alone_if_so_asked(command: Command, file: Path, tmp_path: Path):
    def texts(*flags: object) -> list[str]:
        points = tmp_path / f"{len(flags)}.jsonl"
        picture = tmp_path / f"{len(flags)}.svg"
        command("plot", "--method", "pca", *flags, "--coordinates", points, "-o", picture, file)
        return [json.loads(line)["text"] for line in points.read_text().splitlines()]

    assert texts("-n", 20) == texts()[:20]


@pytest.mark.parametrize("method", ["pca", "tsne"])
def test_one_seed_one_picture(command: Command, file: Path, tmp_path: Path, method: str):
    for name in ("a", "b"):
        command(
            "plot",
            "--method",
            method,
            file,
            "-o",
            tmp_path / f"{name}.svg",
            "--coordinates",
            tmp_path / f"{name}.jsonl",
        )
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    points = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert len(points) == 60 and points[1]["text"] == "预订 酒店 1" and points[1]["label"] == "音乐"
    middle = {
        label: np.mean([[p["x"], p["y"]] for p in points if p["label"] == label], 0)
        for label in {p["label"] for p in points}
    }
    spread = np.mean([np.linalg.norm([p["x"], p["y"]] - middle[p["label"]]) for p in points])
    assert (
        min(
            np.linalg.norm(a - b)
            for i, a in enumerate(middle.values())
            for b in list(middle.values())[:i]
        )
        > 0.3 * spread
    )


def test_many_labels_are_written_where_their_points_are(command: Command, tmp_path: Path):
    names = [f"intent_{i}" for i in range(150)]
    draw = np.random.default_rng(1)
    rows = [{"text": "", "label": name} for name in names for _ in range(3)]
    path = write(
        tmp_path / "m.jsonl",
        rows,
        embedding=np.repeat(draw.normal(size=(150, 9)), 3, 0) + 0.1 * draw.normal(size=(450, 9)),
    )
    look = ("--black", "intent_3", "--shape", "label")
    command("plot", "--method", "pca", path, *look, "-o", tmp_path / "m.svg")
    drawn = (tmp_path / "m.svg").read_text()
    assert all(f">{name}<" in drawn for name in names)
    assert colours(names)["intent_4"] in drawn and colours(names)["intent_3"] not in drawn
    assert len(set(colours(names).values())) == 150 > IN_LEGEND


@pytest.fixture
def axes_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[], Any]:
    """The axes of the picture that was drawn last."""
    from matplotlib.figure import Figure

    seen: list[Figure] = []
    save = Figure.savefig

    def kept(figure: Figure, *arguments: Any, **options: Any) -> None:
        seen.append(figure)
        save(figure, *arguments, **options)

    monkeypatch.setattr(Figure, "savefig", kept)
    return lambda: seen[-1].axes[0]


def test_shapes_are_named_and_both_directions_have_one_scale(
    axes_of: Callable[[], Any], tmp_path: Path
):
    points = np.array([[0, 0], [9, 1], [3, 1], [6, 0.0]])
    kinds = ["user", "agent"] * 2
    draw_map(points, ["a", "a", "b", "b"], str(tmp_path / "x.svg"), tell=print, kinds=kinds)
    named = axes_of().get_legend().get_texts()
    assert [text.get_text() for text in named] == ["a", "b", "agent", "user"]
    (left, bottom), (right, top) = axes_of().transData.transform([[0, 0], [1, 1]])
    assert right - left == pytest.approx(top - bottom)
    page = tmp_path / "m.html"
    write_page(points, ["a"] * 4, [""] * 4, str(page), title="t")
    found = re.search("const data = (.*);", page.read_text())
    assert found
    data = json.loads(found[1])
    assert np.ptp(data["y"]) == pytest.approx(np.ptp(data["x"]) / 9, abs=1e-4)


def test_of_labels_beyond_number_the_largest_are_written_and_all_are_drawn_at_once(
    axes_of: Callable[[], Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    monkeypatch.setattr("dialtools.plots.map.ROOM", 30)
    labels = [f"{i:02}" for i in range(40)] + [f"{i:02}" for i in range(5, 35)] + [""]
    points = np.random.default_rng(0).normal(size=(len(labels), 2))
    said: list[str] = []
    draw_map(
        points, labels, str(tmp_path / "x.png"), tell=said.append, kinds=["a", "b"] * 35 + [""]
    )
    axes = axes_of()
    assert [text.get_text() for text in axes.texts] == [f"{i:02}" for i in range(5, 35)]
    assert said == ["30 of 41 labels are written, those with the most points"]
    drawn = [collection.get_offsets() for collection in axes.collections]
    assert len(drawn) < 9 and np.array_equal(drawn[0], points[-1:]), "those without one lie behind"
    assert sum(map(len, drawn)) - len(labels) in range(4)


def test_a_long_name_leaves_place_for_the_points(axes_of: Callable[[], Any], tmp_path: Path):
    points = {"a": (0.5, -3.0), "long" * 15: (1.0, -2.0)}
    draw_trade_off(points, str(tmp_path / "x.png"), tell=print)
    assert axes_of().get_position().width > 0.7


# labels of any script

BY_MATPLOTLIB = ["play", "שלום", "مرحبا", "😀\ufe0f"]
HAN = "音乐"


@pytest.fixture
def installed_fonts(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The fonts of a machine that has only those of matplotlib, unless a test adds files."""
    from matplotlib import font_manager

    files: list[str] = []
    brought = [e for e in font_manager.fontManager.ttflist if "mpl-data" in e.fname]
    monkeypatch.setattr(font_manager.fontManager, "ttflist", brought)
    monkeypatch.setattr(font_manager, "findSystemFonts", lambda: files)
    return files


def font_of(text: str, path: Path) -> str:
    """Make a font whose characters are squares."""
    from fontTools.fontBuilder import FontBuilder
    from fontTools.pens.ttGlyphPen import TTGlyphPen

    pen = TTGlyphPen(None)
    pen.moveTo((0, 0))
    for corner in ((0, 500), (500, 500), (500, 0)):
        pen.lineTo(corner)
    pen.closePath()
    font = FontBuilder(1000)
    names = [".notdef", *(f"c{ord(character)}" for character in text)]
    font.setupGlyphOrder(names)
    font.setupCharacterMap({ord(character): f"c{ord(character)}" for character in text})
    font.setupGlyf(dict.fromkeys(names, pen.glyph()))
    font.setupHorizontalMetrics(dict.fromkeys(names, (600, 0)))
    font.setupHorizontalHeader(ascent=800, descent=-200)
    font.setupNameTable({"familyName": "Squares", "styleName": "Regular", "psName": "Squares"})
    font.setupOS2()
    font.setupPost()
    font.save(path)
    return str(path)


def said_of(labels: list[str], path: Path) -> list[str]:
    said: list[str] = []
    points = np.random.default_rng(0).normal(size=(len(labels), 2))
    draw_map(points, labels, str(path), tell=said.append, overwrite=True)
    return said


def test_a_script_that_no_font_has_is_told_in_one_line(installed_fonts: list[str], tmp_path: Path):
    assert said_of(BY_MATPLOTLIB, tmp_path / "x.png") == []
    said = said_of([*BY_MATPLOTLIB, HAN, "ひらがな", "สวัสดี", "🧿"], tmp_path / "x.png")
    assert said == [
        "no font on this machine has "
        "Thai (ด), Japanese (が), Chinese (乐), emoji and symbols (🧿): "
        "boxes are drawn instead; install Noto Sans Thai, Noto Sans CJK, Noto Emoji"
    ]
    assert said_of([HAN], tmp_path / "x.svg") == []  # texts there, for the fonts of a reader


def test_a_font_that_was_installed_since_matplotlib_looked_is_found(
    installed_fonts: list[str], tmp_path: Path
):
    installed_fonts += [str(tmp_path / "gone.ttf"), font_of(HAN, tmp_path / "squares.ttf")]
    assert said_of([*BY_MATPLOTLIB, HAN], tmp_path / "x.pdf") == []
    assert b"Squares" in (tmp_path / "x.pdf").read_bytes()


def test_the_command_tells_of_a_script_without_a_font(command: Command, file: Path, tmp_path: Path):
    told = command("plot", "--method", "pca", file, "-o", tmp_path / "x.png").stderr
    _, missing = fonts_for("音乐موسيقى")
    assert ("no font on this machine has Chinese (乐)" in told) == bool(missing)


@pytest.mark.parametrize(
    ("words", "says", "code"),
    [
        (("-o", "x.gif"), "name it .png, .svg, .pdf or .html", 2),
        ((), "name it .png, .svg, .pdf or .html", 2),
        (("-o", "x.png", "--part", "dev"), "dev", 1),
        (("-o", "x.png", "--vectors", "no"), "no vectors 'no_embedding'; there are embedding", 1),
    ],
)
def test_what_cannot_be_drawn_is_said(
    command: Command, file: Path, words: tuple, says: str, code: int
):
    assert says in command("plot", *words, file, code=code).stderr


def test_the_page_is_one_file_and_its_texts_stay_texts(
    command: Command, file: Path, tmp_path: Path
):
    command("plot", "--method", "pca", file, "-o", tmp_path / "m.html")
    page = (tmp_path / "m.html").read_text()
    assert (
        not re.search(r"(src|href)\s*=", page)
        and page.count("</script>") == 1
        and "<b>" not in page
    )


def test_the_page_in_a_browser(command: Command, file: Path, tmp_path: Path):
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f"needs a browser: {', '.join(BROWSERS)}")
    command("plot", "--method", "pca", file, "-o", tmp_path / "m.html")
    acts = """<script>
      const say = (name, value) => document.body.setAttribute("data-" + name, value);
      const told = () => $("output").textContent;
      say("all", told());
      search.value = "ROME"; search.dispatchEvent(new Event("input")); say("search", told());
      search.value = "حجز"; search.dispatchEvent(new Event("input")); say("arabic", told());
      search.value = ""; search.dispatchEvent(new Event("input"));
      const first = $("ul").children[0];
      first.click(); say("label", first.textContent + ": " + told()); first.click();
      const box = canvas.getBoundingClientRect(), [x, y] = at(4);
      const point = {clientX: box.left + x, clientY: box.top + y};
      canvas.dispatchEvent(new MouseEvent("mousemove", point));
      say("tip", tip.hidden ? "hidden" : tip.textContent);
      const pixels = [...pen.getImageData(0, 0, canvas.width, canvas.height).data];
      say("ink", pixels.some(v => v) ? "drawn" : "empty");
    </script></html>"""
    (tmp_path / "t.html").write_text((tmp_path / "m.html").read_text().replace("</html>", acts))
    line = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    line += [f"--user-data-dir={tmp_path / 'profile'}", "--window-size=1000,700"]
    line += [(tmp_path / "t.html").as_uri()]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300)
    found = dict(re.findall(r'data-(\w+)="([^"]*)"', done.stdout))
    assert (
        found["all"] == "60 of 60 texts" and found["search"] == "10 of 60 texts" == found["arabic"]
    ), done.stderr[-500:]
    assert found["label"] == "weather: 20 of 60 texts" and found["ink"] == "drawn"
    assert found["tip"] == "音乐a &lt;/script&gt; b 4" or found["tip"].startswith(
        "音乐a </script> b 4"
    )
