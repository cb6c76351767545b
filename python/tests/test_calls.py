"""What holds of calls from Python: bits, strides, layouts, records, DLPack, and a reason for every refusal.

Run in an environment with the package and NumPy; ``CACHET_ROOT`` is the project's folder.
"""

import os
import pathlib
import subprocess
import tempfile
import threading
import unittest

import cachet
import numpy as np

ROOT = pathlib.Path(os.environ["CACHET_ROOT"])
DENSE = cachet.build(ROOT / "examples/dense.cachet")


def bits(array):
    """Every bit of an array, with all NaNs alike."""
    array = np.ascontiguousarray(array)
    words = array.view({4: "u4", 8: "u8"}[array.itemsize]).copy()
    words[np.isnan(array)] = 0
    return words.tolist()


def defined(a, b):
    """The product by its definition: one rounding to f32 for each term, in their order."""
    c = np.full((a.shape[0], b.shape[1]), -0.0, "f4")
    for k in range(a.shape[1]):
        # The inputs here are multiples of 1/64 and 1/32 below 16 and 32: in f64 nothing is rounded.
        c = (a[:, k : k + 1].astype("f8") * b[k].astype("f8") + c).astype("f4")
    return c


class Lent:
    """Something that speaks DLPack and nothing else."""

    def __init__(self, array, device=None, versioned=True):
        self.array, self.device, self.versioned = array, device, versioned
        self.dtype = array.dtype

    def __dlpack_device__(self):
        return self.device or self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        if options and not self.versioned:
            raise TypeError("no options")
        return self.array.__dlpack__(**options) if self.versioned else self.array.__dlpack__()


