"""Texts that are HTML: what people see of them, in every shape of record, and in no long time."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from time import process_time

import orjson
import pytest
from at_work import ended
from hypothesis import given
from hypothesis import strategies as st

from dialtools.corpora.fields import BadRecord
from dialtools.corpora.markup import MOST_TAGS, seen
from dialtools.corpora.quotes import unquoted

Pairs = Callable[..., subprocess.CompletedProcess]
SHOWN = {
    "no markup": "no markup",
    "1 < 2, I <3 R&D": "1 < 2, I <3 R&D",
    "<p>Hello&nbsp;<b>Kim</b>,</p>\n\n<p>how\n are you?<br/>Fine &amp; well</p>": (
        "Hello Kim,\nhow are you?\nFine & well"
    ),
    "<div><div>one</div></div><ul><li>two<li>three</ul>": "one\ntwo\nthree",
    "<table><tr><td>a</td><td>b</td></tr><tr><th>c</th></tr></table>": "a b\nc",
    "<title>no</title><style>p {}</style>yes<script>no</script><!-- no -->!": "yes!",
    '<a href="https://x.example/?a=1&amp;b=2" title="a > b">here</a>&#8217;s': "here’s",
    "&lt;b&gt; is bold": "<b> is bold",
    "in <b>bold <i>both</b> italic": "in bold both italic",
    "new<blockquote><p>old <b>one</b></p><div>two</div></blockquote>new": (
        "new\n> old one\n> two\nnew"
    ),
    "new<blockquote>\n <b>one</b> two<table><tr><td>a</td><td>b</td></tr></table></blockquote>": (
        "new\n> one two\n> a b"
    ),
    '<p>ok <emoji id="smile" alt="🙂" title="Smile"></emoji>, <span title="Grin">'
    '<img itemtype="http://schema.skype.com/Emoji" alt="😄"></span> <img alt="our logo"></p>': (
        "ok 🙂, 😄"
    ),
    "<p></p><br>": "",
    "<![x[ hi": "",
}
ENDLESS = ("<a ", "<a b='", "<!--", "<div>", "<b>x</i>", "<table><tr><td>", "<form><b></p>", "&#x")


@pytest.fixture
def pairs(scripts: Path) -> Pairs:
    def run(data: bytes, *words: str, status: int = 0) -> subprocess.CompletedProcess:
        return ended(scripts / "dial-pairs", *words, code=status, input=data, timeout=60)

    return run


def lines(*records: dict) -> bytes:
    return b"\n".join(map(orjson.dumps, records))


def told(done: subprocess.CompletedProcess) -> list[dict]:
    return [orjson.loads(line) for line in done.stdout.splitlines()]


MAILS = {
    "new\n\nOn 1 May 2024 at 09:00, Kim wrote:\n> old\n> > older\nalso new": "new\nalso new",
    "new\nOn Mon, May 1, 2024 Kim Lee\n<kim@x.org> wrote:\n\n>old": "new",
    "new\n\nAm 1. Mai 2024 um 09:00\nschrieb\nKim Lee\n<kim2@x.org>:\n> old": "new",
    "好的\n\n张三 <z@x.cn> 于2024年3月12日周二 14:05写道：\n> 旧": "好的",
    "כן\n\u202bבתאריך 12 במרץ 2024 מאת <\u202ad@x.org\u202c\u200f>:\u202c\n> ישן": "כן",
    "in 2024 we\nsaid\nthis:\n> old": "in 2024 we\nsaid",
    "a:\nb\n> old\n": "a:\nb",
    "My answers:\n\nOn 1 May 2024 at 9:00, Kim wrote:\n> one\n> two\n\n> three": "My answers:",
    "new\n-----Ursprüngliche Nachricht-----\nVon: Kim\nold": "new",
    "new\n________________________________\nFrom: Kim\nold": "new",
    "--\nKim\n1 > 2 -> 3\n---\nrest": "--\nKim\n1 > 2 -> 3\n---\nrest",
    "new\n\nFrom: Jo <j@x.org>\nSent: Monday, June 2, 2025 9:14 AM\nTo: Kim\nold": "new",
    "neu\n*Von:* Jo <j@x.org>\n*Gesendet:* 2. Mai 2025\n*An:* Kim\n*Betreff:* Karte\nalt": "neu",
    "trip:\nFrom: Ely\nTo: Rye\nDate: 2 May 2025": "trip:\nFrom: Ely\nTo: Rye\nDate: 2 May 2025",
    "Name: Jo\nMail: j@x.org\nDate: 2 June 2025": "Name: Jo\nMail: j@x.org\nDate: 2 June 2025",
    "new\n\n-- \nKim Lee\nour shop\n\n> old\n": "new",
    "new\n--\nKim": "new",
}


@pytest.mark.parametrize("mail", MAILS)
def test_of_an_e_mail_that_is_left_which_is_new(pairs: Pairs, mail: str):
    assert unquoted(mail) == MAILS[mail]
    as_sent = unquoted(mail.replace("\n", "\r\n"))  # lines of e-mails end so
    assert as_sent.replace("\r\n", "\n") == MAILS[mail]
    talk = lines({"turns": ["hello", {"text": mail}]})
    (pair,) = told(pairs(talk, "--drop-quotes"))
    assert pair["response"] == MAILS[mail]
    done = pairs(talk)
    assert (b"1 of 2 texts looked at quote others (>): --drop-quotes" in done.stderr) == (
        "\n>" in mail
    )


@pytest.mark.parametrize("html", SHOWN)
def test_people_see_no_tags_and_a_line_a_block(html: str):
    assert seen(html) == SHOWN[html]


@given(st.text(alphabet=st.sampled_from("<>/=&#;!-[]'\" \n\0\ud83dabpx"), max_size=80))
def test_any_text_is_read_and_what_has_no_markup_stays(text: str):
    assert isinstance(seen(text), str)
    plain = text.replace("<", "").replace("&", "")
    assert seen(plain) == plain


@pytest.mark.parametrize("piece", ENDLESS)
def test_tags_that_nobody_closes_cost_no_more_than_a_second(piece: str):
    began = process_time()
    seen(piece * (MOST_TAGS // max(1, piece.count("<"))))
    assert process_time() - began < 1
    if "<" in piece:
        with pytest.raises(BadRecord, match="tags: at most"):
            seen(piece * (MOST_TAGS + 1))


CHAT = [{"role": "user", "content": "<p>a &amp; b</p>"}, {"role": "assistant", "content": "c<br>d"}]
SHAPES = {
    "turns": {"turns": [{"speaker": "user", "text": "<p>a &amp; b</p>"}, {"text": "c<br>d"}]},
    "texts": {"dialogue": ["<p>a &amp; b</p>", "<p> </p>", "c<br>d"]},
    "messages": {"messages": CHAT},
    "parts": {"messages": [CHAT[0], {"role": "ai", "content": [{"text": "c<br>d"}]}]},
    "sharegpt": {
        "conversations": [
            {"from": "human", "value": "<p>a &amp; b</p>"},
            {"from": "gpt", "value": "c<br>d"},
        ]
    },
    "history": {"history": ["<p>a &amp; b</p>"], "response": "c<br>d"},
}


@pytest.mark.parametrize("shape", SHAPES)
def test_dialogues_of_every_shape_are_read_as_people_see_them(pairs: Pairs, shape: str):
    (pair,) = told(pairs(lines(SHAPES[shape]), "--html"))
    assert (pair["context"], pair["response"]) == (["a & b"], "c\nd")
    (talk,) = told(pairs(lines(SHAPES[shape]), "--html", "--kind", "dialogue"))
    assert [turn["text"] for turn in talk["turns"]] == ["a & b", "c\nd"]


def test_tables_plain_text_and_two_texts_are_read_so_too(pairs: Pairs, tmp_path: Path):
    log = tmp_path / "log.csv"
    log.write_text('dialogue_id,text\n1,"<p>a &amp; b</p>"\n1,"c\n<br>d"\n')
    faq = lines({"id": "<1>", "title": "<p>a &amp; b</p>", "body": "c<br>d"})
    for made in (
        pairs(b"", "--html", str(log)),
        pairs(b"<p>a &amp; b</p>\n<br>\nc<br>d\n", "--html", "--from", "text"),
        pairs(
            b"Kim: <p>a &amp; b</p>\nLee: c<br>d\n", "--html", "--speaker-prefix", "--from", "text"
        ),
        pairs(faq, "--html", "--kind", "texts", "--texts", "title,body"),
    ):
        assert [(p["context"], p["response"]) for p in told(made)] == [(["a & b"], "c\nd")]
    record = {"text": "<p>a &amp; b</p>", "label": "<p>"}
    utterances = told(pairs(lines(record), "--html", "--kind", "utterance"))
    assert utterances == [{"text": "a & b", "label": "<p>"}]


def test_slots_whose_places_are_in_the_markup_are_refused(pairs: Pairs):
    slots = [{"start": 3, "end": 4, "label": "x"}]
    bad = pairs(lines({"text": "<p>a", "slots": slots}), "--html", "--kind", "utterance", status=1)
    assert bad.stderr.startswith(
        b"dial-pairs: <stdin>:1: slots: their places are in the text as it"
    )
    good = {"text": "in a", "slots": slots}
    assert told(pairs(lines(good), "--html", "--kind", "utterance")) == [good]


@pytest.mark.parametrize("kind", ["consecutive", "self", "dialogue", "utterance", "same-answer"])
def test_a_log_that_looks_like_html_is_told_of(pairs: Pairs, kind: str):
    marked, plain = {"turns": ["<p>a</p>", "b", "R&amp;D"]}, {"turns": ["if a<b and c>d", "R&D"]}
    notice = b"2 of 3 texts looked at are HTML: --html reads what people see of it"
    assert notice in pairs(lines(marked), "--kind", kind).stderr
    assert b"HTML" not in pairs(lines(marked), "--kind", kind, "--html").stderr
    assert b"HTML" not in pairs(lines(plain), "--kind", kind).stderr
    assert b"HTML" not in pairs(lines(marked, *[plain] * 40), "--kind", kind).stderr


def test_counting_and_embedding_a_log_of_html_tell_of_it_too(
    scripts: Path, minilm: str, tmp_path: Path
):
    log = tmp_path / "log.csv"
    log.write_text("text\n<p>a</p>\nb\n<b>c</b>\n")
    for command in (["dial-freq"], ["dial-embed", "--model", minilm, "--to", "jsonl"]):
        line = [scripts / command[0], *command[1:], log]
        done = subprocess.run(line, capture_output=True, text=True)
        told = "2 of 3 texts looked at are HTML: dial-pairs --html reads what people see of it"
        assert done.returncode == 0 and told in done.stderr


def test_tickets_with_hostile_html_are_rejected_or_read_at_once(pairs: Pairs, tmp_path: Path):
    def ticket(html: str) -> dict:
        said = [{"author_id": 1, "html_body": html}, {"author_id": 2, "html_body": "<p>ok</p>"}]
        return {"id": 1, "requester_id": 1, "comments": said}

    tickets = tmp_path / "tickets.json"
    tickets.write_bytes(orjson.dumps([ticket("<a " * 100_000), ticket("<![x[ hi"), ticket("<p>a")]))
    bad = pairs(b"", "--from", "zendesk", str(tickets), status=1)
    assert (
        bad.stderr
        == (
            f"dial-pairs: {tickets}:1: HTML with 100,000 tags: at most 20,000 are read of a text\n"
        ).encode()
    )
    good = pairs(b"", "--from", "zendesk", "--on-error", "skip", str(tickets), status=3)
    assert [pair["context"] for pair in told(good)] == [["a"]]
