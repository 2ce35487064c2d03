#!/usr/bin/env bash
# experiments/reproduce: wrong use, and the rows of an experiment that takes a second. $1: the folder of moe-tune.
set -euo pipefail
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

reproduce=$root/experiments/reproduce
bin=$1

# The exit code of a command.
code() {
  local status=0
  "$@" > "$scratch/output" 2> "$scratch/errors" || status=$?
  echo "$status"
}

expect "an unknown experiment is wrong use" equal "$(code "$reproduce" fsmoe_table99)" 2
expect "and there is a list" grep -q mpmoe_fig14 "$scratch/errors"
expect "no experiment is wrong use" equal "$(code "$reproduce")" 2
expect "a folder without moe-tune is wrong use" equal "$(code "$reproduce" mpmoe_fig14 --bin "$scratch")" 2
expect "the list names what an experiment is about" equal "$(code "$reproduce" --list)" 0
expect "every experiment has a page, and is in the list" equal \
  "$(cd "$root/experiments" && for page in {fsmoe,lancet,mpmoe,pro_prophet}_*/README.md; do [[ ! -e $page ]] || echo "${page%/*}"; done)" \
  "$(awk '{ print $1 }' "$scratch/output")"

expect "an experiment ends" equal "$(code "$reproduce" mpmoe_fig14 --bin "$bin" --out "$scratch/out" --format csv)" 0
expect "it prints what it stores" cmp -s "$scratch/output" "$scratch/out/all.csv"
expect "a row for each figure of the paper" equal "$(grep -c "^MPMoE,Fig. 14," "$scratch/output")" 4
# shellcheck disable=SC2016
expect "all are simulated, and the difference follows from both figures" awk -F, 'NR > 1 {
    if ($9 != "simulated" || $7 <= 0 || ($8 - ($7 / $6 - 1))^2 > 1e-6) { print; bad = 1 }
  } END { exit bad }' "$scratch/output"
expect "all of one folder are rows of a table" equal "$(code "$reproduce" mpmoe_fig14 --bin "$bin" --out "$scratch/out")" 0
expect "with a percentage" grep -q "^MPMoE .*[+-][0-9.]*%  simulated$" "$scratch/output"

exit $((failures > 0))
