# What the scripts experiments/<paper>_<table or figure>/run share. A script sources this file, has a
# function usage, and calls begin "$@" first.
#
# Afterwards `tune` is moe-tune, `work` a folder of its own for what it prints, and `row` adds a row
# to rows.csv in the folder of --out. Figures of ours are simulated, and rows say so. A script that
# has an option of its own has a function own_option, which takes the option and its value.
# shellcheck shell=bash disable=SC2034
set -euo pipefail

experiments=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
name=$(basename "$(dirname "${BASH_SOURCE[1]}")")
work=''

wrong_use() {
  echo "$name: $* (try --help)" >&2
  exit 2
}

# begin "$@": reads --bin, --out and --help.
begin() {
  local bin=$experiments/../build/release/bin out=$experiments/../build/reproduce/$name
  while (($# > 0)); do
    case $1 in
      --bin | --out)
        [[ -n ${2-} && $2 != --* ]] || wrong_use "$1 needs a value"
        if [[ $1 == --bin ]]; then bin=$2; else out=$2; fi
        shift 2
        ;;
      -h | --help) usage; exit 0 ;;
      *)
        if ! declare -F own_option > /dev/null || ! own_option "$@"; then wrong_use "unknown option $1"; fi
        shift 2
        ;;
    esac
  done
  [[ -x $bin/moe-tune ]] || wrong_use "no moe-tune in $bin"
  tune=$bin/moe-tune
  local why
  why=$(mkdir -p "$out" 2>&1) || wrong_use "--out $out: cannot be made: ${why##*: }"
  work=$out
  rows=$out/rows.csv
  : > "$out/why.tsv"
  echo paper,table,setting,system,quantity,paper_figure,ours,difference,basis > "$rows"
}

# cluster NAME: the file of a cluster of experiments/clusters.
cluster() {
  echo "$experiments/clusters/$1.toml"
}

# columns FILE NAME...: these columns of a CSV file with a heading, with tabs between them. Texts in
# quotes may hold commas.
columns() {
  local file=$1
  shift
  awk -v wanted="$*" '
    function fields(line, cells,    count, at, c, quoted, cell) {
      count = 1; cell = ""; quoted = 0
      for (at = 1; at <= length(line); ++at) {
        c = substr(line, at, 1)
        if (c == "\"") quoted = !quoted
        else if (c == "," && !quoted) { cells[count++] = cell; cell = "" }
        else cell = cell c
      }
      cells[count] = cell
      return count
    }
    NR == 1 {
      count = fields($0, heading)
      for (i = 1; i <= count; ++i) place[heading[i]] = i
      columns = split(wanted, names, " ")
      for (i = 1; i <= columns; ++i) {
        if (!(names[i] in place)) { print "no column " names[i] > "/dev/stderr"; exit 1 }
      }
      next
    }
    {
      fields($0, cells)
      for (i = 1; i <= columns; ++i) printf "%s%s", cells[place[names[i]]], i < columns ? "\t" : "\n"
    }' "$file"
}

# testbed BED FACTOR GEMM: the file of FSMoE's test bed a, b or b-printed, with links between and inside
# nodes that are FACTOR times slower beside each other, and GEMMs that take GEMM times as long by the FLOP.
testbed() {
  local file=$work/testbed-$1-$2.toml slowed
  slowed=$(awk -v factor="$2" 'BEGIN { printf "%.6f", 1 / factor }')
  {
    awk -v gemm="$3" '/^beta_s_per_flop/ { $3 *= gemm } { print }' "$(cluster "fsmoe-testbed-$1")"
    printf '\n[interference]\ninter_node_beside_intra_node = %s\nintra_node_beside_inter_node = %s\n' "$slowed" "$slowed"
  } > "$file"
  echo "$file"
}

# experts_at RATE NAME: the file of a cluster where parameters of experts travel at RATE Gbit/s, and their gradients.
experts_at() {
  local file=$work/$2-experts-$1.toml
  {
    cat "$(cluster "$2")"
    awk -v rate="$1" 'BEGIN {
      for (i = 1; i <= 2; ++i) {
        printf "\n[fit.%s]\nlink = \"inter_node\"\nalpha_s = 2e-05\nbeta_s_per_byte = %.4g\n", i == 1 ? "broadcast" : "reduce", 8e-9 / rate
      }
    }'
  } > "$file"
  echo "$file"
}

# ratio A B [DIGITS]: A / B.
ratio() {
  awk -v a="$1" -v b="$2" -v digits="${3-3}" 'BEGIN { printf "%.*f", digits, a / b }'
}

# why TABLE SENTENCE: why figures of the table are not within 15% of the paper's, for the page of all.
why() {
  printf '%s\t%s\n' "$1" "$2" >> "$work/why.tsv"
}

# row PAPER TABLE SETTING SYSTEM QUANTITY PAPERS_FIGURE OURS: "-" for a figure that the paper does
# not print. The difference is ours over the paper less 1.
row() {
  awk -v paper="$1" -v table="$2" -v setting="$3" -v system_="$4" -v quantity="$5" -v theirs="$6" -v ours="$7" 'BEGIN {
    difference = theirs == "-" || theirs == 0 || ours == "-" ? "" : sprintf("%.3f", ours / theirs - 1)
    printf "%s,%s,%s,%s,%s,%s,%s,%s,simulated\n", paper, table, setting, system_, quantity, theirs, ours, difference }' >> "$rows"
}
