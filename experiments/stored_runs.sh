# What scripts ask of trainings that are stored, and of predictions of their iterations. A script sources this file; `bin` is
# the folder of moe-db and moe-tune, `scratch` a folder, and `failed` ends the script with a word.
# shellcheck shell=bash

# query DB SQL: the rows as CSV, without a heading.
query() {
  "$bin/moe-db" query --db "$1" --format csv "$2" | sed 1d
}

# json_cell: a cell of CSV as the JSON that it holds.
json_cell() {
  sed 's/^"//; s/"$//; s/""/"/g'
}

# simulated_iteration DB RUN ITERATION COSTS MODEL RANKS: the seconds of a stored iteration, simulated with the schedule that was
# in force, the loads that were routed, and costs of the newest study of this model in the database COSTS.
simulated_iteration() {
  local schedule how=(--planner sequential)
  "$bin/moe-db" export routing --db "$1" --run "$2" --iteration "$3" -o "$scratch/loads.json" 2> "$scratch/said" ||
    failed "moe-db export routing: $(< "$scratch/said")"
  schedule=$(query "$1" "SELECT json FROM iteration_view JOIN schedule ON schedule.id = schedule_id WHERE run = $2 AND iteration = $3" | json_cell)
  if [[ $schedule == *'"decision"'* ]]; then
    echo "$schedule" > "$scratch/in_force.json"
    how=(--schedule "$scratch/in_force.json")
  fi
  "$bin/moe-tune" simulate --model "$5" --cluster measured --db "$4" --ranks "$6" --routing "$scratch/loads.json" \
    "${how[@]}" --format csv > "$scratch/simulated" 2> "$scratch/said" || failed "moe-tune simulate: $(< "$scratch/said")"
  awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) column[$i] = i } NR == 2 { print $column["predicted_s"] }' "$scratch/simulated"
}
