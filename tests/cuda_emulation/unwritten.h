#pragma once

#include <cstddef>
#include <string>

#include "tests/cuda_emulation/device_memory.h"

/// Which bytes of devices nobody has written. Sources of kernels, of cuBLAS and of NCCL in software
/// are compiled with -fsanitize=kernel-address: GCC then calls functions of unwritten.cpp before
/// every access. A byte of a device is unwritten until a kernel, a product, a message, a copy or a
/// memset writes it. Memory that is given back and taken again is unwritten. To read such a byte is
/// an error of the device.
///
/// A copy takes what is there: between devices' memory the marks go with it. What the host has
/// pinned counts as written. Messages may hold the gaps between tensors, from the end of one to the
/// next multiple of memory_plan.h's alignment. Kernels of kernels/pattern.h look at memory, not at
/// values: they may read anything, and where they lay the pattern nothing is written any more.
///
/// no_unwritten.cpp has none of that, for builds with sanitizers and for compilers other than GCC.
namespace moelab::cuda_emulation {

/// Addresses, without memory, for an allocation. All bytes of one of a device are unwritten, and none
/// before it had these addresses. nullptr where there are no more.
std::byte* take_addresses(std::size_t bytes, MemoryKind kind);
void give_addresses(std::byte* begin, std::size_t bytes);

/// Copies, as cudaMemcpyAsync does.
void copy_with_marks(void* to, const void* from, std::size_t bytes);

/// The calling thread begins work of a stream.
void watch_reads(const std::string& work);
/// Throws Refusal where it has read what nobody wrote since then. A kernel that does so has ended at
/// once, with the error that misuse of barriers has.
void refuse_unwritten();

}  // namespace moelab::cuda_emulation
