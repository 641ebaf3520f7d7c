//! The table of all findings and of all that may not have been measured.

use super::data::Addressee::{Administrator, Developer, User};
use super::data::Severity::{High, Info, Ok, Warning};
use super::data::{Addressee, Finding, Missing, Report, Section, Severity};
use crate::choose::NoSeconds;
use crate::launch::shell;
use crate::report::answer::Weakness;

/// A row of [`FINDINGS`]: code, severity, who can mend it, the remedy and the snippet unless the finding
/// brings its own.
type Row = (&'static str, Severity, Addressee, &'static str, Option<&'static str>);

const RECORD: Option<&str> = Some(
    "# with the launcher, and its options, that start your run\n\
     rankwright profile --events -o app.rwp -- mpirun -n {ranks} {program}",
);
const RECORD_OVER_TIME: Option<&str> = Some(
    "# with the launcher, and its options, that start your run\n\
     rankwright profile --timeline mpi,device -o app.rwp -- mpirun -n {ranks} {program}",
);
const CALIBRATE: Option<&str> = Some("{entry}rankwright calibrate --on {description}");
const COMPARE: Option<&str> = Some(
    "rankwright place {workload} --on {cluster} -- {program}\n\
     {entry}rankwright run placement.json --compare default,placement -- {program}",
);

const PREDICT: Option<&str> =
    Some("rankwright simulate {workload} --on {cluster} --placement {placement} --replay");

/// The code of the finding that hosts are placeholders.
const HOSTS_INVENTED: &str = "hosts-invented";

/// All findings. Codes never change.
const FINDINGS: &[Row] = &[
    // Of the counters of devices.
    ("counters-fault", High, User, "start the ranks as placed, with their variables", None),
    ("counters-untold", Warning, User, "repeat the run while the network is quiet", None),
    ("counters-note", Info, Administrator, "", None),
    ("counters-as-predicted", Ok, User, "", None),
    // Of the recorded run.
    ("shared-pus", High, User, "", RECORD),
    ("disturbed-run", Warning, User, "", RECORD),
    ("no-message-timing", Warning, User, "", RECORD),
    ("no-calls", Info, User, "", RECORD),
    ("partial-profile", Warning, User, "record a run to its end", RECORD),
    (
        "one-host",
        Info,
        User,
        "",
        Some("rankwright timeline show {workload} --on {cluster} --placement {placement}"),
    ),
    (
        "traffic-beside-mpi",
        High,
        Developer,
        "only MPI was recorded: judge placements by measured runs",
        COMPARE,
    ),
    (
        "traffic-not-steady",
        Warning,
        User,
        "",
        Some("rankwright timeline show {workload} --on {cluster}"),
    ),
    (
        "ranks-unbalanced",
        Info,
        Developer,
        "divide the work more evenly; a placement cannot shorten the wait for this rank",
        None,
    ),
    ("little-communication", Ok, User, "", None),
    ("nothing-to-gain", Ok, User, "", None),
    // Of the evaluation.
    ("simulation-too-slow", Warning, Administrator, "", CALIBRATE),
    ("rates-assumed", Warning, Administrator, "", CALIBRATE),
    (
        "not-simulated",
        Warning,
        User,
        "",
        Some("rankwright report {workload} --on {cluster} --effort normal"),
    ),
    (
        "part-simulated",
        Info,
        User,
        "",
        Some("rankwright report {workload} --on {cluster} --effort best"),
    ),
    ("ranked-without-simulation", Warning, User, "", None),
    ("not-replayed", Info, User, "", None),
    ("search-interrupted", Warning, User, "let the search end, or limit it with --time", None),
    ("strategy-left-out", Info, User, "", None),
    ("collectives-estimated", Info, User, "", COMPARE),
    ("default-assumed", Info, User, "", COMPARE),
    ("devices-of-default", Info, User, "", None),
    ("other-node-neighbours", Info, Developer, "", None),
    ("threads-without-cores", Warning, User, "", None),
    ("far-gpus", Warning, User, "", None),
    // Of the cluster.
    (
        "cluster-description",
        Warning,
        Administrator,
        "correct the description of the cluster",
        Some("rankwright cluster check {cluster}"),
    ),
    // Of papers and pairs.
    ("not-reproduced", Warning, Developer, "the table says why", None),
    ("pair-note", Info, User, "", None),
    // Of measured run times.
    (
        "order-not-predicted",
        Warning,
        Developer,
        "the two ways differ in something that the prediction does not know",
        None,
    ),
    ("not-the-fastest", Warning, User, "use the faster way", None),
    ("gain-not-measured", Warning, User, "keep the launcher's default", None),
    ("gain-not-promised", Info, User, "use the placement", None),
    (
        "run-time-not-predicted",
        Info,
        Developer,
        "what the prediction leaves out takes time: computing that changed, copying between cores, short messages",
        None,
    ),
    // Of the report.
    ("ranks-aggregated", Info, User, "", None),
    ("bytes-rounded", Info, User, "", None),
    ("devices-left-out", Info, User, "", None),
    (
        HOSTS_INVENTED,
        Info,
        User,
        "name hosts with --nodes HOSTLIST, or give a cluster.toml of your cluster",
        None,
    ),
    ("not-launchable", Warning, User, "", None),
    ("launch-files-left-out", Info, User, "`rankwright place` writes them", None),
];

/// A finding in the making.
#[derive(Debug, Clone)]
pub struct Found {
    code: &'static str,
    text: String,
    remedy: Option<String>,
}

impl Found {
    /// A finding with a code of the table.
    #[must_use]
    pub fn new(code: &'static str, text: impl Into<String>) -> Self {
        Self { code, text: text.into(), remedy: None }
    }

    /// What weakens an answer.
    #[must_use]
    pub fn weakness(weakness: &Weakness) -> Self {
        Self {
            code: weakness.code,
            text: weakness.text.clone(),
            remedy: Some(weakness.remedy.clone()),
        }
    }

    /// With another way out than that of the table.
    #[must_use]
    pub fn remedy(self, remedy: impl Into<String>) -> Self {
        Self { remedy: Some(remedy.into()), ..self }
    }

    /// The finding.
    ///
    /// # Panics
    /// If the table lacks its code: a mistake in this program.
    #[must_use]
    pub fn finding(self) -> Finding {
        let row = FINDINGS.iter().find(|(code, ..)| *code == self.code);
        let (code, severity, addressee, remedy, snippet) =
            row.unwrap_or_else(|| panic!("{} is in the table of findings", self.code));
        Finding {
            code: (*code).to_owned(),
            severity: *severity,
            addressee: *addressee,
            text: self.text,
            remedy: self.remedy.unwrap_or_else(|| (*remedy).to_owned()),
            snippet: snippet.map(str::to_owned),
        }
    }
}

/// Something that a report would show if it had been measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmeasured {
    /// Run times of the program: not at all, or not in seconds.
    RunTimes(Option<NoSeconds>),
    /// The share of MPI in the run time.
    TimeInMpi,
    /// The share of MPI in the run time, as ranks waited for PUs inside MPI.
    TimeInMpiAlone,
    /// The launcher's default.
    Default,
    /// Rates of the cluster.
    Rates,
    /// What network devices counted.
    Counted,
    /// Predicted run times, beside measured ones.
    Predicted,
    /// Times of messages, for a simulation.
    Waiting,
    /// The calls in order.
    TimeLine,
    /// The time line of several jobs together.
    TimeLineOfSeveral,
    /// The time line of a run with very many calls.
    LongTimeLine,
}

