#!/bin/sh
# rankwright-exec binds the ranks, as requested
export SLURM_HOSTFILE=/home/ann/job/hosts
exec srun -N 2 -n 16 -m arbitrary --cpu-bind=none --kill-on-bad-exit=1 rankwright-exec --map /home/ann/job/ranks.map -- ./app
