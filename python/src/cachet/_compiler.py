"""Which compiler is there, and how is a file built with it?"""

import os
import pathlib
import shutil
import subprocess
import tempfile

from ._errors import CachetError
from ._kernels import load


class BuildError(CachetError):
    """The compiler refused a file, or could not build it. ``report`` is what it said."""

    def __init__(self, text, report):
        super().__init__(f"{text}\n{report}" if report else text)
        self.report = report


def compiler():
    """The compiler that is used: the one that ``CACHETC`` names, the package's own, or one on the path."""
    named = os.environ.get("CACHETC")
    if named:
        if not os.access(named, os.X_OK):
            raise CachetError(f"CACHETC is {named!r}, which is no program")
        return pathlib.Path(named)
    own = pathlib.Path(__file__).parent / "bin" / "cachetc"
    if own.exists():
        return own
    found = shutil.which("cachetc")
    if found:
        return pathlib.Path(found)
    raise CachetError("there is no compiler: the package does not carry one here, `cachetc` is not on the path, and CACHETC is not set")


def build(file, *names, prefix=None, implementations=(), cpu=None, features=None, output=None):
    """Builds a ``.cachet`` file for this machine and loads it.

    ``names`` are functions, all that can be built where there are none; ``implementations``, as ``"PlusTimes f32"``, bind
    type parameters. ``output`` is a folder in which the library and its manifest stay, for :func:`load`; without it
    nothing stays. The compiler's proofs are kept in its cache, so that building again is fast.
    """
    options = ["--strided", "--emit", "shared,manifest"]
    for option, value in (("--prefix", prefix), ("--cpu", cpu), ("--features", features)):
        if value is not None:
            options += [f"{option}={value}"]
    for implementation in implementations:
        options += ["--with", implementation]
    if output is not None:
        return _built(file, names, options, pathlib.Path(output))
    # A library that is loaded no longer needs its file.
    with tempfile.TemporaryDirectory(prefix="cachet-") as folder:
        return _built(file, names, options, pathlib.Path(folder))


def _built(file, names, options, folder):
    command = [str(compiler()), "build", os.fspath(file), *names, "-o", str(folder), *options]
    environment = dict(os.environ, NO_COLOR="1")
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode != 0:
        raise BuildError(f"{os.fspath(file)!r} was not built", done.stderr.strip())
    manifests = [line for line in done.stdout.split() if line.endswith(".json")]
    return load(folder / manifests[0])
