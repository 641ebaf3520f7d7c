//! What the arguments of `mpirun` say of mapping, numbering and binding.

use super::super::slot_list::Version;
use super::parts::Resource;
use crate::lint::{Arguments, Trap, traps};

/// How ranks are mapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Map<'a> {
    /// The slots of one host after the other.
    Slot,
    /// The hosts in turn.
    Node,
    /// The slots of one host after the other, on each host its parts in turn.
    Part(Resource),
    /// So many ranks for each part.
    Ppr(usize, Resource),
    /// CPUs by number: `pe-list=` of 5.0.
    List(&'a str),
}

/// The order in which ranks on parts are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deal {
    /// Host after host, its parts in turn.
    Turn,
    /// Host after host, part after part.
    Fill,
    /// The parts of all hosts in turn.
    Span,
}

/// How ranks are numbered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RankBy {
    Slot,
    Node,
    /// By parts of this kind, in 5.0 (`None`) those of the mapping.
    Part(Option<Resource>, Deal),
}

/// What `--bind-to` asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bind {
    None,
    To(Resource),
}

/// All of these.
#[derive(Debug, Clone, Copy)]
pub(super) struct Policy<'a> {
    pub(super) version: Version,
    /// What `--map-by` says, with modifiers; or the option that stands for it.
    pub(super) text: &'a str,
    /// `None` for the default.
    pub(super) map: Option<Map<'a>>,
    /// Whether the mapping balances the ranks over the parts of all hosts.
    pub(super) span: bool,
    /// Whether 4.1 assumes the mapping, as there are modifiers only; it then binds by its default.
    pub(super) is_assumed: bool,
    /// The ranks that 4.1 puts on each host, or on each package of a host, before it goes on.
    pub(super) per: Option<(usize, Resource)>,
    /// `None` for the default.
    pub(super) rank_by: Option<RankBy>,
    /// CPUs of a rank, by `PE=`.
    pub(super) cpus: Option<usize>,
    /// `None` for the default.
    pub(super) bind: Option<Bind>,
    /// Whether more ranks than CPUs may be bound to a part.
    pub(super) overload: bool,
    /// Whether hosts may have more ranks than slots.
    pub(super) oversubscribe: bool,
    /// Whether a modifier forbids that.
    pub(super) keeps_to_slots: bool,
    /// Whether hardware threads are the CPUs.
    pub(super) threads: bool,
    /// Whether they are also the slots of hosts without `slots=`.
    pub(super) slots_are_threads: bool,
    /// Whether each rank gets one CPU of the list.
    pub(super) ordered: bool,
}

/// Why arguments are not read.
#[derive(Debug)]
pub(in crate::lint) enum Unread {
    /// What is not predicted.
    Unpredicted(String),
    /// What mpirun refuses.
    Refused(&'static Trap, String),
}

impl Unread {
    /// The text without the trap.
    pub(in crate::lint) fn text(self) -> String {
        match self {
            Self::Unpredicted(text) | Self::Refused(_, text) => text,
        }
    }
}

/// Options for the number of ranks on each host, or on each package of a host.
const PER_PART: [(&str, Resource); 5] = [
    ("-N", Resource::Node),
    ("--npernode", Resource::Node),
    ("-npernode", Resource::Node),
    ("--npersocket", Resource::Package),
    ("-npersocket", Resource::Package),
];

impl<'a> Policy<'a> {
    /// The mapping without any argument.
    pub(super) fn by_default(version: Version) -> Self {
        Self {
            version,
            text: "",
            map: None,
            span: false,
            is_assumed: false,
            per: None,
            rank_by: None,
            cpus: None,
            bind: None,
            overload: false,
            oversubscribe: false,
            keeps_to_slots: false,
            threads: false,
            slots_are_threads: false,
            ordered: false,
        }
    }

