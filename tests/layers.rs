//! Reads the sources and checks that each module imports only what its layer may know.

#![expect(clippy::unwrap_used, reason = "a source that cannot be read is a failed test")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// A module and the modules it may name by `crate::`.
const LAYERS: [(&str, &[&str]); 13] = [
    // ground
    ("sync", &[]),
    ("error", &[]),
    ("math", &[]),
    // hash
    ("hash", &[]),
    // store
    ("simd", &[]),
    ("store", &["math", "simd"]),
    // contract
    ("membership", &["error", "hash"]),
    // filters
    ("filter", &["membership", "hash", "store", "simd", "math", "error", "sync"]),
    // file
    ("codec", &["filter", "membership", "hash", "store", "simd", "error"]),
    ("any", &["codec", "filter", "membership", "hash", "store", "error"]),
    ("serde", &["any", "codec", "filter", "replay", "store"]),
    // products
    ("replay", &["any", "codec", "filter", "membership", "hash", "math", "error"]),
    ("screen", &["any", "codec", "membership", "hash", "store", "error"]),
];

#[test]
fn every_module_imports_only_what_its_layer_may_know() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut faults = Vec::new();
    let mut seen = BTreeSet::new();
    for file in sources(&root) {
        let relative = file.strip_prefix(&root).unwrap();
        let module = relative.iter().next().unwrap().to_str().unwrap().trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        let Some((_, allowed)) = LAYERS.iter().find(|(name, _)| *name == module) else {
            faults.push(format!("{}: {module} has no layer", relative.display()));
            continue;
        };
        seen.insert(module.to_owned());
        for imported in imports(&code_of(&file)) {
            if imported != module && !allowed.contains(&imported.as_str()) {
                faults.push(format!("{}: {module} may not know {imported}", relative.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(seen.len() >= 8, "the sources were not found: {seen:?}");
}

#[test]
fn no_filter_knows_another_filter() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/filter");
    // `shared` is `word` with atomic words, and knows it.
    let filters = ["blocked", "bloom", "counting", "cuckoo", "fuse", "retiring", "word"];
    for file in sources(&folder) {
        let part = file.strip_prefix(&folder).unwrap().iter().next().unwrap();
        let part = part.to_str().unwrap().trim_end_matches(".rs");
        if !filters.contains(&part) {
            continue;
        }
        let code = code_of(&file);
        for other in filters.iter().filter(|&&other| other != part) {
            let knows = [format!("super::{other}"), format!("filter::{other}")];
            assert!(!knows.iter().any(|path| code.contains(path)), "{part} knows {other}");
        }
    }
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The source without comments, and without unit tests, which may know everything.
fn code_of(file: &Path) -> String {
    if file.iter().any(|part| part == "tests" || part == "tests.rs") {
        return String::new();
    }
    let text = fs::read_to_string(file).unwrap();
    let code = text.split("#[cfg(test)]\nmod tests {").next().unwrap();
    code.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

/// The modules named after `crate::`.
fn imports(code: &str) -> BTreeSet<String> {
    code.split("crate::")
        .skip(1)
        .map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
        .collect()
}
