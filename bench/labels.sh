#!/usr/bin/env bash
# What a few labels buy: an encoder trained on the very examples by which intents are told.
#   DATA=... bash bench/labels.sh OUT MODEL
# DATA holds corpus/{sgd,multiwoz}.jsonl.gz and eval/*.jsonl.gz. For each set, number of examples
# and seed: accuracy on a third of the test rows, by the nearest class (dialtools assign) and by
# logistic regression of the examples, and by the nearest class if a third of the training rows is
# an unlabelled log. The models are the start, the start weighted and centred, and the start
# trained. Ends with means over seeds.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
start=$2 seeds=${SEEDS:-0 1 2} shots=${SHOTS:-5 10} sets=${SETS:-snips banking77 clinc150}
enter "$1"

said() {
  dial-pairs -q --kind utterance --sample 0.04 "${corpora[@]}"
}
into utterances.jsonl said
unless weighed dialtools weigh -q --model "$start" -o weighed utterances.jsonl > /dev/null

# told NAME MODEL: the scores of a model, on the set at hand
told() {
  local of
  [[ -s $1-logreg.jsonl && -s $1-assign.jsonl && -s $1-log.jsonl ]] && return
  for of in few test unlabelled; do
    dial-embed -q --overwrite --model "$2" --precision "$precision" --max-length 64 \
      "$of.jsonl" -o "$of.parquet"
  done
  into "$1-assign.jsonl" assigned nearest
  into "$1-log.jsonl" assigned "nearest, with the log" --unlabelled unlabelled.parquet
  into "$1-logreg.jsonl" dial-eval intent -q --no-each --name "$set, $n, regression" --runs 1 \
    --method logreg --shots "$n" --train few.parquet --test test.parquet
}

# assigned HOW FLAGS...: the scores of the nearest class, under this name
assigned() {
  dialtools assign -q --examples few.parquet "${@:2}" test.parquet |
    dial-eval route -q --no-each --name "$set, $n, $1"
}

# one: three models on the set at hand, with as many examples and this seed
one() {
  into few.jsonl python "$bench/few.py" "$DATA/eval/$set.jsonl.gz" "$n" "$seed"
  into test.jsonl python "$bench/few.py" "$DATA/eval/$set.jsonl.gz" test
  into unlabelled.jsonl python "$bench/few.py" "$DATA/eval/$set.jsonl.gz" train
  into alike.jsonl dial-pairs -q --kind same-label few.jsonl
  unless centred dialtools center -q --model ../weighed -o centred unlabelled.jsonl > /dev/null
  trained trained --method same-label --model "$start" --precision "$precision" \
    --seed "$seed" alike.jsonl
  told start "$start"
  told centred centred
  told trained trained
}

for set in $sets; do
  for n in $shots; do
    for seed in $seeds; do
      mkdir -p "$set-$n-$seed"
      (cd "$set-$n-$seed" && one)
    done
  done
done
for name in start centred trained; do
  for seed in $seeds; do
    grep -h '"metric":"accuracy"' ./*-"$seed"/"$name"-*.jsonl > "scores-$name-$seed.jsonl"
  done
done
mean_table
