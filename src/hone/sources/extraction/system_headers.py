"""Headers that no package of a source has: those of the language and of the CUDA toolkit, and what else is missing.

A stand-alone source includes the first where it may use them. What nobody is known to have is left out where its name
is not mentioned, and refused where it is, long before a compiler would.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from hone.core.errors import SourceError

C_HEADERS = re.compile(
    r"assert|complex|ctype|errno|fenv|float|inttypes|iso646|limits|locale|math|setjmp|signal|stdalign|stdarg|stdatomic"
    r"|stdbool|stddef|stdint|stdio|stdlib|string|tgmath|time|uchar|wchar|wctype|omp|unistd|pthread|immintrin|x86intrin"
)
"""C's headers and those that compilers and Linux bring, without their `.h`."""
TOOLKIT = re.compile(
    r"cuda\w*(\.h|/.+)|cub/.+|thrust/.+|nv/.+|crt/.+|sys/.+|cooperative_groups(\.h|/.+)|mma\.h|nvtx3/.+"
    r"|(curand|cublas|cusparse|cufft|cusolver|nvrtc|nvml|nvfunctional|npp|vector_|driver_|builtin_|library_|texture_"
    r"|surface_|device_|channel_|math_|host_|sm_\d+_)\w*(\.h)?"
)
"""Headers of the CUDA toolkit."""
LIBRARIES = {
    "curand": "curand",
    "cublas": "cublas",
    "cusparse": "cusparse",
    "cufft": "cufft",
    "cusolver": "cusolver",
    "nvrtc": "nvrtc",
    "nvtx3/": "nvtx",
    "nvml": "nvml",
    "cub/": "cub",
    "thrust/": "thrust",
    "cooperative_groups": "cooperative_groups",
    "mma.h": "nvcuda",
}
"""Start of a header's name -> how the names begin that it declares: only these can be told to be of no use."""
INCLUDE_LINE = re.compile(r"^[ \t]*#[ \t]*include\b.*$", re.MULTILINE)
REMEDY = (
    "add the package that has it to the entry's packages, or a header of that name in a folder of your own "
    "(`kind: folder`)"
)


def known(header: str) -> bool:
    """Whether the compiler or the CUDA toolkit has `header`, named without brackets, such as `cub/cub.cuh`.

    C++'s own headers have neither a suffix nor a folder.
    """
    of_cpp = "." not in header and "/" not in header
    of_c = C_HEADERS.fullmatch(header.removesuffix(".h")) is not None
    return of_cpp or of_c or TOOLKIT.fullmatch(header) is not None


def needed(system: Iterable[str], text: str, places: Mapping[str, str]) -> list[str]:
    """Of headers as `<cuda_runtime.h>` those that `text` may use, in their order; `places`: which file includes each.

    Raises SourceError for one that is neither in a package nor known, and whose name the text mentions.
    """
    text = INCLUDE_LINE.sub("", text)
    found = []
    for bracketed in system:
        header = bracketed.strip("<>")
        if not _mentioned(header, text):
            continue
        if not known(header):
            where = places.get(bracketed, "")
            raise SourceError(f"includes {bracketed}, which is not in the packages", where=where, remedy=REMEDY)
        found.append(bracketed)
    return found


def _mentioned(header: str, text: str) -> bool:
    """Whether the text has a name that the header may declare; of most of the known ones nobody can tell."""
    if known(header):
        begin = next((begin for start, begin in LIBRARIES.items() if header.startswith(start)), None)
        return begin is None or re.search(rf"\b{begin}", text) is not None
    stem = header.rpartition("/")[2].partition(".")[0]
    letters = "_?".join(map(re.escape, stem.replace("_", "")))
    return re.search(rf"(?<!std::)\b{letters}\b", text, re.IGNORECASE) is not None
