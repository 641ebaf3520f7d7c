//! A time line as a picture, like Figures 4 and 5 of Koop et al. 2009: a row for each process, the first at
//! the bottom, time across; a mark where it sends to other nodes. Above them the devices.

use super::super::drawing::svg::{Drawing, MARGIN, SMALL, width};
use super::TimelineReport;
use super::text::label;
use crate::units::Seconds;

const STYLES: &str = "\
.row { fill: #f4f4f4 }
.out { fill: #0072b2 }
.in { fill: #d55e00 }
.send4 { fill: #111 }
.send3 { fill: #444 }
.send2 { fill: #888 }
.send1 { fill: #bbb }
.axis { fill: #888 }
";

/// The columns of a picture: as many bins as the report should have, each a pixel wide.
pub(super) const COLUMNS: usize = 900;
/// The height of a row of a device.
const DEVICE: i32 = 26;
/// The most rows of ranks; beyond that, neighbours share one.
const ROWS: usize = 256;

/// The picture as a self-contained SVG file, of a report with [`TimelineReport::PICTURE_BINS`] bins.
#[must_use]
pub fn timeline_picture(report: &TimelineReport, title: &str) -> String {
    let mut drawing = Drawing::default();
    let together = report.busy_ranks.len().div_ceil(ROWS).max(1);
    let rows: Vec<&[Vec<f64>]> = report.busy_ranks.chunks(together).collect();
    let labels = device_rows(report).into_iter();
    let widest = labels.map(|row| width(&row.label, SMALL)).max().unwrap_or(0).max(60);
    let left = MARGIN + widest + 8;
    drawing.text("heading", MARGIN, MARGIN + 14, title);
    drawing.text("plain", MARGIN, MARGIN + 36, &report.answer);
    let mut top = MARGIN + 52;
    for row in device_rows(report) {
        let place = [left, top, row.bytes.len() as i32, DEVICE - 4];
        drawing.text("small", MARGIN, top + DEVICE - 10, &row.label);
        drawing.rectangle("row", place, None);
        let height = |bytes: &f64| {
            let share = (bytes / row.whole).clamp(0.0, 1.0);
            ((share * f64::from(DEVICE - 4)).round() as i32).max(i32::from(share > 1e-6))
        };
        for (begin, end, height) in runs(row.bytes.iter().map(height)) {
            let place = [left + begin, top + DEVICE - 4 - height, end - begin, height];
            drawing.rectangle(row.class, place, None);
        }
        top += DEVICE;
    }
    top += 8;
    let height = if rows.len() <= 32 { 14 } else { 5 };
    for (row, ranks) in rows.iter().enumerate().rev() {
        let first = row * together;
        if height > SMALL || first.is_multiple_of(16) {
            drawing.text("small", MARGIN, top + height.max(9) - 2, &format!("rank {first}"));
        }
        let bins = ranks[0].len();
        drawing.rectangle("row", [left, top, bins as i32, height - 1], None);
        let share =
            |bin: usize| ranks.iter().map(|rank| rank[bin]).sum::<f64>() / ranks.len() as f64;
        let darkness = (0..bins).map(|bin| (share(bin) * 4.0).ceil().clamp(0.0, 4.0) as i32);
        for (begin, end, level) in runs(darkness) {
            let class = ["row", "send1", "send2", "send3", "send4"][level as usize];
            drawing.rectangle(class, [left + begin, top, end - begin, height - 1], None);
        }
        top += height;
    }
    axis(&mut drawing, report, left, top + 4);
    drawing.finish(title, STYLES)
}

impl TimelineReport {
    /// The number of bins of a picture.
    pub const PICTURE_BINS: usize = COLUMNS;
}

/// A row of a device.
struct DeviceRow<'a> {
    label: String,
    class: &'static str,
    bytes: &'a [f64],
    /// The bytes that fill it.
    whole: f64,
}

fn device_rows(report: &TimelineReport) -> Vec<DeviceRow<'_>> {
    let computed = report.devices.iter().flat_map(|device| {
        let whole = device.bandwidth * report.bin_s;
        [("out", &device.bytes_out), ("in", &device.bytes_in)].map(|(class, bytes)| {
            let label = label(&device.node, &device.device, class);
            DeviceRow { label, class, bytes, whole }
        })
    });
    let counted = report.counted.iter().flat_map(|device| {
        let whole = report.highest * report.bin_s;
        [("out", &device.bytes_out), ("in", &device.bytes_in)].map(|(class, bytes)| {
            let label = label(&device.node, &device.device, &format!("counted {class}"));
            DeviceRow { label, class, bytes, whole }
        })
    });
    computed.chain(counted).collect()
}

/// The time below the rows.
fn axis(drawing: &mut Drawing, report: &TimelineReport, left: i32, top: i32) {
    let bins = device_rows(report).first().map_or(COLUMNS, |row| row.bytes.len());
    let end = report.bin_s * bins as f64;
    let step = round_step(end / 5.0);
    for number in 0..=(end / step) as i32 {
        let time = Seconds(f64::from(number) * step);
        let at = left + (time.0 / report.bin_s) as i32;
        drawing.rectangle("axis", [at, top, 1, 5], None);
        drawing.text("small", at, top + 18, &time.to_string());
    }
}

/// The next larger of 1, 2 or 5 times a power of ten.
fn round_step(least: f64) -> f64 {
    if least <= 0.0 {
        return 1.0;
    }
    let power = 10_f64.powf(least.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    factors.map(|factor| factor * power).into_iter().find(|step| *step >= least).unwrap_or(least)
}

/// Successive equal values above 0: begin, end, value.
fn runs(values: impl Iterator<Item = i32>) -> Vec<(i32, i32, i32)> {
    let mut runs: Vec<(i32, i32, i32)> = Vec::new();
    for (place, value) in (0..).zip(values) {
        match runs.last_mut() {
            Some((_, end, last)) if *last == value && *end == place => *end += 1,
            _ if value > 0 => runs.push((place, place + 1, value)),
            _ => {}
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_the_axis_are_round() {
        let steps = [0.214, 0.5, 1.0, 7.0, 2.1e-5].map(round_step);
        for (step, expected) in steps.into_iter().zip([0.5, 0.5, 1.0, 10.0, 5e-5]) {
            assert!((step / expected - 1.0).abs() < 1e-9, "{step} {expected}");
        }
    }
}
