#pragma once

/// Marks the body of a kernel: code that is written once and compiled for the processor by the C++
/// compiler and for the device by nvcc. Only this file asks which compiler it is.
/// MOE_UNROLL: the compiler writes out so many steps of the loop that follows, all where it has no
/// more; its arrays then lie in registers.
#define MOE_PRAGMA(text) _Pragma(#text)
#ifdef __CUDACC__
#define MOE_BODY __device__ inline
#define MOE_UNROLL(steps) MOE_PRAGMA(unroll steps)
#else
#define MOE_BODY inline
#define MOE_UNROLL(steps) MOE_PRAGMA(GCC unroll steps)
#endif
