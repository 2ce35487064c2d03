#!/usr/bin/env bash
# experiments/referee/run with programs that only answer: columns stand in their order, whichever ended first; loads given by hand
# are left out where they do not fit, which is said; loads that fit nowhere, and a program that fails, end the script. In the box
# rules take turns.
# shellcheck disable=SC2016
set -euo pipefail
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

mkdir "$scratch/programs" "$scratch/given" "$scratch/one"
touch "$scratch/given/1.json" "$scratch/given/2.json" "$scratch/given/3.json" "$scratch/given/4.json" "$scratch/one/1.json"
cat > "$scratch/programs/moe-train" <<'SH'
#!/usr/bin/env bash
echo "$* share=${MOELAB_BOX_CORE_SHARE-whole}" >> "$(dirname "$0")/trained"
while (($# > 0)); do
  case $1 in
    --checkpoint) mkdir -p "$2" && touch "$2/$(ls "$2" | wc -l)" ;;
    --db) echo stored > "$2" ;;
  esac
  shift
done
SH
cat > "$scratch/programs/moe-db" <<'SH'
#!/usr/bin/env bash
if [[ $1 != query ]]; then exit; fi
echo heading
case $* in
  *'SELECT run, before'*) for run in {1..18}; do echo "$run,2,1,0.9,85,92"; done ;;
  *'SELECT run, iteration'*) for run in {1..18}; do for at in {85..92}; do echo "$run,$at,$((run < 7 ? 1 : 3))"; done; done ;;
  *'DISTINCT network'*) echo 'box 9 Gbit/s' ;;
  *) echo '[[1,2]]' ;;
esac
SH
cat > "$scratch/programs/moe-tune" <<'SH'
#!/usr/bin/env bash
echo "$*" >> "$(dirname "$0")/asked"
if [[ -e $(dirname "$0")/fails && $* == *zipf:0.8* ]]; then echo "out of luck" >&2; exit 1; fi
if [[ $* == */given* && $* != *"--ranks 16 "* || $* == */one* ]]; then echo "32 experts on 16 ranks expected" >&2; exit 2; fi
[[ $* == *uniform* ]] && sleep 0.3
echo planner,parameters,max_over_mean,force_balanced_share,away_share,expert_bytes,rule_s,predicted_peak_bytes,exposed_experts_s,predicted_s,predicted_speedup
echo 'sequential,{},2,0.5,,,,1,,0.02,1'
echo 'joint,{},1,0.9,0.5,1,1e-5,1,0,0.01,2'
SH
chmod +x "$scratch"/programs/*

referee() { "$root/experiments/referee/run" --bin "$scratch/programs" --quick "$@" > "$scratch/out" 2> "$scratch/err"; }
run() { referee --without-box "$@"; }
expect "a quick run ends" run --out "$scratch/a" --routing-files "$scratch/given"
loads=$(awk -F, '$2 == 16 && $1 == "dgx-h100" && $4 == "joint" { printf "%s;", $3 }' "$scratch/a/simulated.csv")
expect "columns stand in their order" equal "$loads" "even;Zipf 0.8;Zipf 1.2;drifting;recorded;given;"
expect "loads of 16 ranks are in two columns" equal "$(grep -c ',given,joint,' "$scratch/a/simulated.csv")" 2
expect "what is left out is said" grep -q '4 ranks of dgx-h100 without the given loads: 32 experts on 16 ranks expected' "$scratch/err"
expect "plans begin when three iterations are known" grep -q 'routing [^ ]*given --plan-every 100 --history 3 ' "$scratch/programs/asked"
expect "one iteration has no history" run --out "$scratch/b" --quick
if run --out "$scratch/c" --routing-files "$scratch/one"; then echo "FAILED: loads that fit nowhere"; failures=$((failures + 1)); fi
expect "loads that fit nowhere are told" grep -q 'no setting takes these loads' "$scratch/err"
if grep -q 'one --plan-every' "$scratch/programs/asked"; then echo "FAILED: a plan from an iteration for none"; failures=$((failures + 1)); fi
if "$root/experiments/cluster-in-a-box" --nodes 4 --probe; then
  : > "$scratch/programs/trained"
  expect "a quick run in the box ends" referee --only-box --rounds 3 --out "$scratch/e"
  in_turns=$(sed -n 's/.*--balanced-steps 2 .*--planner \([^ ]*\).*/\1/p; s/.*--schedule .*/chunks/p' "$scratch/programs/trained" | tr '\n' ' ')
  round="sequential pro_prophet lplb ultraep:slots=1 moonep chunks "
  expect "each round trains all rules" equal "$in_turns" "$round$round$round"
  expect "all go on from the same checkpoint" equal "$(ls "$scratch/e/warm")" 0
  shares=$(sed -n 's/.*--balanced-steps 2 .*share=//p' "$scratch/programs/trained" | sort -u)
  expected=whole
  if "$root/experiments/cluster-in-a-box" --nodes 4 --own-share --probe; then
    expected=$("$root/experiments/cluster-in-a-box" --nodes 4 --own-share -- sh -c 'echo ${MOELAB_BOX_CORE_SHARE-whole}')
  fi
  expect "nodes have a share of their own where the machine permits that" equal "$shares" "$expected"
  expect "an iteration is the median of rounds" \
    grep -q '^| moonep | 2.00 | 1.00 | 0.900 | 3000 | 1000 to 3000 | 1.00 (1.00 to 1.00) | no | 20 |' "$scratch/e/table.md"
  expect "the box is named" grep -q 'in the box (box 9 Gbit/s)' "$scratch/e/table.md"
fi
touch "$scratch/programs/fails"
if run --out "$scratch/d"; then echo "FAILED: a program that fails"; failures=$((failures + 1)); fi
expect "a failure is told" grep -q 'dgx-h100, Zipf 0.8: out of luck' "$scratch/err"
expect "no table is made of a part" test ! -e "$scratch/d/simulated.csv"
exit $((failures > 0))
