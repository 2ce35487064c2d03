#!/usr/bin/env bash
# The tables of experiments/box_planners: each figure stands under its name, in the table of one precision and in that of both.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
tables=$(awk -f "$root/experiments/box_planners/tables.awk" <<'CSV'
study,planner,paper,first,refined,measured,fastest,error,speedup,simulated,bound,exposed,peak,tied
small at 1 Gbit/s,joint=fsmoe,600,710,700,690,680,1.4,1.45,1.5,500,50,640,fastest
small at 1 Gbit/s,joint,601,,720,695,681,3.6,1.44,1.46,500,51,641,yes
small at 1 Gbit/s,sequential,1000,1060,1050,1000,990,5,1,1,900,400,630,
small in bf16 at 1 Gbit/s,fsmoe,500,560,550,460,450,19.6,1.3,1.2,400,40,370,fastest
small in bf16 at 1 Gbit/s,sequential,640,650,660,600,590,10,1,1,550,300,360,
CSV
)
expect_line() {
  grep -qxF -- "$1" <<< "$tables" || { echo "no line"$'\n'"  $1"$'\n'"in"$'\n'"$tables"; exit 1; }
}
expect_line '| joint = fsmoe | 600 | 710 | 700 | 690 | 680 | 1.4% | 1.45 | 1.50 | 500 | 50 | 640 | fastest |'
expect_line '| joint | 601 |  | 720 | 695 | 681 | 3.6% | 1.44 | 1.46 | 500 | 51 | 641 | yes |'
expect_line '### small at 1 Gbit/s: bf16 beside f32'
expect_line '| fsmoe | 700 | 690 | 1.4% | 1.45 | 550 | 460 | 19.6% | 1.30 | 1.50 |'
expect_line '| sequential | 1050 | 1000 | 5.0% | 1.00 | 660 | 600 | 10.0% | 1.00 | 1.67 |'

tables=$(awk -f "$root/experiments/box_planners/tables.awk" "$root/experiments/box_planners/tables.csv")  # as the page says
expect_line '### box-switch at 1 Gbit/s'
expect_line '| joint | 609 |  | 702 | 707 | 689 | -0.8% | 1.47 | 1.46 | 579 | 81 | 652 |  |'
