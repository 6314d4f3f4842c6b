"""What is said of a process that Ray ends.

Where a cluster's head dies, or what runs of Ray on this machine, Ray's core ends the process at
once, past all of Python, with status 1 and without a word. Somebody else has to say it.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from subprocess import DEVNULL, PIPE, Popen

from dialtools.streams.scraps import temporary_folder

WATCH = """
read -r folder
read -r _
if [ -d "$folder" ]; then
  rmdir "$folder"
  printf '%s\\n' "$0" >&2
fi
"""
"""Ends with the process at the other end of its pipe, and speaks if that one left its folder."""


@contextmanager
def last_words(text: str) -> Generator[None]:
    """Have a text on stderr if the process ends inside, but for its end by a signal it heeds."""
    words = ["sh", "-c", WATCH, text]
    with Popen(words, stdin=PIPE, stdout=DEVNULL, stderr=sys.stderr, text=True) as watch:
        assert watch.stdin
        with temporary_folder() as folder:
            print(folder, file=watch.stdin, flush=True)
            yield
