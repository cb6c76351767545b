//! Maps between loops of which some run over blocks.

use cachet_adversary::lie::{Lie, gives};
use cachet_core::ir::{BlockPart, Ix, Var};
use cachet_core::pattern::{MapVar, MoveKind, PatIx};

fn reorder(by: Vec<(MapVar, PatIx)>, back: Vec<(MapVar, PatIx)>) -> MoveKind {
    MoveKind::Reorder { by, back }
}

fn b(ix: Ix) -> Box<Ix> {
    Box::new(ix)
}

const PLAIN: &str = "fn s (reads a: [f32; K]) (mut c: [f32; K]) =
  for k in 0 .. K do
    store c[k] = load a[k]
";

/// `k` by blocks of four, and what a map says of `g` and `x`.
fn cut(name: &str, t: &str, by: impl Fn(Var, Var) -> Ix, back: impl Fn(Ix) -> (Ix, Ix)) -> Lie {
    let t = format!("fn t (reads a: [f32; K]) (mut c: [f32; K]) =\n  for g in blocks (0 .. K) 4 do\n    {t}\n");
    let lie = Lie::new(name, &format!("{PLAIN}\n{t}"));
    let (k, g, x) = (lie.var("k"), lie.var("g"), lie.var("x"));
    let (block, place) = back(Ix::Var(k));
    lie.by(vec![reorder(vec![gives(k, by(g, x))], vec![gives(g, block), gives(x, place)])])
}

const BLOCKS: &str = "for x in 0 .. g.len do\n      store c[g[x]] = load a[g[x]]";

fn index(g: Var, x: Var) -> Ix {
    Ix::InBlock(g, b(Ix::Var(x)))
}

#[test]
fn a_map_counts_blocks() {
    let by_fours = |k: Ix| (Ix::Div(b(k.clone()), 4), Ix::Mod(b(k), 4));
    cut("counted", BLOCKS, index, by_fours).is_accepted();
}

#[test]
fn a_block_of_a_map_is_its_number_not_its_first_index() {
    let first = |k: Ix| (Ix::Mul(4, b(Ix::Div(b(k.clone()), 4))), Ix::Mod(b(k), 4));
    assert!(cut("first_index", BLOCKS, index, first).check().is_err());
    let by_threes = |k: Ix| (Ix::Div(b(k.clone()), 3), Ix::Mod(b(k), 3));
    assert!(cut("by_threes", BLOCKS, index, by_threes).check().is_err());
}

#[test]
fn an_index_that_no_block_makes_is_missed() {
    let by_fours = |k: Ix| (Ix::Div(b(k.clone()), 4), Ix::Mod(b(k), 4));
    let number = |g: Var, x: Var| Ix::Add(b(Ix::Block(g, BlockPart::Idx)), b(Ix::Var(x)));
    let text = "for x in 0 .. g.len do\n      store c[g.idx + x] = load a[g.idx + x]";
    cut("by_numbers", text, number, by_fours).is_refused();
    let text = "for x in 0 .. g.len - 1 do\n      store c[g[x]] = load a[g[x]]";
    cut("one_short", text, index, by_fours).is_refused();
    let text = "for x in 0 .. g.len do\n      store c[g.lo] = load a[g.lo]";
    cut("first_only", text, |g, _| Ix::Block(g, BlockPart::Lo), by_fours).is_refused();
}

/// Blocks of the first program: what stands there of a block is written out.
fn joined(name: &str, s: &str, t: &str) -> Lie {
    let head = "(reads a: [f32; K]) (mut c: [f32; K]) =";
    let lie = Lie::new(
        name,
        &format!(
            "fn s {head}\n  for g in blocks (0 .. K) 4 do\n    for x in 0 .. g.len do\n      {s}\n\nfn t {head}\n  for k in 0 .. K do\n    {t}\n"
        ),
    );
    let (g, x, k) = (lie.var("g"), lie.var("x"), lie.var("k"));
    let by = vec![gives(g, Ix::Div(b(Ix::Var(k)), 4)), gives(x, Ix::Mod(b(Ix::Var(k)), 4))];
    lie.by(vec![reorder(by, vec![gives(k, index(g, x))])])
}

