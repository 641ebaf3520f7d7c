use super::*;
use crate::traffic::profile::Ended;
use crate::traffic::read::trace_constants::IMAGE_MAGIC;
use crate::units::Seconds;

/// The image of a rank that sent three messages of 8 bytes to itself.
fn image(rank: u32, world_size: u32, state: u32, run: u64) -> Vec<u8> {
    let numbers = |list: &[u32]| list.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    let longs = |list: &[u64]| list.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<u8>>();
    let record = |kind: u32, payload: Vec<u8>| {
        [numbers(&[kind, payload.len() as u32 + 8]), payload].concat()
    };
    let pair = [
        numbers(&[rank, 0x0001_0400]),
        longs(&[3, 24, 8, 1_000, 9_000]),
        [2_000.0_f64, 2_000_000.0].iter().flat_map(|n| n.to_le_bytes()).collect(),
        longs(&[3]),
    ];
    let records = [
        record(2, [&numbers(&[0, 4]), &b"host"[..], &[0; 4]].concat()),
        record(3, numbers(&[1, 1, 5, 2])),
        record(77, longs(&[7])),
        record(10, [&numbers(&[4, 2]), &b"coll42"[..], &[0; 2]].concat()),
        record(6, pair.concat()),
    ]
    .concat();
    let head_bytes = 200;
    let head = [
        IMAGE_MAGIC.to_vec(),
        numbers(&[2, head_bytes, rank, world_size]),
        longs(&[run]),
        numbers(&[state, 0, 0, 0]),
        longs(&[u64::from(head_bytes) + records.len() as u64, 0, 0, 0, 10_000, 10_000, 4096, 0, 0]),
        longs(&[0; 10]),
    ]
    .concat();
    assert_eq!(head.len(), head_bytes as usize);
    [head, records].concat()
}

fn trace() -> Vec<u8> {
    let mut file = [&TRACE_MAGIC[..], &2_u32.to_le_bytes(), &1_u32.to_le_bytes()].concat();
    file.extend(image(0, 1, 1, 9));
    let sum = crc32fast::hash(&file);
    [&file[..], TAIL_MAGIC, &sum.to_le_bytes(), &[0; 4]].concat()
}

#[test]
fn a_trace_is_read_whole() {
    let profile = parse(&trace(), Some("app")).unwrap();
    let rank = &profile.ranks[0];
    assert_eq!((rank.pus.to_string().as_str(), rank.numa.as_slice()), ("5", &[2][..]));
    assert_eq!((rank.ended, rank.peak_memory.0), (Ended::Finalized, 4096));
    assert!((rank.wall.0 - 1e-5).abs() < 1e-12);
    assert_eq!(profile.library_settings["coll"], "42");
    let record = &profile.flows[0];
    assert_eq!((record.flow.messages, record.flow.bytes), (3, 24));
    assert_eq!(record.size_histogram, [0, 0, 0, 0, 3]);
    let times = record.times.unwrap();
    assert!((times.gap_mean.0 - 2e-6).abs() < 1e-12 && (times.gap_cv - 0.5).abs() < 1e-12);
}

#[test]
fn a_library_is_named_in_short() {
    let in_short = super::combine::in_short;
    assert_eq!(in_short("Open MPI v4.1.4, package: Debian OpenMPI"), "Open MPI v4.1.4");
    let mpich = |device| {
        format!("MPICH Version:\t4.0.2\nMPICH Release date:\t2022\nMPICH Device:\t{device}\n")
    };
    assert_eq!(in_short(&mpich("ch4:ucx")), "MPICH Version: 4.0.2");
    assert_eq!(in_short(&mpich("ch3:nemesis")), "MPICH Version: 4.0.2 (ch3:nemesis)");
}

#[test]
fn what_a_rank_waited_for_a_pu_is_at_the_end_of_its_head() {
    let old = image(0, 1, 1, 9);
    let younger: Vec<u8> =
        [4_000_u64, 5_000, 600, 1].iter().flat_map(|n| n.to_le_bytes()).collect();
    let mut new = [&old[..200], &younger, &old[200..]].concat();
    new[12..16].copy_from_slice(&232_u32.to_le_bytes());
    let length = new.len() as u64;
    new[48..56].copy_from_slice(&length.to_le_bytes());
    let record = |bytes: &[u8]| image::take(&mut bytes::Bytes { rest: bytes }).unwrap().record;
    assert_eq!(record(&old).waited_for_pu, None);
    let new = record(&new);
    assert!((new.waited_for_pu.unwrap().0 - 4e-6).abs() < 1e-12 && new.sleep_is_known);
    assert_eq!(
        (new.processor, new.other_threads),
        (Seconds(5_000.0 * 1e-9), Seconds(600.0 * 1e-9))
    );
}

#[test]
fn no_cut_or_changed_byte_gets_through() {
    let whole = trace();
    for length in 0..whole.len() {
        assert!(parse(&whole[..length], Some("app")).is_err(), "cut at {length}");
    }
    for place in 0..whole.len() {
        let mut changed = whole.clone();
        changed[place] ^= 0x10;
        assert!(parse(&changed, Some("app")).is_err(), "changed at {place}");
    }
}

#[test]
fn spool_files_of_a_run_become_one_partial_profile() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    let unused = [image(2, 4, 0, 9), vec![0; 1000]].concat();
    let files = [file("b", &unused), file("a", &image(1, 4, 1, 9))];
    let profile = read_spools(&files, Some("app")).unwrap();
    let ended: Vec<Ended> = profile.ranks.iter().map(|rank| rank.ended).collect();
    assert_eq!(ended, [Ended::Missing, Ended::Finalized, Ended::Killed, Ended::Missing]);
    assert_eq!(profile.flows.len(), 2);

    let again = read_spools(&[&files[0], &files[0]], Some("app")).unwrap_err().to_string();
    assert!(again.contains("rank 2 twice"), "{again}");
    let other = file("c", &image(3, 4, 1, 8));
    let error = read_spools(&[&files[0], &other], Some("app")).unwrap_err().to_string();
    assert!(error.contains("another run"), "{error}");
    let mut full = image(2, 3, 1, 9);
    full[36] = 2; // the flag that the spool file could not grow
    let profile = read_spools(&[file("e", &full)], None).unwrap();
    assert!(profile.ranks[2].cut && profile.run.program.is_empty());
    let cut = file("d", &unused[..300]);
    assert!(read_spools(&[&cut], Some("app")).is_err());
}
