//! Schedules with something changed: an argument, a step, or the text of a step of the user's own.
//!
//! Most changes leave something that can still be tried; many of those are wrong, and some are not.

use crate::generate::contractions::Contraction;
use crate::generate::schedules::loops::{Loop, nests};
use crate::random::Random;
use crate::scheduled::Case;
use cachet_core::script::{StepArg, StepCall, StepForm};
use cachet_source::Span;

/// The library's steps, each with the user's own copy of it.
const COPIES: [(&str, &str); 5] = [
    ("zero", "cleared"),
    ("hoist", "moved"),
    ("interchange", "turned"),
    ("parallel", "at_once"),
    ("strip", "stripped"),
];

/// What is changed in a step's `to` and `relate`: what stands there, and what is put in its place.
const CHANGES: &[(&str, &str)] = &[
    // A bound by one, the first or the last iteration left out, the bounds exchanged.
    ("$lo .. $hi", "$lo + 1 .. $hi"),
    ("$lo .. $hi", "$lo .. $hi - 1"),
    ("$lo .. $hi", "$lo .. $hi + 1"),
    ("$lo .. $hi", "$hi .. $lo"),
    ("$lo .. $hi", "0 .. $hi"),
    ("0 .. g.len", "0 .. g.len - 1"),
    ("0 .. g.len", "1 .. g.len"),
    ("0 .. g.len", "0 .. n"),
    ("0 .. n do", "0 .. n - 1 do"),
    ("0 .. n do", "1 .. n do"),
    ("0 .. n do", "0 .. n + 1 do"),
    ("0 .. 2 do", "0 .. 1 do"),
    ("0 .. $M + $N - 1", "0 .. $M + $N - 2"),
    ("0 .. $M + $N - 1", "1 .. $M + $N - 1"),
    // The smaller for the larger, one comparison for the other.
    ("max 0", "min 0"),
    ("min $M (d + 1)", "min $M d"),
    ("d - $N + 1", "d - $N"),
    // Another size in one of two places, or for one of two.
    (") n do", ") 2 do"),
    ("/ n do", "/ 2 do"),
    ("by n as", "by 2 as"),
    ("p * n + r", "p * 2 + r"),
    ("p * n + r", "r * n + p"),
    ("p * n + r", "p * n"),
    ("p * 2 + r", "r * 2 + p"),
    ("p * 2 + r", "p + r"),
    // The place in a block for the index, the start left out, another way through.
    ("g[i]", "i"),
    ("g[i]", "g.lo"),
    ("[t := $lo + (", "[t := ("),
    ("$lo + $hi - 1 - i", "$hi - 1 - i"),
    ("$lo + $hi - 1 - i", "$lo + $hi - i"),
    ("$lo + $hi - 1 - i", "i"),
    ("w - 2 * i", "w - i"),
    ("$lo + 2 * i .. $hi + 2 * i", "$lo + 2 * i .. $hi + i"),
    ("d - i", "i"),
    ("j := d - i", "j := d - i + 1"),
    // What is capture and what is not.
    ("$body", "$body\n        $body"),
    (" ragged", ""),
    ("for i in", "grid i in"),
    ("for k in", "grid k in"),
    ("for j in", "grid j in"),
    ("grid t in", "for t in"),
    // Initialised again for each term, not at all, or with something else.
    ("= $z\n", "= load $cell\n"),
    ("from (load $cell)", "from $z"),
    ("let $acc = load $cell", "let $acc = $step[load $cell]"),
    ("= $step[$acc]", "= $acc"),
    ("= $step[$acc]", "= $step[load $cell]"),
    ("[i.. := zi..]", ""),
    // A line of the recipe less, or another.
    ("    per cell c fold S.k\n", ""),
    ("    per cell c fold T.k\n", ""),
    ("    distribute S.i at 1\n", ""),
    ("    interchange S.j\n", ""),
    ("    interchange S.i\n", ""),
    ("    split S.t by n as p\n", ""),
    ("    split S.i by n as g ragged\n", ""),
    ("    order S (i, p)\n", ""),
    ("at 1", "at 2"),
    ("reorder S to T all", "interchange S.i //"),
];

/// One change, and what it is; `None` where the one drawn cannot be made here.
pub fn change(case: &Case, random: &mut Random) -> Option<(Case, String)> {
    match random.below(12) {
        0..3 => argument(case, random),
        10 | 11 => {
            // Which of the changes that there are is known when the step has run.
            let at = random.below(case.schedule.steps.len());
            let broken = Some((at, random.below(1 << 16)));
            Some((Case { broken, ..case.clone() }, "what a step makes".into()))
        }
        3 => order_of_steps(case, random),
        4..7 => another_step(case, random),
        _ => text_of_step(case, random),
    }
}

