//! Strategies that spread jobs over nodes by thresholds, Soryani, Analoui and Zarrinchian 2012 and 2013.
//!
//! | file | what it has |
//! |---|---|
//! | `mapping_2012`, `mapping_2013` | the strategies |
//! | `options` | the options that both have |
//! | `job_mapping` | one job after the other, ranks in the order of their demand |
//! | `free_slots` | which node and memory takes the next rank |
//! | `threshold` | ranks per node by the queueing model, Eqs. (14) to (23) of 2013 |
//! | `slowdown` | how bursts weigh, Eq. (13) of 2013 |

mod free_slots;
mod job_mapping;
pub(in crate::map) mod mapping_2012;
pub(in crate::map) mod mapping_2013;
mod options;
mod slowdown;
mod threshold;
