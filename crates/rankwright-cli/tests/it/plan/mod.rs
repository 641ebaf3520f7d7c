//! Commands that plan single steps.

mod calibrate;
mod launch;
mod launcher_defaults;
mod lint;
mod nic;
mod openmpi_map_display;
mod pair;
mod ranks_per;
mod simulate;
