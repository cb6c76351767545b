//! One test for each pair of neighbouring levels, and for what each level takes.

use super::{expr, sexp};

fn is(text: &str, want: &str) {
    assert_eq!(sexp(&expr(text)), want, "{text}");
}

#[test]
fn neighbours() {
    // 1 and 2
    is("if a || b then c || d else e || f", "(if (|| a b) (|| c d) (|| e f))");
    is("sum k. a || b", "(sum [k] (|| a b))");
    is("let x = a || b in x || c", "(block 1 (|| x c))");
    is("let x: f32 = let y = a in y in if c then x else let z = x in z", "(block 1 (if c x (block 1 z)))");
    is("a * (let x = b in x + c)", "(* a (block 1 (+ x c)))");
    // 2 and 3
    is("a || b && c || d", "(|| (|| a (&& b c)) d)");
    // 3 and 4
    is("a < b && c == d", "(&& (< a b) (== c d))");
    // 4 and 5
    is("a + b <= c - d", "(<= (+ a b) (- c d))");
    // 5 and 6
    is("a - b * c - d", "(- (- a (* b c)) d)");
    is("x / 8 * 2", "(* (/ x 8) 2)");
    is("q % 2 * 8", "(* (% q 2) 8)");
    // 6 and 7
    is("a * b as f32", "(* a (as b f32))");
    is("n as u32 as f32", "(as (as n u32) f32)");
    // 7 and 8
    is("-x as f32", "(as (Neg x) f32)");
    is("!a && b", "(&& (Not a) b)");
    // 8 and 9
    is("-Num.infinity ()", "(Neg (Num.infinity ()))");
    is("-f x", "(Neg (f x))");
    is("- - x", "(Neg (Neg x))");
    // 9 and 10
    is("f x[i] y.z 3", "(f x[i] y.z 3)");
    is("f (g x) a * b", "(* (f (g x) a) b)");
    is("lanes @Vec @f32 + 1", "(+ (lanes @1 @1 ) 1)");
    is("f @(S = Min f32, 4) x", "(f @2 x)");
    is(
        "platform.fma_pipes @Vec * platform.fma_latency @Vec",
        "(* (platform.fma_pipes @1 ) (platform.fma_latency @1 ))",
    );
}

#[test]
fn literals() {
    is("-0.0", "-0.0");
    is("-1", "-1");
    is("1_000.5e-3", "1000.5e-3");
    is("0xFF_FF", "65535");
    is("0b101", "5");
    is("9223372036854775807", "9223372036854775807");
    is("x -1.0", "(- x 1.0)");
    is("x - -1", "(- x -1)");
    is("f (-0.0)", "(f -0.0)");
    is("x-1", "(- x 1)");
    assert!(expr("x -1.0").looks_like_negative_argument());
    assert!(!expr("x - 1.0").looks_like_negative_argument());
    assert!(!expr("x-1.0").looks_like_negative_argument());
    is("true && false", "(&& true false)");
}

#[test]
fn loads_masks_windows() {
    is("fma (load a[i, gk[k]]) (load b[gk[k], j]) acc'0", "(fma (load a[i,gk[k]]) (load b[gk[k],j]) acc'0)");
    is("load p[i, 0 ..+ 8] mask n - 1 else 0.0", "(load p[i,0..+8] mask (- n 1) else 0.0)");
    is("load c", "(load c)");
    is("a[gi[ui[i]] * 2 ..+ 16]", "a[(* gi[ui[i]] 2)..+16]");
    is("f c[lo ..+ n, 0 ..+ N] d", "(f c[lo..+n,0..+N] d)");
}

#[test]
fn reductions() {
    is("sum k.a[k] * b[k]", "(sum [k] (* a[k] b[k]))");
    is("sum k, l. x", "(sum [k, l] x)");
    is("sum k. (sum l. x)", "(sum [k] (sum [l] x))");
    is("sum[reassoc] k. x", "(sum! [k] x)");
    is("sum k in 0 .. 3. x[i + k]", "(sum [k in 0 3] x[(+ i k)])");
    is("sum k in 0..N / 2 where k <= i. x", "(sum [k in 0 (/ N 2) where (<= k i)] x)");
    is("sum k where k < 3. x", "(sum [k where (< k 3)] x)");
    is("sum k where (g.len < 3). x", "(sum [k where (< g.len 3)] x)");
    is("reduce Online j. key (s[i, j]) (v[j, d])", "(reduce <Online> [j] (key s[i,j] v[j,d]))");
    is("reduce[reassoc] Max f32 j, k. x", "(reduce! <Max f32> [j, k] x)");
    is("reduce Online j.key x", "(reduce <Online> [j] (key x ))".replace(" )", ")").as_str());
    is("reduce Lib.Online j. x", "(reduce <Lib.Online> [j] x)");
    is("reduce Max S.Value j. x", "(reduce <Max S.Value> [j] x)");
    is("reduce Block (8 * 2) [f32; 2] j. x", "(reduce <Block (* 8 2) [f32; 2]> [j] x)");
    is("l * a + (reduce Sum f32 over cols by halving do e)", "(+ (* l a) (tile <Sum f32> cols true e))");
    is("reduce Max S.Value over rows by order do e + 1", "(tile <Max S.Value> rows false (+ e 1))");
    is("max (sum k. a[k]) 0.0", "(max (sum [k] a[k]) 0.0)");
}

#[test]
fn folds_ifs_records() {
    is("fold k in 0 .. K from -0.0 as acc: f32 do fma x y acc", "(fold k 0..K -0.0 acc (fma x y acc))");
    is("fold g in blocks (a .. b + 1) n from (load c[i]) as t do t", "(fold g blocks(a..(+ b 1))n (load c[i]) t t)");
    is("if g.lo == 0 then -0.0 else load c[i, j]", "(if (== g.lo 0) -0.0 (load c[i,j]))");
    is("if a then b else if c then d else e", "(if a b (if c d e))");
    is("Weights { m, l = 1.0, o = v, }", "Weights{m l=1.0 o=v}");
    is("f Weights { m } x", "(f Weights{m} x)");
    is("(a, b)", "(tuple a b)");
    is("(a)", "a");
    assert!(expr("(a)").parenthesised);
    is("floor (q / 2) * 8", "(* (floor (/ q 2)) 8)");
    is("m.a.b[i].c", "m.a.b[i].c");
}
