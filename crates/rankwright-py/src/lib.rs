//! `rankwright._native`: what the Python package `rankwright` has the library do.
//!
//! Functions take and give plain values: texts in the JSON forms of `docs/src/formats.md`, and tables (`table.rs`) of
//! columns. The package in `python/rankwright` makes the interface for people of them; its
//! `_native.pyi` has the types. All work runs in a thread of its own with the interpreter's lock released
//! (`running.rs`).

mod cluster;
mod failure;
mod job;
mod pairing;
mod planning;
mod predicting;
mod profile;
mod running;
mod table;
mod workload;

use pyo3::prelude::*;

/// The extension module.
#[pymodule(name = "_native")]
mod native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::cluster::Cluster;
    #[pymodule_export]
    use crate::job::job_around;
    #[pymodule_export]
    use crate::pairing::{pair_by_table, pair_profiles};
    #[pymodule_export]
    use crate::planning::{hosts, plan, strategies};
    #[pymodule_export]
    use crate::predicting::{estimate, replay, simulate};
    #[pymodule_export]
    use crate::profile::Profile;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::workload::{Workload, names_of};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("VERSION", env!("CARGO_PKG_VERSION"))
    }
}
