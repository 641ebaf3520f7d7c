//! The two mapping algorithms of Soryani, Analoui and Zarrinchian, 2012 and 2013.

pub(crate) mod job_mapping;
pub(crate) mod mapping_2012;
pub(crate) mod mapping_2013;
pub(crate) mod mapping_options;
pub(crate) mod threshold;