impl Unmeasured {
    /// The section that lacks it, what it would tell, and the command that measures it.
    #[must_use]
    pub fn missing(self) -> Missing {
        let (section, text, snippet) = match self {
            Self::RunTimes(why) => (Section::Verdict, &*no_run_times(why), RECORD),
            Self::TimeInMpi => (
                Section::Verdict,
                "How much any placement can gain at most: the time in MPI is not known.",
                RECORD,
            ),
            Self::TimeInMpiAlone => (
                Section::Verdict,
                "How much any placement can gain at most: ranks waited for PUs, so the time in MPI \
                 includes waiting for a PU.",
                RECORD,
            ),
            Self::Default => (
                Section::Strategies,
                "The gain against the launcher's default: it has no placement here.",
                None,
            ),
            Self::Rates => (
                Section::Machine,
                "The bandwidths and latencies of this cluster: they are assumed.",
                CALIBRATE,
            ),
            Self::Counted => (
                Section::Devices,
                "What the network devices really carry: no counters of a run were read.",
                Some(
                    "{entry}rankwright run {placement} --profile {workload} --counters record.json -- {program}\n\
                     rankwright check --counters record.json",
                ),
            ),
            Self::Predicted => (
                Section::Verdict,
                "Whether the runs are as predicted: the file has no column `predicted_s`.",
                PREDICT,
            ),
            Self::Waiting => (
                Section::Strategies,
                "How long messages wait, and when the run ends: nothing was simulated.",
                RECORD,
            ),
            Self::TimeLine => (
                Section::Timeline,
                "When the network is used, by whom and by how many at once: the order of the calls was \
                 not recorded.",
                RECORD_OVER_TIME,
            ),
            Self::TimeLineOfSeveral => (
                Section::Timeline,
                "When the network is used: a time line is of one recorded run.",
                Some("rankwright timeline show PROFILE --on {cluster} --report timeline.html"),
            ),
            Self::LongTimeLine => (
                Section::Timeline,
                "When the network is used: the run has too many calls for this report.",
                Some("rankwright timeline show {workload} --on {cluster} --report timeline.html"),
            ),
        };
        Missing { section, text: text.to_owned(), snippet: snippet.map(str::to_owned) }
    }
}

fn no_run_times(why: Option<NoSeconds>) -> String {
    match why {
        None => {
            "The run time under each placement: the times of a run were not recorded.".to_owned()
        }
        Some(why) => format!("The run time under each placement, in seconds: {}.", why.reason()),
    }
}

