#!/usr/bin/env bash
# Chinese: the sentences of JDDC's evaluation sets, a fresh encoder trained on them, both tasks scored.
#   JDDC=DIR bash bench/jddc.sh OUT
# JDDC holds {dev,test}/{select,sts}.txt as published. Labels and lists are not read in training.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
seeds=${SEEDS:-0 1 2} steps=${STEPS:-1000}
enter "$1"

sentences() { cat "$JDDC"/{dev,test}/{select,sts}.txt | python "$bench/sentences.py"; }
into sentences.jsonl sentences

vectors() {
  local to=$1
  shift
  embed() { dial-embed -q --max-length 64 --overwrite "$@"; }
  embed "$@" --from ecd-sts "$JDDC/test/sts.txt" -o "$to/jddc-sts.parquet"
  embed "$@" --from ecd-select "$JDDC/test/select.txt" -o "$to/jddc-retrieval.parquet"
}
score() { scored "scores-$1" dialoguecse "${@:2}"; }
train() { trained "$@" sentences.jsonl; }

for seed in $seeds; do
  from=(--model "start-$seed" --seed "$seed")
  train "start-$seed" --encoder transformer --max-steps 0 --seed "$seed"
  train "words-$seed" --method mlm --lr 1e-3 --batch-size 64 --max-steps "$steps" "${from[@]}"
  train "simcse-$seed" --method simcse --pooling mean --lr 3e-4 --max-steps "$((steps / 4))" "${from[@]}"
  for name in start words simcse; do
    score "$name-$seed" --model "$name-$seed"
    score "$name-whitening-$seed" --model "$name-$seed" --whiten
  done
done
mean_table
