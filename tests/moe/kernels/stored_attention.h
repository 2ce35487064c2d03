#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "moe/backend/cpu_gemm.h"
#include "moe/kernels/math.h"
#include "moe/kernels/serial_team.h"

namespace moe::test {

/// Causal attention that stores its probabilities, [heads, L, L] for every sequence, as it is in
/// textbooks: what the attention of moe/kernels is compared with, in tests and in timings. On one
/// thread, with the GEMMs of the processor's back end. The columns of qkv are those of Attention.
template <class Stored>
class StoredAttention {
 public:
  using Real = Wide<Stored>;

  StoredAttention(std::int64_t sequences, std::int64_t length, std::int64_t heads,
                  std::int64_t key_value_heads, std::int64_t head_width)
      : sequences_(sequences),
        length_(length),
        heads_(heads),
        sharing_(heads / key_value_heads),
        key_value_heads_(key_value_heads),
        head_width_(head_width),
        width_(heads * head_width),
        row_((heads + 2 * key_value_heads) * head_width),
        scale_(Real(1) / std::sqrt(static_cast<Real>(head_width))),
        probabilities_(static_cast<std::size_t>(sequences * heads * length * length)),
        gradients_(static_cast<std::size_t>(kBlock * length)),
        sums_(static_cast<std::size_t>(length * 2 * head_width)) {}

  std::int64_t kept_bytes() const { return bytes_of_vector(probabilities_); }
  std::int64_t scratch_bytes() const {
    return bytes_of_vector(gradients_) + bytes_of_vector(sums_);
  }

  void forward(const Stored* qkv, Stored* y) {
    for (std::int64_t i = 0; i < sequences_ * heads_; ++i) {
      const Head h = head(i);
      for (std::int64_t begin = 0; begin < length_; begin += kBlock) {
        const std::int64_t queries = std::min(kBlock, length_ - begin), keys = begin + queries;
        Stored* p = probabilities_.data() + (i * length_ + begin) * length_;
        cpu_gemm(scores(queries, keys, qkv + h.q + begin * row_, row_, qkv + h.k, p));
        for (std::int64_t query = 0; query < queries; ++query) {
          softmax(p + query * length_, begin + query + 1, keys);
        }
        cpu_gemm(of_queries(queries, keys, p, qkv + h.v, y + h.y + begin * width_, width_));
      }
    }
  }

  /// After forward().
  void backward(const Stored* dy, const Stored* qkv, Stored* d_qkv) {
    for (std::int64_t i = 0; i < sequences_ * heads_; ++i) {
      const Head h = head(i);
      if (h.of_shared == 0) std::fill(sums_.begin(), sums_.end(), Real(0));
      for (std::int64_t begin = 0; begin < length_; begin += kBlock) {
        const std::int64_t queries = std::min(kBlock, length_ - begin), keys = begin + queries;
        const Stored* p = probabilities_.data() + (i * length_ + begin) * length_;
        const Stored* d_out = dy + h.y + begin * width_;
        const Stored* q = qkv + h.q + begin * row_;
        Stored* d = gradients_.data();
        cpu_gemm(scores(queries, keys, d_out, width_, qkv + h.v, d));
        cpu_gemm(of_keys(queries, keys, p, d_out, width_, sums_.data() + head_width_));
        for (std::int64_t query = 0; query < queries; ++query) {
          softmax_gradient(p + query * length_, d + query * length_, begin + query + 1, keys);
        }
        cpu_gemm(of_queries(queries, keys, d, qkv + h.k, d_qkv + h.q + begin * row_, row_));
        cpu_gemm(of_keys(queries, keys, d, q, row_, sums_.data()));
      }
      if (h.of_shared + 1 == sharing_) store_sums(d_qkv + h.k, d_qkv + h.v);
    }
  }

 private:
  static constexpr std::int64_t kBlock = 64;

  /// A head of q: where its first token, that of its keys and values, and that of y lie.
  struct Head {
    std::int64_t q, k, v, y, of_shared;
  };
  Head head(std::int64_t i) const {
    const std::int64_t head = i % heads_, first = i / heads_ * length_;
    const std::int64_t k = first * row_ + width_ + head / sharing_ * head_width_;
    return {first * row_ + head * head_width_, k, k + key_value_heads_ * head_width_,
            first * width_ + head * head_width_, head % sharing_};
  }

  Gemm<Stored> scores(std::int64_t queries, std::int64_t keys, const Stored* a, std::int64_t lda,
                      const Stored* b, Stored* c) const {
    return {.m = queries,
            .n = keys,
            .k = head_width_,
            .a = a,
            .lda = lda,
            .b = b,
            .ldb = row_,
            .transpose_b = true,
            .c = c,
            .ldc = length_};
  }
  Gemm<Stored> of_queries(std::int64_t queries, std::int64_t keys, const Stored* a, const Stored* b,
                          Stored* c, std::int64_t ldc) const {
    return {.m = queries,
            .n = head_width_,
            .k = keys,
            .a = a,
            .lda = length_,
            .b = b,
            .ldb = row_,
            .c = c,
            .ldc = ldc};
  }
  Gemm<Stored, Real> of_keys(std::int64_t queries, std::int64_t keys, const Stored* a,
                             const Stored* b, std::int64_t ldb, Real* c) const {
    return {.m = keys,
            .n = head_width_,
            .k = queries,
            .a = a,
            .lda = length_,
            .transpose_a = true,
            .b = b,
            .ldb = ldb,
            .c = c,
            .ldc = 2 * head_width_,
            .accumulate = true};
  }

  void softmax(Stored* p, std::int64_t keys, std::int64_t width) const {
    SerialTeam team;
    const Real factor = scale_;
    const Real largest = team.max(keys, [=](std::int64_t i) { return Real(p[i]); });
    const Real sum = team.sum(keys, [=](std::int64_t i) {
      const Real e = exponential((p[i] - largest) * factor);
      p[i] = e;
      return e;
    });
    const Real inverse = Real(1) / sum;
    team.for_each(keys, [=](std::int64_t i) { p[i] = p[i] * inverse; });
    std::fill(p + keys, p + width, Stored(0));
  }
  void softmax_gradient(const Stored* p, Stored* d, std::int64_t keys, std::int64_t width) const {
    SerialTeam team;
    const Real factor = scale_;
    const Real dot = team.sum(keys, [=](std::int64_t i) { return Real(p[i]) * Real(d[i]); });
    team.for_each(keys, [=](std::int64_t i) { d[i] = factor * p[i] * (d[i] - dot); });
    std::fill(d + keys, d + width, Stored(0));
  }
  void store_sums(Stored* dk, Stored* dv) const {
    for (std::int64_t token = 0; token < length_; ++token) {
      const Real* sums = sums_.data() + token * 2 * head_width_;
      for (std::int64_t c = 0; c < head_width_; ++c) {
        dk[token * row_ + c] = sums[c];
        dv[token * row_ + c] = sums[head_width_ + c];
      }
    }
  }

  template <class T>
  static std::int64_t bytes_of_vector(const std::vector<T>& values) {
    return static_cast<std::int64_t>(values.size() * sizeof(T));
  }

  std::int64_t sequences_, length_, heads_, sharing_, key_value_heads_, head_width_, width_, row_;
  Real scale_;
  std::vector<Stored> probabilities_, gradients_;
  std::vector<Real> sums_;
};

}  // namespace moe::test
