#!/usr/bin/env bash
# WMDC and its ablations beside DSE from one start, scored frozen on the tasks of DiaEval.   DATA=... bash bench/wmdc.sh OUT MODEL
# DATA holds corpus/{sgd,multiwoz}.jsonl.gz and eval/{dstc2_acts,citod,ubuntu_irc}.jsonl.gz. Run again, it goes on where it was.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1 start=$2 steps=${STEPS:-150} seeds=${SEEDS:-0 1 2}
mkdir -p "$out" && cd "$out"
pairs() { dial-pairs --split train=0.95,test=0.05 "$DATA"/corpus/{sgd,multiwoz}.jsonl.gz "$@"; }
[[ -s pairs.train.arrow ]] || pairs --window 1,2,3 -o 'pairs.{split}.arrow'
for w in 1 3; do [[ -s select-$w.test.arrow ]] || pairs --window "$w" --sample 0.2 -o "select-$w.{split}.arrow"; done

[[ -s dstc2.jsonl ]] || python - "$DATA" <<'PYTHON'
import gzip, json, re, sys
with gzip.open(f"{sys.argv[1]}/eval/dstc2_acts.jsonl.gz", "rt") as lines, open("dstc2.jsonl", "w") as out:  # a quarter of the dialogues
    out.writelines(line for line in lines if int(re.search(r"\d+", json.loads(line)["id"])[0]) % 4 == 0)
PYTHON

cat > suite.toml <<'TOML'
title = "WMDC beside DSE"
[[set]]
task = "act"
name = "DSTC2"
file = "dstc2"
metrics = ["micro-f1", "macro-f1"]
[[set]]
task = "infer"
name = "IC-TOD"
file = "ic-tod"
metrics = ["accuracy"]
options = { label = ["qi", "hi"], test-split = "dev", hold-out = 0.1 }
[[set]]
task = "select"
name = "Ubuntu"
file = "ubuntu"
metrics = ["top-1", "top-10"]
[[set]]
task = "select"
name = "1 turn"
file = "select-1"
metrics = ["top-1", "top-10"]
[[set]]
task = "select"
name = "3 turns"
file = "select-3"
metrics = ["top-1", "top-10"]
TOML

# score MODEL NAME: the embedding files of a model, then its scores in NAME.jsonl
score() {
  [[ -s $2.jsonl ]] && return
  embed() { dial-embed -q --model "$model" --precision bfloat16 --overwrite "$@"; }
  local model=$1
  mkdir -p "$2"
  embed --max-length 128 --field history dstc2.jsonl -o "$2/dstc2.parquet"
  embed --max-length 128 --field history+response "$DATA/eval/citod.jsonl.gz" -o "$2/ic-tod.parquet"
  embed --max-length 128 -n 2000 "$DATA/eval/ubuntu_irc.jsonl.gz" --field history,response -o "$2/ubuntu.parquet"
  for w in 1 3; do embed --max-length 128 --keep response -n 3000 "select-$w.test.arrow" -o "$2/select-$w.parquet"; done
  dial-eval suite suite.toml "$2" -o "$2.jsonl.tmp" --overwrite
  mv "$2.jsonl.tmp" "$2.jsonl"
  rm -r "$2"
}

# run NAME FLAGS: train from the start and score, for each seed, if NAME is among RUNS
run() {
  local name=$1
  shift
  [[ " ${RUNS:-$name} " == *" $name "* ]] || return 0
  for seed in $seeds; do
    [[ -d model-$name-$seed ]] || dial-train -q --model "$start" --batch-size 128 --max-steps "$steps" --precision bfloat16 \
      --lr 3e-5 --max-length 64 --context-max-length 128 --seed "$seed" -o "model-$name-$seed" "$@" pairs.train.arrow
    score "model-$name-$seed" "scores-$name-$seed"
  done
}

score "$start" scores-start
run wmdc --method wmdc
run wmdc-unweighted --method wmdc --weights none
run wmdc-window-1 --method wmdc --window 1
run dse --method dse --window 1
python "$here/mean_table.py" scores-*.jsonl
