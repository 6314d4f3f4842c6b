#!/usr/bin/env bash
# The central claims of the four papers: rows that differ in one thing, from one start, with significance.
#   DATA=... bash bench/claims.sh OUT MODEL      from a transformer, in batches of 64 pairs
#   DATA=... bash bench/claims.sh OUT static     from nothing, a static encoder, in batches of 1,024
# DATA is that of methods.sh. RUNS="dse dse-plain" trains these rows alone; what is there is kept. A claim is
# told of the seeds that both of its rows have. RATE is a learning rate for every row from a transformer,
# BATCH how many pairs a step of contrast has there.
set -euo pipefail
source "$(dirname "$0")/lib.sh"
[[ $# -eq 2 ]] || { sed -n '2,4p' "$0" >&2; exit 2; }
start=$2 steps=${STEPS:-150} seeds=${SEEDS:-0 1 2} rate=(${RATE:+--lr "$RATE"})
if [[ $start == static ]]; then
  budget=(--encoder static --cache store --max-steps "$steps") precision=float32
else
  budget=(--model "$start" --cache store --precision "$precision" --max-steps "$steps")
fi
enter "$1"
source "$bench/tasks.sh"

pairs consecutive --min-words 4
pairs split --kind random-split
pairs turns --window 1,2,3 --min-words 4
pairs windows --window 1,2,3
pairs self --kind self --min-words 4
pairs sides --window 3 --follow 3 --merge-speaker --min-turns 4
augmented() { texts snips | grep '"split": "train"' | dial-augment -q --from jsonl; }
into augmented.jsonl augmented

# run NAME FLAGS... FILE: train with the seed at hand and embed, if NAME is among RUNS
run() {
  [[ " ${RUNS:-$1} " == *" $1 "* ]] || return 0
  trained "$1-$seed" "${budget[@]}" --seed "$seed" "${@:2}" "${rate[@]}"
  embed "$1-$seed" "$1-$seed"
}

# contrast NAME FLAGS... FILE: so, in batches of DSE and WMDC as a small machine has them
contrast() {
  if [[ $start == static ]]; then
    run "$@"
  else
    run "$1" --lr 3e-5 --batch-size "${BATCH:-64}" --max-length 64 "${@:2}"
  fi
}

[[ $start == static ]] || embed start "$start"
for seed in $seeds; do # all with one seed before the next: a run that is stopped has a whole table
  contrast dse --method dse consecutive.train.arrow
  contrast dse-plain --method dse --loss nt-xent consecutive.train.arrow
  contrast dse-123-1 --method dse-123-1 turns.train.arrow
  contrast wmdc --method wmdc windows.train.arrow
  contrast wmdc-unweighted --method wmdc --weights none windows.train.arrow
  contrast wmdc-window-1 --method wmdc --window 1 windows.train.arrow
  contrast dse-split --method dse split.train.arrow
  [[ $start != static ]] || continue
  contrast dse-dropout --method dse-dropout self.train.arrow
  matching=(--freeze "${FREEZE:-1}" --negatives all)
  run dialoguecse --method dialoguecse "${matching[@]}" sides.train.arrow
  run dialoguecse-1-turn --method dialoguecse --context-turns 1 "${matching[@]}" sides.train.arrow
  run adapted --method mlm self.train.arrow
  run dialoguecse-adapted --model "adapted-$seed" --method dialoguecse "${matching[@]}" sides.train.arrow
  run siamese-m --method siamese-m --freeze "${FREEZE:-1}" sides.train.arrow
  run tadse --method tadse --lr 2e-5 augmented.jsonl
  run tadse-utterances --method tadse --lr 2e-5 --template-weight 0 --pair-weight 0 augmented.jsonl
done
scored_all

# claim BETTER BASELINE SENTENCE
claim() {
  compgen -G "scores/$1-[0-9].jsonl" > /dev/null && compgen -G "scores/$2-[0-9].jsonl" > /dev/null || return 0
  printf '\n%s\n\n' "$3"
  dial-eval compare --to markdown "$(seeds_of "$2")" "$(seeds_of "$1")"
}

claim dse dse-dropout 'DSE: consecutive utterances beat a text with itself under dropout'
claim dse dse-split 'DSE: and a dialogue cut at random, as TOD-BERT pairs them'
claim dse dse-plain 'DSE: the nearest negatives weighed most beat plain contrast'
claim dse-123-1 dse 'DSE: queries of several turns help selection after several turns'
claim wmdc wmdc-window-1 'WMDC: several windows help'
claim wmdc wmdc-unweighted 'WMDC: inverse-frequency weights help'
claim dialoguecse siamese-m 'DialogueCSE: matched beats siamese'
claim dialoguecse dialoguecse-1-turn 'DialogueCSE: more turns help'
claim dialoguecse-adapted dialoguecse 'DialogueCSE: adaptation first helps'
claim tadse tadse-utterances 'TaDSE: templates help intents'
