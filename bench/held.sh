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
windows=(--method held --no-center windows.train.arrow)
answers=(--method same-answer-held --no-center few-windows.train.arrow same.train.arrow)

embed start "$start"
for seed in $seeds; do
  train "free-$seed" "${windows[@]}" --hold-weight 0
  train "held-$seed" "${windows[@]}"
  train "answers-$seed" "${answers[@]}"
  train "answers-5-$seed" "${answers[@]}" --hold-weight 5
done

scored_all
dial-eval compare --to markdown start=scores/start.jsonl "$(seeds_of free)" "$(seeds_of held)" \
  "$(seeds_of answers)" "$(seeds_of answers-5)"
