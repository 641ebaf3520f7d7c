//! Whether two names mean one host; used by the shim and `rankwright check`.

/// Whether a host is the one that a placement names: the names are equal, or one is short and the
/// first label of the other, or the placement has `localhost`, which every host is.
#[must_use]
pub fn same_host(placed: &str, actual: &str) -> bool {
    let short = |name: &str| !name.contains('.');
    let label = |name: &str| name.split('.').next().unwrap_or_default().to_ascii_lowercase();
    placed.eq_ignore_ascii_case(actual)
        || placed == "localhost"
        || ((short(placed) || short(actual)) && label(placed) == label(actual))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_full_host_names_are_the_same_host() {
        assert!(same_host("n1", "n1.cluster.org"));
        assert!(same_host("n1.cluster.org", "n1"));
        assert!(same_host("N1", "n1"));
        assert!(same_host("localhost", "n1"));
        assert!(!same_host("n1", "n10"));
        assert!(!same_host("n1.a.org", "n1.b.org"));
    }
}
