//! Files of one schedule of the matrix product each, to be compiled.

use std::path::Path;

/// One copied block in each of its loops, and the schedule that fills the caches.
pub const FILES: [(&str, &str); 2] = [
    (
        "packed",
        "schedule packed of matmul @(S = PlusTimes f32)
    (mut packA: [f32; 16, 16] in PanelMajor 4)
    (mut packB: [f32; 16, LANES]) =
  block_product (i, j, k) c (16, 4, LANES, 16)
  pack b into packB along gj over (b0, b1)
  pack a into packA along gi over (a0, a1)
  registers (i, j) into c rows 4 lanes LANES through fma
",
    ),
    (
        "fast",
        "schedule fast of matmul @(S = PlusTimes f32)
    (mut packB: [f32; DEPTH, WIDTH] in ColumnPanels COLS) =
  panels (i, j, k) c (b, packB) (BAND, ROWS, WIDTH, COLS, DEPTH)
",
    ),
];

/// The whole file around a schedule.
pub fn file(root: &Path, schedule: &str) -> String {
    let library = root.join("examples/lib");
    let library = library.display();
    format!(
        "module (platform = Avx512)
import \"cachet:platforms/x86-64-avx512\"
import \"cachet:layouts\"
import \"cachet:monoid\"
import \"cachet:steps\"
import \"{library}/gemm.cachet\"
import \"{library}/tiles.cachet\"

{schedule}"
    )
}
