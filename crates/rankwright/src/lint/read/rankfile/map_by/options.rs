//! The options, MCA parameters and variables of `mpirun` that concern mapping, numbering, binding or hosts.

use super::super::slot_list::Version;
use super::policy::Unread;
use crate::lint::{Arguments, traps};

/// Options that say how ranks are mapped.
const MAPPING: [&str; 16] = [
    "map-by",
    "bynode",
    "bycore",
    "byslot",
    "ppr",
    "pernode",
    "N",
    "npernode",
    "npersocket",
    "cpu-list",
    "cpu-set",
    "cpus-per-proc",
    "cpus-per-rank",
    "oversubscribe",
    "nooversubscribe",
    "use-hwthread-cpus",
];

/// Options that say how ranks are numbered and bound.
const OTHERS: [&str; 4] = ["rank-by", "bind-to", "bind-to-core", "bind-to-socket"];

/// Options for the number of ranks.
const RANKS: [&str; 3] = ["n", "np", "c"];

/// Options that 5.0 rewrites as it does most of [`MAPPING`], and that do not matter here.
const REWRITTEN: [&str; 16] = [
    "do-not-launch",
    "show-progress",
    "tag-output",
    "timestamp-output",
    "output-directory",
    "output-filename",
    "merge-stderr-to-stdout",
    "xml",
    "display-devel-map",
    "display-map",
    "display-topo",
    "display-allocation",
    "report-bindings",
    "output-proctable",
    "debug",
    "with-ft",
];

/// Those of [`MAPPING`] and [`OTHERS`] that other MPI libraries have too, or that leave the hosts of ranks as
/// they are.
const COMMON: [&str; 6] =
    ["N", "npernode", "oversubscribe", "nooversubscribe", "use-hwthread-cpus", "bind-to"];

/// Options that say where ranks run and are not read, and why not.
const NOT_READ: [(&[&str], &str); 5] = [
    (&["nolocal"], "which depends on where mpirun runs"),
    (&["rf", "rankfile"], "whose file says where ranks run; lint that file"),
    (&["app"], "whose file has the options"),
    (&["tune", "am", "amca"], "whose file may say where ranks run"),
    (&["add-host", "add-hostfile"], "which adds hosts"),
];

/// Options for MCA parameters.
const PARAMETERS: [&str; 6] = ["mca", "gmca", "omca", "gomca", "prtemca", "gprtemca"];

/// Those that 4.1 has.
const OF_FOUR: [&str; 2] = ["mca", "gmca"];

/// Variables that set MCA parameters, and the version whose mapping, numbering and binding they change.
const VARIABLES: [(&str, Version); 2] =
    [("OMPI_MCA_", Version::Four), ("PRTE_MCA_", Version::Five)];

/// Parameters that mean the same as an option in one version, and nothing in the other.
const SAME: [(Version, &str, &str); 4] = [
    (Version::Four, "rmaps_base_mapping_policy", "map-by"),
    (Version::Four, "rmaps_base_ranking_policy", "rank-by"),
    (Version::Four, "hwloc_base_binding_policy", "bind-to"),
    (Version::Five, "rmaps_default_mapping_policy", "map-by"),
];

/// How parameters begin that concern mapping, numbering, binding or hosts.
const CONCERNED: [&str; 9] = [
    "rmaps",
    "ras",
    "rtc",
    "hwloc_base_",
    "hwloc_default_",
    "orte_default_hostfile",
    "prte_default_hostfile",
    "orte_set_default_slots",
    "prte_set_default_slots",
];

/// Parts of the names of parameters that begin so and do not matter.
const HARMLESS: [&str; 6] =
    ["verbose", "display", "report", "_mem_", "rank_file_physical", "dist_device"];

/// An option, or a parameter that means the same.
#[derive(Debug, Clone)]
pub(super) struct Given<'a> {
    /// Its name without dashes.
    pub(super) name: &'a str,
    pub(super) value: &'a str,
    /// As it is written.
    pub(super) shown: String,
    /// Whether it is a parameter.
    pub(super) is_parameter: bool,
}

/// The options and MCA parameters that apply to one version, in command-line order.
#[derive(Debug)]
pub(super) struct Options<'a> {
    version: Version,
    all: Vec<Given<'a>>,
    /// A parameter of the other version, which this one ignores.
    pub(super) ignored: Option<String>,
}

impl<'a> Options<'a> {
    /// Reads the arguments; an error is what the version refuses, or what is not predicted.
    pub(super) fn of(arguments: Arguments<'a>, version: Version) -> Result<Self, Unread> {
        let mut options = Self { version, all: Vec::new(), ignored: None };
        let mut defaults = Vec::new();
        for words in arguments.with_values() {
            if let Some((of, name, value)) = parameter(words) {
                let option = words[0].trim_start_matches('-');
                if version == Version::Four && of.is_none() && !OF_FOUR.contains(&option) {
                    return Err(Unread::Refused(&traps::OPTION_UNKNOWN, words[0].clone()));
                }
                let given = Given { name, value, shown: words.join(" "), is_parameter: true };
                defaults.extend(options.parameter(of, given)?);
            } else if let Some(given) = option(words) {
                given.check(version)?;
                options.all.push(given);
            }
        }
        for default in defaults {
            let given = options.get(default.name);
            let maps = options.all.iter().any(|given| MAPPING.contains(&given.name));
            let is_mixed = match (version, given) {
                // It maps ranks by the option and numbers them by the parameter.
                (Version::Four, Some(given)) => {
                    given.name == "map-by" && given.value != default.value
                }
                (Version::Four, None) => false,
                (Version::Five, Some(given)) => given.value.starts_with(':'),
                (Version::Five, None) => maps || default.value.contains(':'),
            };
            if is_mixed {
                return Err(Unread::Unpredicted(default.shown));
            }
            // An option is used rather than the parameter.
            if given.is_none() {
                options.all.push(default);
            }
        }
        Ok(options)
    }

