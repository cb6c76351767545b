//! Steps drawn at random for the loops that a program has: legal ones and others.

use crate::random::Random;
use cachet_core::ir::{Fun, Stmt, StmtKind, Word};
use cachet_core::rewrite::{Visit, visit_block, visit_stmt, visit_word};
use cachet_core::script::{SplitIndex, SplitLevel, StepArg, StepCall, StepForm};
use cachet_source::Span;

/// Steps of a user's own, besides the library's.
pub const STEPS: &str = "import \"cachet:steps\"

step fn diagonal (i, j) =
  from
    for i in 0 .. $M do
      for j in 0 .. $N do
        $body
  to
    for d in 0 .. $M + $N - 1 do
      for i in max 0 (d - $N + 1) .. min $M (d + 1) do
        $body[j := d - i]
  relate
    reorder S to T all: by (i = i, j = d - i) back (d = i + j, i = i)

step fn skewed (i, j) =
  from
    for i in $a .. $b do
      for j in $lo .. $hi do
        $body
  to
    for i in $a .. $b do
      for w in $lo + 2 * i .. $hi + 2 * i do
        $body[j := w - 2 * i]
  relate
    reorder S to T all: by (i = i, j = w - 2 * i) back (i = i, w = j + 2 * i)

step fn reversed i =
  from
    for i in $lo .. $hi do
      $body
  to
    for i in $lo .. $hi do
      $body[i := $lo + $hi - 1 - i]
  relate
    reorder S to T all: by (i = $lo + $hi - 1 - i) back (i = $lo + $hi - 1 - i)

step fn paired i (p, r) =
  from
    for i in $lo .. $hi do
      $body
  to
    for r in 0 .. 2 do
      for p in 0 .. ($hi - $lo) / 2 do
        $body[i := $lo + (p * 2 + r)]
  relate
    split S.i by 2 as p
    order S (i, p)

step fn cut i n g =
  from
    for i in $lo .. $hi do
      $body
  to
    for g in blocks ($lo .. $hi) n do
      for i in 0 .. g.len do
        $body[i := g[i]]
  relate
    split S.i by n as g ragged

// For loops that some of the programs have, with another start or end: refused, unless the loop never runs there.
step fn shorter i =
  from
    for i in $lo .. $hi do
      $body
  to
    for i in $lo + 1 .. $hi do
      $body

";

fn name(of: &str) -> StepArg {
    StepArg::Name { name: of.into(), nth: None, part: None, span: Span::default() }
}

/// The loops and sums of a function, by name.
fn loops(fun: &Fun) -> Vec<String> {
    struct Names<'a>(&'a Fun, Vec<String>);
    impl Visit for Names<'_> {
        fn stmt(&mut self, s: &Stmt) {
            match &s.kind {
                StmtKind::For { var, .. } => self.1.push(self.0.vars[var.index()].name.clone()),
                StmtKind::Grid(g) => self.1.extend(g.axes.iter().map(|(v, _)| self.0.vars[v.index()].name.clone())),
                _ => {}
            }
            visit_stmt(self, s);
        }
        fn word(&mut self, w: &Word) {
            if let Word::Fold(f) = w {
                self.1.push(self.0.vars[f.var.index()].name.clone());
            }
            visit_word(self, w);
        }
    }
    let mut names = Names(fun, Vec::new());
    visit_block(&mut names, &fun.body);
    names.1
}

/// A step for the program at hand; `n` keeps new names apart.
pub fn draw(random: &mut Random, fun: &Fun, n: usize) -> StepCall {
    let loops = loops(fun);
    let mut some = |most: usize| -> Vec<StepArg> {
        let mut left = loops.clone();
        let count = (1 + random.below(most)).min(left.len());
        (0..count).map(|_| name(&left.swap_remove(random.below(left.len())))).collect()
    };
    let (one, mut two, several) = (some(1), some(2), some(4));
    // Mostly loops that stand one inside the other.
    if loops.len() > 1 && !random.once_in(3) {
        let at = random.below(loops.len() - 1);
        two = vec![name(&loops[at]), name(&loops[at + 1])];
    }
    let buffer = name(random.pick(&["c", "c", "y", "z"]));
    let fresh = |of: &str| name(&format!("{of}{n}"));
    let tuple = |parts: Vec<StepArg>| StepArg::Tuple(parts, Span::default());
    let factor = 2 + random.below(3) as i64;
    let size = |size| StepArg::Number(size, Span::default());
    let call = |of: &str, args| (of.to_string(), StepForm::Call(args));
    let (step, form) = match random.below(22) {
        0..3 => {
            let level = |size, of: String| SplitLevel { size, name: Some(of), span: Span::default() };
            let mut levels = vec![level(factor, format!("g{n}"))];
            if random.once_in(3) {
                levels.insert(0, level(2 * factor, format!("h{n}")));
            }
            let of = one[0].clone();
            let index = SplitIndex { of, levels, ragged: !random.once_in(3), span: Span::default() };
            ("split".to_string(), StepForm::Split(vec![index]))
        }
        3..6 => ("order".to_string(), StepForm::Order(several)),
        6 => call("interchange", vec![tuple(two)]),
        7 | 8 => call("parallel", one),
        9 => ("grid over".to_string(), StepForm::GridOver(two)),
        10 => call("strip", vec![one[0].clone(), size(factor), tuple(vec![fresh("p"), fresh("r")])]),
        11 => call("reversed", one),
        12 => call(random.pick(&["diagonal", "skewed"]), vec![tuple(two)]),
        13 => call("paired", vec![one[0].clone(), tuple(vec![fresh("p"), fresh("r")])]),
        14 => call("cut", vec![one[0].clone(), size(factor), fresh("g")]),
        15 => call("shorter", one),
        // The outermost loops and the sum's, which come first and last in most programs.
        n => {
            let (first, last) = (loops.iter().take(2), loops.iter().rev().take(2).rev());
            let of: Vec<StepArg> =
                if n < 18 { first.map(|l| name(l)).collect() } else { last.map(|l| name(l)).collect() };
            call(if n < 18 { "zero" } else { "hoist" }, vec![tuple(of), buffer])
        }
    };
    StepCall { name: step, form, span: Span::default(), callers: vec![] }
}
