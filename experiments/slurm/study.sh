#!/usr/bin/env bash
#SBATCH --job-name=moe-study
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --time=02:00:00
#SBATCH --signal=B:TERM@120
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.out
# Finds the fastest schedule on the nodes of a Slurm allocation by training: sbatch experiments/slurm/study.sh NAME
# Two minutes before its time is over it ends in order; submitted again, it goes on and repeats nothing.
# Arguments after NAME go to moe-tune study in place of those below: sbatch experiments/slurm/study.sh NAME --model box-small
# MOELAB_BIN: where the programs are; MOELAB_DB: the database; LAUNCHER: what starts ranks instead of mpirun.
set -euo pipefail
PATH=${MOELAB_BIN:-$PWD/build/release/bin}:$PATH
name=${1:-first}
if [[ $name == -* ]]; then
  echo "study.sh: expected the NAME of a study before options, got $name" >&2
  exit 2
fi
shift $(($# > 0))
if (($# == 0)); then set -- --model tiny --planners sequential,tutel,fsmoe,joint --top each; fi
exec moe-tune study "$name" --resume \
  --db "${MOELAB_DB:-results.db}" ${LAUNCHER:+--launcher "$LAUNCHER"} "$@"
