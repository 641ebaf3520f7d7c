//! Pictures as SVG text.

pub(super) mod boxes;
pub(super) mod svg;
