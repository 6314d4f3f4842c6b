#!/usr/bin/env bash
# Chinese: the sentences of JDDC's evaluation sets, a fresh encoder trained on them, both tasks scored.   JDDC=DIR bash bench/jddc.sh OUT
# JDDC holds {dev,test}/{select,sts}.txt as published. Labels and lists are not read in training.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1 seeds=${SEEDS:-0 1 2}
mkdir -p "$out" && cd "$out"
[[ -s sentences.jsonl ]] || cat "$JDDC"/{dev,test}/{select,sts}.txt | python -c '
import json, sys
rows = [line.rstrip("\n").split("\t") for line in sys.stdin]
texts = dict.fromkeys(text for row in rows for text in (row[1:3] if len(row) == 3 else row[1:2]))
sys.stdout.writelines(json.dumps({"text": text}, ensure_ascii=False) + "\n" for text in texts)' > sentences.jsonl

# score NAME FLAGS
score() {
  local name=scores-$1
  shift
  [[ -s $name.jsonl ]] && return
  mkdir -p "$name"
  dial-embed -q --max-length 64 --overwrite "$@" --from ecd-sts "$JDDC/test/sts.txt" -o "$name/jddc-sts.parquet"
  dial-embed -q --max-length 64 --overwrite "$@" --from ecd-select "$JDDC/test/select.txt" -o "$name/jddc-retrieval.parquet"
  dial-eval suite dialoguecse "$name" -o "$name.jsonl.tmp" --overwrite > /dev/null
  mv "$name.jsonl.tmp" "$name.jsonl"
  rm -r "$name"
}
train() { [[ -d $1 ]] || dial-train -q -o "$@" sentences.jsonl > /dev/null; }

for seed in $seeds; do
  train "start-$seed" --max-steps 0 --seed "$seed"
  train "words-$seed" --method mlm --model "start-$seed" --lr 1e-3 --batch-size 64 --max-steps "${STEPS:-1000}" --seed "$seed"
  train "simcse-$seed" --method simcse --pooling mean --model "start-$seed" --lr 3e-4 --max-steps "$((${STEPS:-1000} / 4))" --seed "$seed"
  for name in start words simcse; do
    score "$name-$seed" --model "$name-$seed"
    score "$name-whitening-$seed" --model "$name-$seed" --whiten
  done
done
python "$here/mean_table.py" scores-*.jsonl
