#!/usr/bin/env bash
# The tables, the picture and the figures of experiments/referee: each figure stands under its name, and what moves nothing has
# no figures of replicas.
set -euo pipefail
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"
# shellcheck source=experiments/reproduction.sh
source "$root/experiments/reproduction.sh"

referee=$root/experiments/referee
cat > "$scratch/compared.csv" <<'CSV'
planner,parameters,forward_chunks,predicted_s,predicted_speedup,max_over_mean,force_balanced_share,predicted_peak_bytes,away_share,expert_bytes,rule_s,exposed_experts_s
sequential,{},1,0.02,1,2.5,0.5,1073741824,,,,
ultraep,"{""slots"": 2}",1,0.0125,1.6,1.05,0.8,2147483648,0.25,5242880,1.2e-05,0.001
moonep,{},,,,,,,,,,
CSV
figures=(planner parameters max_over_mean force_balanced_share away_share expert_bytes rule_s predicted_peak_bytes exposed_experts_s predicted_s predicted_speedup)
{
  echo cluster,ranks,loads,rule,before,after,share,away,expert_bytes,rule_s,peak_bytes,exposed_s,time_s,speedup
  columns "$scratch/compared.csv" "${figures[@]}" | awk -v start="dgx,4,Zipf 1.2" -f "$referee/columns.awk"
} > "$scratch/simulated.csv"
cat > "$scratch/box.csv" <<'CSV'
rule,before,after,share,measured_s,least_s,most_s,speedup,least_speedup,most_speedup,simulated_s
sequential,2,2,0.7,1.5,1.4,1.6,1,1,1,1.35
moonep,2,1,0.9,1.2,1.1,1.3,1.25,1.05,1.4,1.26
lplb,2,1.5,0.8,1.6,1.5,1.7,0.94,0.9,0.99,1.6
eplb,2,1.8,0.7,1.5,1.4,1.7,1,0.9,1.1,1.6
llep,2,1.2,0.9,1.2,1.2,1.2,1.25,,,1.26
CSV

expect_line() {
  grep -qxF -- "$2" "$1" || { echo "FAILED: no line"$'\n'"  $2"$'\n'"in"; cat "$1"; failures=$((failures + 1)); }
}
awk -v network="box 1 Gbit/s" -f "$referee/tables.awk" "$scratch/simulated.csv" "$scratch/box.csv" > "$scratch/table.md"
expect_line "$scratch/table.md" '### 4 ranks of dgx'
expect_line "$scratch/table.md" '| Zipf 1.2 | sequential | 2.50 | 2.50 | 0.500 |  |  |  | 1.0 |  | 20.0 | 1.00 |'
expect_line "$scratch/table.md" '| Zipf 1.2 | ultraep 2 | 2.50 | 1.05 | 0.800 | 0.25 | 5 | 12 | 2.0 | 1.0 | 12.5 | 1.60 |'
expect_line "$scratch/table.md" '### Trained on 4 ranks in the box (box 1 Gbit/s)'
expect_line "$scratch/table.md" '| sequential | 2.00 | 2.00 | 0.700 | 1500 | 1400 to 1600 | 1.00 |  | 1350 | -10.0% |'
expect_line "$scratch/table.md" '| moonep | 2.00 | 1.00 | 0.900 | 1200 | 1100 to 1300 | 1.25 (1.05 to 1.40) | faster | 1260 | +5.0% |'
expect_line "$scratch/table.md" '| lplb | 2.00 | 1.50 | 0.800 | 1600 | 1500 to 1700 | 0.94 (0.90 to 0.99) | slower | 1600 | +0.0% |'
expect_line "$scratch/table.md" '| eplb | 2.00 | 1.80 | 0.700 | 1500 | 1400 to 1700 | 1.00 (0.90 to 1.10) | no | 1600 | +6.7% |'
expect_line "$scratch/table.md" '| llep | 2.00 | 1.20 | 0.900 | 1200 | 1200 to 1200 | 1.25 | one round | 1260 | +5.0% |'
if grep -q 'Zipf 1.2 | moonep' "$scratch/table.md"; then echo "FAILED: a refusal has a line"; failures=$((failures + 1)); fi

awk -f "$referee/figures.awk" "$scratch/simulated.csv" "$scratch/box.csv" > "$scratch/figures.csv"
expect_line "$scratch/figures.csv" 'referee,4 ranks of dgx,Zipf 1.2,ultraep 2,rule_s,-,1.2e-05,simulated'
expect_line "$scratch/figures.csv" 'referee,4 ranks in the box,trained,moonep,measured_s,-,1.2,measured'
if grep -q 'sequential,rule_s' "$scratch/figures.csv"; then echo "FAILED: a figure of nothing"; failures=$((failures + 1)); fi

# Two rounds of two rules: moonep is 2 and 4 times as fast, so sqrt(8) times, within a factor of 2^(12.706 / 2). What
# is slow in one round alone is not what is measured.
printf '%s\n' sequential moonep sequential moonep > "$scratch/box_rules"
printf '%s\n' 1,2,2,0.7,5,7 2,2,1,0.9,5,7 3,2,2,0.7,5,7 4,2,1,0.94,5,7 > "$scratch/runs"
printf '%s\n' 1,5,1 1,6,2 1,7,3 2,5,0.5 2,6,1 2,7,1.5 3,5,2 3,6,4 3,7,6 4,5,0.5 4,6,1 4,7,1.5 > "$scratch/steps"
awk -f "$referee/rounds.awk" "$scratch/box_rules" "$scratch/runs" "$scratch/steps" > "$scratch/rounds"
expect_line "$scratch/rounds" 1,5,7,sequential,2,2,0.7,3,2,4,1,1,1
expect_line "$scratch/rounds" 2,5,7,moonep,2,1,0.92,1,1,1,2.82843,0.034602,231.2
head -2 "$scratch/box_rules" > "$scratch/one_round"
awk -f "$referee/rounds.awk" "$scratch/one_round" "$scratch/runs" "$scratch/steps" > "$scratch/rounds"
expect_line "$scratch/rounds" 2,5,7,moonep,2,1,0.9,1,1,1,2,,

awk -f "$referee/picture.awk" "$scratch/simulated.csv" > "$scratch/picture.svg"
for words in '4 ranks of dgx' 'ultraep 2' '0.80' '0.50' '</svg>'; do
  grep -qF -- "$words" "$scratch/picture.svg" || { echo "FAILED: no $words in the picture"; failures=$((failures + 1)); }
done
exit $((failures > 0))
