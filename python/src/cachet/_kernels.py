"""A library that was built, and its functions."""

import ctypes
import json
import operator
import pathlib
import struct
import sys
import threading

from . import _arrays, _processor
from ._errors import CachetError, CallError
from ._space import Scratch, Threads

# The version of the manifest that is understood here.
MANIFEST = 1
# A description of an array as eighteen words: address; type and number of axes; eight extents; eight strides.
WORDS = 18
MOST_AXES = 8
# The largest size.
MOST = 1 << 40


def load(path):
    """Loads what ``cachetc build`` made: a folder, or the manifest in it."""
    path = pathlib.Path(path)
    if path.is_dir():
        found = sorted(path.glob("*.json"))
        if len(found) != 1:
            raise CachetError(f"{str(path)!r} has {len(found)} manifests, and not one: name the file")
        path = found[0]
    return Kernels(path)


class Kernels:
    """The functions of a library, as attributes and by name: ``kernels.product``, ``kernels["product"]``."""

    def __init__(self, path):
        try:
            manifest = json.loads(path.read_text(encoding="utf-8"))
            version = manifest["manifest"]
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise CachetError(f"{str(path)!r} is no manifest of built kernels: {error}") from error
        if version != MANIFEST:
            raise CachetError(f"{str(path)!r} has version {version} of the manifest, and this package reads version {MANIFEST}")
        missing = _processor.missing(manifest["target"])
        if missing:
            text = f"{str(path)!r} is for a processor with {', '.join(missing)}, which this one has not: build it for this one"
            raise CachetError(text)
        ending = "dylib" if sys.platform == "darwin" else "so"
        library = path.parent / f"lib{manifest['prefix']}.{ending}"
        try:
            self._library = ctypes.CDLL(str(library.resolve()))
        except OSError as error:
            target = manifest["target"]["triple"]
            raise CachetError(f"the library for {target} beside {str(path)!r} cannot be loaded: {error}") from error
        self.manifest = manifest
        self._functions = {entry["name"]: Function(self._library, entry) for entry in manifest["functions"]}

    def __getattr__(self, name):
        functions = self.__dict__.get("_functions", {})
        if name in functions:
            return functions[name]
        known = ", ".join(functions)
        raise AttributeError(f"there is no function {name!r}; there are {known}")

    def __getitem__(self, name):
        return self._functions[name]

    def __iter__(self):
        return iter(self._functions.values())

    def __dir__(self):
        return [*super().__dir__(), *self._functions]

    def __repr__(self):
        return f"<cachet.Kernels of {self.manifest['source']}: {', '.join(self._functions)}>"


