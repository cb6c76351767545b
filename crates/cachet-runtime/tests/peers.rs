//! The libraries to compare with compute the product that was asked for, by every interface, and say who they are.

mod common;

use cachet_runtime::{Family, Numbers, Peer, PeerSearch, Product, find_peers};
use common::{Folder, peers};

/// Small whole numbers: every order of summation gives the same bits.
fn whole(count: usize, seed: usize) -> Vec<i32> {
    (0..count).map(|i| ((i * 7 + seed * 13) % 11) as i32 - 5).collect()
}

fn products() -> Vec<Product> {
    let product = |a_transposed, b_transposed, n, vector| Product { m: 5, n, k: 3, a_transposed, b_transposed, vector };
    let mut all: Vec<Product> =
        [(false, false), (false, true), (true, false), (true, true)].map(|(a, b)| product(a, b, 7, false)).to_vec();
    all.extend([false, true].map(|a| product(a, false, 1, true)));
    all.push(Product { m: 0, ..all[0] });
    all
}

fn expected(p: &Product, a: &[i32], b: &[i32]) -> Vec<i32> {
    let of_a = |i: usize, k: usize| if p.a_transposed { a[k * p.m + i] } else { a[i * p.k + k] };
    let of_b = |k: usize, j: usize| if p.b_transposed { b[j * p.k + k] } else { b[k * p.n + j] };
    let element = |i: usize, j: usize| (0..p.k).map(|k| of_a(i, k) * of_b(k, j)).sum::<i32>();
    (0..p.m).flat_map(|i| (0..p.n).map(move |j| (i, j))).map(|(i, j)| element(i, j)).collect()
}

fn computes(peer: &Peer) {
    println!("{} ({}, {}) {} {}", peer.name(), peer.code_path(), peer.build(), peer.origin(), peer.path().display());
    assert!(!peer.version().is_empty() && !peer.code_path().is_empty());
    assert_eq!(peer.threads(), 1, "{}", peer.name());
    for p in products() {
        if peer.family() == Family::Xsmm && (p.a_transposed || p.b_transposed || p.vector || p.m == 0) {
            assert!(peer.lacks(Numbers::F32, &p).is_some_and(|why| why.contains("no kernel")), "{p:?}");
            continue;
        }
        let (a, b) = (whole(p.m * p.k, 1), whole(p.k * p.n, 2));
        let want = expected(&p, &a, &b);
        let singles = |values: &[i32]| values.iter().map(|v| *v as f32).collect::<Vec<f32>>();
        let doubles = |values: &[i32]| values.iter().map(|v| f64::from(*v)).collect::<Vec<f64>>();
        assert_eq!(peer.lacks(Numbers::F32, &p), None, "{}", peer.name());
        // Poison: a product does not read what it writes.
        let mut single = vec![f32::NAN; p.m * p.n];
        peer.product_f32(&p, &singles(&a), &singles(&b), &mut single);
        assert_eq!(single, singles(&want), "{} {p:?}", peer.name());
        if peer.lacks(Numbers::F64, &p).is_none() {
            let mut double = vec![f64::NAN; p.m * p.n];
            peer.product_f64(&p, &doubles(&a), &doubles(&b), &mut double);
            assert_eq!(double, doubles(&want), "{} {p:?}", peer.name());
        }
    }
}

#[test]
fn openblas_computes() {
    for peer in peers("openblas", Family::OpenBlas) {
        assert!(peer.lacks(Numbers::F64, &products()[0]).is_none());
        computes(&peer);
    }
}

#[test]
fn libxsmm_computes_what_it_has_kernels_for() {
    peers("libxsmm", Family::Xsmm).iter().for_each(computes);
}

#[test]
fn blis_computes() {
    peers("blis", Family::Blis).iter().for_each(computes);
}

#[test]
fn onednn_computes_single_floats() {
    for peer in peers("onednn", Family::OneDnn) {
        let reason = peer.lacks(Numbers::F64, &products()[0]).expect("it has no 64-bit product");
        assert!(reason.contains("64-bit floats"), "{reason}");
        computes(&peer);
    }
}