    /// The mapping that the arguments ask for.
    pub(super) fn of(arguments: Arguments<'a>, version: Version) -> Result<Self, Unread> {
        let has = |name: &str| has(arguments, name);
        let mut policy = Self {
            text: arguments.value(&["--map-by", "-map-by"]).unwrap_or_default(),
            map: has("bynode").then_some(Map::Node),
            threads: has("use-hwthread-cpus"),
            slots_are_threads: has("use-hwthread-cpus"),
            oversubscribe: has("oversubscribe"),
            ..Self::by_default(version)
        };
        if has("bynode") {
            policy.rank_by = Some(RankBy::Node);
        }
        // The option, not the modifier, also lets 4.1 bind more ranks than CPUs.
        policy.overload = policy.oversubscribe && version == Version::Four;
        if let Some(binding) = arguments.value(&["--bind-to", "-bind-to"]) {
            policy.read_binding(binding)?;
        }
        if !policy.text.is_empty() {
            policy.read_map(policy.text)?;
        }
        if let Some(rank_by) = arguments.value(&["--rank-by", "-rank-by"]) {
            policy.rank_by = Some(ranking(rank_by, version)?);
        }
        policy.read_per_part(arguments)?;
        policy.check_mix()?;
        policy.check_predicted(arguments.words().any(|word| word == ":"))?;
        if version == Version::Five && (policy.ordered || policy.cpus.is_some_and(|it| it > 1)) {
            // The binding then says what the CPUs are.
            match policy.bind {
                Some(Bind::To(Resource::Thread)) => policy.threads = true,
                Some(Bind::To(Resource::Core)) => policy.threads = false,
                _ => {}
            }
        }
        Ok(policy)
    }

    fn read_binding(&mut self, binding: &str) -> Result<(), Unread> {
        let lower = binding.to_ascii_lowercase();
        let mut words = lower.split([':', ',']);
        let name = words.next().unwrap_or_default();
        let wrong = || Unread::Unpredicted(format!("--bind-to {binding}"));
        self.bind = match (name, Resource::named(name, Some(self.version))) {
            ("none", _) => Some(Bind::None),
            // 4.1 then binds to nothing.
            ("board", _) if self.version == Version::Four => Some(Bind::None),
            (_, Some(Resource::Node) | None) => return Err(wrong()),
            (_, Some(part)) => Some(Bind::To(part)),
        };
        // Hardware threads are then the CPUs of 4.1.
        if self.version == Version::Four && self.bind == Some(Bind::To(Resource::Thread)) {
            (self.threads, self.slots_are_threads) = (true, true);
        }
        for word in words {
            match word {
                "overload-allowed" => self.overload = true,
                "no-overload" | "if-supported" => {}
                _ => return Err(wrong()),
            }
        }
        Ok(())
    }

    fn read_map(&mut self, text: &'a str) -> Result<(), Unread> {
        let wrong = || Unread::Unpredicted(format!("--map-by {text}"));
        let (name, mut modifiers) = text.split_once(':').unwrap_or((text, ""));
        let (key, value) = name.split_once('=').unwrap_or((name, ""));
        let key = key.to_ascii_lowercase();
        self.map = match key.as_str() {
            "" => None,
            "slot" => Some(Map::Slot),
            "node" => Some(Map::Node),
            "pe-list" if self.version == Version::Five && is_list(value) => Some(Map::List(value)),
            "ppr" => {
                let (each, rest) = modifiers.split_once(':').ok_or_else(wrong)?;
                let (part, rest) = rest.split_once(':').unwrap_or((rest, ""));
                modifiers = rest;
                let each = each.parse().ok().filter(|each| *each > 0).ok_or_else(wrong)?;
                let part = Resource::named(part, Some(self.version)).ok_or_else(wrong)?;
                Some(Map::Ppr(each, part))
            }
            "dist" => {
                let text =
                    format!("--map-by {text}, which depends on hwloc's distances to a device");
                return Err(Unread::Unpredicted(text));
            }
            name => {
                let part = Resource::named(name, Some(self.version)).ok_or_else(wrong)?;
                // Hardware threads are then the CPUs.
                self.threads |= part == Resource::Thread;
                Some(Map::Part(part))
            }
        };
        self.read_modifiers(&modifiers.to_ascii_lowercase()).map_err(|()| wrong())?;
        if self.version == Version::Four {
            self.complete_4();
        }
        Ok(())
    }

