//! The packages that have what is missing.

use std::path::Path;

use serde::Serialize;

use crate::host::find_program;

/// The names of packages, separated by spaces.
#[derive(Debug, Serialize)]
pub(super) struct Packages {
    /// On Debian and Ubuntu.
    pub(super) debian: &'static str,
    /// On Fedora and RHEL (with EPEL).
    pub(super) fedora: &'static str,
    /// In Spack.
    pub(super) spack: &'static str,
}

pub(super) const OPEN_MPI: Packages = Packages {
    debian: "openmpi-bin libopenmpi-dev",
    fedora: "openmpi openmpi-devel",
    spack: "openmpi",
};
pub(super) const MPICH: Packages =
    Packages { debian: "mpich libmpich-dev", fedora: "mpich mpich-devel", spack: "mpich" };
pub(super) const COMPILER: Packages =
    Packages { debian: "gcc libc6-dev", fedora: "gcc glibc-devel", spack: "gcc" };
pub(super) const NAMESPACE_TOOLS: Packages = Packages {
    debian: "iproute2 util-linux mount hostname",
    fedora: "iproute iproute-tc util-linux hostname",
    spack: "iproute2 util-linux",
};

impl Packages {
    /// The command of this system that installs them; those of several systems where its own is not
    /// known.
    pub(super) fn install(&self) -> String {
        let has = |name: &str| find_program(Path::new(name)).is_some();
        let Self { debian, fedora, spack } = self;
        let mut ways = Vec::new();
        let (of_debian, of_fedora) = (has("apt-get"), has("dnf"));
        if of_debian || !of_fedora {
            ways.push(format!("apt install {debian}"));
        }
        if of_fedora || !of_debian {
            ways.push(format!("dnf install {fedora}"));
        }
        ways.push(format!("spack install {spack}"));
        ways.join(", ")
    }
}
