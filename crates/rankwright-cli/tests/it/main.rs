//! Tests of the command line: the program as users start it.

mod broken;
mod cluster;
mod command;
mod events;
mod exec;
mod lab;
mod launch;
mod openmpi_monitoring;
mod otf2;
mod placements;
mod placing;
mod profile;
mod programs;
mod real_launchers;
mod road;
mod simulate;
mod slurm;
mod traffic;
mod which_mpi;
