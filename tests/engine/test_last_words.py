"""What is said of a process that ends past all of Python, as Ray ends it."""

import subprocess
import sys

import pytest

BEFORE = """
import os, signal, sys
from dialtools.cli import _signals
from dialtools.engine.last_words import last_words
_signals.listen()
try:
    with last_words("it is gone"):
        sys.stdout.write("working")
        {end}
except _signals.Ended as ended:
    _signals.die_of(ended.number)
"""


@pytest.mark.parametrize(
    ("end", "said", "status"),
    [
        ("os._exit(1)", "it is gone\n", 1),
        ("os.kill(os.getpid(), signal.SIGKILL)", "it is gone\n", -9),
        ("os.kill(os.getpid(), signal.SIGTERM)", "", -15),
        ("_signals.die_of(signal.SIGTERM)", "", -15),
        ("sys.exit(3)", "", 3),
        ("pass", "", 0),
    ],
)
def test_only_an_end_that_nobody_else_tells_is_told(end: str, said: str, status: int):
    code = BEFORE.format(end=end)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stderr, done.returncode) == (said, status)
