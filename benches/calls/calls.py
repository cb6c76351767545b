"""The same from Python: kernels, NumPy's product, and NumPy's smallest operation on an array."""

import pathlib
import statistics
import time

import cachet
import numpy as np

HERE = pathlib.Path(__file__).parent
ROUNDS, CALLS = 31, 2000


def measure(what, call):
    rounds = []
    for _ in range(ROUNDS + 3):
        start = time.thread_time_ns()
        for _ in range(CALLS):
            call()
        rounds.append((time.thread_time_ns() - start) / CALLS)
    rounds = sorted(rounds[3:])
    tenth, most = rounds[ROUNDS // 10], rounds[ROUNDS * 9 // 10]
    print(f"{what:44} {statistics.median(rounds):7.0f} ns  (10 % {tenth:.0f}, 90 % {most:.0f})")


def main():
    small, dense = cachet.build(HERE / "small.cachet"), cachet.build(HERE.parent.parent / "examples/dense.cachet")
    a = (np.arange(16) * 7 % 5).astype("f4").reshape(4, 4) - np.float32(1.5)
    b = (np.arange(16) * 3 % 7).astype("f4").reshape(4, 4) * np.float32(0.5)
    c = np.empty((4, 4), "f4")
    assert np.allclose(small.product(a, b), a @ b) and np.allclose(dense.product(a, b), a @ b)
    product, any_size = small.product, dense.product
    measure("Python: small.cachet, out=c", lambda: product(a, b, out=c))
    measure("Python: dense.cachet (any size), out=c", lambda: any_size(a, b, out=c))
    measure("Python: small.cachet, bound to its arrays", small.product.bind(a, b, out=c))
    measure(f"Python: NumPy {np.__version__}, matmul, out=c", lambda: np.matmul(a, b, out=c))
    measure("Python: NumPy, add, out=c", lambda: np.add(a, b, out=c))


main()