    /// Reads `PE=2`, `span` and so on: between commas in 4.1, which ignores what follows `PE=2:`, and
    /// between colons in 5.0.
    fn read_modifiers(&mut self, modifiers: &str) -> Result<(), ()> {
        let separator = if self.version == Version::Four { ',' } else { ':' };
        for word in modifiers.split(separator).filter(|word| !word.is_empty()) {
            let is_five = self.version == Version::Five;
            match (word.strip_prefix("pe="), word) {
                (Some(cpus), _) => {
                    let cpus = if is_five { cpus } else { cpus.split(':').next().unwrap_or(cpus) };
                    self.cpus = Some(cpus.parse().ok().filter(|cpus| *cpus > 0).ok_or(())?);
                }
                (None, "span") => self.span = true,
                (None, "oversubscribe") => self.oversubscribe = true,
                (None, "nooversubscribe") => self.keeps_to_slots = true,
                (None, "ordered") if is_five => self.ordered = true,
                (None, "hwtcpus") if is_five => self.threads = true,
                (None, "corecpus") if is_five && !self.threads => {}
                _ => return Err(()),
            }
        }
        Ok(())
    }

    /// Modifiers alone in 4.1: it maps by package.
    fn complete_4(&mut self) {
        if self.map.is_some() {
            return;
        }
        self.map = Some(Map::Part(Resource::Package));
        if !self.span {
            self.is_assumed = true;
            self.rank_by = Some(RankBy::Slot);
        }
    }

    /// Reads `-N` and the like.
    fn read_per_part(&mut self, arguments: Arguments<'a>) -> Result<(), Unread> {
        let values = PER_PART.into_iter().filter_map(|(option, part)| {
            let value = arguments.value(&[option])?;
            Some((option, part, value))
        });
        for (option, part, value) in values {
            let wrong = || Unread::Unpredicted(format!("{option} {value}"));
            let each = value.parse().ok().filter(|each| *each > 0).ok_or_else(wrong)?;
            // 5.0 rewrites all of these options, in an order of its own.
            let rewritten = self.oversubscribe || has(arguments, "use-hwthread-cpus");
            if self.per.is_some() || rewritten && self.version == Version::Five {
                return Err(wrong());
            }
            match (self.map, self.version) {
                (None, _) => {
                    self.map = Some(Map::Ppr(each, part));
                    self.text = if self.text.is_empty() { option } else { self.text };
                }
                // What 4.1 does not map in its one pass it does not start.
                (Some(_), Version::Four) if self.span || self.is_assumed => return Err(wrong()),
                (Some(Map::Ppr(..)), Version::Four) => return Err(wrong()),
                (Some(_), Version::Four) => self.per = Some((each, part)),
                (Some(_), Version::Five) => {
                    let text = format!(
                        "{option} {value} and --map-by {}: 5.0 takes one mapping only",
                        self.text
                    );
                    return Err(Unread::Refused(&traps::MAP_MIX, text));
                }
            }
        }
        Ok(())
    }

    /// What is read, but not predicted.
    fn check_predicted(&self, several: bool) -> Result<(), Unread> {
        let wrong = |what: &str| Err(Unread::Unpredicted(what.to_owned()));
        // Each program is mapped and numbered on its own.
        let by_slot = matches!(self.map, None | Some(Map::Slot))
            && matches!(self.rank_by, None | Some(RankBy::Slot));
        if several && !by_slot {
            return wrong("several programs with --map-by or --rank-by other than slot");
        }
        match self.version {
            // 4.1.4 crashes in some of these.
            Version::Four if self.overload && self.cpus.is_some_and(|cpus| cpus > 1) => {
                wrong("PE= with overload-allowed or --oversubscribe")
            }
            Version::Four if self.overload && self.oversubscribe && self.bind.is_some() => {
                wrong("--bind-to with --oversubscribe")
            }
            Version::Five if self.oversubscribe && matches!(self.map, Some(Map::List(_))) => {
                wrong("pe-list= with oversubscribe")
            }
            _ => Ok(()),
        }
    }

