"""Where is an array, and what is it? Asked of NumPy's interface or of DLPack; nothing is copied."""

import ctypes

try:
    import numpy
    from numpy import ndarray
except ImportError:
    # Other libraries' arrays are taken without it.
    numpy = ndarray = None

from ._errors import CallError, DTypeError

# Types as ``__array_interface__`` writes them, on machines whose lowest byte comes first, and their numbers in a description.
CODES = {
    "<f8": 1, "<f4": 2, "<f2": 3, "<i8": 5, "<i4": 6, "<i2": 7, "|i1": 8,
    "<u8": 9, "<u4": 10, "<u2": 11, "|u1": 12, "|b1": 13,
}  # fmt: skip
RECORD = 64
# Of memory in one piece that may be written, something that begins there.
PIECE = (ctypes.c_char * 0).from_buffer
# Kind and bits as DLPack writes them.
DLPACK_CODES = {
    (2, 64): 1, (2, 32): 2, (2, 16): 3, (4, 16): 4, (0, 64): 5, (0, 32): 6, (0, 16): 7, (0, 8): 8,
    (1, 64): 9, (1, 32): 10, (1, 16): 11, (1, 8): 12, (6, 8): 13,
}  # fmt: skip


def locate(value, parameter, function):
    """Finds out what an argument is: its address, the number of its type, extents, strides in elements, and what keeps it alive.

    ``parameter`` is a :class:`Parameter`; ``function`` is named in messages.
    """
    if type(value) is ndarray and (value.dtype is parameter.dtype or value.dtype == parameter.dtype):
        # The common case, quickly: memory in one piece that may be written has an address that is soon asked for.
        try:
            address = ctypes.addressof(PIECE(value))
        except (TypeError, ValueError, BufferError):
            pass
        else:
            shape = value.shape
            strides = (shape[1], 1) if len(shape) == 2 else contiguous(shape)
            return address, parameter.code, shape, strides, value
    who = f"{function}: {parameter.name}"
    interface = getattr(value, "__array_interface__", None)
    if interface is not None:
        return _from_interface(value, interface, parameter, who)
    if hasattr(value, "__dlpack__"):
        return _from_dlpack(value, parameter, who)
    raise TypeError(f"{who} is no array but {type(value).__name__}: it has neither __array_interface__ nor __dlpack__")


class Parameter:
    """An array that a function takes, as its manifest describes it."""

    def __init__(self, entry):
        self.name, self.type, self.code, self.bytes = entry["name"], entry["type"], entry["type_code"], entry["bytes"]
        self.access, self.fields, self.layout = entry["access"], entry["fields"], entry["layout"]
        self.shape, self.shape_terms, self.memory_terms = entry["shape"], entry["shape_terms"], entry["memory_terms"]
        self.axes = len(self.shape)
        # The second word of a description.
        self.head = self.code | self.axes << 32
        self.written = self.access != "read"
        # What NumPy is asked for to make such an array, and finds its own to be.
        made = dtype_of(self)
        self.dtype = numpy.dtype(made) if numpy is not None and made is not None else None


