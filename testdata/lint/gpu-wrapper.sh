#!/bin/bash
# One GPU, network device and NUMA node for each rank of a node.
local=${SLURM_LOCALID:-$OMPI_COMM_WORLD_LOCAL_RANK}
nics=(hsn0 hsn1 hsn2 hsn3)
export ROCR_VISIBLE_DEVICES=$((local % 4))
export UCX_NET_DEVICES=${nics[local]}:1
case $local in
    0 | 1) numa=$((3 - local)) ;;
    *) numa=$local ;;
esac
exec numactl --cpunodebind=$numa --membind=$numa "$@"
