"""Options of logs and of pairs, any with any, against a slow transcription; rows and columns."""

from __future__ import annotations

from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st
from oracles import slow_logs, slow_pairs

from dialtools.pairs.job import mine
from dialtools.pairs.options import PairOptions
from dialtools.streams.chunks import Chunk, records
from dialtools.streams.policy import Policy
from dialtools.streams.tally import Tally

TEXTS = ("", " ", "Yes", "ok", "b c", " d e\n", "> old\nnew", "> old", "İ")
SPEAKERS = ("user", "System", "kim@x.org", "agent.7", None)
MAPS = (
    (),
    ("*@x.org=user", "*=system"),
    ("user=system", "system=user"),
    ("agent.*=system", "agent.7=user"),
)
TURN = st.tuples(st.sampled_from(TEXTS), st.sampled_from(SPEAKERS), st.sampled_from((5, 60, 61)))
TALKS = st.lists(st.lists(TURN, max_size=8), max_size=4)
OPTIONS = st.fixed_dictionaries(
    {"window": st.sampled_from(((1,), (2,), (1, 3), (0,), (2, 0)))},
    optional={
        "speaker_map": st.sampled_from(MAPS),
        "drop_speaker": st.sampled_from((("user",), ("SYSTEM",), ("agent.7", "kim@x.org"))),
        "session_gap": st.just("1m"),
        "drop_quotes": st.just(True),
        "merge_speaker": st.just(True),
        "lower": st.just(True),
        "min_turns": st.integers(2, 4),
        "follow": st.integers(1, 2),
        "speaker": st.sampled_from(("user", "system")),
        "inner": st.just(True),
    },
)


def dialogues(talks: list[list[tuple[str, str | None, int]]]) -> list[dict[str, Any]]:
    made = []
    for i, talk in enumerate(talks):
        now, turns = 0, []
        for text, who, pause in talk:
            now += pause
            turns.append({"text": text, "time": now} | ({} if who is None else {"speaker": who}))
        made.append({"id": f"d{i}", "turns": turns})
    return made


def expected(talks: list[dict[str, Any]], options: PairOptions) -> list[dict[str, Any]]:
    roles = dict(part.split("=") for part in options.speaker_map)
    wanted = {
        "roles": roles,
        "dropped": {name.casefold() for name in options.drop_speaker},
        "gap": 60 if options.session_gap else None,
        "quotes": options.drop_quotes,
        "merge": options.merge_speaker,
        "lower": options.lower,
    }
    found = []
    for talk in (part for whole in talks for part in slow_logs.shaped(whole, **wanted)):
        said = [turn.get("speaker") for turn in talk["turns"]]
        if len(said) < options.min_turns:
            continue
        for pair in slow_pairs.records(talk, options.window, follow=options.follow):
            last = pair["turn"] == len(said) - 1
            other = options.speaker and said[pair["turn"]] != options.speaker
            if not (other or (options.inner and last) or pair["context"] == [pair["response"]]):
                found.append(pair)
    return found


@given(TALKS, OPTIONS)
def test_any_options_together_give_the_pairs_of_a_slow_transcription(talks, chosen):
    options, corpus = PairOptions(**chosen), dialogues(talks)
    rows: dict[bool, list[dict[str, Any]]] = {}
    for lines in (True, False):
        chunk = Chunk("x", 1, "rows", corpus)
        made = list(mine([chunk], options, lines=lines, policy=Policy(), tally=Tally()))
        if lines:
            rows[lines] = [orjson.loads(line) for p in made for line in p.payload.splitlines()]
        else:
            batches = (Chunk("x", 1, "arrow", piece.payload) for piece in made)
            rows[lines] = [row for batch in batches for _, row in records(batch, Policy())]
    pairs = expected(corpus, options)
    assert rows[True] == pairs
    unsaid = {"speakers": None}  # in columns, of a dialogue whose speakers nobody tells, nulls
    assert [{**row, **unsaid} for row in rows[False]] == [{**row, **unsaid} for row in pairs]