class Function:
    """A kernel. Arrays that it reads or changes are arguments, in order or by name; arrays that it only writes are given by
    ``out=`` or by name, or are made by NumPy and returned. Sizes follow from the arrays; those that do not are arguments by name.
    """

    def __init__(self, library, entry):
        self.name = self.__name__ = entry["name"]
        self.manifest = entry
        self._arrays = [_arrays.Parameter(a) for a in entry["arrays"]]
        self._given = [n for n, a in enumerate(self._arrays) if a.access != "write"]
        self._made = [n for n, a in enumerate(self._arrays) if a.access == "write"]
        self._index = {a.name: n for n, a in enumerate(self._arrays)}
        # Whether results come last, as they do where a function is a contraction's.
        rest = lambda axes: f"{axes}q{8 * (MOST_AXES - axes)}x"
        self._format = struct.Struct("=" + "".join(f"qq{2 * rest(a.axes)}" for a in self._arrays))
        self._in_order = self._given + self._made == list(range(len(self._arrays)))
        self._sizes = [_Size(size["name"], self._arrays) for size in entry["sizes"]]
        self._size_places = self._places()
        self._size_names = [size["name"] for size in entry["sizes"]]
        self._errors = {error["code"]: error for error in entry["errors"]}
        symbols, number = entry["symbols"], ctypes.c_int64
        self._call = getattr(library, symbols["checked"])
        self._call.restype = ctypes.c_int32
        self._needs_scratch = entry["scratch"] is not None
        self._takes_pool = entry["pool"]
        types = [number] * len(self._sizes) + [ctypes.c_void_p] * len(self._arrays)
        types += [ctypes.c_void_p, ctypes.c_size_t] if self._needs_scratch else []
        self._call.argtypes = types + ([ctypes.c_void_p] if self._takes_pool else [])
        if self._needs_scratch:
            self._scratch_bytes = getattr(library, symbols["scratch_bytes"])
            self._scratch_bytes.restype, self._scratch_bytes.argtypes = ctypes.c_size_t, [number] * len(self._sizes)
        self._own = threading.local()
        self.__doc__ = self._words()

    def _places(self):
        """Where sizes stand among the numbers that describe the arrays, each as many as it has axes."""
        starts, at = [], 0
        for array in self._arrays:
            starts.append(at)
            at += 2 + 2 * array.axes
        found = [size.found for size in self._sizes if size.found is not None]
        return [starts[n] + 2 + axis for n, axis in found]

    def scratch_bytes(self, **sizes):
        """How much working space a call with these sizes needs."""
        if not self._needs_scratch:
            return 0
        missing = [name for name in self._size_names if name not in sizes]
        if missing or len(sizes) != len(self._size_names):
            raise TypeError(f"{self.name} has the sizes {', '.join(self._size_names)}")
        return self._needed([sizes[name] for name in self._size_names])

    def __call__(self, *arrays, out=None, scratch=None, pool=None, **named):
        # What this thread has kept from its last call; a call from within this one, by a signal's handler, finds none.
        try:
            frame = self._own.free.pop()
        except (AttributeError, IndexError):
            frame = _Frame(len(self._arrays))
            self._own.__dict__.setdefault("free", [])
        try:
            quick = None if named or not self._in_order else self._quick(arrays, out, frame)
            if quick is not None:
                arguments, values = quick, (*arrays, out)
                self._lend(arguments, frame, scratch, pool)
                code = self._call(*arguments)
            else:
                arguments, values, located = self._arguments(arrays, out, scratch, pool, named, frame)
                code = self._call(*arguments)
        finally:
            self._own.free.append(frame)
        if code != 0:
            if quick is not None:
                located = [_arrays.locate(v, p, self.name) for v, p in zip(values, self._arrays)]
            raise self._refusal(code, located, arguments)
        if pool is not None and pool.interrupted:
            pool.interrupted = False
            raise KeyboardInterrupt
        made = self._made
        if len(made) == 1:
            return values[made[0]]
        return tuple([values[n] for n in made]) or None

    def bind(self, *arrays, out=None, scratch=None, pool=None, **named):
        """A call with these arrays, to be made again and again: everything about them is looked at once, here, except what
        the kernel itself tests. It keeps the arrays, and has working space of its own."""
        frame = _Frame(len(self._arrays))
        arguments, values, located = self._arguments(arrays, out, scratch, pool, named, frame)
        made = [values[n] for n in self._made]
        result = made[0] if len(made) == 1 else tuple(made) or None
        return Bound(self, arguments, result, (frame, values, located, scratch, pool))

    def _quick(self, arrays, out, frame):
        """The same as :meth:`_arguments` where all arrays are NumPy's, each in one piece that may be written, and the one result is
        given; ``None`` where they are not."""
        if len(arrays) + 1 != len(self._arrays) or len(self._made) != 1:
            return None
        flat, ndarray, address_of, piece = [], _arrays.ndarray, ctypes.addressof, _arrays.PIECE
        for value, parameter in zip((*arrays, out), self._arrays):
            if type(value) is not ndarray or not (value.dtype is parameter.dtype or value.dtype == parameter.dtype):
                return None
            shape = value.shape
            if len(shape) != parameter.axes or parameter.layout is not None:
                return None
            try:
                address = address_of(piece(value))
            except (TypeError, ValueError, BufferError):
                return None
            if parameter.axes == 2:
                flat += (address, parameter.head, *shape, shape[1], 1)
            else:
                flat += (address, parameter.head, *shape, *_arrays.contiguous(shape))
        self._format.pack_into(frame.words, 0, *flat)
        arguments = [flat[place] for place in self._size_places]
        if len(arguments) != len(self._sizes):
            return None
        arguments += frame.addresses
        return arguments

    def _arguments(self, arrays, out, scratch, pool, named, frame):
        """What the library is called with, the arrays in the order of the parameters, and where they lie. Descriptions go
        into the frame, which may have working space."""
        if not named and out is not None and type(out) is not tuple and self._in_order and len(arrays) == len(self._given):
            values = [*arrays, out]
            if len(self._made) != 1:
                values = self._values(arrays, out, named)
        else:
            values = self._values(arrays, out, named)
        name, locate = self.name, _arrays.locate
        located = [v if v is None else locate(v, p, name) for v, p in zip(values, self._arrays)]
        arguments = [size.find(located, named, name) for size in self._sizes]
        if named:
            raise TypeError(f"{name} has no parameter {next(iter(named))!r}")
        for n in self._made:
            if values[n] is None:
                values[n] = self._allocated(self._arrays[n], arguments)
                located[n] = locate(values[n], self._arrays[n], name)
        self._describe(located, arguments, frame)
        self._lend(arguments, frame, scratch, pool)
        return arguments, values, located

    def _values(self, arrays, out, named):
        """The arguments in the order of the parameters; ``None`` for what is to be made. Takes arrays out of ``named``."""
        values = [None] * len(self._arrays)
        if len(arrays) > len(self._given):
            names = ", ".join(self._arrays[n].name for n in self._given)
            raise TypeError(f"{self.name} takes {names} in order, and results by `out`: {len(arrays)} arrays were given")
        for n, value in zip(self._given, arrays):
            values[n] = value
        if out is not None:
            results = out if isinstance(out, (tuple, list)) else (out,)
            if len(results) != len(self._made):
                names = ", ".join(self._arrays[n].name for n in self._made) or "nothing"
                raise TypeError(f"{self.name} writes {names}: `out` has {len(results)} arrays")
            for n, value in zip(self._made, results):
                values[n] = value
        for name in [name for name in named if name in self._index]:
            n = self._index[name]
            if values[n] is not None:
                raise TypeError(f"{self.name} was given {name} twice")
            values[n] = named.pop(name)
        for n in self._given:
            if values[n] is None:
                raise TypeError(f"{self.name} needs {self._arrays[n].name}")
        return values

    def _describe(self, located, arguments, frame):
        """Writes descriptions of arrays, and adds their addresses to the arguments, which are the sizes so far."""
        flat = []
        for (address, _, shape, strides, _), parameter in zip(located, self._arrays):
            if len(shape) != parameter.axes or parameter.layout is not None:
                self._describe_any(located, arguments, frame.words)
                break
            flat += (address, parameter.head, *shape, *strides)
        else:
            self._format.pack_into(frame.words, 0, *flat)
        arguments += frame.addresses

    def _describe_any(self, located, sizes, words):
        """The same where an array has another number of axes than it should, or a layout."""
        at = 0
        for array, parameter in zip(located, self._arrays):
            address, code, shape, strides, _ = array
            if parameter.layout is not None:
                shape, strides = self._laid_out(array, parameter, sizes)
            axes = len(shape)
            if axes > MOST_AXES:
                raise CallError(f"{self.name}: {parameter.name} has {axes} axes; it has to have {parameter.axes}", "rank")
            words[at : at + 2 + axes] = (address, code | axes << 32, *shape)
            words[at + 10 : at + 10 + axes] = strides
            at += WORDS

    def _laid_out(self, array, parameter, sizes):
        """What to say of an array that lies as its layout says: it is given as the memory that the layout makes."""
        known = dict(zip(self._size_names, sizes))
        memory = tuple(_value(term, known) for term in parameter.memory_terms)
        length = 1
        for extent in memory:
            length *= extent
        given, strides = tuple(array[2]), array[3]
        if given not in (memory, (length,)) or strides != _arrays.contiguous(given):
            raise CallError(
                f"{self.name}: {parameter.name} is in {parameter.layout}: it is given as the memory of that, contiguous, of the "
                f"shape {memory} or ({length},), and not {given} with strides {strides}",
                "strides",
            )
        shape = tuple(_value(term, known) for term in parameter.shape_terms)
        return shape, (0,) * len(shape)

    def _allocated(self, parameter, sizes):
        if parameter.dtype is None:
            why = "NumPy is not there" if _arrays.numpy is None else f"NumPy has no {parameter.type}"
            raise TypeError(f"{self.name} needs {parameter.name} by `out`: {why} to make it")
        known = dict(zip(self._size_names, sizes))
        return _arrays.numpy.empty([_value(term, known) for term in parameter.memory_terms], parameter.dtype)

    def _needed(self, sizes):
        return self._scratch_bytes(*sizes)

    def _lend(self, arguments, frame, scratch, pool):
        """Adds working space and a pool to the arguments, of which the first are the sizes."""
        if scratch is not None and not isinstance(scratch, Scratch):
            raise TypeError(f"{self.name}: scratch is {type(scratch).__name__}, and has to be a cachet.Scratch")
        if pool is not None and not isinstance(pool, Threads):
            raise TypeError(f"{self.name}: pool is {type(pool).__name__}, and has to be cachet.Threads")
        if self._needs_scratch:
            space = scratch if scratch is not None else self._space(frame, arguments[: len(self._sizes)])
            arguments += (space.address, space.size)
        elif scratch is not None:
            raise TypeError(f"{self.name} needs no working space")
        if self._takes_pool:
            arguments.append(pool.address if pool is not None else None)
        elif pool is not None:
            raise TypeError(f"{self.name} does not share out its work: it takes no pool")

    def _space(self, frame, sizes):
        if frame.sizes != sizes:
            needed = self._needed(sizes)
            # Sizes that no memory has are refused by the call itself.
            needed = needed if needed < 1 << 47 else 0
            if frame.scratch is None or frame.scratch.size < needed:
                frame.scratch = Scratch(needed)
            frame.sizes = sizes
        return frame.scratch

    def _refusal(self, code, located, arguments):
        error = self._errors.get(code, {"kind": "unknown", "text": f"the library returned {code}"})
        lines = [f"{self.name}: {error['text']}"]
        for (address, _, shape, strides, _), parameter in zip(located, self._arrays):
            lines.append(f"  {parameter.name}: {parameter.type} {tuple(shape)}, strides {tuple(strides)}, at {address:#x}")
        if self._size_names:
            lines.append("  with " + ", ".join(f"{name} = {size}" for name, size in zip(self._size_names, arguments)))
        return CallError("\n".join(lines), error["kind"])

    def _words(self):
        lines = [f"{self.name}: {self.manifest['claim']}", ""]
        words = {"read": "read", "write": "written in full", "update": "read and written"}
        for a in self._arrays:
            layout = f" in {a.layout}" if a.layout else ""
            lines.append(f"  {a.name}: {a.type} [{', '.join(a.shape)}]{layout}, {words[a.access]}")
        lines += [f"Requires {requirement}." for requirement in self.manifest["requires"]]
        return "\n".join(lines)

    def __repr__(self):
        return f"<cachet.Function {self.name}({', '.join(a.name for a in self._arrays)})>"


