# SPDX-License-Identifier: BSD-2-Clause
"""drop_code.py IN OUT: a perf.data without the code bytes that were recorded in it.

Each PERF_RECORD_TEXT_POKE becomes a PERF_RECORD_THROTTLE, which tells nothing of code.
Prints how many there were."""
import struct
import sys

THROTTLE, TEXT_POKE, AUXTRACE = 5, 20, 71

data, gone = bytearray(open(sys.argv[1], "rb").read()), 0
at, size = struct.unpack_from("<QQ", data, 40)
end = at + size
while at < end:
    kind, _, length = struct.unpack_from("<IHH", data, at)
    if kind == TEXT_POKE:
        struct.pack_into("<I", data, at, THROTTLE)
        gone += 1
    at += length + (struct.unpack_from("<Q", data, at + 8)[0] if kind == AUXTRACE else 0)
open(sys.argv[2], "wb").write(data)
print(gone)
