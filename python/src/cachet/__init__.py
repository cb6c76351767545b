"""Kernels with proofs, called with arrays: :func:`build` a ``.cachet`` file, or :func:`load` what was built.

>>> kernels = cachet.build("dense.cachet")
>>> c = kernels.product(a, b)             # allocates the result
>>> kernels.product(a, b[:, 3:8], out=c)  # or writes where it is told

No array is copied or converted. What a kernel cannot take as it lies is refused with a :class:`CallError` that says why.
"""

from ._compiler import BuildError, build, compiler
from ._errors import CachetError, CallError, DTypeError
from ._kernels import Function, Kernels, load
from ._space import Scratch, Threads

__all__ = [
    "BuildError",
    "CachetError",
    "CallError",
    "DTypeError",
    "Function",
    "Kernels",
    "Scratch",
    "Threads",
    "build",
    "compiler",
    "load",
]
__version__ = "0.1.0"