/// Every argument that is a name, by a walk in order.
fn each_name(step: &mut StepCall, change: &mut impl FnMut(&mut StepArg)) {
    fn arg(a: &mut StepArg, change: &mut impl FnMut(&mut StepArg)) {
        match a {
            StepArg::Name { .. } => change(a),
            StepArg::Number(..) => {}
            StepArg::Tuple(parts, _) => parts.iter_mut().for_each(|p| arg(p, change)),
        }
    }
    match &mut step.form {
        StepForm::Call(args) | StepForm::Order(args) | StepForm::GridOver(args) => {
            args.iter_mut().for_each(|a| arg(a, change));
        }
        StepForm::Split(all) => all.iter_mut().for_each(|i| arg(&mut i.of, change)),
        StepForm::Pack(p) => {
            [&mut p.array, &mut p.into, &mut p.along].into_iter().for_each(|a| arg(a, change));
            p.over.iter_mut().for_each(|a| arg(a, change));
        }
        StepForm::Keep { buffer, along, into, .. } => {
            [buffer, along, into].into_iter().for_each(|a| arg(a, change));
        }
        StepForm::Registers(r) => {
            r.row.iter_mut().map(|(row, _)| row).chain([&mut r.lane, &mut r.into]).for_each(|a| arg(a, change));
        }
        StepForm::DotProducts(d) => [&mut d.sum, &mut d.into].into_iter().for_each(|a| arg(a, change)),
        StepForm::OuterProducts(o) => [&mut o.row, &mut o.into].into_iter().for_each(|a| arg(a, change)),
        StepForm::Reduce { of, .. } => arg(of, change),
    }
}

/// The names that a schedule uses, and its contraction's indices and arrays.
fn names(case: &Case) -> Vec<StepArg> {
    let mut out: Vec<StepArg> = Vec::new();
    for step in &case.schedule.steps {
        each_name(&mut step.clone(), &mut |a| out.push(a.clone()));
    }
    let indices = |c: &Contraction| -> Vec<String> {
        let free = c.equations.iter().flat_map(|e| e.indices.iter().map(|i| i.name.clone()));
        free.chain(c.summed().into_iter().map(String::from)).collect()
    };
    out.extend(indices(&case.contraction).iter().map(|n| name(n)));
    out.extend(case.contraction.outputs().into_iter().map(name));
    out.sort_by_key(StepArg::to_string);
    out.dedup();
    out
}

fn name(of: &str) -> StepArg {
    StepArg::Name { name: of.into(), nth: None, part: None, span: Span::default() }
}

/// Another size, loop or array, another order of arguments, `ragged` or not.
fn argument(case: &Case, random: &mut Random) -> Option<(Case, String)> {
    let mut mutant = case.clone();
    let at = random.below(case.schedule.steps.len());
    let step = &mut mutant.schedule.steps[at];
    let what = match (random.below(3), &mut step.form) {
        (0, StepForm::Split(all)) => {
            let index = random.below(all.len());
            all[index].ragged = !all[index].ragged;
            "ragged or not"
        }
        (1, StepForm::Split(all)) => {
            let index = random.below(all.len());
            let level = random.below(all[index].levels.len());
            let size = &mut all[index].levels[level].size;
            *size = random.pick(&[*size + 1, *size - 1, 2 * *size, 1]);
            "another size"
        }
        (_, StepForm::Call(args)) if random.once_in(2) && args.iter().any(|a| matches!(a, StepArg::Number(..))) => {
            for a in args.iter_mut() {
                if let StepArg::Number(n, _) = a {
                    *n = random.pick(&[*n + 1, *n - 1, 2 * *n, 1]);
                }
            }
            "another size"
        }
        (0 | 1, StepForm::Order(args) | StepForm::GridOver(args)) if args.len() > 1 => {
            let (a, b) = (random.below(args.len()), random.below(args.len()));
            (a != b).then_some(())?;
            args.swap(a, b);
            "another order"
        }
        (0 | 1, StepForm::Call(args)) if matches!(args.first(), Some(StepArg::Tuple(t, _)) if t.len() > 1) => {
            if let Some(StepArg::Tuple(parts, _)) = args.first_mut() {
                let a = random.below(parts.len() - 1);
                parts.swap(a, a + 1);
            }
            "loops exchanged"
        }
        (0, StepForm::Reduce { op, .. }) => {
            *op = random.pick(&["add", "mul", "combine"]).to_string();
            "another operation"
        }
        _ => {
            let others = names(case);
            let mut count = 0;
            each_name(step, &mut |_| count += 1);
            let mut left = random.below(count.max(1));
            let other = random.pick(&others);
            each_name(step, &mut |a| {
                if left == 0 && *a != other {
                    *a = other.clone();
                }
                left = left.wrapping_sub(1);
            });
            "another loop or array"
        }
    };
    Some((mutant, what.into()))
}

