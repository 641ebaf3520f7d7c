#!/bin/bash
#SBATCH -N 2 --ntasks-per-node=4 --exclusive
#PBS -l select=2:ncpus=8:mpiprocs=4
mpirun ./app
