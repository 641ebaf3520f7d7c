//! Commands that plan single steps.

pub(crate) mod calibrate;
pub(crate) mod launch;
pub(crate) mod lint;
pub(crate) mod map;
pub(crate) mod nic;
pub(crate) mod pair;
pub(crate) mod simulate;
