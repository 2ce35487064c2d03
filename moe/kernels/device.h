#pragma once

/// Marks the body of a kernel: code that is written once and compiled for the processor by the C++
/// compiler and for the device by nvcc. The one place where the sources ask who compiles them.
#ifdef __CUDACC__
#define MOE_BODY __device__ inline
#else
#define MOE_BODY inline
#endif
