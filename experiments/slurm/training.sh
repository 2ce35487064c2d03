#!/usr/bin/env bash
#SBATCH --job-name=moe-train
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --time=01:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.out
# Trains on the nodes of a Slurm allocation: sbatch experiments/slurm/training.sh
# Two minutes before its time is over it writes a checkpoint and ends; submitted again, it goes on from there.
# Arguments go to moe-train in place of --model tiny --steps 300: sbatch experiments/slurm/training.sh --model box-small
# MOELAB_BIN: where the programs are; MOELAB_DB: the database; LAUNCHER: what starts ranks instead of mpirun.
set -euo pipefail
PATH=${MOELAB_BIN:-$PWD/build/release/bin}:$PATH
if (($# == 0)); then set -- --model tiny --steps 300; fi
exec moe-train --checkpoint moe-train-checkpoints --resume \
  --db "${MOELAB_DB:-results.db}" ${LAUNCHER:+--launcher "$LAUNCHER"} "$@"
