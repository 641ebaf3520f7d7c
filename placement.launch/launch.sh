#!/bin/sh
# openmpi4 binds the ranks (rankfile)
# files: rankfile
exec mpirun -np 16 -rf /work/main/placement.launch/rankfile ./cg.A.16
