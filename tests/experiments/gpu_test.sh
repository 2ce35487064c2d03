#!/usr/bin/env bash
# experiments/gpu on a CUDA device in software: it goes through, and stores no time as a measurement.
# $1: the folder of the programs. MOELAB_CUDA_MODULE names the device.
# shellcheck disable=SC2317
set -euo pipefail
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

bin=$1 db=$scratch/gpu.db
if ! command -v mpirun > /dev/null; then
  echo "skipped: no mpirun"
  exit 77
fi
goes_through() {
  "$root/experiments/gpu" --bin "$bin" --db "$db" > "$scratch/out" 2> "$scratch/err" ||
    { cat "$scratch/out" "$scratch/err"; return 1; }
}
stored() { "$bin/moe-db" query --db "$db" --format csv "$1" | tail -n +2 | tr '\n' ' '; }
says() { grep -qE "$1" "$scratch/out" || { cat "$scratch/out"; return 1; }; }

expect "it goes through" goes_through
expect "it says what the device is" says 'on a CUDA device in software'
expect "every part is there" equal "$(grep -c '^== [1-4]\. ' "$scratch/out")" 4
expect "kernels stand beside their limits" says '^ *backward +.*expert'
expect "the phases stand beside their products" says '^ *forward +[0-9.]+ [a-z]+ +[0-9.]+ [a-z]+ +[0-9.]+ [a-z]+'
expect "no time is a measurement" equal "$(stored 'SELECT count(*) FROM measurement')" "0 "
expect "every run is of a device in software" equal "$(stored 'SELECT DISTINCT device FROM run')" "emulated "
expect "the four systems have trained on two ranks" equal \
  "$(stored 'SELECT planner FROM run_view WHERE ranks = 2 AND last_loss > 0 ORDER BY run')" \
  "sequential fsmoe lancet mpmoe_pm pro_prophet "
exit $((failures > 0))
