#!/usr/bin/env bash
# Everything that is to be known of a GPU, in one call of under nine minutes: a table beside
# sentence-transformers (bench/gpu.py), as Markdown on stdout, then the tests that need one.
#   bash bench/gpu.sh [TEXTS.jsonl.gz] [MODEL]
# without them the shipped dialogues and the weights of the test extra.
set -euo pipefail
cd "$(dirname "$0")/.."
export PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH} HF_HUB_OFFLINE=1
timeout 330 python bench/gpu.py ${1:+"$1"} ${2:+--model "$2"} || echo 'the table is cut short' >&2
# the first sees the GPU itself; to the others only the commands that they start do
DIALTOOLS_GPUS=${CUDA_VISIBLE_DEVICES:-0} timeout 60 python -m pytest -q -p no:cacheprovider \
  tests/encoder/test_packed.py >&2 || echo 'tests of the kernel failed: see above' >&2
timeout 140 python -m pytest -q -p no:cacheprovider tests/train/test_cuda.py >&2 \
  || echo 'tests on a device failed, or took too long: see above' >&2
