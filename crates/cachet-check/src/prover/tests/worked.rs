//! The conditions that real schedules lead to, as worked by hand: each with its verdict, and the counterexample where
//! the message shows it.

use super::super::{irrelevant, minimise};
use super::notation::{formula, problem, var, with_hints};
use super::{model_of, proof_of};
use crate::formula::{Problem, Var};

/// Proves both with and without hints: they must not be needed.
fn holds(problem: &Problem) {
    proof_of(problem);
    proof_of(&Problem { hints: Vec::new(), ..problem.clone() });
}

/// Refuted; after minimising in this order and dropping what does not matter, the message shows `expected`.
fn fails(problem: &Problem, order: &str, expected: &str) {
    let order: Vec<Var> = order.split_whitespace().map(|name| var(problem, name)).collect();
    let model = minimise(problem, &model_of(problem), &order);
    assert_eq!(problem.refuted_by(&model), Some(true));
    let dropped = irrelevant(problem, &model);
    let shown: Vec<String> = (0..problem.names.len())
        .filter(|index| !dropped.contains(&Var(*index as u32)))
        .map(|index| format!("{} = {}", problem.names[index], model[index]))
        .collect();
    assert_eq!(shown.join(", "), expected, "{model:?}");
}

#[test]
fn hoist_keeps_the_order_of_conflicting_updates() {
    let domain = "0 <= M && 0 <= N && 0 <= K && 0 <= i < M && 0 <= j < N && 0 <= j' < N && 0 <= k < K && 0 <= k' < K";
    holds(&problem("M N K i j j' k k'", &[domain, "j < j'", "k' < k"], "!(i = i && j = j')"));
    // With the input read from c itself the pair (read c[i,k], write c[i,j']) conflicts.
    fails(
        &problem("M N K i j j' k k'", &[domain, "j < j'", "k' < k"], "!(i = i && k = j')"),
        "M N K i j k j' k'",
        "j' = 1, k = 1",
    );
}

#[test]
fn hoist_leaf_words_are_equal() {
    let same = "y0 = y0 && y1 = y1";
    holds(&problem("i j k y0 y1", &[], &format!("(y0 = i && y1 = j) => (i = i && k = k && j = j && {same})")));
}

#[test]
fn sloppy_runs_once_less() {
    let goal = "if(0 <= K, K - 0, 0) = if(0 + 1 <= K, K - (0 + 1), 0)";
    fails(&problem("K", &["0 <= K"], goal), "K", "K = 1");
    fails(&problem("K", &["0 <= K"], "max(0, K) = max(0, K - 1)"), "K", "K = 1");
}

#[test]
fn backwards_reads_other_words() {
    let domain = "0 <= i < M && 0 <= j < N && 0 <= k < K";
    let goal = "i = i && k = K - 1 - (k - 0) && k = K - 1 - (k - 0) && j = j && i = i && j = j";
    fails(&problem("M N K i j k", &[domain], goal), "M N K i j k", "K = 2, k = 0");
    // The largest k of two is the other counterexample.
    fails(&problem("M N K i j k", &[domain, "0 < k"], goal), "M N K i j k", "K = 2, k = 1");
}

#[test]
fn ragged_split_is_a_bijection_that_keeps_order() {
    let domain = "0 <= K && 0 <= g && 16*g < K && 0 <= k < 16 && 16*g + k < K";
    holds(&problem("K g k", &[domain], "0 <= 16*g + k < K"));
    let (g, k) = ("(x / 16)", "(x % 16)");
    holds(&problem(
        "K x",
        &["0 <= K && 0 <= x < K"],
        &format!("0 <= {g} && 16*{g} < K && 0 <= {k} < 16 && 16*{g} + {k} < K && 16*{g} + {k} = x"),
    ));
    holds(&problem(
        "K g k h l",
        &[
            "0 <= g && 0 <= k < 16 && 16*g + k < K && 0 <= h && 0 <= l < 16 && 16*h + l < K",
            "g < h || (g = h && k < l)",
        ],
        "16*g + k < 16*h + l",
    ));
    holds(&problem("K g k", &["0 <= g && 16*g < K && 0 <= k < 16"], "(16*g + k) / 16 = g && (16*g + k) % 16 = k"));
}

