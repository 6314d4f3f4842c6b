#!/usr/bin/env bash
# WMDC and its ablations beside DSE from one start, scored frozen on the tasks of DiaEval.
#   DATA=... bash bench/wmdc.sh OUT MODEL
# DATA holds corpus/{sgd,multiwoz}.jsonl.gz and eval/{dstc2_acts,citod,ubuntu_irc}.jsonl.gz.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
start=$2 steps=${STEPS:-150} seeds=${SEEDS:-0 1 2}
enter "$1"

pairs() { dial-pairs --split train=0.95,test=0.05 "${corpora[@]}" "$@"; }
unless pairs.train.arrow pairs --window 1,2,3 -o 'pairs.{split}.arrow'
for w in 1 3; do
  unless "select-$w.test.arrow" pairs --window "$w" --sample 0.2 -o "select-$w.{split}.arrow"
done
into dstc2.jsonl texts dstc2
consistent='options = { label = ["qi", "hi"], test-split = "dev", validation-share = 0.1 }'
{
  echo 'title = "WMDC beside DSE"'
  a_set act DSTC2 dstc2 '"micro-f1", "macro-f1"'
  a_set infer IC-TOD ic-tod '"accuracy"' "$consistent"
  a_set select Ubuntu ubuntu '"top-1", "top-10"'
  a_set select '1 turn' select-1 '"top-1", "top-10"'
  a_set select '3 turns' select-3 '"top-1", "top-10"'
} > suite.toml

# vectors DIR MODEL
vectors() {
  local to=$1 model=$2
  embed() { dial-embed -q --model "$model" --precision "$precision" --overwrite --max-length 128 "$@"; }
  embed --field history dstc2.jsonl -o "$to/dstc2.parquet"
  embed --field history+response "$DATA/eval/citod.jsonl.gz" -o "$to/ic-tod.parquet"
  embed -n 2000 --field history,response "$DATA/eval/ubuntu_irc.jsonl.gz" -o "$to/ubuntu.parquet"
  for w in 1 3; do
    embed --keep response -n 3000 "select-$w.test.arrow" -o "$to/select-$w.parquet"
  done
}

# run NAME FLAGS...: train from the start and score, for each seed, if NAME is among RUNS
run() {
  local name=$1
  shift
  [[ " ${RUNS:-$name} " == *" $name "* ]] || return 0
  for seed in $seeds; do
    trained "model-$name-$seed" --model "$start" --precision "$precision" --max-steps "$steps" \
      --batch-size 128 --lr 3e-5 --max-length 64 --context-max-length 128 --seed "$seed" "$@" \
      pairs.train.arrow
    scored "scores-$name-$seed" suite.toml "model-$name-$seed"
  done
}

scored scores-start suite.toml "$start"
run wmdc --method wmdc
run wmdc-unweighted --method wmdc --weights none
run wmdc-window-1 --method wmdc --window 1
run dse --method dse --window 1
mean_table
