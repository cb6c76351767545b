//! Which instructions of an assembly text are in loops that have no loop inside?
//!
//! Loops are the natural ones of the graph of blocks, since compilers place the blocks of a loop where they like.

use std::collections::{BTreeMap, BTreeSet};

/// Instructions up to a jump or the next label.
#[derive(Default)]
struct Block {
    instructions: Vec<String>,
    to: Vec<usize>,
}

/// The instructions of every innermost loop. `%rbp` is called `%frame` where it holds the frame: elsewhere it is a register
/// like others.
pub fn innermost(text: &str) -> Vec<Vec<String>> {
    functions(text).iter().flat_map(|lines| of_function(lines)).collect()
}

/// The lines of each function, without remarks.
fn functions(text: &str) -> Vec<Vec<String>> {
    let mut out: Vec<Vec<String>> = Vec::new();
    let mut framed = false;
    for line in text.lines().map(|l| l.split('#').next().unwrap_or("").trim_end()) {
        if line.ends_with(':') && !line.starts_with(['.', '\t']) {
            out.push(Vec::new());
            framed = false;
        }
        framed |= line.trim_start() == "movq\t%rsp, %rbp";
        let line = if framed { line.replace("(%rbp", "(%frame") } else { line.to_owned() };
        out.last_mut().into_iter().for_each(|f| f.push(line.clone()));
    }
    out
}

fn of_function(lines: &[String]) -> Vec<Vec<String>> {
    let blocks = blocks(lines);
    let sources = sources(&blocks);
    let dominators = dominators(&sources);
    let mut loops: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
    for (from, block) in blocks.iter().enumerate() {
        for head in block.to.iter().filter(|head| has(&dominators[from], **head)) {
            body(&sources, *head, from, loops.entry(*head).or_default());
        }
    }
    let heads: BTreeSet<usize> = loops.keys().copied().collect();
    let inner = loops.iter().filter(|(head, body)| body.iter().all(|b| b == *head || !heads.contains(b)));
    inner.map(|(_, body)| body.iter().flat_map(|b| blocks[*b].instructions.clone()).collect()).collect()
}

fn blocks(lines: &[String]) -> Vec<Block> {
    let mut out = vec![Block::default()];
    let mut at: BTreeMap<&str, usize> = BTreeMap::new();
    let mut jumps: Vec<(usize, &str)> = Vec::new();
    let mut open = true;
    for line in lines {
        if let Some(label) = line.strip_suffix(':').filter(|l| l.starts_with(".L")) {
            let next = out.len();
            out.push(Block::default());
            if open {
                out[next - 1].to.push(next);
            }
            at.insert(label, next);
            open = true;
            continue;
        }
        if !line.starts_with('\t') || line.starts_with("\t.") {
            continue;
        }
        let here = out.len() - 1;
        out[here].instructions.push(line.clone());
        let mut words = line.split_whitespace();
        let word = words.next().unwrap_or("");
        if word.starts_with('j') {
            jumps.push((here, words.next().unwrap_or("")));
        }
        let ends = word.starts_with("jmp") || word.starts_with("ret") || word == "ud2";
        if ends || word.starts_with('j') {
            out.push(Block::default());
            if !ends {
                out[here].to.push(here + 1);
            }
            open = !ends;
        }
    }
    for (from, label) in jumps {
        // A jump by a table may lead to any block.
        match label.strip_prefix('*') {
            Some(_) => out[from].to = at.values().copied().collect(),
            None => out[from].to.extend(at.get(label)),
        }
    }
    out
}

/// The blocks that lead to each.
fn sources(blocks: &[Block]) -> Vec<Vec<usize>> {
    let mut out = vec![Vec::new(); blocks.len()];
    for (from, block) in blocks.iter().enumerate() {
        block.to.iter().for_each(|to| out[*to].push(from));
    }
    out
}

/// A set of blocks, a bit for each.
type Bits = Vec<u64>;

fn has(set: &Bits, n: usize) -> bool {
    set.get(n / 64).is_some_and(|w| w >> (n % 64) & 1 == 1)
}

/// The blocks through which each is reached in any case; of one that is not reached, none.
fn dominators(sources: &[Vec<usize>]) -> Vec<Bits> {
    let words = sources.len().div_ceil(64);
    let mut found: Vec<Option<Bits>> = vec![None; sources.len()];
    found[0] = Some([1].into_iter().chain(std::iter::repeat_n(0, words - 1)).collect());
    loop {
        let mut changed = false;
        for n in 1..sources.len() {
            let mut known = sources[n].iter().filter_map(|b| found[*b].as_ref());
            let meet = |a: Bits, b: &Bits| a.iter().zip(b).map(|(x, y)| x & y).collect();
            let Some(first) = known.next().cloned() else { continue };
            let mut all: Bits = known.fold(first, meet);
            all[n / 64] |= 1 << (n % 64);
            changed |= found[n].as_ref() != Some(&all);
            found[n] = Some(all);
        }
        if !changed {
            return found.into_iter().map(Option::unwrap_or_default).collect();
        }
    }
}

/// The blocks from which the last block of a loop is reached without its first.
fn body(sources: &[Vec<usize>], head: usize, last: usize, into: &mut BTreeSet<usize>) {
    into.insert(head);
    let mut open = vec![last];
    while let Some(n) = open.pop() {
        if into.insert(n) {
            open.extend(&sources[n]);
        }
    }
}
