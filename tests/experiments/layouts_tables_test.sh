#!/usr/bin/env bash
# The table of experiments/layouts-in-the-box: rows of a study, and the newest of each line that it said.
set -euo pipefail
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

cat > "$scratch/tiny-at-0.75.csv" <<'CSV'
place,predicted_place,layout,planner,parameters,predicted_s,measured_s,prediction_error,speedup,tied_with,predicted_peak_bytes,measured_peak_bytes,status,failure
1,2,ep=4,sequential,{},0.352,0.4,-0.12,1,"dp=2,ep=2 sequential",2000,2000,done,
2,1,"dp=2,ep=2",sequential,{},0.35,0.41,-0.146,0.98,"ep=4 sequential, a, b, c",3000,2970,done,
,,"dp=4,ep=1",sequential,{},0.6,,,,,4000,,failed,out_of_memory
,,"ep=2,pp=2",sequential,{},0.7,,,,,5000,,planned,
CSV
cat > "$scratch/tiny-at-0.75.log" <<'LOG'
moe-tune: layouts by their fastest trials: repeats tell 0 of 1 pairs apart, 0 of them are in the predicted order
moe-tune: layouts by their fastest trials: repeats tell 1 of 1 pairs apart, 1 of them are in the predicted order
moe-tune: profile, round 1 of 2
layouts-in-the-box: tiny at 0.75 Gbit/s took 61 s
LOG
status=0
"$root/experiments/layouts-in-the-box/run" --out "$scratch" --table > "$scratch/printed" || status=$?
expect "the tables are made" equal "$status" 0
expect "and printed" equal "$(< "$scratch/printed")" "$(< "$scratch/table.md")"
# line TEXT
line() { grep -qxF -- "$1" "$scratch/table.md" || { cat "$scratch/table.md"; return 1; }; }
expect "a case is named" line '### tiny at 0.75 Gbit/s'
expect "a row" line '| 1 | 2 | `ep=4` | 352 | 400 | -12.0% | dp=2,ep=2 sequential | 2000 | 2000 | 100.0% |'
expect "what was not written" line '| 2 | 1 | `dp=2,ep=2` | 350 | 410 | -14.6% | 4 others | 3000 | 2970 | 99.0% |'
expect "what failed" line '|  |  | `dp=4,ep=1` | 600 | out_of_memory |  |  | 4000 |  |  |'
expect "what was not measured has no row" equal "$(grep -c 'pp=2' "$scratch/table.md")" 0
expect "the newest of a line" line '- layouts by their fastest trials: repeats tell 1 of 1 pairs apart, 1 of them are in the predicted order'
expect "alone" equal "$(grep -c 'layouts by their' "$scratch/table.md")" 1
expect "how long it took" line '- tiny at 0.75 Gbit/s took 61 s'
exit $((failures > 0))
