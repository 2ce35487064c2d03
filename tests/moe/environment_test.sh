#!/usr/bin/env bash
# usage: environment_test.sh WATCH BIN CONTROL: no program changes its environment while threads
# run, on processors, on a CUDA device in software and as several ranks. WATCH is the library of
# watched_environment.cpp; CONTROL, the program of tests/cuda_emulation/environment_control.cpp,
# must be caught.
set -euo pipefail
watch=$1 bin=$2 control=$3
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

quiet() {  # quiet PROGRAM ARGUMENT...
  local code=0
  LD_PRELOAD=$watch "$bin/$1" "${@:2}" > "$folder/out" 2> "$folder/err" || code=$?
  if ((code != 0)) || grep -q 'is changed while' "$folder/err"; then
    echo "FAILED: $*: exit code $code: $(cat "$folder/err")"
    exit 1
  fi
  echo "ok: $*"
}

# Where ld.so cannot preload the watch, it only warns, and nothing would be caught below.
for call in setenv unsetenv putenv clearenv; do
  code=0
  LD_PRELOAD=$watch "$control" "$call" > "$folder/out" 2> "$folder/err" || code=$?
  if ((code != 99)) || ! grep -q 'is changed while' "$folder/err"; then
    echo "FAILED: $call beside a thread is not caught: exit code $code: $(cat "$folder/err")"
    exit 1
  fi
done
echo "ok: the control is caught"

train=(moe-train --model micro --steps 2 --evaluate-batches 0 --data "$root/README.md")
quiet "${train[@]}" --threads 2
quiet "${train[@]}" --device cuda
bench=(moe-bench collectives --collectives all_reduce --sizes 4K --budget 0.01)
quiet "${bench[@]}"
if command -v mpirun > /dev/null; then
  quiet "${train[@]}" --ranks 2 --db "$folder/results.db"
  quiet "${train[@]}" --ranks 2 --device cuda
  quiet "${bench[@]}" --ranks 2
  quiet moe-tune study s --model micro --ranks 2 --db "$folder/results.db" --planners sequential --top 1 --repeats 1 \
    --refine 0 --steps 2 --profile-rounds 1 --micro-profile-steps 0
fi
