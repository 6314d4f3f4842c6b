# shellcheck shell=bash
# What the experiments of this folder share; to be sourced, after `set -euo pipefail`.
# Each is called as `bash bench/NAME.sh OUT [MODEL]` and goes on where it was when run again.
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck disable=SC2034 # for those who source this
corpora=("${DATA-}"/corpus/{sgd,multiwoz}.jsonl.gz)
# shellcheck disable=SC2034
precision=${PRECISION:-bfloat16} # float32 on a processor that has no bfloat16

# enter DIR: make a folder and go there
enter() {
  mkdir -p "$1"
  cd "$1" || exit
}

# unless PATH COMMAND...: run a command whose output is PATH, unless it is there
unless() {
  [[ -d $1 || -s $1 ]] || "${@:2}"
}

# into FILE COMMAND...: write what a command prints to FILE, unless it is there; no half file is left
into() {
  [[ -s $1 ]] && return
  "${@:2}" > "$1.tmp"
  mv "$1.tmp" "$1"
}

# texts NAME: the records of an evaluation set that the experiments score on
texts() {
  python "$bench/texts.py" "$DATA/eval" "$1"
}

# a_set TASK NAME FILE METRICS [LINE...]: a set of a suite; METRICS as TOML has them between brackets
a_set() {
  printf '[[set]]\ntask = "%s"\nname = "%s"\nfile = "%s"\nmetrics = [%s]\n' "$1" "$2" "$3" "$4"
  [[ $# -lt 5 ]] || printf '%s\n' "${@:5}"
}

# trained NAME FLAGS...: train a model, unless it is there
trained() {
  unless "$1" dial-train -q -o "$@" > /dev/null
}

# scored NAME SUITE FLAGS...: NAME.jsonl, the scores of the vectors that `vectors DIR FLAGS...` makes
# (each script says of what); the vectors are thrown away
scored() {
  local name=$1 suite=$2
  [[ -s $name.jsonl ]] && return
  mkdir -p "$name"
  vectors "$name" "${@:3}"
  into "$name.jsonl" dial-eval suite "$suite" "$name"
  rm -r "$name"
}

# mean_table: all scores of the folder, mean and deviation over seeds
mean_table() {
  python "$bench/mean_table.py" scores-*.jsonl
}
