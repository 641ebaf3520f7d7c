#!/bin/bash
# The GPU and the cores beside it, by local rank.
declare -a gpus=(3 2 1 0)
local_rank=${SLURM_LOCALID:-$OMPI_COMM_WORLD_LOCAL_RANK}
declare -i first=local_rank*16
mapfile -t nics < <(ls /sys/class/infiniband)
export ROCR_VISIBLE_DEVICES=${gpus[$local_rank]}
export MPICH_OFI_NIC_POLICY=NUMA
exec taskset -c $first-$((first + 15)) "$@"