/// The names that the user gave, for snippets.
#[derive(Debug, Clone)]
pub struct Names {
    /// The workload.
    pub workload: String,
    /// The cluster.
    pub cluster: String,
    /// The file of the placement.
    pub placement: String,
    /// The program line, for a shell.
    pub program: String,
    /// Number of ranks.
    pub ranks: usize,
    /// What goes before a command that is to run on the nodes of a lab; empty for other clusters.
    pub entry: String,
}

impl Report {
    /// Puts names into all snippets.
    #[must_use]
    pub fn with_names(mut self, names: &Names) -> Self {
        let (workload, cluster) = (shell::quote(&names.workload), shell::quote(&names.cluster));
        // Measured rates are written into a description, which a built-in cluster does not have.
        let description = match names.cluster.ends_with(".toml") {
            true => cluster.clone(),
            false => "cluster.toml".to_owned(),
        };
        let placement = shell::quote(&names.placement);
        // Nothing starts on hosts that are not there.
        let invented = self.findings.iter().any(|finding| finding.code == HOSTS_INVENTED);
        let named = |snippet: &mut Option<String>| {
            let Some(text) = snippet else { return };
            if invented && text.contains("rankwright run ") {
                text.insert_str(
                    0,
                    "# with the names of your hosts: --nodes HOSTLIST, or a cluster.toml\n",
                );
            }
            *text = filled(text, &|token| match token {
                "workload" => Some(workload.clone()),
                "cluster" => Some(cluster.clone()),
                "placement" => Some(placement.clone()),
                "description" => Some(description.clone()),
                "program" => Some(names.program.clone()),
                "ranks" => Some(names.ranks.to_string()),
                "entry" => Some(names.entry.clone()),
                _ => None,
            });
        };
        self.findings.iter_mut().for_each(|finding| named(&mut finding.snippet));
        self.missing.iter_mut().for_each(|missing| named(&mut missing.snippet));
        let inputs = [&names.workload, &names.cluster, &names.placement];
        let inputs = inputs.into_iter().flat_map(|names| names.split(','));
        self.given_names.extend(inputs.map(str::to_owned));
        self
    }

    /// Says what was not measured; each once.
    pub fn lack(&mut self, unmeasured: Unmeasured) {
        let missing = unmeasured.missing();
        if !self.missing.contains(&missing) {
            self.missing.push(missing);
        }
    }
}

/// A template with the values of its `{tokens}`; what was put in is not looked at again.
fn filled(template: &str, value: &dyn Fn(&str) -> Option<String>) -> String {
    let mut parts = template.split('{');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        match part.split_once('}').and_then(|(token, rest)| Some((value(token)?, rest))) {
            Some((value, rest)) => text += &(value + rest),
            None => text += &format!("{{{part}"),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::page::{Kind, Outcome, Verdict};

    #[test]
    fn every_weakness_of_an_answer_is_in_the_table() {
        let source = include_str!("../answer/weakness.rs");
        let codes = source.split("Weakness::new(").skip(1).filter_map(|rest| {
            rest.trim_start().strip_prefix('"')?.split_once('"').map(|(code, _)| code)
        });
        let codes: Vec<&str> = codes.collect();
        assert!(codes.len() > 8, "{codes:?}");
        for code in codes {
            assert!(FINDINGS.iter().any(|(known, ..)| *known == code), "{code}");
        }
    }

    #[test]
    fn codes_are_unique() {
        let mut codes: Vec<&str> = FINDINGS.iter().map(|(code, ..)| *code).collect();
        codes.sort_unstable();
        assert!(codes.windows(2).all(|two| two[0] != two[1]), "{codes:?}");
    }

    #[test]
    fn snippets_have_the_names_of_the_user_quoted_for_a_shell() {
        let verdict =
            Verdict { text: String::new(), outcome: Outcome::Unknown, details: Vec::new() };
        let mut report = Report::new(Kind::Workload, "", verdict);
        report.find(FINDINGS.iter().map(|(code, ..)| Found::new(code, "x").finding()));
        report.lack(Unmeasured::Counted);
        report.lack(Unmeasured::Counted);
        let names = Names {
            workload: "my {cluster}.rwp".to_owned(),
            cluster: "it's".to_owned(),
            placement: "my placement.json".to_owned(),
            program: "./app 'a b'".to_owned(),
            ranks: 7,
            entry: String::new(),
        };
        let report = report.with_names(&names);
        let all = report.findings.iter().filter_map(|finding| finding.snippet.as_ref());
        for snippet in all.chain(&report.missing[0].snippet) {
            let rest = snippet.replace("'my {cluster}.rwp'", "");
            let mut typed = rest.lines().filter(|line| !line.starts_with("# "));
            assert!(
                !rest.contains('{') && typed.all(|line| line.starts_with("rankwright ")),
                "{snippet}"
            );
        }
        let snippet = report.missing[0].snippet.as_deref().unwrap();
        let expected = "run 'my placement.json' --profile 'my {cluster}.rwp'";
        assert!(snippet.contains(expected), "{snippet}");
        assert_eq!(report.missing.len(), 1);
        assert!(report.findings.is_sorted_by_key(|finding| finding.severity));
    }
}
