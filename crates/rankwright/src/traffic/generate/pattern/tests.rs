use super::*;

fn pattern(text: &str) -> Pattern {
    Pattern::parse(text).unwrap()
}

fn job(text: &str) -> Job {
    pattern(text).job().unwrap()
}

#[test]
fn halos_have_the_neighbours_of_their_stencil() {
    // 0 1 2 3
    // 4 5 6 7     rank 5 has 4 neighbours, or 8 with corners
    // 8 9 ...
    let neighbours = |text: &str, rank: u32| {
        job(text).flows.iter().filter(|flow| flow.source == Rank(rank)).count()
    };
    assert_eq!(neighbours("halo-2d:16", 5), 4);
    assert_eq!(neighbours("halo-2d:16:points=9", 5), 8);
    assert_eq!(neighbours("halo-2d:16", 0), 2);
    assert_eq!(neighbours("halo-2d:16:periodic", 0), 4);
    assert_eq!(neighbours("halo-3d:27", 13), 6);
    assert_eq!(neighbours("halo-3d:27:points=27", 13), 26);
    assert_eq!(job("halo-2d:16").flows[0].destination, Rank(1));
}

#[test]
fn with_a_rate_every_sender_has_a_clock() {
    let job = job("all-to-all:4:rate=100,cv=0.5,length=1KiB,messages=7");
    assert_eq!(job.sources.len(), 4);
    let source = &job.sources[2];
    assert_eq!((source.rank, source.rate, source.cv), (Rank(2), PerSecond(100.0), 0.5));
    assert_eq!((source.rounds, source.sends.len()), (7, 3));
    assert_eq!(job.flows, pattern("all-to-all:4:length=1KiB,messages=7").job().unwrap().flows);
    for wrong in ["rate=0", "rate=-1", "rate=x", "cv=-1", "cv=nan", "cv=1e9"] {
        assert!(Pattern::parse(&format!("ring:4:{wrong}")).is_err(), "{wrong}");
    }
    assert!(pattern("ring:4:rate=5,messages=0").job().is_err());
    assert!(pattern("ring:4:rate=5,length=0B").job().is_err());
}

#[test]
fn grids_are_as_even_as_the_number_allows() {
    assert_eq!(most_even_grid(16, 2), [4, 4]);
    assert_eq!(most_even_grid(12, 2), [4, 3]);
    assert_eq!(most_even_grid(7, 2), [7, 1]);
    assert_eq!(most_even_grid(64, 3), [4, 4, 4]);
    assert_eq!(most_even_grid(12, 3), [3, 2, 2]);
    assert_eq!(most_even_grid(1, 3), [1, 1, 1]);
}

#[test]
fn simple_shapes_have_their_pairs() {
    for (text, pairs) in [
        ("ring:8", 8),
        ("ring:1", 0),
        ("linear:8", 7),
        ("all-to-all:8", 56),
        ("bcast:8", 7),
        ("gather:8", 7),
        ("random:8:degree=3", 24),
        ("random:2:degree=9", 2),
        ("random:1", 0),
        ("random:1000:degree=999", 999_000),
    ] {
        assert_eq!(job(text).flows.len(), pairs, "{text}");
    }
}

#[test]
fn random_destinations_are_others_and_all_different() {
    let flows = job("random:50:degree=20,seed=3").flows;
    assert_eq!(flows.len(), 50 * 20);
    assert!(flows.iter().all(|flow| flow.source != flow.destination && flow.messages == 100));
}

#[test]
fn renumbering_keeps_the_graph_and_follows_the_seed() {
    let (plain, one, two) =
        (job("halo-2d:36"), job("halo-2d:36:renumber,seed=7"), job("halo-2d:36:renumber,seed=8"));
    assert_eq!(plain.flows.len(), one.flows.len());
    assert_ne!(one, two);
    assert_eq!(one, job("halo-2d:36:renumber,seed=7"));
}

#[test]
fn an_invalid_pattern_says_why() {
    for (text, message) in [
        ("star:8", "shape: found `star`, expected one of halo-2d"),
        ("ring:x", "ranks: found `x`"),
        ("halo-2d:99999999999", "ranks: found `99999999999`, expected at most 4294967295"),
        (
            "halo-2d:8:rate=1:length=8B",
            "option: found `rate=1:length=8B`, expected options with commas",
        ),
        ("halo-2d:8:points=7", "points: found 7, expected 4, 5 or 9"),
        ("halo-2d:8:grid=3x3", "grid: found 3x3, expected 2 axes whose product is 8"),
        ("ring:8:lenght=1", "option: found `lenght`"),
        ("ring:0", "ranks: found 0"),
        ("all-to-all:4000000000", "ranks: found"),
        ("ring:8:messages=18446744073709551615", "messages: found 18446744073709551615 mess"),
        ("halo-3d:8:grid=4294967295x4294967295x4294967295", "grid: found 4294967295x"),
    ] {
        let error = Pattern::parse(text).and_then(|pattern| pattern.job()).unwrap_err();
        assert!(error.to_string().contains(message), "{error}");
    }
}
