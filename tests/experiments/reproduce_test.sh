#!/usr/bin/env bash
# experiments/reproduce: wrong use, the rows and pages of two experiments that take seconds, the sample of fsmoe_table5,
# and FSMoE's test bed B. $1: the folder of moe-tune.
# shellcheck disable=SC2317
set -euo pipefail
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

experiments=$root/experiments
reproduce=$experiments/reproduce
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
expect "no experiments at one time is wrong use" equal "$(code "$reproduce" mpmoe_fig14 --jobs 0)" 2
expect "the list names what an experiment is about" equal "$(code "$reproduce" --list)" 0
expect "every experiment has a page, and is in the list" equal \
  "$(cd "$experiments" && for page in {fsmoe,lancet,mpmoe,pro_prophet}_*/README.md; do [[ ! -e $page ]] || echo "${page%/*}"; done)" \
  "$(awk '{ print $1 }' "$scratch/output")"
# shellcheck disable=SC2016
expect "every experiment is in the page of all, with figures" equal \
  "$(awk '{ print $1 }' "$scratch/output")" "$(awk '/^\| \[/ { split($0, part, /[][]/); print part[2] }' "$experiments/reproduced.md")"
# shellcheck disable=SC2016
expect "the counts of all are the sums of those of the experiments" awk -F'|' '
  /^\| \[/ && NF == 9 { for (i = 3; i <= 5; ++i) sum[i] += $i }
  /^\| all / { seen = 1; for (i = 3; i <= 5; ++i) if ($i != sum[i]) { print; bad = 1 } }
  END { exit bad || !seen }' "$experiments/reproduced.md"
expect "and are those of the stored rows" equal "$(grep '^| all ' "$experiments/reproduced.md")" \
  "$("$experiments/counts.awk" -v part=summary -v name=all "$experiments/reproduced.csv")"
every_picture_is_there() {
  local page
  for page in "$experiments"/*/README.md; do
    if grep -qF '(figure.svg)' "$page" && [[ ! -s ${page%README.md}figure.svg ]]; then
      echo "  $page names a picture that is not there"
      return 1
    fi
  done
}
expect "every picture of a page is there" every_picture_is_there

expect "two experiments end" equal "$(code "$reproduce" mpmoe_fig14 mpmoe_fig16 --bin "$bin" --out "$scratch/out" --format csv)" 0
expect "it prints what it stores" cmp -s "$scratch/output" "$scratch/out/all.csv"
expect "a row for each figure of the paper, by each of four readings" equal "$(grep -c "^MPMoE,Fig. 14," "$scratch/output")" 16
expect "with the cards of a DGX A100 and the start that FSMoE measured the partitions are the paper's" equal \
  "$(awk -F, '$3 ~ /0[.]3 ms/ { printf "%s ", $7 }' "$scratch/output")" "2 4 4 8 "
# shellcheck disable=SC2016
expect "attention's backward has four products for every two of forward" awk '
  /^\[/ { table = $0 }
  $1 == "beta_s_per_flop" { beta[table] = $3 }
  END {
    off = beta["[fit.attention_gradient]"] / beta["[fit.gemm]"] - 0.8
    exit !(beta["[fit.attention]"] == beta["[fit.gemm]"] && off * off < 1e-6)
  }' "$scratch/out/mpmoe_fig14/adira.toml"
expect "one heading" equal "$(grep -c "^paper,table," "$scratch/output")" 1
# shellcheck disable=SC2016
expect "all are simulated, and the difference follows from both figures" awk -F, 'NR > 1 {
    if ($9 != "simulated" || $7 <= 0 || ($8 - ($7 / $6 - 1))^2 > 1e-6) { print; bad = 1 }
  } END { exit bad }' "$scratch/output"
