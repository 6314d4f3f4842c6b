#!/usr/bin/env bash
# A smaller encoder in place of a larger one: a table of its tokens, and its first three layers, before
# and after they learn its vectors of a log, the table also with the log's pairs.
#   DATA=... bash bench/distill.sh OUT MODEL
# DATA holds corpus/{sgd,multiwoz}.jsonl.gz and eval/*.jsonl.gz. Ends with the table of differences to
# the table of tokens.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
start=$2 seeds=${SEEDS:-0 1 2}
SETS=${SETS:-clinc150 banking77 snips sick select-1 select-3}
enter "$1"
source "$bench/tasks.sh"

pairs utterances --kind utterance --sample 0.06
pairs windows --window 1,2,3 --min-words 4
unless seen.parquet dial-embed -q --model "$start" --precision "$precision" --max-length 64 \
  utterances.train.arrow -o seen.parquet
unless first3 dialtools cut -q --model "$start" --layers 3 -o first3 > /dev/null
unless weighed dialtools weigh -q --model first3 --half-at 0.01 -o weighed utterances.train.arrow \
  > /dev/null

table=(--model "$start" --encoder static)
trained tokens "${table[@]}" --max-steps 0 utterances.train.arrow
trained tokens-pairs --method dse "${table[@]}" windows.train.arrow
unless tokens-centred dialtools center -q --model tokens -o tokens-centred utterances.train.arrow > /dev/null
for name in tokens tokens-centred tokens-pairs first3; do
  embed "$name" "$name"
done
embed start "$start"
for seed in $seeds; do
  trained "tokens-distilled-$seed" --method distill "${table[@]}" --seed "$seed" seen.parquet
  embed "tokens-distilled-$seed" "tokens-distilled-$seed"
done
for seed in $seeds; do
  trained "tokens-both-$seed" "${table[@]}" --method held --seed "$seed" windows.train.arrow
  embed "tokens-both-$seed" "tokens-both-$seed"
done
for seed in $seeds; do
  trained "first3-distilled-$seed" --method distill --model weighed --precision "$precision" \
    --seed "$seed" seen.parquet
  embed "first3-distilled-$seed" "first3-distilled-$seed"
done

scored_all
of=()
for name in tokens tokens-centred tokens-pairs first3 start; do
  of+=("$name=scores/$name.jsonl")
done
dial-eval compare --to markdown "${of[@]}" "$(seeds_of tokens-distilled)" \
  "$(seeds_of tokens-both)" "$(seeds_of first3-distilled)"
