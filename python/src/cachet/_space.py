"""What a call is lent besides arrays: working space, and threads."""

import collections
import concurrent.futures
import ctypes
import threading

BODY = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
RUN = ctypes.CFUNCTYPE(None, ctypes.c_void_p, BODY, ctypes.c_void_p, ctypes.c_int64)


class Pool(ctypes.Structure):
    """``cachet_pool``."""

    _fields_ = [("state", ctypes.c_void_p), ("run", RUN)]


class Scratch:
    """Working space: so many bytes, as they are aligned for kernels. One call at a time can use it."""

    def __init__(self, size, align=64):
        self._memory = ctypes.create_string_buffer(size + align)
        first = ctypes.addressof(self._memory)
        self.address = first + -first % align
        self.size = size


class Threads:
    """So many threads for functions that share out their work. The bits of a result do not depend on how many there are.

    Usable from several threads at once. ``close``, or a ``with`` statement, ends them, when no call is using them any more.
    """

    def __init__(self, count):
        if count < 1:
            raise ValueError(f"there have to be threads: {count}")
        self.count = count
        self.interrupted = False
        self._executor = concurrent.futures.ThreadPoolExecutor(count)
        # All of them start here: a call can rely on them.
        started = threading.Barrier(count + 1)
        for _ in range(count):
            self._executor.submit(started.wait)
        started.wait()
        self._run = RUN(self._share_out)
        self._pool = Pool(None, self._run)
        self.address = ctypes.addressof(self._pool)

    def close(self):
        """Ends the threads. Calls go on, on the thread that makes them."""
        self.address = None
        self._executor.shutdown()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _share_out(self, _state, body, env, count):
        """Returns when everything is done, whatever happens: the arrays are lent for so long. The calling thread only waits, for
        an interrupt can reach it anywhere."""
        parts = min(count, 4 * self.count)
        waiting = collections.deque((count * p // parts, count * (p + 1) // parts) for p in range(parts))
        finished, all_done = [], threading.Event()

        def work():
            while True:
                try:
                    first, last = waiting.popleft()
                except IndexError:
                    return
                body(env, first, last)
                finished.append(first)
                if len(finished) == parts:
                    all_done.set()

        helpers = 0
        while len(finished) < parts:
            try:
                while helpers < min(self.count, parts):
                    self._executor.submit(work)
                    helpers += 1
                all_done.wait()
            except KeyboardInterrupt:
                self.interrupted = True
