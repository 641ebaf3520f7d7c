//! `app.rwp`: a profile as one SQLite file. `docs/src/formats.md` describes its tables, which
//! `sqlite3`, pandas or DuckDB can read. `read` and `write` are the two directions.

mod read;
mod write;

use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use crate::files::{WriteError, replace_atomically};

pub use crate::files::SQLITE_MAGIC;
pub(crate) use read::library;
pub use read::{program_name, rank_count, read};
pub use write::write;

/// SQLite application id ("RWPR"), which `file` shows.
const APPLICATION_ID: i32 = 0x5257_5052;
/// Schema version that is written, and the newest that is read.
const FORMAT_VERSION: i32 = 2;

/// Adds tables to a profile, all or nothing: `tables` makes them, replacing earlier ones, and `fill` fills them.
pub(super) fn add_tables(
    profile: &Path,
    tables: &str,
    fill: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> Result<(), WriteError> {
    let write = |copy: &Path| -> rusqlite::Result<()> {
        let original = Connection::open_with_flags(profile, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        original.execute("VACUUM INTO ?", [copy.to_string_lossy()])?;
        let mut file = Connection::open(copy)?;
        // The temporary file is renamed only when complete, so no journal is needed.
        file.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
        file.execute_batch(tables)?;
        let transaction = file.transaction()?;
        fill(&transaction)?;
        transaction.commit()
    };
    replace_atomically(profile, |copy| write(copy).map_err(std::io::Error::other))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::ids::Rank;
    use crate::traffic::Flow;
    use crate::traffic::collectives::{CollectiveCalls, Form, Operation, RowEntry};
    use crate::traffic::communicator::Communicator;
    use crate::traffic::profile::{
        Ended, FlowKind, FlowRecord, FlowTimes, Profile, RankRecord, Run,
    };
    use crate::traffic::topology::{DeclaredTopology, Neighbour, TopologyKind};
    use crate::units::{Bytes, Seconds};

    fn profile() -> Profile {
        let flow =
            Flow { source: Rank(0), destination: Rank(1), messages: 2, bytes: 300, largest: 200 };
        let times = FlowTimes { first: Seconds(0.5), last: Seconds(1.0), ..FlowTimes::default() };
        let size_histogram = vec![0, 0, 1, 1];
        let kind = FlowKind::Put;
        let record = FlowRecord { flow, kind, times: Some(times), size_histogram };
        let other = Flow { source: Rank(1), destination: Rank(0), ..flow };
        let calls = CollectiveCalls {
            rank: Rank(1),
            communicator: 0,
            operation: Operation::Alltoallv,
            form: Form::Nonblocking,
            root: None,
            calls: 3,
            bytes: 12,
            seconds: 0.1,
            first: 0.2,
            last: 0.3,
            row: vec![RowEntry { destination: Rank(0), messages: 3, bytes: 12 }],
        };
        let rank = RankRecord {
            host: "a".into(),
            numa: vec![0, 3],
            ended: Ended::Killed,
            cut: true,
            peak_memory: Bytes(7),
            waited_for_pu: Some(Seconds(0.25)),
            sleep_is_known: true,
            processor: Seconds(1.5),
            other_threads: Seconds(0.5),
            ..RankRecord::default()
        };
        let topology = DeclaredTopology {
            communicator: 0,
            rank: Rank(1),
            kind: TopologyKind::Cartesian,
            grid: vec![(2, true), (1, false)],
            neighbours: vec![Neighbour { rank: Rank(0), weight: 1 }; 2],
        };
        let members = vec![Some(Rank(0)), Some(Rank(1)), None];
        let run = Run {
            called_through: "mpi4py".into(),
            beside_mpi: vec!["NCCL".into(), "UCX".into()],
            ..Run::default()
        };
        Profile {
            run,
            ranks: vec![rank; 2],
            communicators: vec![Communicator { members, created: 1, ..Communicator::default() }],
            flows: vec![record, FlowRecord::of_flow(other)],
            collectives: vec![calls],
            topologies: vec![topology],
            library_settings: [("coll_tuned_priority".to_owned(), "30".to_owned())].into(),
        }
    }

    #[test]
    fn a_profile_reads_back_as_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.rwp");
        write(&profile(), &path).unwrap();
        assert_eq!(read(&path).unwrap(), profile());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_profile_from_before_settings_and_waiting_were_recorded_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.rwp");
        write(&profile(), &path).unwrap();
        let younger = ["waited_for_pu_s", "sleep_is_known", "processor_s", "other_threads_s"];
        let drop = younger.map(|column| format!("ALTER TABLE ranks DROP COLUMN {column};"));
        let drop = drop.concat() + "DROP TABLE library_settings;";
        Connection::open(&path).unwrap().execute_batch(&drop).unwrap();
        let mut old = Profile { library_settings: std::collections::BTreeMap::new(), ..profile() };
        for rank in &mut old.ranks {
            rank.waited_for_pu = None;
            rank.sleep_is_known = false;
            (rank.processor, rank.other_threads) = (Seconds(0.0), Seconds(0.0));
        }
        assert_eq!(read(&path).unwrap(), old);
    }

    #[test]
    fn a_cut_or_damaged_profile_is_an_error_and_never_a_panic() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.rwp");
        write(&profile(), &path).unwrap();
        let whole = fs::read(&path).unwrap();
        for length in (0..whole.len()).step_by(509) {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(read(&path).is_err(), "cut at {length}");
        }
        for place in (0..whole.len()).step_by(97) {
            let mut changed = whole.clone();
            changed[place] = !changed[place];
            fs::write(&path, &changed).unwrap();
            // A changed byte of a name or a count is not detectable; it must only do no harm.
            let _ = read(&path);
        }
    }

    #[test]
    fn a_newer_profile_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.rwp");
        write(&profile(), &path).unwrap();
        Connection::open(&path).unwrap().pragma_update(None, "user_version", 9).unwrap();
        let message = read(&path).unwrap_err().to_string();
        assert!(message.contains("format version 9") && message.contains("update"), "{message}");
    }

    #[test]
    fn members_of_communicators_are_ranks_of_the_job() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("app.rwp");
        let mut damaged = profile();
        damaged.communicators[0].members[0] = Some(Rank(77));
        write(&damaged, &path).unwrap();
        let message = read(&path).unwrap_err().to_string();
        assert!(message.contains("rank 77 in a profile of"), "{message}");
    }
}
