# What the scripts experiments/<paper>_<table or figure>/run share. A script sources this file, has a
# function usage, and calls begin "$@" first.
#
# Afterwards `tune` is moe-tune, `work` a folder of its own for what it prints, and `row` adds a row
# to rows.csv in the folder of --out. Figures of ours are simulated, and rows say so. A script that
# has an option of its own has a function own_option, which takes the option and its value.
#
# Where a paper is silent its figures can be read in several ways. A script names them by `readings`
# before it simulates. A figure of the paper counts once, by the first of them that has it.
# shellcheck shell=bash disable=SC2034
set -euo pipefail

experiments=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
name=$(basename "$(dirname "${BASH_SOURCE[1]}")")
work=''
known_readings=() reading='' left_out=''

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
  echo paper,table,setting,system,quantity,paper_figure,ours,difference,basis,reading,reading_order,left_out > "$rows"
}

# readings FIRST OTHER...: the readings of this script, the one that counts first.
readings() {
  known_readings=("$@")
  reading=$1
}

# stored_probabilities: a cluster's file with the backward of attention as the systems of the papers have it, which
# store the probabilities: 4 products where ours, which makes them again, has 5, and one launch less of 6. FSMoE's
# Table 2 measures it at 1.9 to 2.1 times forward, whose products are 2.
stored_probabilities() {
  awk '
    /^\[/ { table = $0 }
    table ~ /^\[fit.attention/ { next }
    table == "[fit.gemm]" && $1 == "alpha_s" { alpha = $3 }
    table == "[fit.gemm]" && $1 == "beta_s_per_flop" { beta = $3 }
    { print }
    END {
      printf "\n[fit.attention]\nalpha_s = %.4g\nbeta_s_per_flop = %.4g\n", alpha, beta
      printf "\n[fit.attention_gradient]\nalpha_s = %.4g\nbeta_s_per_flop = %.4g\n", alpha * 5 / 6, beta * 4 / 5
    }'
}

# cluster NAME: the file of a cluster of experiments/clusters, with attention as in the papers.
cluster() {
  local file=$work/$1.toml
  stored_probabilities < "$experiments/clusters/$1.toml" > "$file.$BASHPID"
  mv "$file.$BASHPID" "$file"
  echo "$file"
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

# measured_experts BED: fits of the products of experts from the times that FSMoE's Table 2 measured in forward: the line
# through GPT2-XL (two products) and Mixtral-7B (three), B = 4, L = 1024, k f = 2.4. Where the line would begin below 0,
# the rate of Mixtral-7B.
measured_experts() {
  local ranks=8 gpt2_xl=3.1 mixtral=15.6
  if [[ $1 == b* ]]; then ranks=4 gpt2_xl=6.7 mixtral=58.5; fi
  awk -v ranks=$ranks -v gpt2_xl=$gpt2_xl -v mixtral=$mixtral 'BEGIN {
    rows = 2.4 * 4 * 1024
    x = 2 * rows * 1600 * 6400 / ranks
    y = 2 * rows * 4096 * 14336 / ranks
    a = gpt2_xl / 2000
    b = mixtral / 3000
    beta = (b - a) / (y - x)
    alpha = a - beta * x
    if (alpha < 0) { alpha = 0; beta = b / y }
    split("expert_linear expert_linear_input_gradient expert_linear_weight_gradient", kinds, " ")
    for (i = 1; i <= 3; ++i) printf "\n[fit.%s]\nalpha_s = %.4g\nbeta_s_per_flop = %.4g\n", kinds[i], alpha, beta
  }'
}

# testbed BED FACTOR GEMM: the file of FSMoE's test bed a, b or b-printed, with links between and inside nodes that are
# FACTOR times slower beside each other. GEMM: how many times as long GEMMs take by the FLOP as in Fig. 5, or
# measured, for experts that take what Table 2 measured.
testbed() {
  local file=$work/testbed-$1-$2-$3.toml slowed times=$3
  if [[ $3 == measured ]]; then times=1; fi
  slowed=$(awk -v factor="$2" 'BEGIN { printf "%.6f", 1 / factor }')
  {
    awk -v gemm="$times" '/^beta_s_per_flop/ { $3 *= gemm } { print }' "$(cluster "fsmoe-testbed-$1")"
    if [[ $3 == measured ]]; then measured_experts "$1"; fi
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

# row PAPER TABLE SETTING SYSTEM QUANTITY PAPERS_FIGURE OURS: "-" for a figure that the paper does
# not print. The difference is ours over the paper less 1. The row is of the reading that the
# variable `reading` names: any but the first stands behind the setting. A row counts unless the
# variable `left_out` says why not (counts.awk has the reasons).
row() {
  local order=1 known
  for known in "${known_readings[@]}"; do
    if [[ $known == "$reading" ]]; then break; fi
    order=$((order + 1))
  done
  if ((order > ${#known_readings[@]} && ${#known_readings[@]} > 0)); then
    echo "$name: the reading \"$reading\" is not one of those named in advance" >&2
    exit 1
  fi
  awk -v paper="$1" -v table="$2" -v setting="$3" -v system_="$4" -v quantity="$5" -v theirs="$6" -v ours="$7" \
    -v reading="$reading" -v order="$order" -v left_out="$left_out" 'BEGIN {
    difference = theirs == "-" || theirs == 0 || ours == "-" ? "" : sprintf("%.3f", ours / theirs - 1)
    if (order > 1) setting = setting "; " reading
    printf "%s,%s,%s,%s,%s,%s,%s,%s,simulated,%s,%s,%s\n", paper, table, setting, system_, quantity, theirs, ours, difference, reading, order, left_out }' >> "$rows"
}
