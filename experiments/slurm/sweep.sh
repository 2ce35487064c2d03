#!/usr/bin/env bash
#SBATCH --job-name=moe-sweep
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --time=00:30:00
#SBATCH --output=%x-%j.out
# Measures collectives over the nodes of a Slurm allocation and stores them: sbatch experiments/slurm/sweep.sh
# Arguments go to moe-bench: sbatch experiments/slurm/sweep.sh --sizes 1M:64M:x4
# MOELAB_BIN: where the programs are; MOELAB_DB: the database; LAUNCHER: what starts ranks instead of mpirun.
set -euo pipefail
PATH=${MOELAB_BIN:-$PWD/build/release/bin}:$PATH
exec moe-bench collectives --db "${MOELAB_DB:-results.db}" ${LAUNCHER:+--launcher "$LAUNCHER"} "$@"
