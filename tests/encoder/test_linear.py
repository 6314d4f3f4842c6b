"""Linear layers by oneDNN: the numbers of torch's own, and only where it is the faster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from dialtools.encoder import quick as module
from dialtools.encoder.encode import encode
from dialtools.encoder.loading import load_encoder
from dialtools.encoder.quick import Linear, is_faster, linear, quicken

Call = Callable[[Tensor, Tensor, Tensor | None], Tensor]
DRAW = torch.Generator().manual_seed(0)
WHOLE = torch.randn(6, 7, 5, generator=DRAW)
ROWS: dict[str, Tensor] = {
    "rows": WHOLE[0],
    "rows of texts": WHOLE,
    "first tokens": WHOLE[:, 0],
    "turned": WHOLE[0].t().contiguous().t(),
    "one": WHOLE[:1, 0],
    "none": WHOLE[:0, 0],
    "a vector": WHOLE[0, 0],
}


@pytest.fixture
def by_onednn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take oneDNN for the faster one, whatever processor this is."""
    if not torch.backends.mkldnn.is_available():
        pytest.skip("torch was built without oneDNN")
    monkeypatch.setattr(module, "is_faster", lambda: True)


def results(call: Call, given: Tensor, *needed: bool, bias: bool) -> list[Tensor | None]:
    """Return what a call gives, and gradients of its sum, which are all one number expanded."""
    draw = torch.Generator().manual_seed(1)
    sources = [given, torch.randn(4, 5, generator=draw), torch.randn(4, generator=draw)]
    leaves = [x.detach().requires_grad_(need) for x, need in zip(sources, needed, strict=True)]
    rows, weight, last = leaves
    made = call(rows, weight, last if bias else None)
    if made.requires_grad:
        made.sum().backward()
    return [made.detach(), *(leaf.grad for leaf in leaves)]


@pytest.mark.usefixtures("by_onednn")
@pytest.mark.parametrize("rows", ROWS.values(), ids=ROWS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    "needed", [(True, True, True), (True, False, False), (False, True, True), (False, False, False)]
)
def test_products_and_gradients_are_those_of_torch(rows, bias, needed):
    found, expected = (
        results(call, rows, *needed, bias=bias) for call in (linear, nn.functional.linear)
    )
    for got, wanted in zip(found, expected, strict=True):
        assert (got is None) == (wanted is None)
        if got is not None:
            torch.testing.assert_close(got, wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.usefixtures("by_onednn")
def test_a_model_with_such_layers_has_its_vectors_and_its_weights(minilm):
    encoder = load_encoder(minilm).eval()
    texts = [np.arange(n) + 2000 for n in (4, 17, 60, 8)]
    expected_ND, digest = encode(encoder, texts, batch_tokens=400), encoder.digest()
    quicken(encoder)
    layers = [layer for layer in encoder.modules() if isinstance(layer, nn.Linear)]
    assert {type(layer) for layer in layers} == {Linear} and encoder.digest() == digest
    np.testing.assert_allclose(encode(encoder, texts, batch_tokens=400), expected_ND, atol=1e-5)


@pytest.mark.usefixtures("by_onednn")
def test_other_precisions_are_left_to_torch(monkeypatch):
    monkeypatch.setattr(module, "_product", pytest.fail)
    weight, rows = torch.randn(4, 5), torch.randn(3, 5)
    assert linear(rows.bfloat16(), weight.bfloat16(), None).dtype is torch.bfloat16
    with torch.autocast("cpu", torch.bfloat16):
        assert linear(rows, weight, None).dtype is torch.bfloat16


@pytest.mark.parametrize(
    ("capability", "vendor", "expected"),
    [
        ("AVX512", "AuthenticAMD", torch.backends.mkldnn.is_available()),
        ("AVX512", "GenuineIntel", False),
        ("AVX2", "AuthenticAMD", False),
    ],
)
def test_it_is_the_faster_one_where_mkl_leaves_avx_512_alone(
    monkeypatch, tmp_path: Path, capability, vendor, expected
):
    told = tmp_path / "cpuinfo"
    told.write_text(f"processor\t: 0\nvendor_id\t: {vendor}\n\nprocessor\t: 1\nvendor_id\t: x\n")
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: capability)
    monkeypatch.setattr(module, "CPUINFO", told)
    assert is_faster.__wrapped__() is expected
    monkeypatch.setattr(module, "CPUINFO", tmp_path / "missing")
    assert is_faster.__wrapped__() is False
