//! The settings in which two runs differ, by their names in `run.json`.

use serde_json::{Map, Value};
use twinfer_case::RunInfo;

/// What two runs may differ in if one continues the other: its id, its history, and what changes no case, verdict or finding.
const OF_ONE_PROCESS: [&str; 10] =
    ["id", "budget", "jobs", "machine", "workforce", "started", "resumed", "end", "journal", "revisited"];
/// The most differences that a message lists.
const MOST: usize = 4;
/// The most characters of a value in a message.
const SHOWN: usize = 80;

/// The settings in which `now` differs from the run `earlier`, which it is to continue, as one line; `None` if there are none.
pub fn between_continued(earlier: &RunInfo, now: &RunInfo) -> Option<String> {
    between(&settings(earlier, &[]), &settings(now, &[]), ["", "now "])
}

/// The settings in which two runs differ that are to be shards of one campaign, as one line; `None` if there are none.
pub fn between_shards(one: &RunInfo, other: &RunInfo) -> Option<String> {
    between(&settings(one, &["shard"]), &settings(other, &["shard"]), ["", "the other "])
}

fn between(one: &Value, other: &Value, words: [&str; 2]) -> Option<String> {
    let mut found = Vec::new();
    collect("", Some(one), Some(other), words, &mut found);
    let more = found.len().saturating_sub(MOST);
    found.truncate(MOST);
    found.extend((more > 0).then(|| format!("and {more} more")));
    (!found.is_empty()).then(|| found.join("; "))
}

/// The settings of a run, lists by the names of their elements, without those that `also_left_out` names.
fn settings(run: &RunInfo, also_left_out: &[&str]) -> Value {
    let mut run = serde_json::to_value(run).unwrap_or_default();
    let left_out = OF_ONE_PROCESS.iter().chain(also_left_out);
    if let Some(fields) = run.as_object_mut() {
        left_out.for_each(|name| drop(fields.remove(*name)));
        by_name(fields, "variants", "variant");
        by_name(fields, "libraries", "name");
    }
    // the same findings may be in another folder
    for known in run.pointer_mut("/settings/known").and_then(Value::as_array_mut).into_iter().flatten() {
        drop(known.as_object_mut().map(|known| known.remove("folder")));
    }
    run
}

/// Turns a list of objects, or what is absent, into an object with an entry for each, by the value of `key`.
fn by_name(fields: &mut Map<String, Value>, list: &str, key: &str) {
    let list = fields.entry(list).or_insert_with(|| Value::Array(Vec::new()));
    let entry = |value: Value| Some((value.get(key)?.as_str()?.to_owned(), value));
    let entries: Map<_, _> =
        list.as_array_mut().map(std::mem::take).into_iter().flatten().filter_map(entry).collect();
    *list = Value::Object(entries);
}

fn collect(
    path: &str,
    one: Option<&Value>,
    other: Option<&Value>,
    words: [&str; 2],
    found: &mut Vec<String>,
) {
    match (one, other) {
        (Some(Value::Object(fields)), Some(Value::Object(others))) => {
            let mut names: Vec<_> = fields.keys().chain(others.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(&path, fields.get(name), others.get(name), words, found);
            }
        }
        _ if one == other => {}
        _ => {
            let [before, after] = words;
            found.push(format!("{path}: {before}{}, {after}{}", shown(one), shown(other)));
        }
    }
}

fn shown(value: Option<&Value>) -> String {
    let text = match value {
        None => return "absent".to_owned(),
        // it is only on one side, and its name says enough
        Some(Value::Object(_)) => return "present".to_owned(),
        Some(Value::String(text)) => format!("{text:?}"),
        Some(value) => value.to_string(),
    };
    if text.chars().count() <= SHOWN { text } else { text.chars().take(SHOWN).chain(['…']).collect() }
}
