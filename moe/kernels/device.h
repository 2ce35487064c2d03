#pragma once

/// Marks the body of a kernel: code that is written once and compiled for the processor by the C++
/// compiler and for the device by nvcc. Only this file asks which compiler it is.
/// MOE_UNROLL: the loop that follows has a constant number of steps, and its arrays lie in registers.
#ifdef __CUDACC__
#define MOE_BODY __device__ inline
#define MOE_UNROLL _Pragma("unroll")
#else
#define MOE_BODY inline
#define MOE_UNROLL _Pragma("GCC unroll 16")
#endif
