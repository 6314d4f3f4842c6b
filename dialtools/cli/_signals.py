"""Signals: a command that is asked to end cleans up, and ends by the signal itself.

Its caller then sees what happened: a shell stops its script at a Ctrl-C, `wait` and supervisors
tell a signal from a status. In three times:

- while Python imports the command, before there is anything to clean up, at once and in silence
  (said by `dialtools.cli` itself, as early as it can be said);
- at work the first signal is raised as `Ended` in the main thread, so that temporary files go;
- a second one ends the command at once: no block ends, half-written files and folders go all the
  same, and what a kill -9 leaves is cleared by later runs (`streams.scraps`).

A signal that the caller ignores (`nohup`, a background job of a script) stays ignored.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from types import FrameType
from typing import Any, NoReturn

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ASK_AGAIN_SECONDS = 0.05
"""After which a signal that was put off, or lost, is sent again."""
PUT_OFF_AT_MOST = 10
"""Times that a signal is put off because an import is under way."""
NUDGES_SECONDS = (0.05, 0.2, 1.0, 5.0)
"""Pauses after a signal, each followed by a nudge to the main thread."""
PATIENCE_SECONDS = 5.0
"""From the last nudge to the end of a command that is still cleaning up."""

_asked: list[int] = []
"""The signal that is ending this command, once there is one."""
_put_off: list[int] = []
"""Signals that came in the middle of an import: a short one is let come to its end."""


class Ended(KeyboardInterrupt):
    """A signal asked the command to end."""

    def __init__(self, number: int) -> None:
        super().__init__(f"ended by {signal.Signals(number).name}")
        self.number = number


def heeded() -> list[signal.Signals]:
    """Return those signals that the caller does not have ignored."""
    return [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]


def end_at_once() -> None:
    """From here on a signal ends the process on the spot: there is nothing to clean up."""
    for number in heeded():
        signal.signal(number, signal.SIG_DFL)


def listen() -> None:
    """From here on the first signal is raised as `Ended`, the second ends the process."""
    _asked.clear()
    _put_off.clear()
    sys.unraisablehook = _ask_again
    for number in heeded():
        signal.signal(number, _heard)
    heard, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    signal.signal(signal.SIGURG, lambda *_: None)
    threading.Thread(target=_nudge, args=(heard,), daemon=True).start()


def end(number: int) -> NoReturn:
    """End the command as if the signal came now.

    Raises:
        Ended: always.
    """
    _asked.append(number)
    raise Ended(number)


def asked() -> int | None:
    """Return the signal that ends this command, also if `Ended` was swallowed or is yet to come."""
    return next(iter(_asked or _put_off), None)


def die_of(number: int) -> NoReturn:
    """End this process by a signal; what it has half-written goes first."""
    signal.signal(number, signal.SIG_DFL)
    if scraps := sys.modules.get("dialtools.streams.scraps"):
        scraps.remove_own()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
    os.kill(os.getpid(), number)
    os._exit(128 + number)  # not reached, but where the signal cannot be delivered


def _heard(number: int, frame: FrameType | None) -> None:
    # an exception inside an import is swallowed by some libraries, and ends others in an abort
    if _importing(frame) and len(_put_off) < PUT_OFF_AT_MOST:
        _put_off.append(number)
        _send_later(number)
    elif _asked or _importing(frame):  # in a long import no block ends
        die_of(number)
    else:
        end(number)


def _nudge(heard: int) -> None:
    """After a signal, wake the main thread from the call that blocks it.

    Python does not look for signals between the reads of one `BufferedReader.read`, nor is the main
    thread woken by a signal that another thread has got. And an `Ended` may leave a lock taken, for
    which the cleaning up would wait for ever: the signal comes a second time then.
    """
    main = threading.main_thread().ident or 0
    while number := os.read(heard, 1):
        if number[0] not in ENDING:
            continue
        for pause in NUDGES_SECONDS:
            time.sleep(pause)
            signal.pthread_kill(main, signal.SIGURG)
        time.sleep(PATIENCE_SECONDS)
        if _asked:
            signal.pthread_kill(main, number[0])


def _importing(frame: FrameType | None) -> bool:
    while frame is not None and not frame.f_code.co_filename.startswith("<frozen importlib"):
        frame = frame.f_back
    return frame is not None


def _ask_again(lost: Any) -> None:
    """Repeat a signal whose exception was lost in a destructor, where none can be raised."""
    if not isinstance(lost.exc_value, Ended):
        return sys.__unraisablehook__(lost)
    _asked.clear()
    _send_later(lost.exc_value.number)


def _send_later(number: int) -> None:
    again = threading.Timer(ASK_AGAIN_SECONDS, os.kill, (os.getpid(), number))
    again.daemon = True
    again.start()
