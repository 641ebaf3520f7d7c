//! This machine: its hardware from the system's libhwloc or, where this library is built without it,
//! from the kernel's /sys; the rates of its links from /sys. The only folder of the library that looks at
//! the machine.

mod error;
#[cfg(feature = "hwloc")]
mod hwloc;
mod links;
mod sysfs;

use std::path::Path;

use crate::cluster::NodeGroup;

pub use error::DiscoveryError;

/// Discovers this node: its hardware, the PUs that this process may use (the others are not free),
/// and the link rates of its network devices, where the kernel has them.
///
/// # Errors
/// If libhwloc fails, or writes another version of XML than this library reads. Without libhwloc: if
/// `/sys` does not list the PUs, or contradicts itself.
pub fn discover() -> Result<NodeGroup, DiscoveryError> {
    #[cfg(feature = "hwloc")]
    let group = super::hwloc_xml::parse(&hwloc::export(None)?, "libhwloc")?;
    #[cfg(not(feature = "hwloc"))]
    let group = sysfs::group(Path::new("/"))?;
    Ok(with_links(group, Path::new("/")))
}

/// As [`discover`] without libhwloc, for a folder with the `/sys` and `/proc` of a machine.
///
/// # Errors
/// As [`discover`] without libhwloc.
pub fn discover_below(root: &Path) -> Result<NodeGroup, DiscoveryError> {
    Ok(with_links(sysfs::group(root)?, root))
}

fn with_links(mut group: NodeGroup, root: &Path) -> NodeGroup {
    for nic in &mut group.machine.nics {
        links::ask_kernel(nic, &root.join("sys/class"));
    }
    group
}

#[cfg(test)]
mod tests;
