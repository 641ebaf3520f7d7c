#!/bin/bash
# One GPU and the device beside it for each rank of a node.
export ROCR_VISIBLE_DEVICES=$((3 - PALS_LOCAL_RANKID))
exec "$@"
