//! `cachetc bench`: what it refuses, and the page it writes.

mod common;

use common::{cachetc, root, skipped, text};
use std::path::PathBuf;
use std::process::Output;

fn file(name: &str, contents: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("bench");
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    std::fs::write(&path, contents).expect("writes");
    path
}

fn bench(args: &[&str]) -> Option<Output> {
    let found = text(&cachetc(&["doctor"]).stdout);
    if !found.contains("found    LLVM") {
        skipped("llvm", "nothing can be measured");
        return None;
    }
    let mut all = vec!["bench", "--seconds", "1"];
    all.extend(args);
    Some(cachetc(&all))
}

const HALVES: &str = "import \"cachet:steps\"

contraction halves
    (reads a: [f32; N, M])
    -> out c: [f32; H, M]
requires N == 2 * H =
  c[i, j] = a[2 * i, j] + a[2 * i + 1, j]

schedule turned of halves =
  interchange (i, j)
";

#[test]
fn a_size_that_is_not_allowed_is_refused() {
    let path = file("halves.cachet", HALVES);
    let path = path.to_str().expect("text");
    let Some(out) = bench(&["--no-peers", "--size", "6", path]) else { return };
    let said = text(&out.stderr);
    assert!(said.contains("`halves` requires N == H * 2, which does not hold at") && said.contains("N = 6"), "{said}");
    assert_eq!(out.status.code(), Some(2), "{said}");
    let out = bench(&["--no-peers", "--at", "N=12,H=6", "--size", "5", path]).expect("as before");
    let said = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{}{said}", text(&out.stderr));
    assert!(said.contains("N = 12") && said.contains("M = 5") && said.contains("30 operations"), "{said}");
}

#[test]
fn sizes_are_known_names_with_values() {
    let refused = |args: &[&str]| {
        let mut all = vec!["--no-peers", "examples/matmul.cachet", "swapped"];
        all.extend(args);
        let out = bench(&all)?;
        assert_eq!(out.status.code(), Some(2));
        Some(text(&out.stderr))
    };
    let Some(said) = refused(&["--at", "M=8,Q=9"]) else { return };
    assert!(said.contains("nothing that is measured has a size `Q`: `matmul` has M, K, N"), "{said}");
    let said = refused(&["--at", "M"]).expect("as before");
    assert!(said.contains("`M` is no size"), "{said}");
    let said = refused(&["--sizes", "8,0"]).expect("as before");
    assert!(said.contains("between 1 and 1048576"), "{said}");
}