#[test]
fn parts_of_a_block_are_written_out() {
    joined("lo", "store c[g[x]] = load a[g.lo]", "store c[k] = load a[k / 4 * 4]").is_accepted();
    joined("len", "store c[g[x]] = g.len as f32", "store c[k] = (min 4 (K - k / 4 * 4)) as f32").is_accepted();
    joined("hi", "store c[g[x]] = g.hi as f32", "store c[k] = (min K (k / 4 * 4 + 4)) as f32").is_accepted();
    joined("idx", "store c[g[x]] = g.idx as f32", "store c[k] = (k / 4) as f32").is_accepted();
}

#[test]
fn a_part_of_the_last_block_is_not_that_of_a_whole_one() {
    joined("whole_len", "store c[g[x]] = g.len as f32", "store c[k] = 4.0").is_refused();
    joined("whole_hi", "store c[g[x]] = g.hi as f32", "store c[k] = (k / 4 * 4 + 4) as f32").is_refused();
    joined("number", "store c[g[x]] = g.lo as f32", "store c[k] = (k / 4) as f32").is_refused();
}

/// In place, each block turned round: no iteration may change places with one that writes what it reads.
#[test]
fn blocks_keep_the_order_of_what_they_share() {
    let head = "(mut c: [f32; K]) =";
    let lie = Lie::new(
        "chained",
        &format!(
            "fn s {head}\n  for k in 1 .. K do\n    store c[k] = load c[k - 1] + load c[k]\n\n\
             fn t {head}\n  for x in 0 .. 2 do\n    for g in blocks (1 .. K - x) 2 do\n      store c[g[x]] = load c[g[x] - 1] + load c[g[x]]\n"
        ),
    );
    let (k, g, x) = (lie.var("k"), lie.var("g"), lie.var("x"));
    let from = Ix::Sub(b(Ix::Var(k)), b(Ix::Lit(1)));
    let back = vec![gives(x, Ix::Mod(b(from.clone()), 2)), gives(g, Ix::Div(b(from), 2))];
    lie.by(vec![reorder(vec![gives(k, index(g, x))], back)]).is_refused();
}

/// A map may leave a block's number in a body; the next one replaces it.
#[test]
fn a_number_that_a_map_leaves_is_replaced_by_the_next() {
    let head = "(mut c: [f32; M]) (mut d: [f32; M]) =";
    let text = |cell: &str| {
        format!(
            "fn s {head}\n  for i in 0 .. M do\n    store c[i] = 1.0\n  for j in 0 .. M do\n    store d[j] = 2.0\n\n\
             fn t {head}\n  for p in 0 .. M do\n    store c[{cell}] = 1.0\n  for g in blocks (0 .. M) 1 do\n    store d[g.lo] = 2.0\n"
        )
    };
    for (name, cell) in [("twice_mapped", "p"), ("twice_mapped_wrong", "0")] {
        let lie = Lie::new(name, &text(cell));
        let (i, j, p, g) = (lie.var("i"), lie.var("j"), lie.var("p"), lie.var("g"));
        // The id that the first map's loop gets.
        let made = Var(lie.rewrite.after.vars.len() as u32);
        let lie = lie.by(vec![
            reorder(vec![gives(i, Ix::Var(g))], vec![gives(g, Ix::Var(i))]),
            reorder(vec![gives(made, Ix::Var(p))], vec![gives(p, Ix::Var(made))]),
            reorder(vec![gives(j, Ix::Block(g, BlockPart::Lo))], vec![gives(g, Ix::Var(j))]),
        ]);
        if cell == "p" {
            lie.is_accepted();
        } else {
            lie.is_refused();
        }
    }
}
