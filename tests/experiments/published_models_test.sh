#!/usr/bin/env bash
# Published configurations become models with the parameters that transformers counts, or are refused by a key. $1: folder of moe-train.
set -euo pipefail
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
run=$root/experiments/published_models/run

status=0
"$run" --bin "$1" > "$scratch/table" || status=$?
expect "no number of parameters differs" equal "$status" 0
grep -F '**' "$scratch/table" || true
rows=$(grep -c '^| [a-z]' "$scratch/table")
expect "every file of configurations/ has a row" equal "$((rows - 1))" "$(find "$root/experiments/published_models/configurations" -name '*.json' | wc -l)"
equals=$(grep -c '| equal |$' "$scratch/table")
expect "$equals are equal, at least 39" test "$equals" -ge 39
# A refusal begins with a key of the file.
refusals=$(grep -v -e '| equal |$' -e '^| [a-z-]* | class' "$scratch/table" | grep '^| [a-z]' | grep -cvE '\| [a-z_.]+: [^|]+ \|$' || true)
expect "$refusals refusals name no key, 0" equal "$refusals" 0
"$run" --bin "$1" --only mixtral-8x7b > "$scratch/one"
expect "one has the row it has among all" grep -qxF "$(grep '^| mixtral-8x7b ' "$scratch/table")" "$scratch/one"
exit $((failures > 0))
