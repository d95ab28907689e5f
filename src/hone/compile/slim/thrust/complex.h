// Found before CUDA's own <thrust/complex.h>: the names that c10::complex mentions, see hone_core.h.
#ifndef HONE_FUNCTIONS_ONLY
#include_next <thrust/complex.h>
#elif !defined(HONE_THRUST_COMPLEX)
#define HONE_THRUST_COMPLEX
namespace thrust {
template <typename T>
struct complex;
#define HONE_COMPLEX_FUNCTION(name) template <typename T> __host__ __device__ complex<T> name(const complex<T>&);
HONE_COMPLEX_FUNCTION(exp)
HONE_COMPLEX_FUNCTION(log)
HONE_COMPLEX_FUNCTION(log10)
HONE_COMPLEX_FUNCTION(sqrt)
HONE_COMPLEX_FUNCTION(sin)
HONE_COMPLEX_FUNCTION(cos)
HONE_COMPLEX_FUNCTION(tan)
HONE_COMPLEX_FUNCTION(asin)
HONE_COMPLEX_FUNCTION(acos)
HONE_COMPLEX_FUNCTION(atan)
HONE_COMPLEX_FUNCTION(sinh)
HONE_COMPLEX_FUNCTION(cosh)
HONE_COMPLEX_FUNCTION(tanh)
HONE_COMPLEX_FUNCTION(asinh)
HONE_COMPLEX_FUNCTION(acosh)
HONE_COMPLEX_FUNCTION(atanh)
HONE_COMPLEX_FUNCTION(conj)
HONE_COMPLEX_FUNCTION(proj)
#undef HONE_COMPLEX_FUNCTION
template <typename T>
__host__ __device__ T abs(const complex<T>&);
template <typename T>
__host__ __device__ complex<T> polar(const T&, const T&);
template <typename T, typename U>
__host__ __device__ complex<T> pow(const T&, const U&);
}  // namespace thrust
#endif
