//! The steady-state queueing model of Soryani et al. 2013, Eqs. 1-12: from one server ([`queue`])
//! over the loads of all servers to the time of a message and the prediction for a placement.

pub(super) mod message_time;
pub(super) mod prediction;
pub mod queue;
pub(super) mod server_loads;
pub(super) mod variation;