expect "all of one folder are rows of a table" equal "$(code "$reproduce" mpmoe_fig14 --bin "$bin" --out "$scratch/out")" 0
expect "with a percentage" grep -q "^MPMoE .*[+-][0-9.]*%  simulated  -$" "$scratch/output"
expect "and a count of its figures" grep -q "^mpmoe_fig14: 4 figures of the paper, [0-4] within 15%" "$scratch/output"

expect "figures are stored" equal "$(code "$reproduce" mpmoe_fig14 --bin "$bin" --out "$scratch/out" --db "$scratch/figures.db")" 0
expect "all of them" equal "$("$bin/moe-db" query --db "$scratch/figures.db" --format csv \
  "SELECT count(*), sum(abs(difference - (value / paper_value - 1)) > 1e-9), min(basis) FROM figure_view" | tail -1)" 16,0,simulated

# An experiment of which only some predictions succeed.
mkdir -p "$scratch/fails"
cat > "$scratch/fails/moe-tune" <<TEXT
#!/bin/bash
echo >> "$scratch/fails/calls"
((\$(wc -l < "$scratch/fails/calls") <= 12)) || exit 1
exec "$bin/moe-tune" "\$@"
TEXT
chmod +x "$scratch/fails/moe-tune"
ln -s "$bin/moe-db" "$scratch/fails/moe-db"
expect "an experiment that fails ends it with 1" equal \
  "$(code "$reproduce" mpmoe_fig16 --bin "$scratch/fails" --out "$scratch/fails/out" --db "$scratch/fails.db")" 1
expect "its rows are in its folder" grep -q "^MPMoE,Fig. 16," "$scratch/fails/out/mpmoe_fig16/rows.csv"
expect "and not stored" test ! -e "$scratch/fails.db" -a ! -s "$scratch/fails/out/all.csv"

# Rows as parts of pages and as a picture.
mkdir -p "$scratch/page"
cat > "$scratch/page/rows.csv" <<'TEXT'
paper,table,setting,system,quantity,paper_figure,ours,difference,basis,reading,reading_order,left_out
A,Fig. 1,x < y,s,speed-up,2,2.2,0.100,simulated,as printed,1,
A,Fig. 1,x > y,s,speed-up,-,1.5,,simulated,as printed,1,
A,Fig. 2,x,s,time,10,5,-0.500,simulated,as printed,1,
A,Fig. 2,x; by the byte,s,time,10,9,-0.100,simulated,by the byte,2,
A,Fig. 2,x; by the bit,s,time,10,20,1.000,simulated,by the bit,3,
A,Fig. 3,x,s,time; paper: under,10,5,-0.500,simulated,as printed,1,bound
A,Fig. 4,x,s,time,10,10,0.000,simulated,as printed,1,fitted
A,Fig. 4,x; by the byte,s,time,10,9,-0.100,simulated,by the byte,2,
A,Fig. 5,x; by the byte,s,time,10,14,0.400,simulated,by the byte,2,
A,Fig. 5,x; by the bit,s,time,10,10,0.000,simulated,by the bit,3,rejected
TEXT
part() { "$experiments/counts.awk" -v part="$1" -v name=n "${@:2}"; }
# Figs. 1, 2 and 5 count. By the first reading that each has Fig. 1 is near; by the best Fig. 2 is, too.
summary='| [n](n/README.md) | 3 | 1 | 2 | -50.0% | +40.0% | bound 1, fitted 1, rejected 1 |'
expect "a figure counts once, by its first reading and by its best" equal "$(part summary "$scratch/page/rows.csv")" "$summary"
{
  head -1 "$scratch/page/rows.csv"
  tail -n +2 "$scratch/page/rows.csv" | tac
} > "$scratch/page/turned.csv"
expect "in whatever order the rows are" equal "$(part summary "$scratch/page/turned.csv" | cut -d '|' -f 1-7)" "${summary%| bound*}"
expect "and in words" equal "$(part counts "$scratch/page/rows.csv")" \
  "n: 3 figures of the paper, 1 within 15% by the first reading, 2 by the best; rows left out: bound 1, fitted 1, rejected 1"
