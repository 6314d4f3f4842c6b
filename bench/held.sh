#!/usr/bin/env bash
# Responses are learnt, and texts held where the start has them: one run, scored on every task at hand.
#   DATA=... bash bench/held.sh OUT MODEL
# DATA holds corpus/{sgd,multiwoz}.jsonl.gz and eval/*.jsonl.gz. Ends with the table of differences to
# the start.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
start=$2 seeds=${SEEDS:-0 1 2}
enter "$1"
source "$bench/tasks.sh"

pairs windows --window 1,2,3 --min-words 4
pairs few-windows --window 1,2,3 --sample 0.02
pairs same --kind same-answer --speaker system --min-words 4

# train NAME FLAGS...: train from the start with the seed at hand, and embed
train() {
  trained "$1" --model "$start" --precision "$precision" --seed "$seed" "${@:2}"
  embed "$1" "$1"
}
windows=(--method held windows.train.arrow)
answers=(--method same-answer-held few-windows.train.arrow same.train.arrow)

unless utterances.arrow dial-pairs -q --kind utterance --sample 0.05 "${corpora[@]}" -o utterances.arrow
unless weighted dialtools weigh -q --model "$start" utterances.arrow -o weighted
embed start "$start"
for seed in $seeds; do
  train "free-$seed" "${windows[@]}" --hold-weight 0 --lr 3e-5 --merge-with-start 1 --no-center
  train "held-$seed" "${windows[@]}"
  train "answers-$seed" "${answers[@]}"
  start=weighted train "weighted-$seed" "${answers[@]}"
done

scored_all
dial-eval compare --to markdown start=scores/start.jsonl "$(seeds_of free)" "$(seeds_of held)" \
  "$(seeds_of answers)" "$(seeds_of weighted)"
