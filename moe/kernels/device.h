#pragma once

/// Marks the body of a kernel: code that is written once and compiled for the processor by the C++
/// compiler and for the device by nvcc. Only this file asks which compiler it is.
#ifdef __CUDACC__
#define MOE_BODY __device__ inline
#else
#define MOE_BODY inline
#endif
