# shellcheck shell=bash
# Sourced by the steps: runs programs, and prints Markdown for the page on stdout. README.md says what a step knows.
# shellcheck disable=SC2034
set -euo pipefail
steps=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
database=(--db "$GPU_DB")
# Where the toolkit's tools are, when nobody has named them.
for folder in /usr/local/cuda/bin /opt/nvidia/nsight-compute/*; do
  if [[ -d $folder ]]; then PATH=$PATH:$folder; fi
done

# Sizes of a GPU, or of one in software, whose rates are made up and never stored as measurements.
if [[ $GPU_DEVICE == cuda ]]; then
  store=("${database[@]}") budget=0.3 threads=() layer_sizes=(--steps 12)
else
  store=() budget=0.01 threads=(--threads 1)
  layer_sizes=(--steps 3 --set model.sequence_length=16 --set model.d_model=16 --set model.d_hidden=56
    --set model.heads=2 --data "$GPU_ROOT/README.md")
fi

# impossible TEXT: ends a step that cannot be done here.
impossible() {
  echo "$*"
  exit 77
}
# run PROGRAM ARGUMENT...: what it prints is in the log, like all that it says.
run() {
  echo "\$ $*" >&2
  "$GPU_BIN/$1" "${@:2}" >&2
}
# trains MODEL ARGUMENT...: on the device, once more with SGD where Adam's states do not fit it. Prints the run's number.
trains() {
  local code=0
  local arguments=(moe-train --device cuda --evaluate-batches 0 --log-every 1 "${threads[@]}" "${database[@]}" --model "$@")
  run "${arguments[@]}" || code=$?
  if ((code == 3)); then
    echo "The states of Adam do not fit this GPU: trained with SGD." >&2
    run "${arguments[@]}" --set training.optimizer=sgd || return
  elif ((code != 0)); then
    return "$code"
  fi
  value "SELECT max(run) FROM run_view"
}
# query SQL: its rows as a table of Markdown.
query() {
  "$GPU_BIN/moe-db" query "${database[@]}" --format csv "$1" | python3 -B "$steps/as_markdown.py"
  echo
}
value() { "$GPU_BIN/moe-db" query "${database[@]}" --format csv "$1" | tail -n +2 | tail -n 1; }

# The last run of this build and card on a model; nothing where there is none.
last_run_of() {
  value "SELECT max(run) FROM run_view WHERE kind = 'train' AND model = '$1' AND status = 'done' AND last_iteration > 2
    AND device = '$GPU_DEVICE' AND coalesce(nullif(gpu, ''), device) = '$GPU_CARD' AND instr('$GPU_REVISION', revision) = 1"
}

# The limits of the card as step 3 measured them; NULL before. Those of software are made up.
take_limits() {
  flops_per_s=1e12 bytes_per_s=1e12
  if [[ $GPU_DEVICE == cuda ]]; then
    flops_per_s=$(value "SELECT max(flops_per_s) FROM measurement_view WHERE gpu = '$GPU_CARD' AND dtype = 'bf16'")
    bytes_per_s=$(value "SELECT max(bus_bandwidth_bytes_per_s) FROM measurement_view
      WHERE gpu = '$GPU_CARD' AND op = 'device_add'")
    flops_per_s=${flops_per_s:-NULL} bytes_per_s=${bytes_per_s:-NULL}
  fi
}

# beside_pytorch MODEL ARGUMENT...: the table of against_pytorch, or why there is none.
beside_pytorch() {
  local code=0
  if [[ $GPU_DEVICE != cuda ]]; then
    echo "PyTorch: not beside a device in software."
  elif [[ -z $GPU_VENV ]]; then
    echo "PyTorch: not on this machine (--venv names an environment that has it)."
  else
    "$GPU_ROOT/experiments/against_pytorch/run" --bin "$GPU_BIN" --device cuda --precisions bf16 --threads "$(nproc)" \
      --venv "$GPU_VENV" --models "$@" || code=$?
  fi
  echo
  return "$code"
}

# op_table RUN: the ops of a typical step by time, beside what their FLOPs or bytes take at the limits of the card.
op_table() {
  take_limits
  local steps_of_run
  steps_of_run=$(value "SELECT count(DISTINCT timeline) FROM span_view WHERE run = $1")
  query "WITH op AS (SELECT phase, iif(phase = 'update', kind, name) AS name, duration_s,
      max(coalesce(flops, 0) / $flops_per_s, coalesce(bytes, 0) / $bytes_per_s) AS limit_s
    FROM span_view WHERE run = $1 AND activity = 'computation')
    SELECT phase, name AS op, count(*) / max($steps_of_run, 1) AS ops,
      round(1e3 * sum(duration_s) / $steps_of_run, 3) AS 'now (ms)',
      round(1e3 * sum(limit_s) / $steps_of_run, 3) AS 'limit (ms)',
      round(100 * sum(limit_s) / sum(duration_s), 1) AS 'limit / now (%)'
    FROM op GROUP BY phase, name ORDER BY sum(duration_s) DESC LIMIT 30"
}

# phase_table RUN: forward and backward beside their products alone, by the rates that step 3 stored for them.
phase_table() {
  take_limits
  query "WITH alone AS (SELECT op, sum(flops) / sum(time_s) AS rate FROM measurement_view
      WHERE gpu = '$GPU_CARD' AND dtype = 'bf16' AND flops > 0 GROUP BY op),
    timed AS (SELECT timeline, phase, start_s, end_s, iif(kind LIKE '%linear%', duration_s, 0) AS product_s,
        iif(kind LIKE '%linear%', flops / coalesce(rate, $flops_per_s), 0) AS alone_s
      FROM span_view LEFT JOIN alone ON alone.op = kind WHERE run = $1 AND activity = 'computation'),
    phases AS (SELECT phase, max(end_s) - min(start_s) AS phase_s, sum(product_s) AS products_s, sum(alone_s) AS alone_s
      FROM timed WHERE phase IN ('forward', 'backward') GROUP BY timeline, phase)
    SELECT phase, round(1e3 * avg(phase_s), 2) AS 'phase (ms)', round(1e3 * avg(products_s), 2) AS 'its products (ms)',
      round(1e3 * avg(alone_s), 2) AS 'products alone (ms)',
      round(100 * sum(alone_s) / sum(phase_s), 1) AS 'alone / phase (%)'
    FROM phases GROUP BY phase ORDER BY phase DESC"
}

# other_layer MODEL ARGUMENT...: beside PyTorch; its ops and phases beside the limits. The arguments are for software.
other_layer() {
  [[ -e $GPU_ROOT/experiments/models/$1.toml ]] || impossible "no model $1 in this build"
  local code=0 run_of_layer
  beside_pytorch "$1" --rounds 2 || code=$?
  if [[ $GPU_DEVICE == cuda ]]; then set -- "$1"; fi
  run_of_layer=$(trains "$1" "${layer_sizes[@]}" "${@:2}")
  op_table "$run_of_layer"
  phase_table "$run_of_layer"
  return "$code"
}