    /// What mpirun refuses together.
    fn check_mix(&self) -> Result<(), Unread> {
        let mix = |text: String| Err(Unread::Refused(&traps::MAP_MIX, text));
        let four = self.version == Version::Four;
        if self.oversubscribe && self.keeps_to_slots {
            return mix("oversubscribe together with nooversubscribe".to_owned());
        }
        let cpu = if self.threads { Resource::Thread } else { Resource::Core };
        if let (Some(Bind::To(part)), Some(_)) = (self.bind, self.cpus)
            && four
            && part != cpu
        {
            return mix(format!("PE= together with --bind-to a {}", part.name()));
        }
        let each = self.cpus.unwrap_or(1);
        if let Some(Map::Part(part)) = self.map
            && each > 1
            && (part == Resource::Thread || part == Resource::Core && !self.threads)
        {
            return mix(format!("--map-by {}: a {} is one CPU only", self.text, part.name()));
        }
        if four {
            return Ok(());
        }
        if let (Some(Bind::To(to)), Some(Map::Part(part) | Map::Ppr(_, part))) =
            (self.bind, self.map)
            && to.depth() < part.depth()
            // Where cores have one hardware thread, both are the same.
            && (to, part) != (Resource::Core, Resource::Thread)
        {
            let (to, part) = (to.name(), part.name());
            return mix(format!("--bind-to a {to}, which is more than the {part} of --map-by"));
        }
        let is_list = matches!(self.map, Some(Map::List(_)));
        if (is_list || self.ordered || self.cpus.is_some())
            && matches!(self.bind, Some(it) if !is_cpu(it))
        {
            return mix(format!("--map-by {} binds each rank to its CPUs", self.text));
        }
        let map = self.map.unwrap_or_else(|| super::five::default_map(self));
        let on_parts = match map {
            Map::Part(_) => true,
            Map::Ppr(_, part) => part != Resource::Node,
            Map::Slot | Map::Node | Map::List(_) => false,
        };
        let spans = self.rank_by.is_none() && self.span && !matches!(map, Map::Slot | Map::Node);
        if (spans || matches!(self.rank_by, Some(RankBy::Part(..)))) && !on_parts {
            return mix(format!(
                "--rank-by fill or span needs a mapping by parts, not {}",
                self.text
            ));
        }
        Ok(())
    }
}

/// Whether the arguments have this option, with one dash or two.
fn has(arguments: Arguments<'_>, name: &str) -> bool {
    arguments.has(&format!("--{name}")) || arguments.has(&format!("-{name}"))
}

fn is_cpu(bind: Bind) -> bool {
    matches!(bind, Bind::To(Resource::Core | Resource::Thread))
}

/// Whether this is a list such as `0,2-5`.
fn is_list(text: &str) -> bool {
    let number = |text: &str| {
        text.len() < 7 && !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
    };
    text.split(',').all(|word| match word.split_once('-') {
        Some((from, to)) => number(from) && number(to),
        None => number(word),
    })
}

/// What `--rank-by` says.
fn ranking(text: &str, version: Version) -> Result<RankBy, Unread> {
    let lower = text.to_ascii_lowercase();
    let unknown = || {
        let version = if version == Version::Four { "4.1" } else { "5.0" };
        let text = format!("--rank-by {text}: Open MPI {version} does not know it");
        Unread::Refused(&traps::POLICY, text)
    };
    let (name, deal) = match (version, lower.split_once(':')) {
        (_, None) => (lower.as_str(), Deal::Turn),
        (Version::Four, Some((name, "span"))) => (name, Deal::Span),
        (Version::Four, Some((name, "fill"))) => (name, Deal::Fill),
        _ => return Err(unknown()),
    };
    Ok(match (version, name) {
        (_, "slot") => RankBy::Slot,
        (_, "node") | (Version::Four, "board") => RankBy::Node,
        (Version::Five, "fill") => RankBy::Part(None, Deal::Fill),
        (Version::Five, "span") => RankBy::Part(None, Deal::Span),
        (Version::Four, name) => {
            let part = Resource::named(name, Some(version)).ok_or_else(unknown)?;
            RankBy::Part(Some(part), deal)
        }
        _ => return Err(unknown()),
    })
}
