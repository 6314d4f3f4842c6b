"""The commands: one module each, and what all commands share (`_command` and its neighbours).

click and rich live here and nowhere else.

Lazy imports follow one rule, so that `--help` takes less than 0.15 s of CPU and loads neither
click, numpy, pyarrow, torch, transformers, spacy nor sklearn (tests/test_floors.py):

1. The standard library, and our own modules that are as light, are imported at the top.
2. A command imports its package inside the command function, in one block at its head.
3. A module that help does load (options, catalogues, `cli/_*`) imports heavy packages inside
   functions. Every other module imports what it cannot do without at the top.
4. Optional extras (matplotlib, openTSNE, tensorboard), and packages that few runs need (sklearn,
   spacy, duckdb), are imported in the function that needs them.
"""

# built in, but no stub has it; `signal` imports others first, for ten milliseconds
import _signal  # pyright: ignore[reportMissingImports]
import sys

# A command that is started by its script has nothing to clean up yet: until it listens
# (`_signals.listen`), Ctrl-C ends it at once and in silence. Before this line it is Python's.
_by_its_script = sys.argv[0].rpartition("/")[2].startswith("dial")
if _by_its_script and _signal.getsignal(_signal.SIGINT) is _signal.default_int_handler:
    _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
