//! Readers of cluster descriptions, one file or folder per source: [`toml`], [`hwloc_xml`],
//! [`hostfile`], [`topology_conf`], [`ibnetdiscover`], the [`allocation`] of a batch job,
//! [`synthetic`] strings, this machine. All of them make a [`Cluster`](super::Cluster).

pub mod allocation;
pub mod built_in;
pub mod hostfile;
pub mod hwloc_xml;
pub mod ibnetdiscover;
pub(super) mod infiniband_rate;
#[cfg(feature = "hwloc")]
pub mod live;
pub(super) mod switch_order;
pub(super) mod switch_tree;
pub mod synthetic;
pub mod toml;
pub mod topology_conf;
pub(super) mod tree;