/// A step less, once more, or two exchanged.
fn order_of_steps(case: &Case, random: &mut Random) -> Option<(Case, String)> {
    let mut mutant = case.clone();
    let steps = &mut mutant.schedule.steps;
    let at = random.below(steps.len());
    let what = match random.below(3) {
        0 if steps.len() > 1 => {
            steps.remove(at);
            "a step less"
        }
        1 if steps.len() > 1 => {
            let other = random.below(steps.len());
            (at != other).then_some(())?;
            steps.swap(at, other);
            "steps exchanged"
        }
        _ => {
            let again = steps[at].clone();
            steps.insert(at, again);
            "a step twice"
        }
    };
    Some((mutant, what.into()))
}

/// A step more at the end, of a kind that needs a reason: for any loop, a sum's own among them.
fn another_step(case: &Case, random: &mut Random) -> Option<(Case, String)> {
    let (_, fun) = case.made()?;
    let mut all = nests(&fun);
    all.retain(|n| !n.loops.is_empty());
    let nest = (!all.is_empty()).then(|| random.pick(&all))?;
    let of = random.pick(&nest.loops).arg();
    let call = |name: &str, args: Vec<StepArg>| (name.to_string(), StepForm::Call(args));
    let (name, form) = match random.below(7) {
        0 => call("parallel", vec![of]),
        1 | 2 => call("reversed", vec![of]),
        3 if nest.loops.len() > 1 => {
            let at = random.below(nest.loops.len() - 1);
            let two = vec![nest.loops[at].arg(), nest.loops[at + 1].arg()];
            call("interchange", vec![StepArg::Tuple(two, Span::default())])
        }
        4 => ("grid over".to_string(), StepForm::GridOver(vec![of])),
        5 if nest.loops.len() > 1 => {
            let mut all: Vec<StepArg> = nest.loops.iter().map(Loop::arg).collect();
            for n in 0..all.len() {
                all.swap(n, random.below(n + 1));
            }
            ("order".to_string(), StepForm::Order(all))
        }
        _ => {
            let sums: Vec<StepArg> = nest.sums.iter().chain(&nest.loops).map(Loop::arg).collect();
            let op = random.pick(&["add", "combine"]).to_string();
            ("reduce".to_string(), StepForm::Reduce { of: random.pick(&sums), op, at: Span::default() })
        }
    };
    let mut mutant = case.clone();
    mutant.schedule.steps.push(StepCall { name, form, span: Span::default(), callers: vec![] });
    Some((mutant, "a step more".into()))
}

/// A change in the text of a step that the schedule takes; the user's copy stands for the library's.
fn text_of_step(case: &Case, random: &mut Random) -> Option<(Case, String)> {
    let mut mutant = case.clone();
    for step in &mut mutant.schedule.steps {
        if let Some((_, own)) = COPIES.iter().find(|(of, _)| *of == step.name) {
            step.name = (*own).into();
        }
    }
    let steps = &mutant.schedule.steps;
    let used = |text: &&mut String| text.split_whitespace().nth(2).is_some_and(|n| steps.iter().any(|s| s.name == n));
    let mut texts: Vec<&mut String> = mutant.own.iter_mut().filter(used).collect();
    if texts.is_empty() {
        return None;
    }
    let at = random.below(texts.len());
    let text = &mut *texts[at];
    let from = text.find("\n  to\n")?;
    let places: Vec<(usize, &str, &str)> = CHANGES
        .iter()
        .flat_map(|(old, new)| text[from..].match_indices(old).map(move |(at, _)| (from + at, *old, *new)))
        .collect();
    if places.is_empty() {
        return None;
    }
    let (at, old, new) = random.pick(&places);
    text.replace_range(at..at + old.len(), new);
    Some((mutant, format!("`{}` for `{}` in a step", new.trim(), old.trim())))
}