#[test]
fn split_without_length_runs_too_far() {
    fails(
        &problem("K g k", &["0 <= K && 0 <= g && 16*g < K && 0 <= k < 16"], "0 <= 16*g + k < K"),
        "K g k",
        "K = 1, g = 0, k = 1",
    );
}

#[test]
fn exact_split_needs_a_multiple() {
    let onto = "0 <= x / 64 < M / 64 && 0 <= x % 64 < 64 && 64*(x / 64) + x % 64 = x";
    fails(&problem("M x", &["0 <= M && 0 <= x < M"], onto), "M x", "M = 1, x = 0");
    holds(&problem("M x", &["0 <= M && M % 64 = 0 && 0 <= x < M"], onto));
}

/// Both orders of the seven loops of a tower, blocked by the given factors, and the updated cell.
fn tower(mi: u32, ui: u32, nj: u32, kk: u32, after: &[&str]) -> Problem {
    let names = ["gi", "ui", "i", "gj", "j", "gk", "k"];
    let domain = |p: &str| {
        format!(
            "0 <= gi{p} && {mi}*gi{p} < M && 0 <= ui{p} && {ui}*ui{p} < {mi} && {mi}*gi{p} + {ui}*ui{p} < M \
             && 0 <= i{p} < {ui} && {ui}*ui{p} + i{p} < {mi} && {mi}*gi{p} + {ui}*ui{p} + i{p} < M \
             && 0 <= gj{p} && 0 <= j{p} < {nj} && {nj}*gj{p} + j{p} < N \
             && 0 <= gk{p} && 0 <= k{p} < {kk} && {kk}*gk{p} + k{p} < K"
        )
    };
    let before = lexicographic(&names, "", "'");
    let reversed = lexicographic(after, "'", "");
    let cell = format!("{mi}*gi + {ui}*ui + i = {mi}*gi' + {ui}*ui' + i' && {nj}*gj + j = {nj}*gj' + j'");
    let all = "M N K gi ui i gj j gk k gi' ui' i' gj' j' gk' k'";
    let goal = format!("!({cell})");
    let problem = problem(all, &[&domain(""), &domain("'"), &before, &reversed], &goal);
    with_hints(problem, "gi gi' ui ui' i i' gj gj' j j' gk gk' k k'")
}

/// The two orders written flat, seven cases each: many alternatives are possible at once, so hints are followed.
fn flat_tower() -> Problem {
    let flat = |names: &[&str], first: &str, second: &str| {
        let cases = (0..names.len()).map(|place| {
            let equal = names[..place].iter().map(|name| format!("{name}{first} = {name}{second} && "));
            format!("({}{}{first} < {}{second})", equal.collect::<String>(), names[place], names[place])
        });
        cases.collect::<Vec<_>>().join(" || ")
    };
    let mut problem = tower(16, 4, 8, 16, &["gk", "gj", "gi", "ui", "i", "j", "k"]);
    let before = flat(&["gi", "ui", "i", "gj", "j", "gk", "k"], "", "'");
    let after = flat(&["gk", "gj", "gi", "ui", "i", "j", "k"], "'", "");
    problem.hypotheses[2] = formula(&problem.names, &before);
    problem.hypotheses[3] = formula(&problem.names, &after);
    problem
}

fn lexicographic(names: &[&str], first: &str, second: &str) -> String {
    let mut text = String::from("false");
    for name in names.iter().rev() {
        text = format!("({name}{first} < {name}{second} || ({name}{first} = {name}{second} && {text}))");
    }
    text
}

#[test]
fn order_of_the_seven_loops_of_tower() {
    let order = ["gk", "gj", "gi", "ui", "i", "j", "k"];
    holds(&tower(16, 4, 8, 16, &order));
    holds(&tower(512, 4, 16, 256, &order));
    holds(&flat_tower());
}

