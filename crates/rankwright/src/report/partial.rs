//! What a profile lacks because its run ended early.

use crate::ids::{Rank, format_index_list};
use crate::traffic::profile::{Ended, Profile};

/// One sentence for each way in which ranks ended early, and one for records that were lost for want
/// of space; none for a complete profile.
#[must_use]
pub fn partial_records(profile: &Profile) -> Vec<String> {
    let mut sentences: Vec<String> = profile.partial().iter().map(sentence).collect();
    let cut: Vec<u32> =
        (0_u32..).zip(&profile.ranks).filter(|(_, rank)| rank.cut).map(|(rank, _)| rank).collect();
    if !cut.is_empty() {
        sentences.push(format!(
            "{} lost records for want of space (memory, or the disk of the spool folder)",
            ranks(&cut)
        ));
    }
    sentences
}

fn sentence((ended, who): &(Ended, Vec<Rank>)) -> String {
    let what = match ended {
        Ended::Aborted => "called MPI_Abort: recorded until then",
        Ended::Exited => "ended without MPI_Finalize: recorded until then",
        Ended::Missing => "left no records",
        Ended::Killed => "died without MPI_Finalize: recorded until then",
        Ended::Unknown | Ended::Finalized => "reached their end",
    };
    let who: Vec<u32> = who.iter().map(|rank| rank.0).collect();
    format!("{} {what}", ranks(&who))
}

fn ranks(numbers: &[u32]) -> String {
    let rank = if numbers.len() == 1 { "rank" } else { "ranks" };
    format!("{rank} {}", format_index_list(numbers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::profile::RankRecord;

    #[test]
    fn ranks_are_named_by_how_they_ended() {
        let ended = [Ended::Finalized, Ended::Killed, Ended::Killed, Ended::Missing];
        let rank = |ended| RankRecord { ended, ..RankRecord::default() };
        let mut profile = Profile { ranks: ended.map(rank).into(), ..Profile::default() };
        profile.ranks[1].cut = true;
        let expected = [
            "ranks 1-2 died without MPI_Finalize: recorded until then",
            "rank 3 left no records",
            "rank 1 lost records for want of space (memory, or the disk of the spool folder)",
        ];
        assert_eq!(partial_records(&profile), expected);
        profile.ranks.truncate(1);
        assert_eq!(partial_records(&profile), [""; 0]);
    }
}
