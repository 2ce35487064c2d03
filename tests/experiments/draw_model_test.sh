#!/usr/bin/env bash
# Models that experiments/box_planners/draw_model draws can be planned; a seed draws one model.
set -euo pipefail
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
moe_tune=$1
draw=$root/experiments/box_planners/draw_model

for seed in {0..39} 1000000; do
  "$draw" "$seed" > "$scratch/$seed.toml"
  status=0
  "$moe_tune" simulate --model "$scratch/$seed.toml" --cluster box --ranks 2 --planner sequential > "$scratch/said" 2>&1 || status=$?
  expect "model $seed is planned" equal "$status" 0
  ((status == 0)) || cat "$scratch/said"
done
expect "a seed draws one model" cmp "$scratch/7.toml" <("$draw" 007)
lines=$(cat "$scratch"/{0..39}.toml | grep = | sort -u | wc -l)
expect "$lines lines of 40 models differ, at least 60" test "$lines" -ge 60
for seed in '' -1 1.5 x 1000001; do
  status=0
  "$draw" "$seed" > "$scratch/said" 2>&1 || status=$?
  expect "seed '$seed' is wrong use" equal "$status" 2
done
exit $((failures > 0))
