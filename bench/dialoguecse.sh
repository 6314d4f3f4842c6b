#!/usr/bin/env bash
# DialogueCSE, its baselines and ablations from one start.   DATA=... bash bench/dialoguecse.sh OUT [MODEL]
# DATA holds corpus/{sgd,multiwoz}.jsonl.gz and eval/{clinc150,banking77,sick}.jsonl.gz. Without MODEL: a fresh small encoder.
# Retrieval: BM25 lists over the test split of each intent set; similarity: SICK (trial and train: neither is trained on). Run again, it goes on where it was.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=$1 start=${2-} steps=${STEPS:-100} seeds=${SEEDS:-0 1 2} freeze=${FREEZE:-3}
mkdir -p "$out" && cd "$out"
corpora=("$DATA"/corpus/{sgd,multiwoz}.jsonl.gz)
[[ -s utterances.arrow ]] || dial-pairs --kind self --sample 0.2 "${corpora[@]}" -o utterances.arrow
[[ -s sides.arrow ]] || dial-pairs --window 3 --follow 3 --merge-speaker --min-turns 4 --sample 0.05 "${corpora[@]}" -o sides.arrow
[[ -s sick.jsonl ]] || python - "$DATA" <<'PYTHON'
import gzip, json, sys
for name in ("clinc150", "banking77", "sick"):
    with gzip.open(f"{sys.argv[1]}/eval/{name}.jsonl.gz", "rt") as lines, open(f"{name}.jsonl", "w") as out:
        out.writelines(line for line in lines if name == "sick" or (row := json.loads(line))["split"] == "test" and row["label"] != "oos")
PYTHON
cat > suite.toml <<'TOML'
title = "DialogueCSE and its baselines"
[[set]]
task = "retrieve"
name = "CLINC150"
file = "clinc150"
metrics = ["map", "mrr"]
[[set]]
task = "retrieve"
name = "BANK77"
file = "banking77"
metrics = ["map", "mrr"]
[[set]]
task = "sts"
name = "SICK"
file = "sick"
metrics = ["spearman"]
TOML

# score NAME FLAGS: how the vectors of a model do
score() {
  local name=scores-$1
  shift
  [[ -s $name.jsonl ]] && return
  mkdir -p "$name"
  for set in clinc150 banking77 sick; do dial-embed -q --max-length 64 --precision bfloat16 --overwrite "$@" "$set.jsonl" -o "$name/$set.parquet"; done
  dial-eval suite suite.toml "$name" -o "$name.jsonl.tmp" --overwrite > /dev/null
  mv "$name.jsonl.tmp" "$name.jsonl"
  rm -r "$name"
}

# train NAME FLAGS
train() {
  local name=$1
  shift
  [[ -d $name ]] || dial-train -q --precision bfloat16 -o "$name" "$@" > /dev/null
}

# run NAME FLAGS: train from the adapted model and score, with the first seed; all: with each
once() { train "$1-$2" --model adapt --freeze "$freeze" --max-steps "$steps" --lr "$rate" --seed "$2" "${@:3}" sides.arrow; score "$1-$2" --model "$1-$2"; }
run() { once "$1" "${seeds%% *}" "${@:2}"; }
all() { for seed in $seeds; do once "$1" "$seed" "${@:2}"; done; }

if [[ -n $start ]]; then
  rate=5e-5
  train adapt --method mlm --model "$start" --max-steps "$steps" utterances.arrow
else
  start=start rate=5e-4 freeze=0 steps=$((steps * 3))
  train start --max-steps 0 utterances.arrow
  train adapt --method mlm --model start --lr 1e-3 --max-steps "$steps" utterances.arrow
fi
[[ -s words.txt ]] || python - "$start" <<'PYTHON'
import sys
from transformers import AutoModel, AutoTokenizer
words = AutoTokenizer.from_pretrained(sys.argv[1]).get_vocab()
vectors = AutoModel.from_pretrained(sys.argv[1]).get_input_embeddings().weight.detach()
with open("words.txt", "w") as out:
    out.writelines(f"{w} {' '.join(f'{x:.5f}' for x in vectors[i].tolist())}\n" for w, i in words.items() if w.isalnum())
PYTHON
score words --model words.txt
for model in "$start" adapt; do
  name=$([[ $model == adapt ]] && echo adapt || echo start)
  score "$name-cls" --model "$model" --pooling cls
  score "$name-avg" --model "$model"
  score "$name-flow" --model "$model" --transform flow
  score "$name-whitening" --model "$model" --whiten
done
all siamese-s --method siamese-s
all siamese-m --method siamese-m
all I1 --method dialoguecse --aggregation attention
all I2 --method dialoguecse
run I2-start --method dialoguecse --model "$start"
if [[ ${ABLATIONS:-yes} == yes ]]; then
  for n in 1 4 19 all; do run "negatives-$n" --method dialoguecse --negatives "$n"; done
  for n in 1 2; do run "context-$n" --method dialoguecse --context-turns "$n"; done
  for t in 0.05 0.2 0.5; do run "temperature-$t" --method dialoguecse --temperature "$t"; done
fi
python "$here/mean_table.py" scores-*.jsonl