#[test]
fn tower_with_k_before_gk_changes_the_order() {
    let broken = tower(16, 4, 8, 16, &["k", "gk", "gj", "gi", "ui", "i", "j"]);
    let order: Vec<Var> = (0..broken.names.len() as u32).map(Var).collect();
    let model = minimise(&broken, &model_of(&broken), &order);
    let value = |name: &str| model[var(&broken, name).0 as usize];
    assert_eq!([value("M"), value("N"), value("K")], [1, 1, 17]);
    assert_eq!([value("gk"), value("k"), value("gk'"), value("k'")], [0, 1, 1, 0]);
}

const ILEN: &str = "if(16 <= M - 16*gi, 16, M - 16*gi)";
const KLEN: &str = "if(16 <= K - 16*gk, 16, K - 16*gk)";

fn pack(buffer: &str) -> Problem {
    let rows = format!("0 <= gi && 16*gi < M && 0 <= ui && 4*ui < {ILEN} && 0 <= i < 4 && 4*ui + i < {ILEN}");
    let columns = format!("0 <= gk && 16*gk < K && 0 <= k < {KLEN}");
    problem("M K gi ui i gk k", &[&rows, &columns], buffer)
}

#[test]
fn pack_reads_stay_inside_the_packed_block() {
    let r = "(4*ui + i)";
    let inside = format!("0 <= {r} < {ILEN} && 0 <= k < {KLEN} && {r} < 16 && k < 16");
    holds(&pack(&format!("{inside} && 16*gi + {r} = 16*gi + 4*ui + i")));
    // Reading packA[k, ui[i]] compares other words.
    fails(&pack("k = 4*ui + i && 4*ui + i = k"), "K M gi gk ui i k", "ui = 0, i = 1, k = 0");
    // A buffer of 8 rows is too small.
    fails(&pack(&format!("{r} < 8 && k < 16")), "M K gi ui i gk k", "ui = 2, i = 0");
}

#[test]
fn register_cells_are_distinct() {
    let domain = "0 <= i < 4 && 0 <= l < 16 && 0 <= i' < 4 && 0 <= l' < 16";
    let same = "16*gi + 4*ui + i = 16*gi + 4*ui + i' && 16*gj + l = 16*gj + l'";
    holds(&problem("gi ui gj i l i' l'", &[domain, same], "i = i' && l = l'"));
}

#[test]
fn lanes_need_a_mask() {
    let jlen = "if(16 <= N - 16*gj, 16, N - 16*gj)";
    let domain = "0 <= gj && 16*gj < N && 0 <= l < 16";
    let goal = "0 <= 16*gj + l && 16*gj + l < N";
    holds(&problem("N gj l", &[domain, &format!("l < {jlen}")], goal));
    holds(&problem("N gj l", &[domain, "l < min(16, N - 16*gj)"], goal));
    fails(&problem("N gj l", &[domain], goal), "N gj l", "N = 1, gj = 0, l = 1");
    // Columns of packB that an unpadded pack never wrote.
    let packed = format!("0 <= k < 16 && 0 <= l < {jlen}");
    fails(&problem("N gj l k", &[domain, "0 <= k < 16"], &packed), "N gj l k", "N = 1, gj = 0, l = 1");
}

#[test]
fn bands_are_disjoint_windows() {
    let domain = "0 <= M && M % 64 = 0 && 0 <= p < M / 64 && 0 <= q < M / 64 && p != q";
    let both = "64*p <= x && x < 64*p + 64 && 64*q <= x && x < 64*q + 64";
    holds(&problem("M p q x", &[domain, both], "false"));
    holds(&problem(
        "p u i",
        &["0 <= p && 0 <= u && 4*u < 64 && 0 <= i < 4 && 4*u + i < 64"],
        "64*p <= 64*p + 4*u + i && 64*p + 4*u + i < 64*p + 64",
    ));
    // Two iterations of a grid over k write one cell.
    let grid = problem(
        "M N K i j k k'",
        &["0 <= i < M && 0 <= j < N && 0 <= k < K && 0 <= k' < K", "k < k'"],
        "!(i = i && j = j)",
    );
    let order: Vec<Var> = (0..7).map(Var).collect();
    assert_eq!(minimise(&grid, &model_of(&grid), &order), [1, 1, 2, 0, 0, 0, 1]);
}