def contiguous(shape):
    """The strides of an array whose rows follow each other."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= extent
    return tuple(reversed(strides))


def _from_interface(value, interface, parameter, who):
    address, read_only = interface["data"]
    if read_only and parameter.written:
        raise CallError(f"{who} is written, and this array is read-only", "access")
    if getattr(value, "mask", None) is not None and type(value).__name__ == "MaskedArray":
        raise TypeError(f"{who} is a masked array, and kernels know of no masks: pass its `.data`")
    shape, name = interface["shape"], interface["typestr"]
    code = CODES.get(name)
    if code != parameter.code:
        code = _other_type(value, name, parameter)
        if code is None:
            raise DTypeError(f"{who} has elements of type {_dtype(value, name)}, and has to have {parameter.type}")
    steps, size = interface["strides"], parameter.bytes
    if steps is None:
        return address, code, shape, contiguous(shape), value
    strides = tuple(step // size for step in steps)
    if any(step % size for step, extent in zip(steps, shape) if extent > 1):
        raise CallError(f"{who} has strides of {steps} bytes, which are no whole elements of {size} bytes", "strides")
    return address, code, shape, strides, value


def _other_type(value, name, parameter):
    """The code of what is not told apart by a type string: records, and bf16."""
    dtype = getattr(value, "dtype", None)
    if parameter.type == "bf16":
        return 4 if getattr(dtype, "name", "") == "bfloat16" else None
    if parameter.code == RECORD and getattr(dtype, "fields", None):
        wanted, size, _ = _places(parameter.fields)
        return RECORD if _of_dtype(dtype) == wanted and dtype.itemsize == size else None
    return None


# Types of fields: as NumPy writes them, and their bytes.
_FIELDS = {
    "f64": ("<f8", 8), "f32": ("<f4", 4), "f16": ("<f2", 2), "bf16": ("bfloat16", 2), "i64": ("<i8", 8), "i32": ("<i4", 4),
    "i16": ("<i2", 2), "i8": ("|i1", 1), "u64": ("<u8", 8), "u32": ("<u4", 4), "u16": ("<u2", 2), "u8": ("|u1", 1),
    "bool": ("|b1", 1),
}  # fmt: skip


def _places(fields):
    """The fields of a record as C lays them out: name, offset and type of each; its size; its alignment."""
    out, end, align = [], 0, 1
    for field in fields:
        if field["fields"]:
            inner, size, own = _places(field["fields"])
        else:
            inner, size = _FIELDS[field["type"]]
            own = size
        end += -end % own
        out.append((field["name"], end, inner))
        end, align = end + size, max(align, own)
    return out, end + -end % align, align


def _of_dtype(dtype):
    """The same of a dtype."""
    out = []
    for name in dtype.names:
        inner, offset = dtype.fields[name][:2]
        text = "bfloat16" if inner.name == "bfloat16" else inner.str
        out.append((name, offset, _of_dtype(inner) if inner.names else text))
    return out


def dtype_of(parameter):
    """What NumPy is asked for to make an array; ``None`` where it has no such type."""
    code = parameter.code
    for name, number in CODES.items():
        if number == code:
            return name
    return _record(parameter.fields) if code == RECORD else None


def _record(fields):
    places, size, _ = _places(fields)
    inner = [_record(f["fields"]) if f["fields"] else place[2] for f, place in zip(fields, places)]
    if "bfloat16" in inner or None in inner:
        return None
    return {"names": [p[0] for p in places], "formats": inner, "offsets": [p[1] for p in places], "itemsize": size}


def _dtype(value, name):
    return str(getattr(value, "dtype", name))


class _Device(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_int32), ("number", ctypes.c_int32)]


class _Type(ctypes.Structure):
    _fields_ = [("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16)]


class _Tensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("axes", ctypes.c_int32),
        ("type", _Type),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("offset", ctypes.c_uint64),
    ]


class _Versioned(ctypes.Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("tensor", _Tensor),
    ]


# Memory that the processor can use: its own, and what CUDA and ROCm pin for it.
_HOST = (1, 3, 11)
_READ_ONLY, _COPIED = 1, 2
_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
_is_valid = ctypes.pythonapi.PyCapsule_IsValid
_is_valid.restype, _is_valid.argtypes = ctypes.c_int, [ctypes.py_object, ctypes.c_char_p]


def _from_dlpack(value, parameter, who):
    kind = value.__dlpack_device__()[0]
    if int(kind) not in _HOST:
        raise CallError(f"{who} lies in memory of another device ({kind}), where kernels for the processor cannot reach it", "device")
    # The capsule keeps its name, so that its end gives the array back.
    capsule, tensor, flags = _capsule(value, who)
    if flags & _COPIED:
        raise CallError(f"{who} cannot be lent as it lies: its library would make a copy", "copy")
    if flags & _READ_ONLY and parameter.written:
        raise CallError(f"{who} is written, and this array is read-only", "access")
    code = DLPACK_CODES.get((tensor.type.code, tensor.type.bits)) if tensor.type.lanes == 1 else None
    if code != parameter.code:
        given = getattr(value, "dtype", (tensor.type.code, tensor.type.bits))
        raise DTypeError(f"{who} has elements of type {given}, and has to have {parameter.type}")
    shape = tuple(tensor.shape[axis] for axis in range(tensor.axes))
    strides = tuple(tensor.strides[axis] for axis in range(tensor.axes)) if tensor.strides else contiguous(shape)
    return (tensor.data or 0) + tensor.offset, code, shape, strides, (value, capsule)


def _capsule(value, who):
    try:
        try:
            capsule = value.__dlpack__(max_version=(1, 0), copy=False)
        except TypeError:
            capsule = value.__dlpack__()
    except Exception as error:
        raise CallError(f"{who} cannot be lent: {error}", "access") from error
    if _is_valid(capsule, b"dltensor_versioned"):
        managed = _Versioned.from_address(_pointer(capsule, b"dltensor_versioned"))
        if managed.major != 1:
            raise CallError(f"{who} is described in version {managed.major} of DLPack, which is not known here", "access")
        return capsule, managed.tensor, managed.flags
    if _is_valid(capsule, b"dltensor"):
        return capsule, _Tensor.from_address(_pointer(capsule, b"dltensor")), 0
    raise CallError(f"{who} gives a capsule that is none of DLPack's", "access")