"$experiments/bars.awk" "$scratch/page/rows.csv" > "$scratch/page/figure.svg"
expect "a picture has a bar for each figure" equal "$(grep -c '<rect .*height="8"' "$scratch/page/figure.svg")" 19
expect "its labels are text of XML" grep -qF "x &lt; y; s" "$scratch/page/figure.svg"

# Rows of a script that names its readings.
mkdir -p "$scratch/made_fig1"
cat > "$scratch/made_fig1/run" <<TEXT
source "$experiments/reproduction.sh"
begin "\$@"
readings "as printed" "by the byte"
row A "Fig. 1" x s time 10 11
reading="by the byte" left_out=rejected row A "Fig. 1" x s time 10 9
row A "Fig. 1" y s time 10 8
reading="by the bit" row A "Fig. 1" x s time 10 9
TEXT
expect "a reading that was not named in advance fails" equal \
  "$(code bash "$scratch/made_fig1/run" --bin "$bin" --out "$scratch/made_fig1/out")" 1
expect "any but the first stands behind the setting" equal "$(tail -n +2 "$scratch/made_fig1/out/rows.csv")" \
  "A,Fig. 1,x,s,time,10,11,0.100,simulated,as printed,1,
A,Fig. 1,x; by the byte,s,time,10,9,-0.100,simulated,by the byte,2,rejected
A,Fig. 1,y,s,time,10,8,-0.200,simulated,as printed,1,"

# The layers that fsmoe_table5 draws: each value as often as any other, and each pair of values.
eval "$(sed -n '/^drawn() {/,/^}/p' "$experiments/fsmoe_table5/run")"
evenly_drawn() {
  drawn "$1" | sort -u | awk -v layers="$1" '
    {
      for (i = 1; i <= 6; ++i) {
        for (j = i + 1; j <= 6; ++j) ++pairs[i, j, $i, $j]
      }
    }
    END {
      for (pair in pairs) { ++kinds; if (pairs[pair] != layers / 9) bad = 1 }
      exit NR != layers || kinds != 15 * 9 || bad
    }'
}
for layers in 54 162 486 1458; do expect "$layers layers are drawn evenly" evenly_drawn $layers; done
expect "another number of layers is wrong use" equal "$(code "$experiments/fsmoe_table5/run" --layers 55 --bin "$bin" --out "$scratch/out")" 2

# Test bed B by the byte is four times as slow as by the fp32 element, and within its links.
# shellcheck disable=SC2016
by_the_byte() {
  awk '
    FNR == 1 { ++file }
    /^\[/ { table = $1 }
    /^(beta_s_per_byte|bandwidth)/ { value[file, table] = $3 }
    END {
      n = split("[inter_node] [intra_node] [fit.all_to_all] [fit.all_reduce] [fit.all_gather] [fit.reduce_scatter]", tables, " ")
      for (i = 1; i <= n; ++i) {
        ratio = value[2, tables[i]] / value[1, tables[i]]
        if (i <= 2) ratio = 1 / ratio
        if (ratio < 3.99 || ratio > 4.01) { print tables[i], ratio; bad = 1 }
      }
      # Four cards share a network card of 100 Gbit/s; PCI-Express 3.0 x16 has 15.75 GB/s.
      if (4 * 8e-9 / value[2, "[fit.all_reduce]"] > 100 || 1e-9 / value[2, "[fit.all_gather]"] > 15.75) bad = 1
      if (4 * 8e-9 / value[1, "[fit.all_reduce]"] < 100 || 1e-9 / value[1, "[fit.all_gather]"] < 15.75) bad = 1
      exit bad
    }' "$experiments/clusters/fsmoe-testbed-b-printed.toml" "$experiments/clusters/fsmoe-testbed-b.toml"
}
expect "test bed B by the byte is within its links, by the element it is not" by_the_byte

exit $((failures > 0))
