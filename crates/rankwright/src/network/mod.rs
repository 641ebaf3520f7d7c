//! The queueing network: which servers a message passes, how long each serves it, what a far network
//! device costs, and which clocks send from which sites. The estimators, the simulator and the choice
//! of network devices share it.
//!
//! Users of the library meet it where results name a server: [`ServerKind`].

// | file | what it has |
// |---|---|
// | `servers/` | the servers under a placement: their numbers, the paths of messages, their names |
// | `far_device` | the price of a far network device: one that is not local to the NUMA node of its rank |
// | `clock_groups` | the clocks of a workload; senders with equal clocks and destinations are one multicast |
// | `sites` | classes of slots that are equivalent for messages, and the servers between them |
// | `site_model` | clock groups and sites of one workload: the input of the estimators that searches use |

mod clock_groups;
mod far_device;
mod servers;
mod site_model;
mod sites;

pub(crate) use clock_groups::{Clock, ClockGroups, Multicast, OUTSIDE, SingleClock};
pub use far_device::FarDevice;
pub use servers::ServerKind;
pub(crate) use servers::{Cost, Leg, ServerPart};
// For tests and measurements; may change in any version.
#[doc(hidden)]
pub use servers::{Hop, Path, Servers};
pub(crate) use site_model::SiteModel;
pub(crate) use sites::{LocalCost, Port, Site, SiteNode, Sites};
