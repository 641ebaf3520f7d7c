//! What the arguments of `mpirun` say of mapping, numbering and binding.

use super::super::slot_list::Version;
use super::options::{Given, Options};
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
#[derive(Debug, Clone)]
pub(super) struct Policy<'a> {
    pub(super) version: Version,
    /// The options that say how ranks are mapped, as they are written; empty without any.
    written: String,
    /// A parameter of the other version, which this one ignores.
    pub(super) ignored: Option<String>,
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

/// Options for the number of ranks on each host, or on each package of a host.
const PER_PART: [&str; 4] = ["pernode", "N", "npernode", "npersocket"];

/// Options that are a mapping.
const BY: [&str; 3] = ["bynode", "bycore", "byslot"];

/// Options for the number of CPUs of a rank.
const PER_RANK: [&str; 2] = ["cpus-per-proc", "cpus-per-rank"];

impl<'a> Policy<'a> {
    /// The mapping without any argument.
    pub(super) fn by_default(version: Version) -> Self {
        Self {
            version,
            written: String::new(),
            ignored: None,
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
        let options = Options::of(arguments, version)?;
        let once = ["map-by", "rank-by", "bind-to"];
        if let (Version::Five, Some(name)) = (version, options.twice(&once)) {
            return Err(mix(format!("--{name} is given twice")));
        }
        let (threads, oversubscribe) =
            (options.has("use-hwthread-cpus"), options.has("oversubscribe"));
        let mut policy = Self {
            ignored: options.ignored.clone(),
            threads,
            slots_are_threads: threads,
            oversubscribe,
            keeps_to_slots: options.has("nooversubscribe"),
            // The option, not the modifier, also lets 4.1 bind more ranks than CPUs.
            overload: oversubscribe && version == Version::Four,
            ..Self::by_default(version)
        };
        policy.read_bindings(&options)?;
        if let Some(given) = options.get("map-by") {
            policy.written.clone_from(&given.shown);
            policy.read_map(given)?;
        }
        if let Some(given) = options.get("rank-by") {
            policy.rank_by = Some(ranking(given.value, version)?);
        }
        match version {
            Version::Four => policy.read_others_4(&options)?,
            Version::Five => policy.read_others_5(&options)?,
        }
        policy.read_cpus(&options)?;
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

    /// What the arguments say of the mapping, or that they say nothing.
    pub(super) fn shown(&self) -> &str {
        if self.written.is_empty() { "the default mapping" } else { &self.written }
    }

    fn read_bindings(&mut self, options: &Options<'a>) -> Result<(), Unread> {
        let all = options.each(&["bind-to", "bind-to-core", "bind-to-socket"]);
        let object = |given: &Given<'a>| given.name.strip_prefix("bind-to-").unwrap_or(given.value);
        let Some(first) = all.first() else { return Ok(()) };
        if let Some(other) = all.get(1)
            && (self.version == Version::Five || object(first) != object(other))
        {
            let text = format!("{} and {}", first.shown, other.shown);
            let is_forgotten =
                self.version == Version::Five && options.is_forgotten("bind-to-core");
            return Err(if is_forgotten { Unread::Unpredicted(text) } else { mix(text) });
        }
        self.read_binding(object(first), &first.shown)
    }

    fn read_binding(&mut self, binding: &str, shown: &str) -> Result<(), Unread> {
        let lower = binding.to_ascii_lowercase();
        let mut words = lower.split([':', ',']);
        let name = words.next().unwrap_or_default();
        let wrong = || Unread::Unpredicted(shown.to_owned());
        if name == "skt" || name == "package" && self.version == Version::Four {
            return Err(unknown(shown, ""));
        }
        self.bind = match (name, Resource::named(name)) {
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

    /// Reads `--map-by`.
    fn read_map(&mut self, given: &Given<'a>) -> Result<(), Unread> {
        let wrong = || Unread::Unpredicted(given.shown.clone());
        let (name, mut modifiers) = given.value.split_once(':').unwrap_or((given.value, ""));
        let (key, value) = name.split_once('=').unwrap_or((name, ""));
        let key = key.to_ascii_lowercase();
        let five = self.version == Version::Five;
        self.map = match key.as_str() {
            "" => None,
            "slot" => Some(Map::Slot),
            "node" => Some(Map::Node),
            "device" => {
                let later = "; only later versions of PRRTE have it";
                return Err(unknown(&given.shown, later));
            }
            "board" | "skt" => {
                return Err(unknown(&given.shown, ""));
            }
            "dist" if five => return Err(unknown(&given.shown, "")),
            "package" | "pe-list" if !five => {
                return Err(unknown(&given.shown, ""));
            }
            "pe-list" if is_list(value) => Some(Map::List(value)),
            "ppr" => {
                let (map, rest) = self.per_resource(modifiers, given)?;
                modifiers = rest;
                Some(map)
            }
            "dist" => {
                let text =
                    format!("{}, which depends on hwloc's distances to a device", given.shown);
                return Err(Unread::Unpredicted(text));
            }
            name => {
                let part = Resource::named(name).ok_or_else(wrong)?;
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

    /// Reads `2:socket` with modifiers behind it; these are returned.
    fn per_resource<'b>(
        &self,
        text: &'b str,
        given: &Given<'_>,
    ) -> Result<(Map<'a>, &'b str), Unread> {
        let wrong = || Unread::Unpredicted(given.shown.clone());
        let (each, rest) = text.split_once(':').ok_or_else(wrong)?;
        let (part, rest) = rest.split_once(':').unwrap_or((rest, ""));
        let each = each.parse().ok().filter(|each| *each > 0).ok_or_else(wrong)?;
        let name = part.to_ascii_lowercase();
        let five = self.version == Version::Five;
        if name == "board" || !five && ["package", "skt"].contains(&name.as_str()) {
            return Err(unknown(&given.shown, ""));
        }
        // As a resource 5.0 knows `skt` too.
        let name = if name == "skt" { "package" } else { &name };
        let part = Resource::named(name).ok_or_else(wrong)?;
        Ok((Map::Ppr(each, part), rest))
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

    /// The mapping of an option other than `--map-by`; its modifiers are read.
    fn map_of(&mut self, given: &Given<'a>) -> Result<Map<'a>, Unread> {
        let wrong = || Unread::Unpredicted(given.shown.clone());
        let count = || given.value.parse().ok().filter(|each| *each > 0).ok_or_else(wrong);
        Ok(match given.name {
            "bynode" => Map::Node,
            "bycore" => Map::Part(Resource::Core),
            "byslot" => Map::Slot,
            "pernode" => Map::Ppr(1, Resource::Node),
            "npersocket" => Map::Ppr(count()?, Resource::Package),
            "ppr" if !given.value.contains(':') => {
                let text = format!("{}: it needs a resource, such as 2:node", given.shown);
                return Err(Unread::Refused(&traps::POLICY, text));
            }
            "ppr" => {
                let (map, modifiers) = self.per_resource(given.value, given)?;
                self.read_modifiers(&modifiers.to_ascii_lowercase()).map_err(|()| wrong())?;
                map
            }
            "cpu-list" | "cpu-set" if self.version == Version::Five && is_list(given.value) => {
                Map::List(given.value)
            }
            "cpu-list" | "cpu-set" => return Err(wrong()),
            _ => Map::Ppr(count()?, Resource::Node),
        })
    }

    /// Reads the options that 5.0 rewrites to `--map-by`.
    fn read_others_5(&mut self, options: &Options<'a>) -> Result<(), Unread> {
        let names = [&PER_PART[..], &BY, &["ppr", "cpu-list", "cpu-set"]].concat();
        let mut failed = Vec::new();
        for given in options.each(&names) {
            let map = self.map_of(given)?;
            if self.map.is_some() {
                failed.push(given);
                continue;
            }
            self.set(map, given);
        }
        let Some(first) = failed.first() else { return Ok(()) };
        match failed.iter().find(|given| !options.is_forgotten(given.name)) {
            Some(given) => {
                let (shown, others) = (&given.shown, self.shown());
                Err(mix(format!("{shown} and {others}: 5.0 takes one mapping only")))
            }
            None => Err(Unread::Unpredicted(format!("{} and {}", first.shown, self.shown()))),
        }
    }

    /// Takes the mapping of an option.
    fn set(&mut self, map: Map<'a>, given: &Given<'_>) {
        self.map = Some(map);
        let blank = if self.written.is_empty() { "" } else { " " };
        self.written = format!("{}{blank}{}", given.shown, self.written);
    }

    /// Reads the options beside `--map-by` as 4.1 does.
    fn read_others_4(&mut self, options: &Options<'a>) -> Result<(), Unread> {
        let (map_by, all) = (options.get("map-by"), options.each(&["ppr", "cpu-list", "cpu-set"]));
        let (by, per) = (options.each(&BY), options.each(&PER_PART));
        if let (Some(map_by), Some(per)) = (map_by.filter(|it| it.is_parameter), per.first()) {
            return Err(Unread::Unpredicted(format!("{} and {}", per.shown, map_by.shown)));
        }
        let both = |first: &Given<'_>, other: &Given<'_>| {
            mix(format!("{} and {}: 4.1 takes one mapping only", first.shown, other.shown))
        };
        if let Some(other) = all.get(1).or(by.first().filter(|_| !all.is_empty())).or(by.get(1)) {
            return Err(both(all.first().or(by.first()).unwrap_or(other), other));
        }
        if let (Some(given), Some(map_by)) = (all.first(), map_by) {
            return Err(both(given, map_by));
        }
        if let Some(given) = all.first().or(by.first()) {
            let wrong = || Unread::Unpredicted(format!("{} beside others", given.shown));
            let map = self.map_of(given)?;
            let own = given.name.trim_start_matches("by");
            match (map_by, options.get("rank-by")) {
                _ if !per.is_empty() || options.twice(&["ppr"]).is_some() => return Err(wrong()),
                (Some(_), _) if self.is_assumed || self.span => return Err(wrong()),
                (Some(map_by), _) if self.map != Some(map) => return Err(both(given, map_by)),
                (_, Some(rank_by))
                    if !by.is_empty() && !rank_by.value.eq_ignore_ascii_case(own) =>
                {
                    return Err(both(given, rank_by));
                }
                _ => {}
            }
            self.set(map, given);
        }
        self.read_per_part_4(&per)
    }

    /// Reads `-N` and the like as 4.1 does: without another mapping they are one.
    fn read_per_part_4(&mut self, per: &[&Given<'a>]) -> Result<(), Unread> {
        let Some(given) = per.first() else { return Ok(()) };
        let Map::Ppr(each, part) = self.map_of(given)? else { return Ok(()) };
        match self.map {
            // What 4.1 does not map in its one pass it does not start.
            _ if per.len() > 1 || self.span || self.is_assumed => {
                return Err(Unread::Unpredicted(format!("{} beside others", given.shown)));
            }
            None => self.set(Map::Ppr(each, part), given),
            Some(Map::Ppr(..)) => return Err(Unread::Unpredicted(given.shown.clone())),
            Some(_) => self.per = Some((each, part)),
        }
        Ok(())
    }

    /// Reads `--cpus-per-proc`: `PE=`, in 4.1 of NUMA nodes if no mapping is given.
    fn read_cpus(&mut self, options: &Options<'_>) -> Result<(), Unread> {
        let all = options.each(&PER_RANK);
        let Some(given) = all.first() else { return Ok(()) };
        let wrong = || Unread::Unpredicted(given.shown.clone());
        let cpus = given.value.parse().ok().filter(|cpus| *cpus > 0).ok_or_else(wrong)?;
        if all.len() > 1 || self.is_assumed || self.cpus.is_some_and(|it| it != cpus) {
            return Err(wrong());
        }
        self.cpus = Some(cpus);
        if self.written.is_empty() {
            self.written.clone_from(&given.shown);
        }
        if self.version == Version::Four && cpus > 1 && self.map.is_none() {
            self.map = Some(Map::Part(Resource::Numa));
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
        let mix = |text: String| Err(mix(text));
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
            return mix(format!("{}: a {} is one CPU only", self.shown(), part.name()));
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
            return mix(format!(
                "--bind-to a {to}, which is more than the {part} of {}",
                self.shown()
            ));
        }
        let is_list = matches!(self.map, Some(Map::List(_)));
        if (is_list || self.ordered || self.cpus.is_some())
            && matches!(self.bind, Some(it) if !is_cpu(it))
        {
            return mix(format!(
                "{} with this --bind-to: it binds each rank to its CPUs",
                self.shown()
            ));
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
                self.shown()
            ));
        }
        Ok(())
    }
}

/// What mpirun refuses together.
fn mix(text: String) -> Unread {
    Unread::Refused(&traps::MAP_MIX, text)
}

/// What mpirun says of a mapping, binding or numbering that it does not know.
fn unknown(shown: &str, more: &str) -> Unread {
    let text = format!("{shown}: mpirun ends with \"not recognized\"{more}");
    Unread::Refused(&traps::POLICY, text)
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
    let unknown = || unknown(&format!("--rank-by {text}"), "");
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
            let known = Some(name).filter(|name| *name != "package");
            let part = known.and_then(Resource::named).ok_or_else(unknown)?;
            RankBy::Part(Some(part), deal)
        }
        _ => return Err(unknown()),
    })
}
