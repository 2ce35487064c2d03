#!/usr/bin/env bash
# Both sides of experiments/against_pytorch are timed by their lines. $1: moe-train.
set -euo pipefail
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

# timed STEPS COMMAND...: seconds of a whole iteration, as compare.py has them.
timed() {
  PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$root/experiments/against_pytorch \
    python3 -c 'import compare, sys; print(compare.step_s(sys.argv[2:], int(sys.argv[1])))' "$@"
}
train=("$1" --model micro --evaluate-batches 0 --timelines 0 --format json --log - --steps)
fewer_are_refused() {
  ! timed 4 "${train[@]}" 6 > "$scratch/out" 2>&1 && grep -q '6 iterations: expected 7' "$scratch/out"
}
failures_are_told() {
  ! timed 1 sh -c 'echo no GPU >&2; exit 3' > "$scratch/out" 2>&1 && grep -q 'exit code 3' "$scratch/out" &&
    grep -q 'no GPU' "$scratch/out"
}
# The whole comparison, with a made-up PyTorch: its python checks nothing and ends iterations at once.
mkdir -p "$scratch/venv/bin"
cat > "$scratch/venv/bin/python" <<'FAKE'
#!/usr/bin/env bash
case "$*" in
  *compare.py*) exec python3 -c 'import runpy, sys; sys.executable = sys.argv.pop(1); sys.argv.pop(0); sys.dont_write_bytecode = True
runpy.run_path(sys.argv[0], run_name="__main__")' "$0" "${@:2}" ;;
  *--check*) ;;
  *pytorch_step.py*) warmup=3
    if [[ ${8-} == --compile ]]; then warmup=$9; fi
    for ((i = 1; i <= $5 + warmup; ++i)); do echo "{\"iteration\": $i, \"loss\": 1}"; done ;;
esac
FAKE
chmod +x "$scratch/venv/bin/python"
compares() {
  "$root/experiments/against_pytorch/run" --bin "$(dirname "$1")" --venv "$scratch/venv" --models tiny --threads 1 \
    --rounds 1 --clocks "$scratch/clocks.csv" "${@:3}" > "$scratch/table" 2> "$scratch/err" || { cat "$scratch/err"; return 1; }
  grep -qE "^\\| tiny \\| f32 \\| 1 (\\| [0-9.]+ ){$2}(\\| [0-9,]+ ){$2}\\| [0-9.]+ \\| [0-9.]+, [0-9.]+ \\|" "$scratch/table"
}
expect "milliseconds and tokens/s of both sides are in the table" compares "$1" 2
expect "and of a third, compiled, where it is asked for" compares "$1" 3 --compile
expect "which has a ratio of its own" grep -q '| PyTorch compiled / moelab | least, most |$' "$scratch/table"
expect "moe-train ends each iteration with a line" timed 4 "${train[@]}" 7
expect "a side with fewer iterations is no figure" fewer_are_refused
expect "a side that fails is no figure" failures_are_told
exit $((failures > 0))
