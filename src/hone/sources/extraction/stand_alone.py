"""The stand-alone source of an existing kernel: what it needs of the packages' headers, then one launcher per type."""

from __future__ import annotations

from hone.launcher import c_type, signature
from hone.records import Argument, Definition, Language
from hone.records.layout import FLOAT8
from hone.sources.extraction import system_headers
from hone.sources.extraction.entry import Kernel
from hone.sources.extraction.headers import Resolved
from hone.sources.extraction.prune import prune

TEMPLATE_TYPE = "scalar_t"
OWN_HEADERS = {
    Language.CUDA: ("<cuda_bf16.h>", "<cuda_fp16.h>", "<cuda_runtime.h>", "<cstdint>"),
    Language.CPP: ("<cstdint>",),
}
FLOAT8_HEADER = "<cuda_fp8.h>"


def stand_alone(name: str, kernel: Kernel, resolved: Resolved, definition: Definition, language: Language) -> str:
    """One file that compiles by itself and exports the definition's launchers. `name`: `upstream` or `current`.

    Raises SourceError where it needs a header that neither the packages nor the compiler have.
    """
    launchers = _launchers(kernel.body, definition, language)
    needed = resolved.text
    if kernel.prune:
        needed = prune(needed, "\n".join((kernel.preamble, launchers)), definition.dtypes)
    defines = "".join(f"#define {macro} {value}\n" for macro, value in kernel.defines.items())
    used = system_headers.needed(resolved.system, "\n".join((needed, kernel.preamble, launchers)), resolved.places)
    eight_bits = any(item.dtype in FLOAT8 for item in (*definition.inputs, *definition.outputs))
    system = dict.fromkeys((*used, *OWN_HEADERS[language], *([FLOAT8_HEADER] if eight_bits else [])))
    includes = "".join(f"#include {header}\n" for header in system)
    return "\n".join(
        (
            _title(name, resolved, definition),
            *([defines] if defines else []),
            includes,
            needed,
            *([kernel.preamble.rstrip() + "\n"] if kernel.preamble.strip() else []),
            launchers,
        )
    )


def _title(name: str, resolved: Resolved, definition: Definition) -> str:
    lines = [f"{definition.title}: {name}. Put together from these files, without comments and what is not used:"]
    lines += [f"  {origin}" for origin in resolved.origins]
    return "".join(f"// {line}\n" for line in lines)


def _launchers(body: str, definition: Definition, language: Language) -> str:
    """A template with the entry's statements, and a C function for each data type that calls it; one without types."""
    indented = "".join(f"  {line}\n" if line.strip() else "\n" for line in body.rstrip().split("\n"))
    if not definition.dtypes:
        return f"{signature(definition, language)} {{\n{indented}}}\n"
    arguments = [*definition.inputs, *definition.parameters, *definition.outputs]
    written = {item.name for item in definition.outputs}
    declared = [_declared(item, language, item.name in written or item.in_place) for item in arguments]
    names = [item.name for item in arguments] + list(definition.axes)
    declared += [f"int64_t {axis}" for axis in definition.axes]
    if language is Language.CUDA:
        declared.append("cudaStream_t stream")
        names.append("stream")
    template = f"template <typename {TEMPLATE_TYPE}>\nstatic void launcher({', '.join(declared)}) {{\n{indented}}}\n"
    called = [
        f"{signature(definition, language, dtype)} {{\n  launcher<{c_type(dtype, language)}>({', '.join(names)});\n}}\n"
        for dtype in definition.dtypes
    ]
    return "\n".join((template, *called))


def _declared(item: Argument, language: Language, writable: bool) -> str:
    follows = item.dtype_at("float16") != item.dtype_at("bfloat16")
    of = TEMPLATE_TYPE if follows else c_type(item.dtype, language)
    if item.kind == "scalar":
        return f"{of} {item.name}"
    return f"{'' if writable else 'const '}{of}* {item.name}"
