use super::{Count, Range, Ranges, Sign, Values};
use cachet_core::ir::Var;

const N: Var = Var(0);
const I: Var = Var(1);
const G: Var = Var(2);

fn sizes() -> Ranges {
    let mut r = Ranges::default();
    r.enter(N, Range::Size);
    r
}

fn text(c: &Count) -> String {
    c.text(&|v| ["N", "i", "g"][v.index()].to_string())
}

fn n() -> Count {
    Count::var(N)
}

fn value(c: &Count, n: i128) -> Option<i128> {
    c.value(&Values::from([(N, n)]))
}

#[test]
fn powers_are_summed_in_closed_form() {
    for p in 0..6u32 {
        let sum = Count::var(I).power(p).summed(I, &Range::Loop(Count::lit(3), n()), &sizes());
        for at in 0..12 {
            let wanted: i128 = (3..at).map(|i: i128| i.pow(p)).sum();
            assert_eq!(value(&sum, at), Some(wanted), "i ^ {p} below {at}");
        }
    }
}

#[test]
fn a_loop_that_does_not_run_takes_nothing_away() {
    let before = n().minus(&Count::lit(5));
    let range = Range::Loop(Count::zero(), before);
    let sum = Count::lit(4).summed(I, &range, &sizes());
    assert_eq!(text(&sum), "4 * (max 0 (N - 5))");
    assert_eq!((value(&sum, 2), value(&sum, 7)), (Some(0), Some(8)));
    let outside = Count::var(I).summed(I, &range, &sizes());
    assert_eq!((value(&outside, 0), value(&outside, 8)), (Some(0), Some(3)));
}

#[test]
fn pieces_of_what_there_is_add_up_to_it() {
    for (count, w, wanted) in [(4, 16, "max 0 (min 64 (N - 7))"), (3, 5, "max 0 (min 15 (N - 7))"), (0, 8, "0")] {
        let left = n().minus(&Count::lit(7)).minus(&Count::var(I).scaled(w));
        let (zero, w) = (Count::zero(), Count::lit(w));
        let none = sizes();
        let pieces = [left.smaller(&w, &none).larger(&zero, &none), left.larger(&zero, &none).smaller(&w, &none)];
        for piece in pieces {
            let sum = piece.summed(I, &Range::Loop(Count::zero(), Count::lit(count)), &none);
            assert_eq!(text(&sum), wanted);
            for at in 0..90 {
                let one = |i: i128| value(&piece.put(I, &Count::lit(i), None), at).unwrap();
                assert_eq!(value(&sum, at), Some((0..count).map(one).sum()), "{wanted} at {at}");
            }
        }
    }
    // Pieces that overlap, or of another width, are none.
    let apart =
        n().minus(&Count::var(I).scaled(15)).smaller(&Count::lit(16), &sizes()).larger(&Count::zero(), &sizes());
    let sum = apart.summed(I, &Range::Loop(Count::zero(), Count::lit(4)), &sizes());
    for at in 0..90 {
        let one = |i: i128| (at - 15 * i).clamp(0, 16);
        assert_eq!(value(&sum, at), Some((0..4).map(one).sum()));
    }
}

#[test]
fn blocks_are_full_but_for_the_last() {
    let range = Range::Blocks(Count::zero(), n(), 4);
    let len = Count::atom(super::Atom::Len(G));
    assert_eq!(text(&len.summed(G, &range, &sizes())), "N");
    assert_eq!(text(&Count::lit(1).summed(G, &range, &sizes())), "ceil (N / 4)");
    assert_eq!(text(&len.summed_at_most(G, &range, &sizes())), "4 * ceil (N / 4)");
    let square = len.times(&len);
    for at in 0..20 {
        let wanted = (at / 4) * 16 + (at % 4) * (at % 4);
        assert_eq!(value(&square.summed(G, &range, &sizes()), at), Some(wanted));
        assert_eq!(value(&square.summed_at_most(G, &range, &sizes()), at), Some((at + 3) / 4 * 16));
    }
}

#[test]
fn conditions_shorten_a_loop() {
    let below = Count::lit(6).minus(&Count::var(I).scaled(2)).holds(Sign::NotNegative, &sizes());
    let sum = below.summed(I, &Range::Loop(Count::zero(), n()), &sizes());
    assert_eq!(text(&sum), "min 4 N");
    let odd = Count::var(I).minus(&Count::var(I).floor(2).scaled(2));
    let sum = odd.summed(I, &Range::Loop(Count::zero(), n()), &sizes());
    assert_eq!((0..6).map(|at| value(&sum, at).unwrap()).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2]);
}

#[test]
fn what_is_too_large_is_lost_and_stays_lost() {
    let huge = Count::lit(i128::MAX);
    let lost = huge.times(&huge);
    assert!(lost.is_lost() && lost.minus(&lost).is_lost() && lost.times(&Count::zero()).is_lost());
    assert_eq!(text(&lost), "more than can be counted");
    assert_eq!(value(&huge.times(&n()), 2), None);
    let wide = (0..12).fold(Count::lit(1), |c, v| c.times(&Count::var(Var(v)).plus(&Count::lit(1))));
    assert!(wide.is_lost());
}

#[test]
fn signs_are_known_inside_loops() {
    let mut r = sizes();
    r.enter(I, Range::Loop(Count::zero(), n()));
    let rest = n().minus(&Count::var(I)).minus(&Count::lit(1));
    assert!(r.not_negative(&rest) && !r.not_negative(&rest.minus(&Count::lit(1))));
    assert_eq!(text(&r.most(&Count::var(I).plus(&Count::lit(1))).unwrap()), "N");
    r.enter(G, Range::Blocks(Count::zero(), n(), 8));
    let end = Count::var(G).scaled(8).plus(&Count::atom(super::Atom::Len(G)));
    assert!(r.not_negative(&n().minus(&end)));
    assert!(!r.not_negative(&Count::var(Var(9))), "of what is not in scope nothing is known");
}