class Bits(unittest.TestCase):
    def test_of_the_interpreter(self):
        """A program's own product, interpreted and printed, and the same by NumPy's arrays: whole, and as parts of larger ones."""
        m, k, n = 7, 19, 37
        text = (ROOT / "examples/dense.cachet").read_text()
        program = f"""
fn main () =
  alloc a: [f32; {m}, {k}]
  alloc b: [f32; {k}, {n}]
  alloc c: [f32; {m}, {n}]
  alloc pack: [f32; 128, 256] in ColumnPanels 16
  for i in 0 .. {m} do
    for k in 0 .. {k} do
      store a[i, k] = ((i * 7 + k * 3) % 17) as f32 * 0.3 - 2.0
  for k in 0 .. {k} do
    for j in 0 .. {n} do
      store b[k, j] = ((k * 5 + j * 11) % 13) as f32 * 0.7 - 4.0
  product a b c pack
  for i in 0 .. {m} do
    for j in 0 .. {n} do
      print (load c[i, j])
"""
        with tempfile.TemporaryDirectory() as folder:
            lib = os.path.relpath(ROOT / "examples/lib/gemm.cachet", os.path.realpath(folder))
            file = pathlib.Path(os.path.realpath(folder)) / "printed.cachet"
            file.write_text(text.replace("lib/gemm.cachet", lib) + program)
            done = subprocess.run([str(cachet.compiler()), "run", "--interpret", str(file)], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        wanted = np.array([np.float32(line) for line in done.stdout.split()], "f4").reshape(m, n)
        i, kk, j = np.arange(m)[:, None], np.arange(k), np.arange(n)
        a = ((i * 7 + kk * 3) % 17).astype("f4") * np.float32(0.3) - np.float32(2.0)
        b = ((kk[:, None] * 5 + j * 11) % 13).astype("f4") * np.float32(0.7) - np.float32(4.0)
        self.assertEqual(bits(DENSE.product(a, b)), bits(wanted))
        wide_a, wide_b, wide_c = np.full((m, k + 5), np.nan, "f4"), np.full((2 * k, n + 3), np.nan, "f4"), np.zeros((m + 1, 2 * n), "f4")
        wide_a[:, 2:-3], wide_b[::2, 1:-2] = a, b
        out = wide_c[:-1, n:]
        self.assertIs(DENSE.product(wide_a[:, 2:-3], wide_b[::2, 1:-2], out=out), out)
        self.assertEqual(bits(out), bits(wanted))
        self.assertFalse(wide_c[:, :n].any() or wide_c[-1].any())

    def test_of_the_definition(self):
        random = np.random.default_rng(7)
        for m, k, n in [(1, 1, 1), (4, 4, 4), (3, 130, 65), (67, 17, 258), (0, 3, 2), (2, 3, 0)]:
            a = (random.integers(-999, 999, (m, k + 2)) / 64).astype("f4")[:, 1:-1]
            b = (random.integers(-999, 999, (k, n + 1)) / 32).astype("f4")[:, :-1]
            self.assertEqual(bits(DENSE.product(a, b)), bits(defined(a, b)), (m, k, n))
            with cachet.Threads(2) as threads:
                self.assertEqual(bits(DENSE.shared(a, b, pool=threads)), bits(defined(a, b)), (m, k, n))

    def test_hostile_inputs_are_the_same_as_copies_of_them(self):
        random = np.random.default_rng(8)
        words = random.integers(0, 1 << 32, (40, 90), dtype="u8").astype("u4").view("f4")
        a, b = words[:23, 3:40], words[3:40, 41:]
        with np.errstate(all="ignore"):
            self.assertEqual(bits(DENSE.product(a, b)), bits(DENSE.product(a.copy(), b.copy())))

    def test_one_row_for_all(self):
        row = np.arange(5, dtype="f4")
        every = np.broadcast_to(row, (3, 5))
        self.assertEqual(every.strides[0], 0)
        b = np.eye(5, dtype="f4")
        self.assertEqual(bits(DENSE.product(every, b)), bits(every))

    def test_between_the_rows_of_an_operand(self):
        large = np.ones((6, 20), "f4")
        b = np.full((5, 7), 2, "f4")
        wanted = large.copy()
        wanted[:, 8:15] = 10
        out = DENSE.product(large[:, 1:6], b, out=large[:, 8:15])
        self.assertEqual(large.tolist(), wanted.tolist())
        # Also before it, and where an operand is one row between the rows.
        DENSE.product(large[:, 13:18], b, out=large[:, 0:7])
        DENSE.product(large[2:3, 15:20], b, out=large[2:3, 0:7])
        for over in (large[:, 5:12], large[:, 0:7], large[1:, 5:12]):
            with self.assertRaisesRegex(cachet.CallError, "overlaps a"):
                DENSE.product(large[: len(over), 1:6], b, out=over)
        # Rows that are not equally far apart may meet.
        with self.assertRaisesRegex(cachet.CallError, "overlaps a"):
            DENSE.product(large[:3, 1:6], b, out=large[::2, 8:15])

    def test_strides_that_nothing_walks_along_may_be_anything(self):
        a, b = np.arange(4, dtype="f4"), np.ones((4, 5), "f4")
        for step in (-(1 << 40), -4, 0, 4, 1 << 40):
            one_row = np.lib.stride_tricks.as_strided(a, (1, 4), (step, 4))
            self.assertEqual(DENSE.product(Lent(one_row), b).tolist(), [[6.0] * 5])
            one_column = np.lib.stride_tricks.as_strided(a, (4, 1), (4, step))
            self.assertEqual(DENSE.product(Lent(one_column), b[:1, 2:]).tolist(), (a[:, None] * np.ones(3)).tolist())
            none = np.lib.stride_tricks.as_strided(a, (0, 4), (step, 4))
            self.assertEqual(DENSE.product(Lent(none), b).shape, (0, 5))

    def test_wherever_an_operand_may_lie(self):
        """Whatever is taken has no cell in common; what has none and rows of one distance is taken."""
        random = np.random.default_rng(9)
        memory = np.ones(80, "f4")
        taken = refused = 0
        for _ in range(4000):
            m, k, n = (int(x) for x in random.integers(1, 5, 3))
            step_a, step_c = int(random.integers(0, 9)), int(random.integers(n, 9))
            step_c = max(n, step_a) if random.integers(2) else step_c
            first_a, first_c = (int(x) for x in random.integers(0, 40, 2))
            cells = lambda first, step, width: {first + i * step + j for i in range(m) for j in range(width)}
            apart = not cells(first_a, step_a, k) & cells(first_c, step_c, n)
            view = lambda first, step, width: np.lib.stride_tricks.as_strided(memory[first:], (m, width), (4 * step, 4))
            try:
                DENSE.product(view(first_a, step_a, k), np.ones((k, n), "f4"), out=view(first_c, step_c, n))
            except cachet.CallError as error:
                self.assertEqual(error.kind, "overlap")
                self.assertFalse(apart and (step_a == step_c or m == 1), (m, k, n, first_a, step_a, first_c, step_c))
                refused += 1
            else:
                self.assertTrue(apart, (m, k, n, first_a, step_a, first_c, step_c))
                taken += 1
        self.assertGreater(min(taken, refused), 1000)

    def test_of_a_call_that_is_bound(self):
        a, b, c = np.ones((3, 4), "f4"), np.ones((4, 9), "f4"), np.zeros((3, 5), "f4")
        call = DENSE.product.bind(a, b[:, 2:7], out=c)
        self.assertIs(call(), c)
        self.assertTrue((c == 4).all())
        b[:] = 2
        call()
        self.assertTrue((c == 8).all())
        with self.assertRaisesRegex(cachet.CallError, "overlaps"):
            DENSE.product.bind(a, b[:, :4], out=a)()

    def test_from_many_threads_at_once(self):
        a, b = np.ones((50, 60), "f4"), np.full((60, 70), 0.5, "f4")
        wrong = []

        def call():
            for _ in range(20):
                if not (DENSE.product(a, b) == 30).all():
                    wrong.append(1)

        threads = [threading.Thread(target=call) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])


