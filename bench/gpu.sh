#!/usr/bin/env bash
# Everything that is to be known of a GPU, in one call of under nine minutes: the tests that need one,
# then a table beside sentence-transformers (bench/gpu.py), as Markdown on stdout.
#   bash bench/gpu.sh [TEXTS.jsonl.gz] [MODEL]
# without them the shipped dialogues and the weights of the test extra.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH} HF_HUB_OFFLINE=1
python -m pytest -q -p no:cacheprovider tests/encoder/test_packed.py tests/train/test_cuda.py >&2 \
  || echo 'tests failed: see above' >&2
python bench/gpu.py ${1:+"$1"} ${2:+--model "$2"}
