//! The verdict, and what it rests on, in sentences.

use std::collections::BTreeSet;

use super::counted::Counted;
use super::elsewhere::{self, Elsewhere, OfNodes};
use super::judge::{DIRECTIONS, Fit, Group, Verdict};
use super::record::Record;
use super::wire;
use crate::units::{Bytes, counted as number_of};

/// Another device of a node took the bytes that one lacks if it has at least this share of them more.
const TAKEN: f64 = 0.5;

/// Ratios that differ by at most this factor are one ratio.
const ONE_RATIO: f64 = 1.15;

/// What follows from a record.
pub(super) struct Findings {
    pub(super) verdict: Verdict,
    pub(super) sentence: String,
    pub(super) faults: Vec<String>,
    pub(super) untold: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl Findings {
    pub(super) fn new(record: &Record, groups: &[Group]) -> Self {
        if let Some(why) = nothing_to_judge(record, groups) {
            let sentence = format!("cannot tell: {why}");
            let (verdict, none) = (Verdict::CannotTell, Vec::new);
            return Self { verdict, sentence, faults: none(), untold: vec![why], notes: none() };
        }
        let mut judged = Judged { record, groups, explanation: None };
        judged.explanation = elsewhere::explain(record, &judged.of_nodes());
        let mut untold = judged.unknown();
        let mut faults = judged.faults();
        if let Some(why) = judged.other_amount() {
            untold.insert(0, why);
            faults.clear();
        }
        let excess = match judged.explanation {
            Some(_) => Vec::new(),
            None => judged.excess(),
        };
        if faults.is_empty() && judged.is_mostly_other() {
            untold.push(
                "most nodes carried more than predicted: ranks are on other nodes than placed, or the \
                 program sent more than its profile"
                    .to_owned(),
            );
        }
        let verdict = match (faults.is_empty(), untold.is_empty()) {
            (false, _) => Verdict::Fault,
            (true, false) => Verdict::CannotTell,
            (true, true) => Verdict::AsPredicted,
        };
        let sentence = match verdict {
            Verdict::Fault => with_more(&faults),
            Verdict::CannotTell => format!("cannot tell: {}", with_more(&untold)),
            Verdict::AsPredicted => judged.as_predicted(),
        };
        Self { verdict, sentence, faults, untold, notes: excess }
    }
}

/// The first of several sentences, and how many follow.
fn with_more(sentences: &[String]) -> String {
    match sentences {
        [] => String::new(),
        [only] => only.clone(),
        [first, rest @ ..] => format!("{first}; and {} more", rest.len()),
    }
}

/// Why a record cannot be judged at all.
fn nothing_to_judge(record: &Record, groups: &[Group]) -> Option<String> {
    if let Some(why) = &record.before.missing {
        return Some(format!("no reading before the job: {why}"));
    }
    if let Some(why) = &record.after.missing {
        return Some(format!("no reading after the job: {why}"));
    }
    match record.end {
        Some(end) if end.exit_code == 0 => {}
        Some(end) => {
            let code = end.exit_code;
            return Some(format!("the program ended with exit code {code}, perhaps early"));
        }
        None => return Some("no reading after the job: the job did not end".to_owned()),
    }
    if !record.predicted {
        return Some(
            "nothing is predicted: give the traffic of the program (--profile)".to_owned(),
        );
    }
    let due = groups.iter().flat_map(|group| &group.due).map(|due| due.bytes);
    if due.fold(0.0, f64::max) < wire::MIN_DUE {
        return Some("less than 1 MB was due on every device".to_owned());
    }
    None
}

/// A record with the devices of all nodes.
struct Judged<'a> {
    record: &'a Record,
    groups: &'a [Group],
    explanation: Option<Elsewhere>,
}

