//! Contractions drawn at random, as text: outputs of one to three axes, one or two sums, one to three operands with axes in
//! any order, windows that slide, and what stands around a sum.

use crate::random::Random;

/// An index and its size.
type Axis = (&'static str, &'static str);

const OUT: [Axis; 3] = [("i", "M"), ("j", "N"), ("h", "H")];
const SUMMED: [Axis; 2] = [("k", "K"), ("l", "L")];

/// A contraction of a name, whose output is `c`.
pub fn draw(random: &mut Random, name: &str) -> String {
    let most = if random.once_in(4) { 3 } else { 2 };
    let out = &OUT[..1 + random.below(most)];
    let summed = &SUMMED[..if random.once_in(4) { 2 } else { 1 }];
    let generic = random.once_in(3);
    let elem = if generic { "S.Value" } else { random.pick(&["f32", "f64"]) };
    let mut params = Vec::new();
    let mut factors = Vec::new();
    let mut operand = |axes: Vec<(String, String)>| {
        let name = ["a", "b", "d"][factors.len()];
        let (at, extents): (Vec<_>, Vec<_>) = axes.into_iter().unzip();
        params.push(format!("    (reads {name}: [{elem}; {}])\n", extents.join(", ")));
        factors.push(format!("{name}[{}]", at.join(", ")));
    };
    let plain = |(i, size): &Axis| (i.to_string(), size.to_string());
    if random.once_in(6) {
        // A window that slides along the first axis, and the one sum is over its places.
        operand(vec![("i + w".into(), "M + 2".into())]);
        operand(vec![("w".into(), "3".into())]);
    } else {
        let count = 1 + random.below(3);
        for n in 0..count {
            let mut axes: Vec<_> = out.iter().filter(|_| count == 1 || random.once_in(2)).map(plain).collect();
            // Every sum is over something, and every axis of the output is one of the first operand or the second.
            axes.extend(summed.iter().filter(|_| n == 0 || !random.once_in(3)).map(plain));
            shuffle(random, &mut axes);
            if axes.is_empty() {
                axes.push(plain(&summed[0]));
            }
            operand(axes);
        }
    }
    let windows = factors[0].contains('w');
    let sums =
        if windows { "w in 0 .. 3".to_string() } else { summed.iter().map(|s| s.0).collect::<Vec<_>>().join(", ") };
    let sum = format!("sum {sums}. {}", factors.join(" * "));
    let around = match random.below(if generic { 1 } else { 5 }) {
        0..3 => sum,
        3 => format!("max ({sum}) 0.5"),
        _ => format!("({sum}) * 0.5 + 1.0"),
    };
    let (at, extents): (Vec<_>, Vec<_>) = out.iter().copied().unzip();
    let of = if generic { " {S : Semiring}" } else { "" };
    let out = format!("    -> out c: [{elem}; {}] =\n  c[{}] = {around}\n", extents.join(", "), at.join(", "));
    format!("contraction {name}{of}\n{}{out}", params.concat())
}

fn shuffle<T>(random: &mut Random, all: &mut [T]) {
    for n in (1..all.len()).rev() {
        all.swap(n, random.below(n + 1));
    }
}
