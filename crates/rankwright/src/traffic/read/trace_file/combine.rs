//! Combines the rank images of one run into a profile.

use std::collections::{BTreeSet, HashMap};

use super::image::{Image, Members, Run};
use crate::ids::Rank;
use crate::traffic::communicator::Communicator;
use crate::traffic::profile::{Ended, Profile, RankRecord};

/// How many programs of a job are named.
const MOST_NAMED: usize = 4;

/// Combines images of one run, in ascending order of rank, each rank at most once. Without a
/// `program`, those that the ranks recorded are named.
pub(super) fn profile(images: Vec<Image>, program: Option<&str>) -> Result<Profile, String> {
    let Some(first) = images.first() else { return Err("no rank".to_owned()) };
    let world_size = first.world_size;
    let mut profile = Profile::default();
    profile.run.program = program.map_or_else(|| programs(&images), str::to_owned);
    profile.run.several_threads = first.several_threads;
    profile.run.called_through.clone_from(&first.called_through);
    profile.run.beside_mpi = beside_mpi(&images);
    profile.run.origin = format!("tracer {}", first.tracer);
    profile.run.mpi_library = in_short(&first.library);
    let mut communicators = Communicators::default();
    for image in images {
        if image.world_size != world_size || image.rank >= world_size {
            return Err(format!(
                "rank {} of {} among ranks of {world_size}",
                image.rank, image.world_size
            ));
        }
        let missing = RankRecord { ended: Ended::Missing, ..RankRecord::default() };
        profile.ranks.resize(image.rank as usize, missing);
        add(&mut profile, &mut communicators, image)?;
    }
    let missing = RankRecord { ended: Ended::Missing, ..RankRecord::default() };
    profile.ranks.resize(world_size as usize, missing);
    profile.communicators = communicators.list;
    profile.flows.sort_by_key(|record| (record.flow.source, record.flow.destination, record.kind));
    let key = |call: &crate::traffic::collectives::CollectiveCalls| {
        (call.rank, call.communicator, call.operation, call.form, call.root)
    };
    profile.collectives.sort_by_key(key);
    profile.topologies.sort_by_key(|topology| (topology.communicator, topology.rank));
    checked(profile)
}

/// The programs of a job, each once, in the order of their ranks: `ocean+atmosphere`; of many the first.
fn programs(images: &[Image]) -> String {
    let mut names: Vec<&str> = Vec::new();
    for image in images.iter().filter(|image| !image.program.is_empty()) {
        if !names.contains(&image.program.as_str()) {
            names.push(if names.len() < MOST_NAMED { &image.program } else { "..." });
        }
        if names.len() > MOST_NAMED {
            break;
        }
    }
    names.join("+")
}

/// Name and version of a library. Some append build details: `Open MPI v4.1.4, package: ...`. MPICH
/// is followed by its device if this is not `ch4`, the usual one: `MPICH Version: 4.0.2 (ch3:nemesis)`.
pub(super) fn in_short(library: &str) -> String {
    let first = library.split([',', '\n']).next().unwrap_or_default();
    let short = first.split_whitespace().collect::<Vec<_>>().join(" ");
    let device = library.lines().find_map(|line| line.strip_prefix("MPICH Device:"));
    match device.map(str::trim).filter(|device| !device.starts_with("ch4")) {
        Some(device) => format!("{short} ({device})"),
        None => short,
    }
}

/// The libraries beside MPI of any rank: some ranks may load more than others.
fn beside_mpi(images: &[Image]) -> Vec<String> {
    let names = images.iter().flat_map(|image| image.beside_mpi.split(','));
    let names: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
    names.into_iter().map(str::to_owned).collect()
}

