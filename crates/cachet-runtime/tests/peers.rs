//! OpenBLAS computes what its documentation says.

mod common;

use cachet_runtime::{OpenBlasSearch, report_openblas};
use common::openblas;

/// Small whole numbers: every order of summation gives the same bits.
fn whole(count: usize, seed: usize) -> Vec<i32> {
    (0..count).map(|i| ((i * 7 + seed * 13) % 11) as i32 - 5).collect()
}

#[test]
fn products_are_right_row_major() {
    let Some(blas) = openblas() else { return };
    println!("{} from {}: {}", blas.core_name(), blas.path().display(), blas.config());
    let (m, n, k) = (5, 7, 3);
    let (a, b, c) = (whole(m * k, 1), whole(k * n, 2), whole(m * n, 3));
    let expected = |i: usize, j: usize| {
        let sum: i32 = (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum();
        2 * sum - c[i * n + j]
    };
    let f32s = |values: &[i32]| values.iter().map(|v| *v as f32).collect::<Vec<f32>>();
    let f64s = |values: &[i32]| values.iter().map(|v| f64::from(*v)).collect::<Vec<f64>>();
    let (mut single, mut double) = (f32s(&c), f64s(&c));
    blas.sgemm(m, n, k, 2.0, &f32s(&a), &f32s(&b), -1.0, &mut single);
    blas.dgemm(m, n, k, 2.0, &f64s(&a), &f64s(&b), -1.0, &mut double);
    for i in 0..m {
        for j in 0..n {
            assert_eq!(single[i * n + j], expected(i, j) as f32);
            assert_eq!(double[i * n + j], f64::from(expected(i, j)));
        }
    }
    let x = whole(k, 4);
    let product = |i: usize| (0..k).map(|l| a[i * k + l] * x[l]).sum::<i32>();
    let (mut single, mut double) = (vec![f32::NAN; m], vec![f64::NAN; m]);
    blas.sgemv(m, k, 1.0, &f32s(&a), &f32s(&x), 0.0, &mut single);
    blas.dgemv(m, k, 1.0, &f64s(&a), &f64s(&x), 0.0, &mut double);
    for i in 0..m {
        assert_eq!(single[i], product(i) as f32);
        assert_eq!(double[i], f64::from(product(i)));
    }
    blas.sgemm(0, 0, 0, 1.0, &[], &[], 0.0, &mut []);
}

#[test]
fn the_report_names_kernel_and_version() {
    if openblas().is_none() {
        return;
    }
    let report = report_openblas(&OpenBlasSearch::of_process());
    assert!(report.problem.is_none());
    assert!(report.config.is_some_and(|text| text.contains("OpenBLAS")));
    assert!(report.core_name.is_some_and(|name| !name.is_empty()));
}
