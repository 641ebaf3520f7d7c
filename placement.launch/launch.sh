#!/bin/sh
# openmpi4 binds by its own rankfile
exec mpirun -np 4 -rf /work/main/placement.launch/rankfile ./lives
