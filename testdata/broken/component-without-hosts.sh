#!/bin/sh
exec srun -n 2 ./a : -n 2 -w n0 ./b
