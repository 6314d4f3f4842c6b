"""Rasa's YAML: examples of intents as labelled utterances, stories with texts as dialogues."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest
from at_work import ended
from corpora.ready import words

from dialtools.corpora.native.rasa_yaml import unmarked
from dialtools.corpora.published import corpus_of
from dialtools.errors import DataError

NLU = """\
version: "3.1"
nlu:
- intent: book   # as `rasa init` writes it
  examples: |
    - from [Oslo](city) to [New York]{"entity": "city", "role": "to", "value": "nyc"}
    - [tomorrow](day:date), please
    - [noon][{"entity": "time"}, {"entity": "meal"}] [sic]
- intent: no
  examples:
  - text: |
      - no
    metadata: {sentiment: negative}
- synonym: nyc
  examples: |
    - big apple
- lookup: city
  examples:
"""
STORIES = """\
stories:
- story: to Oslo
  steps:
  - user: |
      hello from [Rome](city)
    intent: greet
  - action: utter_greet
  - slot_was_set:
    - city: Rome
  - action: action_book
  - or:
    - user: yes
      intent: affirm
    - intent: thank
  - bot: done
- story: of intents alone
  steps:
  - intent: greet
  - action: utter_greet
rules:
- rule: nothing yet
"""
DOMAIN = """\
responses:
  utter_greet:
  - image: x.png
  - text: "hi, where to?"
  utter_wave: []
"""


def test_examples_are_utterances_with_their_intent_and_slots_of_their_entities(read, put):
    folder = put({"data/nlu.yml": NLU})
    assert corpus_of(str(folder), None) == corpus_of(str(folder / "data/nlu.yml"), None)
    rows = read(folder)
    assert [(row["text"], row["label"], words(row)) for row in rows] == [
        ("from Oslo to New York", "book", ["city=Oslo", "city=New York"]),
        ("tomorrow, please", "book", ["day=tomorrow"]),
        ("noon [sic]", "book", ["time=noon"]),
        ("no", "no", []),
    ], "`no` is a word, and no boolean"
    assert rows == read(folder / "data/nlu.yml")


def test_stories_with_texts_are_dialogues_in_which_the_domain_says_what_the_bot_utters(read, put):
    project = put({"tests/test_stories.yml": STORIES, "domain.yml": DOMAIN, "config.yml": "a: *b"})
    told, intents, rule = read(project)
    assert told["id"] == "to Oslo" and told["split"] == "test"
    assert [(t["speaker"], t["text"], words(t)) for t in told["turns"]] == [
        ("user", "hello from Rome", ["city=Rome"]),
        ("system", "hi, where to?", []),
        ("user", "yes", []),
        ("system", "done", []),
    ]
    assert intents["turns"] == rule["turns"] == [], "nobody says anything there"


def test_examples_go_to_augment_and_stories_to_pairs_that_tell_what_is_no_turn(scripts: Path, put):
    folder = put({"nlu.yml": NLU, "test_stories.yml": STORIES})
    run = subprocess.run(
        [scripts / "dial-augment", folder / "nlu.yml"], capture_output=True, text=True
    )
    assert "from {SLOT} to {SLOT}" in run.stdout, run.stderr
    run = subprocess.run(
        [scripts / "dial-pairs", folder / "test_stories.yml"], capture_output=True, text=True
    )
    assert [json.loads(line)["response"] for line in run.stdout.splitlines()] == ["yes", "done"]
    assert "2 actions without text" in run.stderr and "2 stories without texts" in run.stderr


def test_yaml_nests_no_deeper_than_records_may(read, put):
    with pytest.raises(DataError, match=r"x.yml:1: nested deeper than 200 levels"):
        read(put({"x.yml": "nlu: " + "[" * 500}) / "x.yml", "rasa-nlu")


@pytest.mark.parametrize("text", ["[", "[a](", "[a]{", "[a][{", "[a](b:", "[]", "[a]"])
def test_a_text_of_brackets_takes_no_longer_than_other_texts(text: str):
    begun = time.process_time()
    assert unmarked(text * 20_000) == (text * 20_000, [])
    assert time.process_time() - begun < 5, "it took minutes"


LAUGHS = "a: &a [x, x]\nb: &b [*a, *a]\nnlu: [*b, *b]\n"


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (LAUGHS, "x.yml:2: aliases (*name)"),
        ("nlu:\n- intent: [a\n", "x.yml:3: not YAML: did not find expected"),
        ("nlu:\n- intent: {a: b}\n", "x.yml: intent: expected a string, found an object"),
        ("nlu: &a\n- hello\n", "x.yml: nlu: expected an object, found a string"),
        ("domain: x\n", "x.yml: expected nlu, found domain"),
        ("- a\n", "x.yml: expected nlu, found a list"),
        ("nlu:\n- intent: a\n  examples: |\n    - [b]{c}\n", 'x.yml:1: expected {"entity": ...}'),
        (
            f"nlu:\n- intent: a\n  examples: '[b]{{\"entity\": {'[' * 980}}}'\n",
            'x.yml:1: expected {"entity": ...}',
        ),
        ("nlu: \x00", "x.yml: not YAML: "),
    ],
)
def test_what_is_no_such_yaml_is_told_in_one_line(scripts: Path, put, content: str, told: str):
    path = put({"x.yml": content}) / "x.yml"
    run = ended(scripts / "dial-freq", "--from", "rasa-nlu", path, code=1, text=True)
    assert run.stderr.count("\n") == 1, run.stderr
    assert told in run.stderr
