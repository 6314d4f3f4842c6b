#!/usr/bin/env bash
# The main road on the shipped example: pairs -> train -> embed -> eval, before and after training.
set -euo pipefail
cd "$(dirname "$0")/.."
rm -rf demo && mkdir -p demo/before demo/after
say() { printf '\n$ %s\n' "$*"; "$@"; }

say python examples/overlap.py examples/{dialogues,heldout,intents}.jsonl.gz
say dial-pairs --window 1,2,3 examples/dialogues.jsonl.gz -o demo/pairs.arrow
say dial-pairs --window 1 examples/heldout.jsonl.gz -o demo/heldout.arrow
say dial-train --max-steps 0 -o demo/before/model demo/pairs.arrow
say dial-train --max-steps "${STEPS:-200}" -o demo/after/model demo/pairs.arrow
for run in before after; do
  say dial-embed --model "demo/$run/model" examples/intents.jsonl.gz -o "demo/$run/intents.parquet"
  say dial-embed --model "demo/$run/model" demo/heldout.arrow -o "demo/$run/heldout.parquet"
  dial-eval intent "demo/$run/intents.parquet" -o "demo/$run/intent.jsonl"
  dial-eval select "demo/$run/heldout.parquet" -o "demo/$run/select.jsonl"
done
python examples/table.py demo/before demo/after
