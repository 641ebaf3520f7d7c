//! Bindings to the graph partitioners of other projects.
//!
//! | file | what it has |
//! |---|---|
//! | `metis` | METIS 5, called by one thread at a time |
//! | `scotch` | the calls of Scotch 7 for static mapping, each in a context of its own |

pub(in crate::map) mod metis;
#[cfg(feature = "scotch")]
pub(in crate::map) mod scotch;