impl Judged<'_> {
    fn node(&self, group: &Group) -> &str {
        &self.record.nodes[group.node].name
    }

    /// Placed groups with a direction and how it fits.
    fn directions(&self) -> impl Iterator<Item = (&Group, usize, Fit)> {
        let known = self.groups.iter().filter(|group| group.placed);
        let both = known.filter_map(|group| Some((group, group.fits()?)));
        both.flat_map(|(group, fits)| (0..2).map(move |at| (group, at, fits[at])))
    }

    /// Devices that are unknown although something was due, and those where background is too much.
    fn unknown(&self) -> Vec<String> {
        let mut untold = Vec::new();
        for group in self.groups.iter().filter(|group| group.placed) {
            let is_due = group.due.iter().any(|due| due.bytes >= wire::MIN_DUE);
            if let (Err(why), true) = (&group.counted, is_due) {
                untold.push(format!("{} on {}: {why}", group.device, self.node(group)));
            }
        }
        for (group, at, _) in self.directions().filter(|(_, _, fit)| *fit == Fit::Hidden) {
            let Ok(counted) = &group.counted else { continue };
            untold.push(format!(
                "{} on {}: too much background, {} beside {} due {}",
                group.device,
                self.node(group),
                rounded(counted[at].background),
                rounded(group.due[at].bytes),
                DIRECTIONS[at],
            ));
        }
        untold
    }

    /// What nodes counted, all their devices together.
    fn of_nodes(&self) -> OfNodes {
        let of_node = |node: usize| {
            let mut sum = [Counted::default(); 2];
            let mut own = self.groups.iter().filter(|group| group.placed && group.node == node);
            own.try_for_each(|group| {
                let counted = group.counted.as_ref().ok()?;
                sum.iter_mut().zip(counted).for_each(|(sum, counted)| sum.add(counted));
                Some(())
            })?;
            Some(sum)
        };
        (0..self.record.nodes.len()).map(of_node).collect()
    }

    /// Sentences about what is wrong.
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        self.of_devices(|fits| fits.contains(&Fit::Nothing), &mut faults);
        if let Some(explanation) = &self.explanation {
            faults.insert(0, self.explained(explanation));
            return faults;
        }
        self.of_devices(
            |fits| fits.contains(&Fit::TooLittle) && !fits.contains(&Fit::Nothing),
            &mut faults,
        );
        faults
    }

    /// Adds a sentence for each placed device whose directions are `wrong`.
    fn of_devices(&self, wrong: impl Fn(&[Fit; 2]) -> bool, faults: &mut Vec<String>) {
        for group in self.groups.iter().filter(|group| group.placed) {
            if let Some(fits) = group.fits().filter(|fits| wrong(fits)) {
                faults.push(self.lacking(group, fits));
            }
        }
    }

    /// A sentence about a device that carried less than was due.
    fn lacking(&self, group: &Group, fits: [Fit; 2]) -> String {
        let short = |at: &usize| matches!(fits[*at], Fit::Nothing | Fit::TooLittle);
        let at: Vec<usize> = (0..2).filter(short).collect();
        let sum = |of: &dyn Fn(usize) -> f64| at.iter().map(|at| of(*at)).sum::<f64>();
        let due = sum(&|at| group.due[at].bytes);
        let had = sum(&|at| group.net(at).unwrap_or(0.0));
        let way = match at[..] {
            [only] => DIRECTIONS[only].to_string(),
            _ => "out and in".to_owned(),
        };
        let what = match at.iter().all(|at| fits[*at] == Fit::Nothing) {
            true => format!("carried nothing of {} due {way}", rounded(due)),
            false => format!("carried {} of {} due {way}", rounded(had), rounded(due)),
        };
        let subject = format!("{} on {} {what}", group.device, self.node(group));
        let taker = self.taker(group, &at, due - had);
        let by = self.record.variables.join(" and ");
        match (taker, by.is_empty()) {
            (Some(taker), false) => {
                format!("{subject}: the library did not obey {by}; {taker}")
            }
            (Some(taker), true) => format!("{subject}: {taker}; no variable selects devices"),
            (None, false) if fits.contains(&Fit::Nothing) => {
                format!("{subject}: the library did not obey {by}, or its ranks run elsewhere")
            }
            (None, _) => format!(
                "{subject}, and no other device of the node carried it: its ranks run elsewhere, or sent \
                 less than in the profile"
            ),
        }
    }

    /// The device of the same node that has more instead.
    fn taker(&self, group: &Group, at: &[usize], lacks: f64) -> Option<String> {
        let surplus = |other: &Group| -> Option<f64> {
            at.iter().map(|at| Some(other.net(*at)? - other.due[*at].bytes)).sum()
        };
        let others = self.groups.iter().filter(|other| other.node == group.node);
        let others = others.filter(|other| other.device != group.device);
        let most = others.filter_map(|other| Some((other, surplus(other)?)));
        let (other, more) = most.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let placed = if other.placed { "" } else { ", which is not in the placement," };
        (more >= TAKEN * lacks)
            .then(|| format!("{}{placed} carried {} more", other.device, rounded(more)))
    }

    fn explained(&self, explanation: &Elsewhere) -> String {
        let home = |rank: usize| &self.record.nodes[self.record.ranks[rank].node].name;
        let node = |at: usize| &self.record.nodes[at].name;
        let for_example = |alone: &bool| if *alone { "" } else { ", for example," };
        let how = match explanation {
            Elsewhere::Exchanged { ranks: [first, second], alone } => format!(
                "{} rank {first} ({}) and rank {second} ({}) were exchanged",
                for_example(alone),
                home(*first),
                home(*second)
            ),
            Elsewhere::Moved { rank, to, alone } => format!(
                "{} rank {rank} ran on {} instead of {}",
                for_example(alone),
                node(*to),
                home(*rank)
            ),
            Elsewhere::NodesExchanged([first, second]) => {
                format!(" the ranks of {} and {} were exchanged", node(*first), node(*second))
            }
            Elsewhere::Cyclic => " ranks were dealt to the nodes one by one".to_owned(),
            Elsewhere::Blocked => " the nodes were filled one after the other".to_owned(),
        };
        format!("ranks run on other nodes than placed: the bytes between nodes are as if{how}")
    }

    /// All devices carried the same part of what was due: the program sent another amount.
    fn other_amount(&self) -> Option<String> {
        let mut ratios = Vec::new();
        for (group, at, fit) in self.directions() {
            match fit {
                Fit::LittleDue => {}
                Fit::TooLittle => ratios.push(group.net(at)? / group.due[at].bytes),
                _ => return None,
            }
        }
        let busy = |group: &&Group| {
            !group.placed && (0..2).any(|at| group.net(at).is_some_and(|b| b >= wire::MIN_DUE))
        };
        if self.groups.iter().any(|group| busy(&group)) {
            return None;
        }
        let [least, most] =
            [ratios.iter().copied().reduce(f64::min)?, ratios.iter().copied().reduce(f64::max)?];
        (ratios.len() > 1 && most <= ONE_RATIO * least).then(|| {
            format!(
                "all devices carried {least:.2} to {most:.2} of what was due: the program sent another \
                 amount than in its profile"
            )
        })
    }

    /// Whether more than half of the directions of nodes have more than predicted.
    fn is_mostly_other(&self) -> bool {
        let wrong = elsewhere::misfits(self.record, &self.of_nodes());
        wrong > self.record.nodes.len().max(2)
    }

    /// Sentences about devices that carried more than predicted, where none of the same node lacks it.
    fn excess(&self) -> Vec<String> {
        let lacks = |fit: Fit| matches!(fit, Fit::Nothing | Fit::TooLittle);
        let lacking: BTreeSet<(usize, usize)> = (self.directions())
            .filter_map(|(group, at, fit)| lacks(fit).then_some((group.node, at)))
            .collect();
        let more = self.directions().filter(|(group, at, fit)| {
            *fit == Fit::TooMuch && !lacking.contains(&(group.node, *at))
        });
        let sentence = |(group, at, _): (&Group, usize, Fit)| {
            let more = group.net(at).unwrap_or(0.0) - group.due[at].bytes;
            format!(
                "{} on {} carried {} more than predicted {}",
                group.device,
                self.node(group),
                rounded(more),
                DIRECTIONS[at]
            )
        };
        more.map(sentence).collect()
    }

    fn as_predicted(&self) -> String {
        let ratios: Vec<f64> = self
            .directions()
            .filter(|(_, _, fit)| *fit == Fit::Fits)
            .filter_map(|(group, at, _)| Some(group.net(at)? / group.due[at].bytes))
            .collect();
        let devices = self.groups.iter().filter(|group| group.placed).count();
        let all = match devices {
            1 => "the only device carried".to_owned(),
            _ => format!("all {} carried", number_of(devices, "device")),
        };
        let (least, most) = ratios
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |(least, most), r| (least.min(*r), most.max(*r)));
        match ratios.is_empty() {
            true => format!("{all} what was predicted"),
            false => {
                let [least, most] = [least, most].map(|ratio| format!("{ratio:.2}"));
                let range = if least == most { least } else { format!("{least} to {most}") };
                format!("{all} what was predicted: {range} of it, with headers")
            }
        }
    }
}

/// A number of bytes, rounded: `1.0 GB`.
fn rounded(bytes: f64) -> String {
    format!("{:.1}", Bytes(bytes.max(0.0).round() as u64))
}
