//! Calls the kernels of `../dense.cachet`: whole arrays, parts of larger ones, on threads, and with mistakes.

mod dense {
    include!(concat!(env!("OUT_DIR"), "/dense.rs"));
}

use dense::{Error, Scratch, Threads, View, ViewMut};

const M: usize = 150;
const K: usize = 200;
const N: usize = 301;

fn main() -> Result<(), Error> {
    // The same numbers as in examples/c.
    let a: Vec<f32> = (0..M * K).map(|i| (i * 7 % 17) as f32 * 0.3 - 2.0).collect();
    let b: Vec<f32> = (0..K * N).map(|i| (i * 5 % 13) as f32 * 0.7 - 4.0).collect();
    let (mut c, mut d) = (vec![0.0; M * N], vec![0.0; M * N]);

    // The working space is ours, and may be used again by every call.
    let mut scratch = Scratch::new(dense::product_scratch_bytes(M, K, N).unwrap_or_default());
    dense::product((&a, [M, K]), (&b, [K, N]), (&mut c, [M, N]), &mut scratch)?;
    println!("c[3, 5] = {:.6}", c[3 * N + 5]);

    dense::shared((&a, [M, K]), (&b, [K, N]), (&mut d, [M, N]), &mut scratch, Some(&Threads(3)))?;
    println!("three threads give the same bits: {}", same(&c, &d));

    // Thirteen columns of `a` from the eighth on, as they lie, into the first columns of a larger array.
    let (part, rows) = (View::strided(&a[10 * K + 7..], [50, 13], [K, 1]), (&b[50 * N..63 * N], [13, N]));
    let mut wide = vec![7.0; 50 * 400];
    dense::product(part, rows, ViewMut::strided(&mut wide, [50, N], [400, 1]), &mut scratch)?;
    let copy: Vec<f32> = (10..60).flat_map(|i| a[i * K + 7..i * K + 20].iter().copied()).collect();
    let mut again = vec![0.0; 50 * N];
    dense::product((&copy, [50, 13]), rows, (&mut again, [50, N]), &mut scratch)?;
    println!(
        "a part gives the bits of its copy: {}",
        (0..50).all(|i| same(&wide[i * 400..][..N], &again[i * N..][..N]))
    );
    println!(
        "nothing was written beside it: {}",
        (0..50).all(|i| wide[i * 400 + N..][..400 - N].iter().all(|x| *x == 7.0))
    );

    // What a function changes is lent like what it writes.
    let mut total = [1.0; 4];
    let x: Vec<[f64; 3]> = (0..4).map(|i| [0.0, 1.0, 2.0].map(|j| 3.0 * f64::from(i) + j)).collect();
    dense::add_rows(&x[..], &mut total)?;
    println!("sums of rows: {total:?}");

    refused("another shape", dense::product((&a, [M, K]), (&b, [N, K]), (&mut d, [M, N]), &mut scratch));
    refused("too few elements", dense::product((&a[1..], [M, K]), (&b, [K, N]), (&mut d, [M, N]), &mut scratch));
    let columns = View::strided(&b, [K, N], [1, K]);
    refused("columns that follow each other", dense::product((&a, [M, K]), columns, (&mut d, [M, N]), &mut scratch));
    let rows = ViewMut::strided(&mut d, [M, N], [1, 1]);
    refused("rows over each other", dense::product((&a, [M, K]), (&b, [K, N]), rows, &mut scratch));
    refused("no terms", dense::product((&a, [M, 0]), (&b, [0, N]), (&mut d, [M, N]), &mut scratch));
    refused("too little scratch", dense::product((&a, [M, K]), (&b, [K, N]), (&mut d, [M, N]), &mut Scratch::new(64)));
    println!("refused calls wrote nothing: {}", same(&c, &d));
    Ok(())
}

fn same(x: &[f32], y: &[f32]) -> bool {
    x.len() == y.len() && x.iter().zip(y).all(|(x, y)| x.to_bits() == y.to_bits())
}

fn refused(what: &str, result: Result<(), Error>) {
    match result {
        Ok(()) => println!("{what}: was taken"),
        Err(error) => println!("{what}: {error}"),
    }
}
