use super::*;
use crate::ids::{NumaId, PuId};
use crate::units::Bytes;

fn shape(text: &str) -> String {
    parse(text).unwrap().to_string()
}

#[test]
fn typed_levels_multiply() {
    let machine = parse("pack:2 numa:2 l3:1 core:4 pu:2").unwrap();
    assert_eq!(machine.to_string(), "2 packages, 4 NUMA nodes, 16 cores, 32 PUs, 0 NICs");
    let core = &machine.cores[5];
    assert_eq!((core.package, core.numa, core.cache), (0, NumaId(1), Some(1)));
    assert_eq!(core.pus, [PuId(10), PuId(11)]);
}

#[test]
fn plain_numbers_get_the_types_of_hwloc() {
    assert_eq!(shape("4"), "1 package, 1 NUMA node, 4 cores, 4 PUs, 0 NICs");
    assert_eq!(shape("2 4 2"), "2 packages, 8 NUMA nodes, 16 cores, 16 PUs, 0 NICs");
    assert_eq!(shape("2 1 4 2"), "2 packages, 2 NUMA nodes, 8 cores, 16 PUs, 0 NICs");
}

#[test]
fn attached_memories_are_numbered_from_the_leaves_up() {
    let machine = parse("[numa] pack:2 [numa(memory=16GB)] core:2 pu:1").unwrap();
    let memories: Vec<_> = machine.numa_nodes.iter().map(|numa| numa.memory).collect();
    let sixteen = Some(Bytes(16_000_000_000));
    assert_eq!(memories, [sixteen, sixteen, None]);
    assert_eq!(machine.cores[3].numa, NumaId(1));
}

#[test]
fn pu_numbers_follow_the_indexes() {
    let numbers =
        |text: &str| -> Vec<u32> { parse(text).unwrap().pus.iter().map(|pu| pu.id.0).collect() };
    let wanted = [0, 4, 2, 6, 1, 5, 3, 7];
    assert_eq!(numbers("pack:2 core:2 pu:2(indexes=pack:core)"), wanted);
    assert_eq!(numbers("pack:2 core:2 pu:2(indexes=4*2:2*2:1*2)"), wanted);
    assert_eq!(numbers("pack:2 core:2 pu:2(indexes=0,4,2,6,1,5,3,7)"), wanted);
    // Siblings are sorted by their first PU.
    assert_eq!(numbers("pu:4(indexes=7,9,2,100)"), [2, 7, 9, 100]);
}

#[test]
fn texts_that_are_not_synthetic_strings_are_refused() {
    for (text, part) in [
        ("", "nothing"),
        ("pack:2", "`pack` as the last level"),
        ("pack:2 core:x pu:1", "`x`"),
        ("pack core:2", "`pack`"),
        ("tile:2 pu:2", "`tile`"),
        ("pack:0 pu:2", "0"),
        ("2 core:2 pu:1", "`2`"),
        ("pack:2 pack:2 pu:1", "`pack` twice"),
        ("core:2 pack:2 pu:1", "`pack` inside `core`"),
        ("pack:2(memory=1GB pu:2", "`(`"),
        ("pack:2(speed=3) pu:2", "`speed=3`"),
        ("pu:4(indexes=0,1)", "2 numbers"),
        ("pu:4(indexes=0,1,1,2)", "two PUs P#1"),
        ("pu:4(indexes=3*2)", "`3*2`"),
        ("pack:60000 core:60000 pu:1", "too large"),
        ("[numa pu:2", "`[`"),
        ("numa:2 [numa] pu:2", "both"),
    ] {
        let message = parse(text).expect_err(text).to_string();
        assert!(message.contains(part), "{text}: {message}");
    }
}
