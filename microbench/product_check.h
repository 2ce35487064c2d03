#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "moe/program/program.h"

namespace microbench {

/// A matrix of host memory, stored row by row, and whether the product has it transposed.
struct HostMatrix {
  std::span<const std::byte> bytes;
  moe::DType dtype;
  std::int64_t rows, columns;  ///< as stored
  bool transposed = false;
};

/// C[M, N] = A[M, K] B[K, N] + 1 bias^T, all as the product has them. Sums are in the wide type of
/// C, and rounded to its type at the end.
struct CheckedProduct {
  HostMatrix c, a, b;
  HostMatrix bias{};  ///< [1, N]; no bytes: none
};

/// At least how many elements of a product are wrong; 0 where none is found. By Freivalds' test
/// (1977) from both sides, in double, in O(MK + KN + MN): with random signs r and s it compares
///   C r  with  A (B r),  row by row,  and  C^T s  with  B^T (A^T s),  column by column.
/// A row passes where its two numbers differ by at most
///   7 e_i,   e_i = (u + v) |c_i| + v sqrt(N + K) |a_i| |B|
/// with Euclidean norms, u the unit roundoff of C's type (2^-8 in bf16, 2^-24 in f32, 2^-53 in f64)
/// and v that of its sums. Signs know nothing of the rounding, so a right row fails with a
/// probability below 2 exp(-7^2 / 2) = 5e-11 (Hoeffding 1963); sums of K terms are off by
/// sqrt(K) v and not by K v (Higham and Mary 2019). An element is found where it is off by more
/// than 7 e_i: in bf16 by 3% of its row's norm, in f32 by 0.1% (normal operands, N = K = 1024).
/// Where no row is wrong alone, the mean square of all differences must stay below that of e_i,
/// with room for few rows (Laurent and Massart 2000): in bf16 it finds a product that is 1% too
/// large.
/// What is no number is wrong. Throws std::logic_error for integers.
std::int64_t count_wrong_of_product(const CheckedProduct& product);

}  // namespace microbench
