#!/bin/bash
# One shard of a campaign per task of a Slurm array, each of which may be requeued at any time:
#
#   export RUNS=$PWD/runs/tonight SEED=7 CASES=250000        # CASES of each shard; RUNS on a file system that all nodes share
#   fuzz=$(sbatch --parsable --array=0-3 docs/ci/slurm.sh)
#   sbatch --dependency="afterok:$fuzz" --wrap 'twinfer merge "$RUNS"/shard-* --out "$RUNS/whole"'
#
# Add --gres=gpu:1 for backends that need a GPU, and set BACKENDS. A task fails only if its machine or a backend does: findings are in
# the report of the merged run.
#SBATCH --job-name=twinfer
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu
exec twinfer fuzz --backends "${BACKENDS:-golden,ort:cpu}" --seed "$SEED" --cases "$CASES" --out "$RUNS/shard-$SLURM_ARRAY_TASK_ID" \
  --shard "$((SLURM_ARRAY_TASK_ID - SLURM_ARRAY_TASK_MIN))/$SLURM_ARRAY_TASK_COUNT" --resume-or-start --exit-zero-on-findings
