#!/usr/bin/env bash
# The pipeline every night, and the new model in use only if it is no worse than the one before.
#
#   15 2 * * *  cd /srv/chats && ./nightly.sh >> nightly.log 2>&1
#
# Run again, it goes on where it was stopped, or finds all done; a second run beside it does nothing.
# Exit status: 0 the model is in use, 4 it is worse and is not, 75 another run is at work, else what
# failed. Stopped itself (kill), it stops what it runs.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
run=runs/${DAY:-$(date +%F)}
mkdir -p runs

exec 9> runs/lock
if ! flock --nonblock 9; then
  echo "nightly: another run is at work" >&2
  exit 75
fi

pipeline() {
  make --no-print-directory -f "$here/pipeline.mk" RUN="$run" "$@" &
  trap 'kill -TERM $! && wait $!; exit 143' TERM INT HUP
  wait $!
}

pipeline "$@"
if [ -e runs/current ] && [ "$(readlink runs/current)" != "${run#runs/}" ]; then
  pipeline BEFORE=runs/current/model "$@" "$run/before.jsonl"
  dial-eval compare --fail-if-worse "${WORSE:-2}" "$run/before.jsonl" "$run/scores.jsonl"
fi
ln -sfn "${run#runs/}" runs/current.new && mv -T runs/current.new runs/current
