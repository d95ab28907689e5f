"""What a launcher cannot reach is left out; what it can is kept, whatever form it has."""

import pytest

from hone.sources.extraction.declarations import Unreadable, declarations, parse
from hone.sources.extraction.prune import prune


def names(text):
    return [set(item.names) for item in declarations(parse(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("struct A { int x; };", {"A"}),
        ("struct __align__(16) A { int f() { return 1; } };", {"A"}),
        ("template <typename T, bool b = (1 > 0)> struct A<T*> final : B<T> { };", {"A"}),
        ("enum class Kind : int { kOne, kTwo };", {"Kind", "int", "kOne", "kTwo"}),
        ("using A = B<int>;", {"A"}),
        ("using other::name;", {"name"}),
        ("typedef unsigned long (*Function)(int);", {"int"}),
        ("template <int N = 3> inline constexpr int value = N + 1;", {"value"}),
        ("__global__ void __launch_bounds__(256) kernel(float* x) { x[0] = 1; }", {"kernel"}),
        ("template <> float Vec<half, 2>::get<int>() const { return 0; }", {"Vec"}),
        ("inline auto f(int a = 3) -> decltype(g(a)) { return g(a); }", {"f"}),
        ("#define MACRO(x) \\\n  (x)", {"MACRO"}),
        ("inline bool operator==(A a, B b) { return true; }", set()),
        ("static_assert(sizeof(int) == 4);", set()),
        ('extern "C" void f(int x);', {"f"}),
        ("template <typename T> [[noreturn]] inline auto panic(T at) -> void { throw at; }", {"panic"}),
        ('[[nodiscard, gnu::pure]] [[deprecated("[[")]] int f(int x) { return x; }', {"f"}),
        ("struct [[nodiscard]] A { int x; };", {"A"}),
        ("[[maybe_unused]] static int x [[gnu::unused]] = 3;", {"x"}),
    ],
)
def test_names_of_declarations(text, expected):
    assert names(text) == [expected]


def test_declarations_end_where_they_do():
    text = """
        inline bool operator!=(A a, A b) { return !(a == b); }
        constexpr int table[] = {1, 2};
        struct S { void f() {} } one;
        #pragma once_more
        void g() {
        #if X
          if (a) {
        #else
          if (b) {
        #endif
          }
        }
        namespace a { namespace b::c { int x; } }
        #ifdef Y
        int y;
        #elif defined(Z)
        int z;
        #endif
    """
    assert names(text) == [set(), {"table"}, {"S"}, set(), {"g"}, {"x"}, {"y"}, {"z"}]


@pytest.mark.parametrize("text", ["namespace a { int x;", "int f() { return 1;", "}", "#if X\nint x;\n", "[[a int x;"])
def test_text_that_does_not_close(text):
    with pytest.raises(Unreadable):
        parse(text)
    assert prune(text, "x", ["float32"]) == text


HEADERS = """
#define USED(x) helper(x)
#define UNUSED(x) other(x)
namespace own {
inline int helper(int x) { return x; }
inline int other(int x) { return x; }
template <typename T> struct Cast { };
template <> struct Cast<half> { };
template <> struct Cast<__nv_fp8_e4m3> { };
struct Pair { int a, b; };
inline bool operator==(Pair x, Pair y) { return x.a == y.a; }
inline bool operator==(Other x, Other y) { return true; }
struct Other { };
namespace empty { int nothing; }
template <typename T> int kernel(T x) { return USED(sizeof(Cast<T>)) + Pair().a; }
}
#if defined(A)
#include <only_there.h>
inline int kernel_too(int x) { return x; }
#endif
"""


def test_what_is_reached_is_kept_and_the_rest_is_not():
    kept = prune(HEADERS, "own::kernel<half>(x);", ["float16"])
    for word in ("USED", "int helper(", "Cast<half>", "operator==(Pair", "kernel(T x)", "only_there.h"):
        assert word in kept, word
    for word in ("UNUSED", "other", "fp8", "Other", "empty", "kernel_too"):
        assert word not in kept, word


def test_a_specialisation_is_kept_when_its_type_is_used():
    assert "fp8" in prune(HEADERS, "own::kernel<__nv_fp8_e4m3>(x);", ["float16"])
    aliases = "using fp16_t = __half;\nusing fp8_t = __nv_fp8_e4m3;\ntemplate <typename T> struct A { };\n"
    aliases += "template <> struct A<fp16_t> { };\ntemplate <> struct A<fp8_t> { };\n"
    kept = prune(aliases, "A<scalar_t> a;", ["float16"])
    assert "A<fp16_t>" in kept
    assert "using fp16_t" in kept
    assert "fp8" not in kept
