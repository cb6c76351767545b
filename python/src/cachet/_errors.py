"""What can go wrong, as exceptions."""


class CachetError(Exception):
    """Everything that this package raises of its own."""


class CallError(CachetError, ValueError):
    """A call that a kernel cannot take. Nothing was written.

    ``kind`` is a word: ``shape``, ``strides``, ``overlap``, ``alignment``, ``type``, ``size``, ``requirement``, ..
    """

    def __init__(self, text, kind):
        super().__init__(text)
        self.kind = kind


class DTypeError(CallError, TypeError):
    """Elements of another type than a kernel takes."""

    def __init__(self, text):
        super().__init__(text, "type")