    /// Reads a parameter, which may be `of` one version only: as the option that it stands for, or as one
    /// that does not matter.
    fn parameter(
        &mut self,
        of: Option<Version>,
        given: Given<'a>,
    ) -> Result<Option<Given<'a>>, Unread> {
        let same = SAME.iter().find(|(_, name, _)| *name == given.name);
        if same.is_none() && !is_concerned(given.name) {
            return Ok(None);
        }
        match same {
            _ if of.is_some_and(|of| of != self.version) => {}
            Some((version, _, option)) if *version == self.version => {
                return Ok(Some(Given { name: option, ..given }));
            }
            Some(_) => {}
            None => return Err(Unread::Unpredicted(given.shown)),
        }
        self.ignored.get_or_insert(given.shown);
        Ok(None)
    }

    /// The option that counts of those with this name: the first in 5.0, the last in 4.1.
    pub(super) fn get(&self, name: &str) -> Option<&Given<'a>> {
        let mut all = self.all.iter().filter(|given| given.name == name);
        if self.version == Version::Five { all.next() } else { all.next_back() }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// The options of these names, each once where it is first.
    pub(super) fn each(&self, names: &[&str]) -> Vec<&Given<'a>> {
        let all = self.firsts().filter(|given| names.contains(&given.name));
        all.filter_map(|given| self.get(given.name)).collect()
    }

    /// The first option of every name.
    fn firsts(&self) -> impl Iterator<Item = &Given<'a>> {
        let is_first = |(at, given): &(usize, &Given<'a>)| {
            self.all[..*at].iter().all(|before| before.name != given.name)
        };
        self.all.iter().enumerate().filter(is_first).map(|(_, given)| given)
    }

    /// Whether 5.0 rewrites another option after this one: it then forgets that this one failed.
    pub(super) fn is_forgotten(&self, name: &str) -> bool {
        let is_rewritten = |given: &Given<'_>| {
            let name = given.name;
            MAPPING[1..].contains(&name) || REWRITTEN.contains(&name) || name == "bind-to-core"
                // `-n` is `--np`, which stays.
                || name == "n" && given.shown.starts_with("--")
        };
        let last = self.firsts().filter(|given| is_rewritten(given)).last();
        last.is_some_and(|given| given.name != name)
    }

    /// The first of these options that is given twice.
    pub(super) fn twice(&self, names: &[&'static str]) -> Option<&'static str> {
        let count = |name: &str| self.all.iter().filter(|given| given.name == name).count();
        names.iter().copied().find(|name| count(name) > 1)
    }
}

impl Given<'_> {
    /// An error for an option that the version does not know, or that is not read.
    fn check(&self, version: Version) -> Result<(), Unread> {
        let refused = |text: String| Err(Unread::Refused(&traps::OPTION_UNKNOWN, text));
        // 5.0 takes `--np=2`.
        if self.shown.contains('=') && !self.shown.contains(' ') {
            if version == Version::Four || self.name.contains('-') {
                return refused(format!("{}: the value needs a word of its own", self.shown));
            }
            return Ok(());
        }
        let is_five = version == Version::Five;
        let is_old =
            ["bind-to-socket", "rf"].contains(&self.name) || self.shown.starts_with("--c ");
        if self.name == "slot-list" || is_five && is_old {
            return refused(self.shown.clone());
        }
        match NOT_READ.iter().find(|(names, _)| names.contains(&self.name)) {
            Some((_, why)) => Err(Unread::Unpredicted(format!("{}, {why}", self.shown))),
            None => Ok(()),
        }
    }
}

/// Whether options of Open MPI alone say where ranks run.
pub(in crate::lint) fn has_own(arguments: Arguments<'_>) -> bool {
    arguments.with_values().any(|words| match (parameter(words), option(words)) {
        (Some((_, name, _)), _) => {
            is_concerned(name) || SAME.iter().any(|(_, parameter, _)| *parameter == name)
        }
        (None, Some(given)) => {
            let others = [&COMMON[..], &RANKS, &REWRITTEN];
            !others.iter().any(|names| names.contains(&given.name))
        }
        (None, None) => false,
    })
}

/// Name and value of an MCA parameter, from an option or a variable; of a variable also the version that it
/// is for.
fn parameter(words: &[String]) -> Option<(Option<Version>, &str, &str)> {
    let first = words.first()?;
    for (prefix, version) in VARIABLES {
        if let Some((name, value)) = first.strip_prefix(prefix).and_then(|it| it.split_once('=')) {
            return Some((Some(version), name, value));
        }
    }
    let option = first.strip_prefix('-')?.trim_start_matches('-');
    let value = words.get(2).map_or("", String::as_str);
    PARAMETERS.contains(&option).then_some((None, words.get(1)?, value))
}

/// An option that is read, or that would have to be.
fn option(words: &[String]) -> Option<Given<'_>> {
    let name = words.first().filter(|word| word.starts_with('-'))?.trim_start_matches('-');
    let value = words.get(1).map_or("", String::as_str);
    let (name, value) = name.split_once('=').unwrap_or((name, value));
    let is_known = name == "slot-list"
        || [&MAPPING[..], &OTHERS, &RANKS, &REWRITTEN].iter().any(|names| names.contains(&name))
        || NOT_READ.iter().any(|(names, _)| names.contains(&name));
    is_known.then(|| Given { name, value, shown: words.join(" "), is_parameter: false })
}

fn is_concerned(parameter: &str) -> bool {
    CONCERNED.iter().any(|start| parameter.starts_with(start))
        && !HARMLESS.iter().any(|part| parameter.contains(part))
}