/// What a file only imports is measured too.
#[test]
fn a_file_that_names_a_platform_measures_what_it_imports() {
    let file = "examples/gemm.cachet";
    let Some(out) = bench(&["--no-peers", "--size", "70", file]) else { return };
    let said = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{}{said}", text(&out.stderr));
    for wanted in ["matmul_PlusTimes_f32", "matmul_PlusTimes_f64", "single ", "single_bands", "double ", "double_bands"]
    {
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
    assert_eq!(said.matches("bits equal").count(), 4, "{said}");
    let out = bench(&["--no-peers", "--size", "70", file, "nothing"]).expect("as before");
    assert_eq!(out.status.code(), Some(2), "{}", text(&out.stdout));
}

#[test]
fn several_sizes_have_a_table_of_their_own() {
    let args = ["--sizes", "8,12", "--at", "M=3,K=40,N=5", "examples/matmul.cachet", "swapped", "outer"];
    let Some(out) = bench(&args) else { return };
    let said = text(&out.stdout);
    assert_eq!(out.status.code(), Some(0), "{said}");
    for part in ["M = 8, K = 8, N = 8", "M = 3, K = 40, N = 5", "geometric mean", "least", "swapped has its least at"] {
        assert!(said.contains(part), "no `{part}` in\n{said}");
    }
}

#[test]
fn the_page_is_well_formed_and_loads_nothing() {
    // A name that would break a page which does not escape it.
    let matmul = std::fs::read_to_string(root().join("examples/matmul.cachet")).expect("the example");
    let source = file("a <b> & 'c' \"d\".cachet", &matmul);
    let page = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("page.html");
    let (path, source) = (page.to_str().expect("text"), source.to_str().expect("text"));
    let Some(out) = bench(&["--sizes", "8,12", "--html", path, source, "swapped"]) else { return };
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let html = std::fs::read_to_string(&page).expect("was written");
    let elements = elements(&html).unwrap_or_else(|e| panic!("{e}\n{html}"));
    let count = |name: &str| elements.iter().filter(|e| e.name == name).count();
    assert_eq!(count("svg"), 3, "bars for each size, and the roofline");
    assert!(count("rect") >= 4 && count("circle") >= 4 && count("table") >= 4);
    for part in [
        "swapped",
        "matmul",
        "M = 12",
        "geometric mean",
        "of the roof",
        "seed of the inputs",
        "a &lt;b&gt; &amp; &#39;c&#39;",
    ] {
        assert!(html.contains(part), "no `{part}`");
    }
    for e in &elements {
        assert!(!["script", "link", "img", "iframe", "object", "use", "image"].contains(&e.name.as_str()), "{e:?}");
        for (name, value) in &e.attributes {
            assert!(!["src", "href", "xlink:href", "srcset", "action"].contains(&name.as_str()), "{e:?}");
            assert!(!value.contains("://") && !value.contains("url("), "{e:?}");
        }
    }
    let style = html.split("<style>").nth(1).and_then(|s| s.split("</style>").next()).expect("a style");
    assert!(!style.contains("url(") && !style.contains("@import"));
}

#[derive(Debug, PartialEq)]
struct Element {
    name: String,
    attributes: Vec<(String, String)>,
}

/// The elements of a page, if every one that is opened is closed, in order, with quoted attributes, and every `&` is a
/// reference.
fn elements(html: &str) -> Result<Vec<Element>, String> {
    let (mut open, mut all): (Vec<String>, Vec<Element>) = (Vec::new(), Vec::new());
    let mut rest = html.strip_prefix("<!DOCTYPE html>").ok_or("no doctype")?;
    while let Some(at) = rest.find('<') {
        let (between, tag) = rest.split_at(at);
        references(between)?;
        let end = tag.find('>').ok_or("a tag without an end")?;
        let (tag, after) = (&tag[1..end], &tag[end + 1..]);
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            let last = open.pop().ok_or_else(|| format!("</{name}> closes nothing"))?;
            if last != name {
                return Err(format!("</{name}> closes <{last}>"));
            }
            continue;
        }
        let (tag, empty) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        all.push(Element { name: name.to_owned(), attributes: pairs(attributes)? });
        if !empty {
            open.push(name.to_owned());
        }
    }
    references(rest)?;
    if open.is_empty() { Ok(all) } else { Err(format!("never closed: {open:?}")) }
}

fn pairs(mut text: &str) -> Result<Vec<(String, String)>, String> {
    let mut all = Vec::new();
    while !text.trim().is_empty() {
        let (name, rest) = text.trim_start().split_once("=\"").ok_or_else(|| format!("no value in `{text}`"))?;
        let (value, rest) = rest.split_once('"').ok_or_else(|| format!("no end of a value in `{text}`"))?;
        references(value)?;
        all.push((name.to_owned(), value.to_owned()));
        text = rest;
    }
    Ok(all)
}

fn references(text: &str) -> Result<(), String> {
    for part in text.split('&').skip(1) {
        let name = part.split(';').next().filter(|name| name.len() < part.len());
        if !name.is_some_and(|n| ["amp", "lt", "gt", "quot", "#39"].contains(&n)) {
            return Err(format!("`&{part}` is no reference"));
        }
    }
    Ok(())
}

#[test]
fn the_reader_of_pages_sees_what_is_wrong() {
    let page = |inner: &str| elements(&format!("<!DOCTYPE html><p>{inner}</p>"));
    assert_eq!(page("a &amp; b<br/>").map(|e| e.len()), Ok(2));
    for wrong in ["<b>", "</b>", "<b><i></b></i>", "a & b", "<b x=y></b>", "<b x=\"&\"></b>", "a < b"] {
        assert!(page(wrong).is_err(), "{wrong}");
    }
}