fn add(
    profile: &mut Profile,
    communicators: &mut Communicators,
    image: Image,
) -> Result<(), String> {
    let mut places = Vec::new();
    for local in &image.communicators {
        let members = image.members.get(local.members);
        let members = members.ok_or_else(|| format!("member list {}", local.members))?;
        let place = communicators.place(members, local.slot, image.world_size)?;
        let communicator = &mut communicators.list[place];
        communicator.created = communicator.created.max(local.created);
        if communicator.name.is_empty() {
            communicator.name.clone_from(&local.name);
        }
        places.push(place);
    }
    let place_of = |local: usize| {
        places
            .get(local)
            .copied()
            .ok_or_else(|| format!("communicator {local} of {}", places.len()))
    };
    profile.library_settings.extend(image.library_settings);
    for mut calls in image.collectives {
        calls.communicator = place_of(calls.communicator)?;
        calls.row.sort_by_key(|entry| entry.destination);
        if calls.calls > 0 {
            profile.collectives.push(calls);
        }
    }
    for mut topology in image.topologies {
        topology.communicator = place_of(topology.communicator)?;
        profile.topologies.push(topology);
    }
    profile.ranks.push(RankRecord { cut: image.incomplete, ..image.record });
    profile.flows.extend(image.flows);
    Ok(())
}

/// Communicators of all ranks. Two ranks mean one communicator if member lists and slot are equal.
#[derive(Default)]
struct Communicators {
    places: HashMap<(Members, u32), usize>,
    list: Vec<Communicator>,
}

impl Communicators {
    fn place(&mut self, members: &Members, slot: u32, world: u32) -> Result<usize, String> {
        if let Some(place) = self.places.get(&(members.clone(), slot)) {
            return Ok(*place);
        }
        let (first, second) = (ranks(&members.first, world)?, ranks(&members.second, world)?);
        let communicator =
            Communicator { members: first, remote_members: second, ..Communicator::default() };
        self.list.push(communicator);
        self.places.insert((members.clone(), slot), self.list.len() - 1);
        Ok(self.list.len() - 1)
    }
}

fn ranks(runs: &[Run], world: u32) -> Result<Vec<Option<Rank>>, String> {
    let mut ranks = Vec::new();
    for run in runs {
        // World ranks occur once per group; the margin is for processes outside the world.
        if ranks.len() + run.count as usize > 2 * world as usize + (1 << 20) {
            return Err(format!("a communicator of {} members", run.count));
        }
        for i in 0..i64::from(run.count) {
            let rank = i64::from(run.first) + i * i64::from(run.stride);
            match u32::try_from(rank) {
                Ok(rank) if rank < world => ranks.push(Some(Rank(rank))),
                Err(_) if rank < 0 => ranks.push(None),
                _ => return Err(format!("rank {rank} in a world of {world}")),
            }
        }
    }
    Ok(ranks)
}

fn checked(profile: Profile) -> Result<Profile, String> {
    let world = profile.ranks.len();
    let in_world = |rank: Rank| rank.index() < world;
    let ranks_exist =
        profile.flows.iter().all(|r| in_world(r.flow.source) && in_world(r.flow.destination))
            && profile.collectives.iter().all(|call| {
                call.root.is_none_or(in_world)
                    && call.row.iter().all(|entry| in_world(entry.destination))
            })
            && profile.topologies.iter().all(|t| t.neighbours.iter().all(|n| in_world(n.rank)));
    if !ranks_exist {
        return Err(format!("records of ranks outside a world of {world}"));
    }
    Ok(profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_programs_are_named_in_the_order_of_their_ranks() {
        let named = |programs: &[&str]| {
            let image =
                |program: &&str| Image { program: (*program).to_owned(), ..Image::default() };
            super::programs(&programs.iter().map(image).collect::<Vec<_>>())
        };
        assert_eq!(named(&["ocean", "ocean", "air", "ocean"]), "ocean+air");
        assert_eq!(named(&["", "air"]), "air");
        assert_eq!(named(&["a", "b", "c", "d", "a"]), "a+b+c+d");
        assert_eq!(named(&["a", "b", "c", "d", "e", "f"]), "a+b+c+d+...");
    }
}
