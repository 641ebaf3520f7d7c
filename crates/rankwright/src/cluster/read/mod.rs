//! Readers of cluster descriptions, one file or folder per source.
//!
//! [`cluster::open`](super::open) calls those that read all of a cluster. The readers without a link
//! serve the command line and may change in any version.
//!
//! | source | reader | result |
//! |---|---|---|
//! | `cluster.toml` | [`toml`] | [`Cluster`](super::Cluster) |
//! | this machine: libhwloc (feature `hwloc`) and /sys | [`live`] | [`NodeGroup`](super::NodeGroup) |
//! | a built-in name, `paper:2013` | `built_in` | [`Cluster`](super::Cluster) |
//! | hwloc XML (`lstopo node.xml`) | `hwloc_xml` | [`NodeGroup`](super::NodeGroup) |
//! | a synthetic string of hwloc | `synthetic` | [`Machine`](super::Machine) |
//! | hostfiles of MPI launchers | `hostfile` | hosts, then a [`Cluster`](super::Cluster) like another one |
//! | variables of Slurm and LSF | `allocation` | hosts with CPUs, then a [`Cluster`](super::Cluster) like another one |
//! | Slurm's `topology.conf` | `topology_conf` | switches, then a [`Cluster`](super::Cluster) like another one |
//! | output of `ibnetdiscover` | `ibnetdiscover` | switches with adapters, then a [`Cluster`](super::Cluster) like another one |

pub(super) mod functions;
pub(super) mod infiniband_rate;
pub mod live;
pub(super) mod switch_order;
pub(super) mod switch_tree;
pub mod toml;
pub(super) mod tree;

// For the command line; may change in any version.
#[doc(hidden)]
pub mod allocation;
#[doc(hidden)]
pub mod built_in;
#[doc(hidden)]
pub mod hostfile;
#[doc(hidden)]
pub mod hwloc_xml;
#[doc(hidden)]
pub mod ibnetdiscover;
#[doc(hidden)]
pub mod synthetic;
#[doc(hidden)]
pub mod topology_conf;
