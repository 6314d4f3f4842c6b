#!/usr/bin/env bash
# TaDSE and its ablations from one start, 1-nearest intent accuracy.
#   DATA=... bash bench/tadse.sh OUT MODEL                  on SNIPS, by its slots
#   DATA=... SET=clinc150 bash bench/tadse.sh OUT MODEL     on CLINC150, which has none: a spaCy ruler marks
#                                                           the values of SNIPS' entity book
# DATA holds eval/{snips,clinc150}.jsonl.gz. Training sees the augmented training split alone; lambda is
# chosen on the validation split. RUNS="utterances pairs" trains these rows alone; what is there is kept.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
start=$2 steps=${STEPS:-200} seeds=${SEEDS:-0 1 2} set=${SET:-snips}
enter "$1"

in_scope() { zcat "$DATA/eval/$set.jsonl.gz" | grep -v '"label": "oos"'; }
into texts.jsonl in_scope
into train.jsonl grep '"split": "train"' texts.jsonl
marked=(train.jsonl) validation=valid
if [[ $set == clinc150 ]]; then
  unless book.json dial-augment -q --no-fill --save-book book.json "$DATA/eval/snips.jsonl.gz" -o /dev/null
  marked=(--ner rules --book book.json --max-words 4 train.jsonl) validation=val
fi
for k in 1 3 5; do
  unless "top-$k.jsonl" dial-augment --top-k "$k" "${marked[@]}" -o "top-$k.jsonl" \
    --save-templates "templates-$k.jsonl"
done
unless top-0.jsonl dial-augment --no-fill "${marked[@]}" -o top-0.jsonl

# both NAME: accuracy of texts alone, and drawn to their nearest training template
both() {
  local ask=(intent --method knn --validation-split "$validation" "$1.parquet")
  dial-eval "${ask[@]}" --name texts --sweep-compress 0
  dial-eval "${ask[@]}" --name compressed --sweep-compress 0,0.1,0.2,0.5
}

# score NAME MODEL
score() {
  [[ -s $1.jsonl ]] && return
  dial-embed -q --model "$2" --precision "$precision" --max-length 32 --overwrite \
    --templates templates-5.jsonl --keep label,split texts.jsonl -o "$1.parquet"
  into "$1.jsonl" both "$1"
  rm "$1.parquet"
}

# run NAME FLAGS... FILE: train from the start and score, with the seed at hand, if NAME is among RUNS
run() {
  [[ " ${RUNS:-$1} " == *" $1 "* ]] || return 0
  local name=$1-$seed
  trained "$name" --method tadse --model "$start" --lr 2e-5 --precision "$precision" --max-steps "$steps" \
    --cache store --seed "$seed" "${@:2}"
  score "scores-$name" "$name"
}

score scores-start "$start"
for seed in $seeds; do # all with one seed before the next: a run that is stopped has a whole table
  run utterances --template-weight 0 --pair-weight 0 top-5.jsonl
  run templates --pair-weight 0 top-5.jsonl
  run pairs top-5.jsonl
  run aligned --align top-5.jsonl
  run utterances-top-0 --template-weight 0 --pair-weight 0 top-0.jsonl
  run pairs-top-0 top-0.jsonl
  run pairs-top-1 top-1.jsonl
  run pairs-top-3 top-3.jsonl
done
mean_table
