//! Calls the functions that cachet-build makes of records, layouts, implementations and unusual names.

mod layouts {
    include!(concat!(env!("OUT_DIR"), "/layouts.rs"));
}
mod records {
    include!(concat!(env!("OUT_DIR"), "/records.rs"));
}
mod paths {
    include!(concat!(env!("OUT_DIR"), "/paths.rs"));
}
mod names {
    include!(concat!(env!("OUT_DIR"), "/names.rs"));
}

fn main() {
    // Panels of four rows, each with its columns one after another; the last is filled up.
    let a: Vec<f32> = (0..10 * 3).map(|n| n as f32).collect();
    let mut panels = [0.0; 12 * 3];
    for (n, x) in a.iter().enumerate() {
        let (i, k) = (n / 3, n % 3);
        panels[(i / 4) * 12 + k * 4 + i % 4] = *x;
    }
    let mut y = [0.0; 10];
    layouts::weighed((&panels[..], [10, 3]), &[1.0, 2.0, 4.0], &mut y).unwrap();
    let wanted: Vec<f32> = a.chunks(3).map(|r| r[0] + 2.0 * r[1] + 4.0 * r[2]).collect();
    assert_eq!(y[..], wanted);
    let short = layouts::weighed((&panels[1..], [10, 3]), &[1.0, 2.0, 4.0], &mut y).unwrap_err();
    assert!(short.to_string().contains("a has 35 elements"), "{short}");
    let mut back = [0_i64; 4];
    layouts::reversed(&[1, 3, 2, 4], &mut back).unwrap();
    assert_eq!(back, [4, 3, 2, 1]);
    assert!(layouts::reversed(&[1, 2, 3], &mut [0; 3]).is_err());

    let mut m = [records::Moments::default(); 2];
    records::moments(&[[1.0, 3.0], [5.0, 5.0]][..], &mut m).unwrap();
    assert_eq!(m[0], records::Moments { count: 2.0, mean: 2.0, spread: 2.0 });
    assert_eq!(m[1], records::Moments { count: 2.0, mean: 5.0, spread: 0.0 });

    let mut c = [[0.0_f32]];
    paths::swapped_MinPlus_f32(&[[1.0, 2.0]][..], &[[5.0], [3.0]][..], &mut c[..]).unwrap();
    assert_eq!(c, [[5.0]]);

    let (mut flags, mut signs) = ([true, false, true], [7_i8; 2]);
    names::r#move(&mut flags).unwrap();
    assert_eq!(flags, [false, true, false]);
    names::error(&[1.0, 2.0, 3.0], &[[names::Bf16(0); 2]; 3][..], &mut signs).unwrap();
    assert_eq!(signs, [1, 1]);
    println!("all as it should be");
}
