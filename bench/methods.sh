#!/usr/bin/env bash
# Every method from one start, scored on every task at hand, with significance.
#   DATA=... bash bench/methods.sh OUT MODEL
# DATA holds corpus/{sgd,multiwoz}.jsonl.gz and eval/*.jsonl.gz. A file of scores for each method and seed,
# then the table of differences to the start.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
start=$2 steps=${STEPS:-150} seeds=${SEEDS:-0}
enter "$1"
source "$bench/tasks.sh"

pairs consecutive --min-words 4
pairs windows --window 1,2,3
pairs self --kind self --min-words 4
pairs few-windows --window 1,2,3 --sample 0.02
pairs utterances --kind utterance --sample 0.04
pairs same --kind same-answer --speaker system --min-words 4
pairs history --window all --speaker system
pairs sides --window 3 --follow 3 --merge-speaker --min-turns 4
augmented() { grep '"split": "train"' data/snips.jsonl | dial-augment -q --from jsonl; }
into augmented.jsonl augmented

# train NAME FLAGS...: train from the start with the seed at hand, and embed
train() {
  trained "$1" --model "$start" --precision "$precision" --max-steps "$steps" --seed "$seed" "${@:2}"
  embed "$1" "$1"
}

# merged NAME PARTS...: the start and parts of what runs have learnt
merged() {
  unless "$1" dialtools merge -q "$start" "${@:2}" -o "$1" > /dev/null
  embed "$1" "$1"
}

# centred NAME MODEL: less the mean of utterances that methods learn from, as NAME-centred, and of the
# training texts of each intent set, as NAME-own; the seed stays at the end
centred() {
  local name=${1%-[0-9]} seed centred own
  seed=${1#"$name"} centred=$name-centred$seed own=vectors/$name-own$seed
  unless "$centred" dialtools center -q --model "$2" --precision "$precision" -o "$centred" \
    utterances.train.arrow > /dev/null
  embed "$centred" "$centred"
  unless "$own" python "$bench/own_mean.py" "vectors/$1" "vectors/$centred" "$own"
}

# moved NAME MODEL: as NAME-own, and in the dialogues of the corpora that methods learn from contexts
# are moved to where their responses lie, as NAME-moved
moved() {
  local name=${1%-[0-9]} seed file folder set
  seed=${1#"$name"} file=$1-to-response.safetensors folder=$name-moved$seed
  [[ -d vectors/$folder ]] && return
  unless "$file" dial-embed -q --overwrite --model "$2" --precision "$precision" --max-length 64 \
    --keep none --transform to-response --save-transform "$file" few-windows.train.arrow -o pairs.parquet
  cp -rl "vectors/$name-own$seed" "vectors/.$folder"
  for set in select-1 select-3; do
    vectors_of "$set" "$2" "vectors/.$folder" --transform "$file"
  done
  mv "vectors/.$folder" "vectors/$folder"
}

embed start "$start"
centred start "$start"
moved start "$start"
unless weighed dialtools weigh -q --model "$start" --half-at "${HALF_AT:-0.03}" -o weighed \
  utterances.train.arrow > /dev/null
embed weighed weighed
centred weighed weighed
moved weighed weighed
short=(--lr 3e-5 --batch-size 64 --max-length 64)
for seed in $seeds; do
  train "dse-$seed" --method dse "${short[@]}" consecutive.train.arrow
  train "dse-123-1-$seed" --method dse-123-1 "${short[@]}" windows.train.arrow
  train "wmdc-$seed" --method wmdc "${short[@]}" windows.train.arrow
  train "simcse-$seed" --method simcse "${short[@]}" --pooling mean self.train.arrow
  train "tadse-$seed" --method tadse --lr 2e-5 augmented.jsonl
  train "dialoguecse-$seed" --method dialoguecse --freeze 3 sides.train.arrow
  train "mlm-$seed" --method mlm self.train.arrow
  train "siamese-m-$seed" --method siamese-m --freeze 3 sides.train.arrow
  train "todbert-$seed" --method todbert --pooling mean --lr 3e-5 history.train.arrow
  # one run of two kinds of pairs, at the steps of two runs
  steps=$((2 * steps)) train "same-answer-$seed" --method same-answer few-windows.train.arrow same.train.arrow
  start=weighed steps=$((2 * steps)) train "weighed+same-answer-$seed" --method same-answer \
    few-windows.train.arrow same.train.arrow
  start=weighed train "weighed+same-answer-held-$seed" --method same-answer-held \
    few-windows.train.arrow same.train.arrow
  merged "same-answer+dialoguecse-$seed" "same-answer-$seed" "dialoguecse-$seed"
  merged "dse-123-1+dialoguecse-$seed" "dse-123-1-$seed" "dialoguecse-$seed"
  for learnt in dse-123-1 same-answer weighed+same-answer weighed+same-answer-held \
    same-answer+dialoguecse; do
    centred "$learnt-$seed" "$learnt-$seed"
    moved "$learnt-$seed" "$learnt-$seed"
  done
done

scored_all
starts=() others=()
for scores in scores/*-0.jsonl; do
  others+=("$(seeds_of "$(basename "$scores" -0.jsonl)")")
done
for name in start start-centred start-own start-moved weighed weighed-centred weighed-own \
  weighed-moved; do
  starts+=("$name=scores/$name.jsonl")
done
dial-eval compare --to markdown "${starts[@]}" "${others[@]}"
