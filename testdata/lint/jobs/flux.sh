#!/bin/bash
#flux: -N 2
#flux: -t 30m
flux run -N2 -n8 -o cpu-affinity=map:'0-3;4-7;8-11;12-15' -o taskmap='manual:[[0,2,1,4]]' ./app
