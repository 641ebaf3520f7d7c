//! Data rates of InfiniBand links.

use crate::units::BytesPerSecond;

/// Data rate of one lane each way, in Gbit/s: the signalling rate less the line coding (8b/10b up to
/// QDR, 64b/66b from FDR10 on; InfiniBand Architecture Specification, volume 2).
const LANES: [(&str, f64); 9] = [
    ("SDR", 2.0),
    ("DDR", 4.0),
    ("QDR", 8.0),
    ("FDR10", 10.0),
    ("FDR", 13.636_363_636_363_637),
    ("EDR", 25.0),
    ("HDR", 50.0),
    ("NDR", 100.0),
    ("XDR", 200.0),
];

/// The most lanes of a link.
const MOST_LANES: u32 = 12;

/// The data rate, each way, of a link with this width and speed: `4xEDR`, or `4X EDR` as the kernel
/// writes it. `None` if the speed is unknown.
pub(in crate::cluster) fn link_rate(text: &str) -> Option<BytesPerSecond> {
    let (width, speed) = text.split_once(['x', 'X'])?;
    let width: u32 = width.trim().parse().ok().filter(|width| (1..=MOST_LANES).contains(width))?;
    let (_, lane) = LANES.iter().find(|(name, _)| *name == speed.trim())?;
    Some(BytesPerSecond(f64::from(width) * lane * 1e9 / 8.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_the_data() {
        for (text, gigabits) in
            [("4xSDR", 8.0), ("4xQDR", 32.0), ("4X EDR", 100.0), ("2xHDR", 100.0), ("4xNDR", 400.0)]
        {
            assert_eq!(link_rate(text), Some(BytesPerSecond(gigabits * 1e9 / 8.0)), "{text}");
        }
        for text in ["", "4x", "4x???", "??EDR", "99xEDR", "EDR", "x"] {
            assert_eq!(link_rate(text), None, "{text}");
        }
    }
}
