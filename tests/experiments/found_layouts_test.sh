#!/usr/bin/env bash
# The rows of experiments/found-layouts: those of a search, and that of the published layout.
set -euo pipefail
# shellcheck source=tests/experiments/expect.sh
source "$(dirname "${BASH_SOURCE[0]}")/expect.sh"

cat > "$scratch/moe-tune" <<'PROGRAM'
#!/usr/bin/env bash
echo "$*" >> "${0%/*}/asked"
[[ $* != *fsmoe-testbed-a* ]] || exit 1
cat <<'CSV'
place,predicted_s,tokens_per_s,peak_share,layout,micro_batches,order,planner,shard_optimizer,restored_blocks,parameter_bytes,gradient_bytes,optimizer_bytes,activation_bytes,buffer_bytes,predicted_peak_bytes,lower_bound_s,bounded_by
1,2.45678,426800.4,0.58764,"ep=8,pp=8",64,one_f_one_b,one_f_one_b,yes,3,1073741824,2147483648,1073741824,3221225472,1610612736,9126805504,2.4,"stage 1, compute"
CSV
PROGRAM
chmod +x "$scratch/moe-tune"

# run OPTION...: its exit code is left in `status`, what it printed in printed.
run() {
  status=0
  rm -f "$scratch/asked"
  "$root/experiments/found-layouts/run" --bin "$scratch" "$@" > "$scratch/printed" || status=$?
}
# A command for expect: such a line was printed.
line() { grep -qxF -- "$1" "$scratch/printed" || { cat "$scratch/printed"; return 1; }; }
figures='1,"ep=8,pp=8",64,one_f_one_b,yes,3,2.457,426800,0.588,4.0,4.5,"stage 1, compute"'

run --model mixtral-7b --cluster dgx-h100
expect "a search and a published layout" equal "$status" 0
expect "the row of the search" line "mixtral-7b,dgx-h100,search,$figures"
expect "the row of the published layout" line "mixtral-7b,dgx-h100,published,$figures"
expect "no other row" equal "$(wc -l < "$scratch/printed")" 3
expect "the layout is asked for" grep -q -- '--layouts ep=8,esp=1,tp=1,pp=4 --top 1' "$scratch/asked"
expect "in two searches of bf16" equal "$(grep -c 'training.precision=bf16' "$scratch/asked")" 2

run --model deepseek-v3 --cluster fsmoe-testbed-a
expect "a search that fails is a failure" equal "$status" 1
expect "and says so in its row" line "deepseek-v3,fsmoe-testbed-a,search,none"
expect "it was of 128 nodes" grep -q 'cluster.nodes=128' "$scratch/asked"

run --folding
expect "the folding" equal "$status" 0
expect "all layouts" line "\"pp=8\",$figures"
expect "experts as attention" line "\"pp=8,tp=2,esp=2\",$figures"
exit $((failures > 0))