#[test]
fn onednn_computes_short_numbers_where_the_processor_has_them() {
    for peer in peers("onednn", Family::OneDnn) {
        for p in products().into_iter().filter(|p| p.m > 0) {
            let (a, b) = (whole(p.m * p.k, 1), whole(p.k * p.n, 2));
            let want = expected(&p, &a, &b);
            let lacks = peer.lacks(Numbers::Bf16, &p);
            let has_instructions = ["bf16", "fp16", "amx"].iter().any(|w| peer.code_path().contains(w));
            assert!(lacks.is_none() || !has_instructions, "{} ({}) {p:?}: {lacks:?}", peer.name(), peer.code_path());
            if lacks.is_none() {
                let bits =
                    |values: &[i32]| values.iter().map(|v| ((*v as f32).to_bits() >> 16) as u16).collect::<Vec<_>>();
                let mut c = vec![f32::NAN; p.m * p.n];
                peer.product_bf16(&p, &bits(&a), &bits(&b), &mut c);
                assert_eq!(c, want.iter().map(|v| *v as f32).collect::<Vec<f32>>(), "{} {p:?}", peer.name());
            }
            let signed = |values: &[i32]| values.iter().map(|v| *v as i8).collect::<Vec<i8>>();
            assert_eq!(peer.lacks(Numbers::I8I8, &p), None, "{} {p:?}", peer.name());
            let mut c = vec![i32::MIN; p.m * p.n];
            peer.product_i8i8(&p, &signed(&a), &signed(&b), &mut c);
            assert_eq!(c, want, "{} {p:?}", peer.name());
            // Unsigned, and twice: the second call is of a primitive that is there.
            let a: Vec<i32> = a.iter().map(|v| v + 5).collect();
            let (bytes, want) = (a.iter().map(|v| *v as u8).collect::<Vec<u8>>(), expected(&p, &a, &b));
            assert_eq!(peer.lacks(Numbers::U8I8, &p), None, "{} {p:?}", peer.name());
            for _ in 0..2 {
                let mut c = vec![i32::MIN; p.m * p.n];
                peer.product_u8i8(&p, &bytes, &signed(&b), &mut c);
                assert_eq!(c, want, "{} {p:?}", peer.name());
            }
        }
        let nothing = Product { k: 0, ..products()[0] };
        assert!(peer.lacks(Numbers::U8I8, &nothing).is_some_and(|why| why.contains("no kernel")));
    }
}

#[test]
fn others_say_that_they_have_no_short_numbers() {
    let all = [Numbers::F32, Numbers::F64, Numbers::Bf16, Numbers::U8I8, Numbers::I8I8];
    for peer in find_peers(&PeerSearch::of_process(), 1).found.iter().filter(|p| p.family() != Family::OneDnn) {
        for numbers in all {
            let why = peer.lacks(numbers, &products()[0]).filter(|why| why.contains("no product of"));
            assert_eq!(why.is_none(), peer.family().computes(numbers), "{}: {why:?}", peer.name());
        }
    }
    assert_eq!(all.map(|n| Family::OneDnn.computes(n)), [true, false, true, true, true]);
}

#[test]
fn mkl_computes() {
    peers("mkl", Family::Mkl).iter().for_each(computes);
}

#[test]
fn libraries_that_are_listed_compute() {
    peers("peers", Family::Open).iter().for_each(computes);
}

#[test]
fn libraries_have_as_many_threads_as_were_asked_for_or_one() {
    // MKL chooses once for a process, and the other tests may have been first.
    let all = find_peers(&PeerSearch::of_process(), 2).found;
    for peer in all.iter().filter(|p| p.family() != Family::Mkl) {
        let serial = peer.build() == "serial" || peer.name().starts_with("matrixmultiply");
        assert_eq!(peer.threads(), if serial { 1 } else { 2 }, "{} ({})", peer.name(), peer.build());
    }
}

#[test]
fn names_tell_peers_apart() {
    let all = find_peers(&PeerSearch::of_process(), 1).found;
    let mut names: Vec<&str> = all.iter().map(Peer::name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), all.len());
}

#[test]
fn nothing_is_found_nowhere_and_every_family_says_how_to_get_it() {
    let none = find_peers(&PeerSearch::nowhere(), 1);
    assert!(none.found.is_empty());
    let named = |name: &str| none.absent.iter().find(|a| a.name == name).expect(name);
    assert!(named("OpenBLAS").fix.contains("scipy-openblas32"));
    assert!(named("BLIS").fix.contains("blis"));
    assert!(named("oneDNN").fix.contains("dnn"));
    assert!(none.absent.iter().all(|a| a.reason == "not found"));
}

#[test]
fn a_listed_file_that_is_no_peer_says_why() {
    let folder = Folder::new("peers");
    let file = folder.0.join("libnothing.so");
    std::fs::write(&file, "not a library").expect("writes");
    let missing = folder.0.join("absent.so");
    let listed = vec![folder.0.clone(), missing.clone()];
    let peers = find_peers(&PeerSearch { listed, ..PeerSearch::nowhere() }, 1);
    assert!(peers.found.is_empty());
    for path in [file, missing] {
        let absent = peers.absent.iter().find(|a| a.name == path.display().to_string()).expect("is reported");
        assert!(absent.reason.contains("cannot be loaded"), "{}", absent.reason);
    }
}
