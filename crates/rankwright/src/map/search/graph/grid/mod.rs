//! Cartesian grids among graphs: which graphs are grids, and where their vertices lie.
//!
//! | file | what it has |
//! |---|---|
//! | `coordinates` | [`Grid`]: the coordinates of each vertex |
//! | `skeleton` | the edges along the axes, without diagonals |
//! | `directions` | which of these edges belong to the same axis |

mod coordinates;
mod directions;
mod skeleton;
#[cfg(test)]
mod tests;

pub(in crate::map) use coordinates::Grid;