#[test]
fn shifted_window_is_refuted_at_j_0() {
    fails(&problem("i j", &["0 <= i < 32 && 0 <= j < 32"], "i = i && (j + 1) % 32 = j"), "i j", "j = 0");
}

#[test]
fn the_first_block() {
    fails(&problem("K", &["0 <= K"], "0 < K"), "K", "K = 0");
    holds(&problem("K g", &["0 <= g && 3072*g < K"], "3072*g = 0 == g = 0"));
    holds(&problem(
        "K g g'",
        &["0 <= g && 3072*g < K && 3072*g != 0", "g' = g - 1"],
        "0 <= g' && 3072*g' + 3072 = 3072*g && 3072*g' < K",
    ));
}

#[test]
fn one_buffer_lent_twice_overlaps() {
    let disjoint = |r: &str, o: &str, n: &str, s: &str, p: &str, m: &str| {
        format!("({r} != {s} || {o} + {n} <= {p} || {p} + {m} <= {o} || {n} = 0 || {m} = 0)")
    };
    model_of(&problem("r", &[], &disjoint("r", "0", "4096", "r", "0", "4096")));
    holds(&problem("r", &[], &disjoint("r", "0", "4096", "r", "4096", "4096")));
    holds(&problem("r s", &["r != s"], &disjoint("r", "0", "4096", "s", "0", "4096")));
    holds(&problem("r o n", &["n = 0"], &disjoint("r", "o", "n", "r", "0", "4096")));
}

#[test]
fn packed_before_read() {
    let domain = format!(
        "0 <= gi && 16*gi < M && 0 <= ui && 0 <= i < 4 && 4*ui + i < {ILEN} && 0 <= gk && 16*gk < K && 0 <= k < {KLEN}"
    );
    let goal = format!("0 <= 4*ui + i && 4*ui + i < {ILEN} && 0 <= k < {KLEN}");
    holds(&problem("M K gi ui i gk k", &[&domain], &goal));
}

#[test]
fn bounds_of_the_packing_loop() {
    let rows = "0 <= gi && 16*gi < M && 0 <= a0 < 16 && 16*gi + a0 < M";
    let columns = "0 <= gk && 16*gk < K && 0 <= a1 < 16 && 16*gk + a1 < K";
    holds(&problem("M K gi gk a0 a1", &[rows, columns], "0 <= 16*gi + a0 < M && 0 <= 16*gk + a1 < K"));
}

#[test]
fn outer_products_relayout() {
    let domain = "0 <= r < 32 && 0 <= c < 16";
    let first = |r: &str, c: &str| format!("(2*({r} / 8) + {c} / 8)");
    let second = |r: &str, c: &str| format!("(8*({r} % 8) + {c} % 8)");
    let (p, q) = (first("r", "c"), second("r", "c"));
    holds(&problem("r c", &[domain], &format!("0 <= {p} < 8 && 0 <= {q} < 64")));
    let (p2, q2) = (first("r'", "c'"), second("r'", "c'"));
    let injective = problem(
        "r c r' c'",
        &[domain, "0 <= r' < 32 && 0 <= c' < 16", &format!("{p} = {p2} && {q} = {q2}")],
        "r = r' && c = c'",
    );
    holds(&with_hints(injective, "r r' c c'"));
    let visited = format!("0 <= {p} && {p} < 2*(len / 8)");
    let live = "1 <= len <= 32 && 0 <= r < len && 0 <= c < 16";
    fails(&problem("len r c", &[live], &visited), "len r c", "len = 1, r = 0, c = 0");
    holds(&problem("len r c", &[live, "len % 8 = 0"], &visited));
}

#[test]
fn contradictory_hypotheses_far_from_the_goal_prove_it() {
    holds(&problem("a b c", &["a < b", "2*c = 2*a + 1"], "b = 7"));
    holds(&problem("a b c", &["0 <= a", "3*c + 6*b = 2"], "a = 7"));
}
