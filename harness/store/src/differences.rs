//! The settings in which two runs differ.

use serde_json::{Map, Value};
use twinfer_case::RunInfo;

/// What two runs may differ in if one continues the other: its id, its history, and what changes no case, verdict or finding.
const OF_ONE_PROCESS: [&str; 13] = [
    "id",
    "budget",
    "jobs",
    "machine",
    "workforce",
    "processor",
    "totals",
    "recognized",
    "started",
    "resumed",
    "end",
    "journal",
    "revisited",
];
/// The variants of a run, and the libraries that they load.
const VARIANTS: &str = "variants";
const LIBRARIES: &str = "libraries";
/// The fields that hold settings of a campaign.
const SETTINGS: &str = "settings";
/// The most differences that a message lists.
const MOST: usize = 4;
/// The most characters of a value in a message.
const SHOWN: usize = 80;

/// The settings in which `now` differs from the run `earlier`, which it is to continue, as one line; `None` if there are none.
pub fn between_continued(earlier: &RunInfo, now: &RunInfo) -> Option<String> {
    between(settings(earlier, &[]), settings(now, &[]), "now")
}

/// The settings in which two runs differ that are to be shards of one campaign, as one line; `None` if there are none.
pub fn between_shards(one: &RunInfo, other: &RunInfo) -> Option<String> {
    between(settings(one, &["shard"]), settings(other, &["shard"]), "the other")
}

/// The settings in which `one` and the `other`, which is called `which`, differ.
fn between(mut one: Value, mut other: Value, which: &str) -> Option<String> {
    leave_out_libraries_of_one(&mut one, &mut other);
    let mut found = Vec::new();
    collect("", Some(&one), Some(&other), which, &mut found);
    let more = found.len().saturating_sub(MOST);
    found.truncate(MOST);
    found.extend((more > 0).then(|| format!("and {more} more")));
    (!found.is_empty()).then(|| found.join("; "))
}

/// The settings of a run, lists by the names of their elements, without those that `also_left_out` names.
fn settings(run: &RunInfo, also_left_out: &[&str]) -> Value {
    let mut settings = serde_json::to_value(run).unwrap_or_default();
    let left_out = OF_ONE_PROCESS.iter().chain(also_left_out);
    if let Some(fields) = settings.as_object_mut() {
        left_out.for_each(|name| drop(fields.remove(*name)));
        if let Some(shard) = fields.get_mut("shard") {
            *shard = run.shard.to_string().into();
        }
        by_name(fields, VARIANTS, "variant");
        by_name(fields, LIBRARIES, "name");
    }
    // the same findings, which the checksum tells, may be in another folder
    for known in settings.pointer_mut("/settings/known").and_then(Value::as_array_mut).into_iter().flatten() {
        for field in ["folder", "names"] {
            drop(known.as_object_mut().map(|known| known.remove(field)));
        }
    }
    settings
}

/// If the variants differ, removes the libraries that only one run has: the difference in variants explains them.
fn leave_out_libraries_of_one(one: &mut Value, other: &mut Value) {
    let names = |run: &Value, list: &str| -> Vec<String> {
        run.get(list).and_then(Value::as_object).into_iter().flat_map(Map::keys).cloned().collect()
    };
    if names(one, VARIANTS) == names(other, VARIANTS) {
        return;
    }
    let shared = [names(one, LIBRARIES), names(other, LIBRARIES)];
    for run in [one, other] {
        if let Some(libraries) = run.get_mut(LIBRARIES).and_then(Value::as_object_mut) {
            libraries.retain(|name, _| shared.iter().all(|names| names.contains(name)));
        }
    }
}

/// Turns a list of objects, or what is absent, into an object with an entry for each, by the value of `key`.
fn by_name(fields: &mut Map<String, Value>, list: &str, key: &str) {
    let list = fields.entry(list).or_insert_with(|| Value::Array(Vec::new()));
    let entry = |value: Value| Some((value.get(key)?.as_str()?.to_owned(), value));
    let entries: Map<_, _> =
        list.as_array_mut().map(std::mem::take).into_iter().flatten().filter_map(entry).collect();
    *list = Value::Object(entries);
}

fn collect(path: &str, one: Option<&Value>, other: Option<&Value>, which: &str, found: &mut Vec<String>) {
    match (one, other) {
        (Some(Value::Object(fields)), Some(Value::Object(others))) => {
            let mut names: Vec<_> = fields.keys().chain(others.keys()).collect();
            names.sort();
            names.dedup();
            for name in names {
                let is_plain = path.is_empty() || path == SETTINGS;
                let path = if is_plain { name.clone() } else { format!("{path}.{name}") };
                collect(&path, fields.get(name), others.get(name), which, found);
            }
        }
        _ if one == other => {}
        // it is only in one of the two, and its name says enough
        (Some(Value::Object(_)), None) => found.push(format!("{which} without {}", name_in(path))),
        (None, Some(Value::Object(_))) => found.push(format!("{which} with {}", name_in(path))),
        _ => found.push(format!("{path}: {}, {which} {}", shown(one), shown(other))),
    }
}

/// The name of a variant or library.
fn name_in(path: &str) -> &str {
    path.split_once('.').map_or(path, |(_, name)| name)
}

fn shown(value: Option<&Value>) -> String {
    let text = match value {
        None => return "absent".to_owned(),
        Some(Value::Null) => return "none".to_owned(),
        Some(Value::String(text)) if !text.is_empty() => text.clone(),
        Some(Value::Array(values)) if !values.is_empty() => {
            values.iter().map(|value| shown(Some(value))).collect::<Vec<_>>().join(",")
        }
        Some(value) => value.to_string(),
    };
    if text.chars().count() <= SHOWN { text } else { text.chars().take(SHOWN).chain(['…']).collect() }
}