class DLPack(unittest.TestCase):
    def test_is_taken(self):
        a, b, c = np.ones((3, 4), "f4"), np.ones((9, 5), "f4"), np.zeros((3, 5), "f4")
        for versioned in (True, False):
            c[:] = 0
            DENSE.product(Lent(a, versioned=versioned), Lent(b[1:9:2], versioned=versioned), out=Lent(c, versioned=versioned))
            self.assertTrue((c == 4).all())

    def test_is_refused_with_a_reason(self):
        a, b = np.ones((3, 4), "f4"), np.ones((4, 5), "f4")
        with self.assertRaisesRegex(cachet.CallError, "another device"):
            DENSE.product(Lent(a, device=(2, 0)), b)
        with self.assertRaisesRegex(cachet.DTypeError, "a has elements of type float64, and has to have f32"):
            DENSE.product(Lent(a.astype("f8")), b)
        fixed = np.zeros((3, 5), "f4")
        fixed.flags.writeable = False
        with self.assertRaises(cachet.CallError):
            DENSE.product(a, b, out=Lent(fixed))

    def test_gives_arrays_back(self):
        import sys

        a, b = np.ones((3, 4), "f4"), np.ones((4, 5), "f4")
        before = sys.getrefcount(a)
        for _ in range(10):
            DENSE.product(Lent(a), b)
        self.assertEqual(sys.getrefcount(a), before)


