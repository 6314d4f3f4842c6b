#!/usr/bin/env bash
# TaDSE and its ablations on SNIPS from one start, 1-nearest intent accuracy.   DATA=... bash bench/tadse.sh OUT MODEL
# DATA holds eval/snips.jsonl.gz. Training sees the augmented training split alone; lambda is chosen on the validation split.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1 start=$2 steps=${STEPS:-200} seeds=${SEEDS:-0 1 2}
mkdir -p "$out" && cd "$out"
[[ -s texts.jsonl ]] || zcat "$DATA/eval/snips.jsonl.gz" > texts.jsonl
grep '"split": "train"' texts.jsonl > train.jsonl || true
for k in 1 3 5; do [[ -s top-$k.jsonl ]] || dial-augment --top-k "$k" train.jsonl -o "top-$k.jsonl" --save-templates "templates-$k.jsonl"; done
[[ -s top-0.jsonl ]] || dial-augment --no-fill train.jsonl -o top-0.jsonl

# score NAME MODEL: accuracy of texts alone, and drawn to their nearest training template
score() {
  [[ -s $1.jsonl ]] && return
  dial-embed -q --model "$2" --precision bfloat16 --max-length 32 --overwrite --templates templates-5.jsonl --keep label,split texts.jsonl -o "$1.parquet"
  local ask=(intent --method knn --validation-split valid "$1.parquet")
  dial-eval "${ask[@]}" --name texts --sweep-compress 0 > "$1.tmp"
  dial-eval "${ask[@]}" --name compressed --sweep-compress 0,0.1,0.2,0.5 >> "$1.tmp"
  mv "$1.tmp" "$1.jsonl"
  rm "$1.parquet"
}

# run NAME FLAGS FILE: train from the start and score, with the seed at hand
run() {
  [[ -d $1-$seed ]] || dial-train -q --method tadse --model "$start" --lr 2e-5 --precision bfloat16 --max-steps "$steps" --cache store --seed "$seed" -o "$1-$seed" "${@:2}" > /dev/null
  score "scores-$1-$seed" "$1-$seed"
}

score scores-start "$start"
for seed in $seeds; do  # all methods with one seed before the next: a run that is stopped has a whole table
  run utterances --template-share 0 --pair-share 0 top-5.jsonl
  run templates --pair-share 0 top-5.jsonl
  run pairs top-5.jsonl
  run aligned --align top-5.jsonl
  run utterances-top-0 --template-share 0 --pair-share 0 top-0.jsonl
  run pairs-top-0 top-0.jsonl
  run pairs-top-1 top-1.jsonl
  run pairs-top-3 top-3.jsonl
done
python "$here/mean_table.py" scores-*.jsonl
