#!/usr/bin/env bash
# DialogueCSE, its baselines and ablations from one start.   DATA=... bash bench/dialoguecse.sh OUT [MODEL]
# DATA holds corpus/{sgd,multiwoz}.jsonl.gz and eval/{clinc150,banking77,sick}.jsonl.gz.
# Without MODEL: a fresh small encoder. Retrieval: BM25 lists over the test split of each intent set;
# similarity: SICK (trial and train: neither is trained on).
set -euo pipefail
source "$(dirname "$0")/lib.sh"
start=${2-} steps=${STEPS:-100} seeds=${SEEDS:-0 1 2} freeze=${FREEZE:-3}
enter "$1"

unless utterances.arrow dial-pairs --kind self --sample 0.2 "${corpora[@]}" -o utterances.arrow
unless sides.arrow dial-pairs --window 3 --follow 3 --merge-speaker --min-turns 4 --sample 0.05 \
  "${corpora[@]}" -o sides.arrow
into clinc150.jsonl texts clinc150-test
into banking77.jsonl texts banking77-test
into sick.jsonl texts sick
{
  echo 'title = "DialogueCSE and its baselines"'
  a_set retrieve CLINC150 clinc150 '"map", "mrr"'
  a_set retrieve BANK77 banking77 '"map", "mrr"'
  a_set sts SICK sick '"spearman"'
} > suite.toml

vectors() {
  local to=$1
  shift
  for set in clinc150 banking77 sick; do
    dial-embed -q --max-length 64 --precision "$precision" --overwrite "$@" "$set.jsonl" -o "$to/$set.parquet"
  done
}

# score NAME FLAGS...: how the vectors of a model do
score() { scored "scores-$1" suite.toml "${@:2}"; }

# train NAME FLAGS...
train() { trained "$1" --precision "$precision" "${@:2}"; }

# once NAME SEED FLAGS...: train from the adapted model and score
once() {
  local name=$1-$2
  train "$name" --model adapt --freeze "$freeze" --max-steps "$steps" --lr "$rate" --seed "$2" \
    "${@:3}" sides.arrow
  score "$name" --model "$name"
}

# run NAME FLAGS...: with the first seed; all: with each
run() { once "$1" "${seeds%% *}" "${@:2}"; }
all() { for seed in $seeds; do once "$1" "$seed" "${@:2}"; done; }

if [[ -n $start ]]; then
  rate=5e-5
  train adapt --method mlm --model "$start" --max-steps "$steps" utterances.arrow
else
  start=start rate=5e-4 freeze=0 steps=$((steps * 3))
  train start --encoder transformer --max-steps 0 utterances.arrow
  train adapt --method mlm --model start --lr 1e-3 --max-steps "$steps" utterances.arrow
fi

into words.txt python "$bench/words.py" "$start"
score words --model words.txt
for name in start adapt; do
  model=adapt
  [[ $name == adapt ]] || model=$start
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
mean_table
