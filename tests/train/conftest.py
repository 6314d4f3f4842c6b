"""An encoder that many tests of training look at."""

from __future__ import annotations

import pytest
from train_parts import letters_encoder

from dialtools.encoder.encoder import Encoder


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    return letters_encoder()
