//! Task maps of Flux (RFC 34): the node of every task. `[[0,2,4,1]]` is four tasks on each of two
//! nodes from node 0 on, once; `0-3;4-7` has the tasks of each node; `(vector,(0,2,4))` is that of PMI.

use crate::ids::parse_index_list;
use crate::lint::MOST_RANKS;

/// Whether a text is such a map.
pub(in crate::lint) fn is_one(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with("[[") || text.starts_with("(vector,") || text.starts_with("{\"version\"")
}

/// The node of every task, counted from 0; `None` if the text is no map.
pub(in crate::lint) fn nodes_of_tasks(text: &str) -> Option<Vec<usize>> {
    let text: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    if let Some(blocks) = text.strip_prefix("(vector,").and_then(|it| it.strip_suffix(')')) {
        return of_blocks(blocks, ['(', ')']);
    }
    if let Some(object) = text.strip_prefix('{').and_then(|it| it.strip_suffix('}')) {
        let (_, map) = object.split_once("\"map\":")?;
        let end = map.find("]]").map_or(map.len(), |end| end + 2);
        return nodes_of_tasks(&map[..end]);
    }
    if let Some(blocks) = text.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
        return of_blocks(blocks, ['[', ']']);
    }
    of_lists(&text)
}

/// Blocks of first node, nodes, tasks on each, and how often.
fn of_blocks(text: &str, [open, close]: [char; 2]) -> Option<Vec<usize>> {
    let mut tasks = Vec::new();
    for block in text.strip_prefix(open)?.strip_suffix(close)?.split(&format!("{close},{open}")) {
        let numbers: Result<Vec<usize>, _> = block.split(',').map(str::parse).collect();
        let (first, nodes, each, times) = match numbers.ok()?.as_slice() {
            [first, nodes, each] => (*first, *nodes, *each, 1),
            [first, nodes, each, times] => (*first, *nodes, *each, *times),
            _ => return None,
        };
        let count = nodes.checked_mul(each)?.checked_mul(times)?;
        if first > MOST_RANKS || count.checked_add(tasks.len())? > MOST_RANKS {
            return None;
        }
        for _ in 0..times {
            let of_node = |node| std::iter::repeat_n(node, each);
            tasks.extend((first..first + nodes).flat_map(of_node));
        }
    }
    Some(tasks)
}

/// The tasks of each node: `0-1;2-3`.
fn of_lists(text: &str) -> Option<Vec<usize>> {
    let mut of_task: Vec<Option<usize>> = Vec::new();
    for (node, list) in text.split(';').enumerate() {
        for task in parse_index_list(list).ok()? {
            let task = usize::try_from(task).ok().filter(|task| *task < MOST_RANKS)?;
            of_task.resize(of_task.len().max(task + 1), None);
            if of_task[task].replace(node).is_some() {
                return None;
            }
        }
    }
    // Every task must have a node.
    let tasks: Option<Vec<usize>> = of_task.into_iter().collect();
    tasks.filter(|tasks| !tasks.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_rfc_are_read() {
        for (text, nodes) in [
            ("[[0,4,4,1]]", [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3].to_vec()),
            ("[[0,2,1,2]]", vec![0, 1, 0, 1]),
            ("[[0,1,2,1], [2,1,1,1]]", vec![0, 0, 2]),
            ("{\"version\":1,\"map\":[[0,2,2,1]]}", vec![0, 0, 1, 1]),
            ("(vector,(0,2,2))", vec![0, 0, 1, 1]),
            ("0,3;1-2", vec![0, 1, 1, 0]),
        ] {
            assert_eq!(nodes_of_tasks(text), Some(nodes), "{text}");
        }
        for text in ["", "[[0,1]]", "[0,1,1,1]", "[[0,1,1,9999999]]", "0;0", "0;2", "x"] {
            assert_eq!(nodes_of_tasks(text), None, "{text}");
        }
    }
}
