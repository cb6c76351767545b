"""Calls the kernels of ../dense.cachet with NumPy's arrays: whole ones, parts of larger ones, and ones that do not fit."""

import pathlib
import sys

import cachet
import numpy as np


def main():
    kernels = cachet.build(pathlib.Path(__file__).parent.parent / "dense.cachet")

    # The same numbers as in examples/c.
    m, k, n = 150, 200, 301
    a = ((np.arange(m * k) * 7 % 17).astype("f4") * np.float32(0.3) - np.float32(2.0)).reshape(m, k)
    b = ((np.arange(k * n) * 5 % 13).astype("f4") * np.float32(0.7) - np.float32(4.0)).reshape(k, n)
    c = kernels.product(a, b)
    print(f"c[3, 5] = {c[3, 5]:.6f}")

    # On threads, with the same bits, into a part of a larger array.
    large = np.zeros((m + 2, n + 9), "f4")
    with cachet.Threads(3) as threads:
        kernels.shared(a, b, out=large[1:-1, 4:-5], pool=threads)
    print("three threads give the same bits:", bool((large[1:-1, 4:-5].view("u4") == c.view("u4")).all()))
    print("nothing was written beside it:", not large[0].any() and not large[:, :4].any() and not large[:, -5:].any())

    # A part of an operand is taken as it lies.
    part = kernels.product(a[10:60, 7:20], b[50:63, 100:])
    again = kernels.product(a[10:60, 7:20].copy(), b[50:63, 100:].copy())
    print("a part gives the bits of its copy:", bool((part.view("u4") == again.view("u4")).all()))

    # What a function changes is an argument like any other.
    total = np.ones(4)
    kernels.add_rows(np.arange(12.0).reshape(4, 3), total)
    print("sums of rows:", *total)

    for what, call in [
        ("another shape", lambda: kernels.product(a, b.reshape(n, k))),
        ("another type", lambda: kernels.product(a, b.astype("f8"))),
        ("columns that follow each other", lambda: kernels.product(a, np.asfortranarray(b))),
        ("every second column", lambda: kernels.product(a, b[:, ::2])),
        ("over an operand", lambda: kernels.product(large[:m, :k], b, out=large[:m, :n])),
        ("read-only", lambda: kernels.add_rows(np.ones((4, 3)), np.broadcast_to(1.0, 4))),
        ("no terms", lambda: kernels.product(a[:, :0], b[:0])),
        ("a list", lambda: kernels.product(a, [[1.0]])),
    ]:
        try:
            call()
        except (cachet.CallError, TypeError) as error:
            print(f"{what}: {str(error).splitlines()[0]}")
        else:
            sys.exit(f"{what} was taken")


main()