class _Frame:
    """What one call at a time needs: descriptions of its arrays, their addresses, and working space."""

    __slots__ = ("words", "addresses", "scratch", "sizes")

    def __init__(self, count):
        self.words = (ctypes.c_int64 * (WORDS * count))()
        first = ctypes.addressof(self.words)
        self.addresses = [first + 8 * WORDS * n for n in range(count)]
        # It is large enough for these sizes.
        self.scratch = self.sizes = None


class Bound:
    """A call with its arrays. One thread at a time can make it."""

    __slots__ = ("_function", "_arguments", "_result", "_keep")

    def __init__(self, function, arguments, result, keep):
        self._function, self._arguments, self._result, self._keep = function, arguments, result, keep

    def __call__(self):
        code = self._function._call(*self._arguments)
        if code != 0:
            raise self._function._refusal(code, self._keep[2], self._arguments)
        pool = self._keep[4]
        if pool is not None and pool.interrupted:
            pool.interrupted = False
            raise KeyboardInterrupt
        return self._result

    def __repr__(self):
        return f"<cachet.Bound of {self._function.name}>"


class _Size:
    """Where a size can be seen."""

    def __init__(self, name, arrays):
        self.name, self.found = name, None
        for n, array in enumerate(arrays):
            if array.layout is None and name in array.shape_terms:
                self.found = (n, array.shape_terms.index(name))
                if array.access != "write":
                    break

    def find(self, located, named, who):
        if named and self.name in named:
            size = operator.index(named.pop(self.name))
            if not 0 <= size <= MOST:
                raise CallError(f"{who}: {self.name} is {size}, and has to be from 0 to 2^40", "size")
            return size
        if self.found is not None:
            array, axis = located[self.found[0]], self.found[1]
            if array is not None:
                shape = array[2]
                if axis < len(shape):
                    return shape[axis]
                text = f"{who}: an array has {len(shape)} axes, and {self.name} is axis {axis} of it"
                raise CallError(text, "rank")
        raise TypeError(f"{who} needs the size {self.name}, which no array tells: give it by name")


def _value(term, known):
    """An extent of the manifest as a number."""
    if isinstance(term, int):
        return int(term)
    if isinstance(term, str):
        return known[term]
    op, *rest = term
    if op == "if":
        return _value(rest[1] if _holds(rest[0], known) else rest[2], known)
    a, b = (_value(t, known) for t in rest)
    return {
        "+": lambda: a + b,
        "-": lambda: a - b,
        "*": lambda: a * b,
        "/": lambda: a // b,
        "%": lambda: a % b,
        "min": lambda: min(a, b),
        "max": lambda: max(a, b),
    }[op]()


def _holds(condition, known):
    if isinstance(condition, bool):
        return condition
    op, *rest = condition
    if op == "and":
        return all(_holds(c, known) for c in rest)
    if op == "or":
        return any(_holds(c, known) for c in rest)
    if op == "not":
        return not _holds(rest[0], known)
    a, b = (_value(t, known) for t in rest)
    return {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b}[op]
