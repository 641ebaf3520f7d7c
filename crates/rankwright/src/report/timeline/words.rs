//! What a time line says in words.

use super::{BandwidthFrom, TimelineReport, TimesFrom};
use crate::timeline::{LARGE, Measures, Timeline};
use crate::units::{Bytes, Seconds, counted};

/// The answer in a sentence.
pub(super) fn answer(timeline: &Timeline) -> String {
    let Measures { used, overlap, messages, .. } = &timeline.measures;
    if *messages == 0 {
        return "The network is not used: no message goes from node to node.".to_owned();
    }
    let steady = match timeline.steadiness {
        Some(steadiness) if steadiness.is_steady() => "the traffic is steady".to_owned(),
        Some(steadiness) => {
            let why = match (steadiness.has_level(), steadiness.partners_change) {
                (true, change) => format!("{:.0} % of it goes elsewhere later", 100.0 * change),
                (false, _) => "its amount changes during the run".to_owned(),
            };
            format!("the traffic is not steady: {why}")
        }
        None => "it carries no bytes".to_owned(),
    };
    format!(
        "The network is busy {:.1} % of the time; while a device sends, several ranks share it \
         {:.0} % of the time; {steady}.",
        100.0 * used,
        100.0 * overlap
    )
}

/// What the numbers say, line by line: name and text.
pub(super) fn lines(report: &TimelineReport) -> Vec<(&'static str, String)> {
    let measures = &report.measures;
    let mut lines = vec![("run", run(report))];
    let text = format!("send {} of the time on average", percent(measures.utilisation));
    lines.push(("devices", text));
    if measures.messages > 0 {
        let text = format!(
            "{} of the messages, {} of the bytes ({} or more)",
            percent(measures.large_messages),
            percent(measures.large_bytes),
            Bytes(LARGE)
        );
        lines.push(("large messages", text));
    }
    lines.extend(senders_at_once(&measures.by_senders).map(|text| ("senders at once", text)));
    let phases = &measures.phases;
    if phases.count > 1 {
        let text = format!(
            "{}, {:.3} long, every {:.3} (coefficient of variation {:.2})",
            phases.count,
            Seconds(phases.length_s),
            Seconds(phases.period_s),
            phases.period_cv
        );
        lines.push(("phases", text));
    }
    if let Some(steadiness) = report.steadiness {
        let text = format!(
            "KPSS {:.2}, quarters differ by {} (steady: KPSS below 0.46, or quarters by 25 % at most), partners by {}",
            steadiness.kpss,
            percent(steadiness.quarters_differ),
            percent(steadiness.partners_change)
        );
        lines.push(("steadiness", text));
    }
    lines.push(("bandwidth", bandwidth(report)));
    lines.push(("times", times(report.times_from).to_owned()));
    lines
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

fn run(report: &TimelineReport) -> String {
    let what = match report.times_from {
        TimesFrom::Device => "counted out of the nodes".to_owned(),
        TimesFrom::Mpi | TimesFrom::Transport | TimesFrom::Replay => {
            let messages = usize::try_from(report.measures.messages).unwrap_or(usize::MAX);
            format!("in {} between nodes", counted(messages, "message"))
        }
    };
    let (span, bytes) = (Seconds(report.span_s), Bytes(report.measures.bytes));
    format!("{span:.3}, {}, {bytes:.1} {what}", counted(report.ranks, "rank"))
}

/// Shares of the time in which devices send, by the number of senders; `None` if they never do.
fn senders_at_once(by_senders: &[f64]) -> Option<String> {
    const NAMED: usize = 5;
    let sending: f64 = by_senders.iter().sum();
    if sending <= 0.0 {
        return None;
    }
    let share = |time: f64| percent(time / sending);
    let named = by_senders.iter().enumerate().take(NAMED).filter(|(_, time)| **time > 0.0);
    let mut shares: Vec<String> =
        named.map(|(senders, time)| format!("{senders}: {}", share(*time))).collect();
    let more = by_senders.iter().skip(NAMED).fold(0.0, |sum, time| sum + time);
    if more > 0.0 {
        shares.push(format!("more: {}", share(more)));
    }
    Some(shares.join(", "))
}

fn bandwidth(report: &TimelineReport) -> String {
    match report.bandwidth_from {
        BandwidthFrom::Curve => "by the number of senders, as calibrated".to_owned(),
        BandwidthFrom::Device => {
            "that of the device for any number of senders; `rankwright calibrate` measures it by \
             their number"
                .to_owned()
        }
        BandwidthFrom::Given => "as given, for any number of senders".to_owned(),
        BandwidthFrom::Counted => "the highest rate that was counted".to_owned(),
        BandwidthFrom::Assumed => {
            "assumed; name the cluster with --on, or give --bandwidth".to_owned()
        }
    }
}

fn times(from: TimesFrom) -> &'static str {
    match from {
        TimesFrom::Mpi => "of MPI calls: when messages are handed to the MPI library",
        TimesFrom::Transport => {
            "of TCP connections, UCX and Open MPI's PML: when bytes or messages are handed to them"
        }
        TimesFrom::Device => "of the counters of network devices",
        TimesFrom::Replay => "of a replay: when messages are handed to the network",
    }
}