class Refusals(unittest.TestCase):
    a, b = np.ones((3, 4), "f4"), np.ones((4, 5), "f4")

    def refused(self, kind, pattern, *args, function="product", **named):
        with self.assertRaisesRegex(cachet.CallError, pattern) as caught:
            getattr(DENSE, function)(*args, **named)
        self.assertEqual(caught.exception.kind, kind)

    def test_have_a_kind_and_a_reason(self):
        a, b = self.a, self.b
        self.refused("shape", r"b has another shape than \[K, N\]", a, b.T.copy())
        self.refused("rank", "b has 2 axes", a, b[None], N=5)
        self.refused("rank", "an array has 1 axes", a[0], b)
        self.refused("type", "b has elements of type >f4", a, b.astype(">f4"))
        self.refused("type", "b has elements of type int32", a, b.astype("i4"))
        self.refused("strides", "last axis of b are not neighbours", a, np.ones((4, 10), "f4")[:, ::2])
        self.refused("strides", "a stride is negative", a, b[::-1])
        self.refused("strides", "no whole elements", a, _crooked())
        self.refused("overlap", "c, which is written, overlaps a", a[:, :4], np.ones((4, 4), "f4"), out=a)
        self.refused("alignment", "address of b is not a multiple of 4", a, np.frombuffer(bytearray(81), "f4", 20, 1).reshape(4, 5))
        self.refused("requirement", "do not satisfy K > 0", a[:, :0], b[:0])
        self.refused("size", "M is -1", a, b, M=-1)
        self.refused("size", "M is 36893488147419103232", a, b, M=1 << 65)
        self.refused("shape", "a has another shape", a, b, M=2)
        self.refused("requirement", "M % 4 == 0", np.ones((3, 4)), np.ones((4, 5)), function="product64")
        self.refused("scratch", "scratch has fewer bytes", a, b, scratch=cachet.Scratch(64))
        fixed = np.zeros((3, 5), "f4")
        fixed.flags.writeable = False
        self.refused("access", "c is written, and this array is read-only", a, b, out=fixed)
        squeezed = np.lib.stride_tricks.as_strided(np.zeros(9, "f4"), (3, 5), (8, 4))
        self.refused("strides", "elements of c, which is written, overlap each other", a, b, out=squeezed)

    def test_of_calls_that_are_none(self):
        a, b = self.a, self.b
        for pattern, call in [
            ("product needs b", lambda: DENSE.product(a)),
            ("3 arrays were given", lambda: DENSE.product(a, b, b)),
            ("no parameter 'd'", lambda: DENSE.product(a, b, d=1)),
            ("given a twice", lambda: DENSE.product(a, b, a=a)),
            ("`out` has 2 arrays", lambda: DENSE.product(a, b, out=(b, b))),
            ("pool is int", lambda: DENSE.shared(a, b, pool=2)),
            ("scratch is bytearray", lambda: DENSE.product(a, b, scratch=bytearray(9))),
            ("takes no pool", lambda: DENSE.product(a, b, pool=cachet.Threads(1))),
            ("needs no working space", lambda: DENSE.add_rows(np.ones((3, 4)), np.ones(3), scratch=cachet.Scratch(9))),
            ("is no array but list", lambda: DENSE.product(a, [1.0])),
            ("masked", lambda: DENSE.product(a, np.ma.masked_array(b, b > 2))),
        ]:
            with self.assertRaisesRegex(TypeError, pattern):
                call()

    def test_write_nothing(self):
        out = np.full((3, 5), 7, "f4")
        for bad in (self.b.T.copy(), self.b[::-1], self.b.astype("f8")):
            with self.assertRaises(cachet.CallError):
                DENSE.product(self.a, bad, out=out)
        self.assertTrue((out == 7).all())

    def test_of_files(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "wrong.cachet"
            file.write_text("fn f (out x: [f32; N]) =\n  store x[0] = 1.0\n")
            with self.assertRaisesRegex(cachet.BuildError, "wrong.cachet") as caught:
                cachet.build(file)
            self.assertIn("N = 0", caught.exception.report)
            with self.assertRaisesRegex(cachet.CachetError, "0 manifests"):
                cachet.load(folder)
        with self.assertRaises(AttributeError):
            DENSE.prodct


def _crooked():
    """Floats whose rows lie 21 bytes apart."""
    return np.ndarray((4, 5), "f4", bytearray(100), 0, (21, 4))


class Elements(unittest.TestCase):
    def test_layouts_are_given_as_memory(self):
        kernels = cachet.build(ROOT / "tests/suite/layouts.cachet", "weighed")
        a, x = np.arange(10 * 3, dtype="f4").reshape(10, 3), np.array([1, 2, 4], "f4")
        # Panels of four rows, each with its columns one after another.
        padded = np.zeros((12, 3), "f4")
        padded[:10] = a
        panels = padded.reshape(3, 4, 3).transpose(0, 2, 1).copy()
        self.assertEqual(kernels.weighed(panels, x, M=10).tolist(), (a @ x).tolist())
        self.assertEqual(kernels.weighed(panels.ravel(), x, M=10).tolist(), (a @ x).tolist())
        with self.assertRaisesRegex(cachet.CallError, "in PanelMajor 4: it is given as the memory"):
            kernels.weighed(a, x, M=10)
        with self.assertRaisesRegex(TypeError, "the size M, which no array tells"):
            kernels.weighed(panels, x)

    def test_records_are_structured(self):
        kernels = cachet.build(ROOT / "tests/suite/records.cachet", "moments")
        m = kernels.moments(np.array([[1, 3], [5, 5]], "f4"))
        self.assertEqual(m.dtype.names, ("count", "mean", "spread"))
        self.assertEqual(m.tolist(), [(2.0, 2.0, 2.0), (2.0, 5.0, 0.0)])
        with self.assertRaises(cachet.DTypeError):
            kernels.moments(np.ones((2, 2), "f4"), out=np.zeros(2, [("count", "f4"), ("mean", "f4"), ("other", "f4")]))

    def test_parts_are_lent_with_their_strides(self):
        kernels = cachet.build(ROOT / "tests/suite/slices.cachet", "middle", "scale")
        large = np.ones((6, 9), "f4")
        kernels.middle(large[:5, 2:5], np.array([1, 2, 3], "f4"))
        wanted = np.ones((6, 9), "f4")
        wanted[1:4, 2:5] *= 2
        wanted[:5, 2:5] *= 3
        self.assertEqual(large.tolist(), wanted.tolist())

    def test_every_statement_goes_by_the_strides(self):
        text = """
fn count (reads a: [f32; M, N]) (reads b: [f32; M, N]) (out n: [i64; 1]) =
  store n[0] = differing a b

fn more (reads a: [f32; M, N]) (out c: [f32; M, N]) =
  grid i in 0 .. M writes c[i, 0 ..+ N] do
    for j in 0 .. N do
      store c[i, j] = load a[i, j] + 1.0

fn twice (reads a: [f32; L, M, N]) (out c: [f32; L, M, N]) =
  for l in 0 .. L do
    for i in 0 .. M do
      for j in 0 .. N do
        store c[l, i, j] = load a[l, i, j] * 2.0
"""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "strides.cachet"
            file.write_text(text)
            kernels = cachet.build(file)
        a = np.arange(90, dtype="f4").reshape(6, 15)[:5, 2:9]
        b = a.copy()
        b[3, 4] = b[0, 0] = -1
        self.assertEqual(kernels.count(a, b).tolist(), [2])
        large = np.zeros((5, 20), "f4")
        with cachet.Threads(3) as threads:
            kernels.more(a, out=large[:, 3:10], pool=threads)
        self.assertTrue((large[:, 3:10] == a + 1).all() and not large[:, :3].any() and not large[:, 10:].any())
        t, c = np.arange(4 * 5 * 6, dtype="f4").reshape(4, 5, 6), np.zeros((4, 6, 8), "f4")
        kernels.twice(t[::2, 1:4, 2:5], out=c[1:3, 2:5, :3])
        self.assertTrue((c[1:3, 2:5, :3] == 2 * t[::2, 1:4, 2:5]).all())
        self.assertEqual(c.sum(), 2 * t[::2, 1:4, 2:5].sum())
        self.assertEqual(kernels.twice(t.transpose(1, 0, 2)).tolist(), (2 * t.transpose(1, 0, 2)).tolist())
        with self.assertRaisesRegex(cachet.CallError, "or its axes lie in another order"):
            kernels.twice(t, out=np.zeros((5, 4, 6), "f4").transpose(1, 0, 2))

    def test_type_parameters_are_bound(self):
        kernels = cachet.build(ROOT / "examples/matmul.cachet", "swapped", implementations=["PlusTimes f64", "MinPlus f32"])
        a = np.arange(6.0).reshape(2, 3)
        self.assertEqual(kernels["swapped_PlusTimes_f64"](a, a.T.copy()).tolist(), (a @ a.T).tolist())
        self.assertEqual(kernels["swapped_MinPlus_f32"](np.array([[1, 2]], "f4"), np.array([[5], [3]], "f4")).tolist(), [[5.0]])

    def test_what_is_for_a_newer_processor_is_not_loaded(self):
        from cachet._processor import missing

        old = "processor : 0\nflags : fpu avx avx2 fma bmi2 f16c\n"
        self.assertEqual(missing({"cpu": "x86-64-v3", "features": ""}, old), [])
        self.assertEqual(missing({"cpu": "znver5", "features": "+avx2,+avx512f,-sve,+sse2,+avx512f"}, old), ["avx512f"])
        self.assertIn("avx512vl", missing({"cpu": "x86-64-v4", "features": ""}, old))
        self.assertEqual(missing({"cpu": "generic", "features": "+neon,+sve2"}, "Features : fp asimd sve\n"), ["sve2"])
        self.assertEqual(missing(DENSE.manifest["target"]), [])

    def test_what_was_built_is_loaded(self):
        with tempfile.TemporaryDirectory() as folder:
            cachet.build(ROOT / "examples/dense.cachet", "layer", output=folder, prefix="mine")
            kernels = cachet.load(folder)
            self.assertEqual([f.name for f in kernels], ["layer"])
            y = kernels.layer(np.ones((2, 3), "f4"), -np.ones((3, 2), "f4"), np.array([4, 1], "f4"))
            self.assertEqual(y.tolist(), [[1, 0], [1, 0]])


if __name__ == "__main__":
    unittest.main()
