// In place of cuDNN's attention: plain loops in the layouts that cuDNN is given, with a workspace as
// large as its, and with its limits. The tables of tests/moe/kernels compare them with tiles.
#include "moe/backend/cuda/fused_attention.cuh"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "moe/backend/cuda_check.cuh"
#include "moe/ops/attention.h"
#include "tests/cuda_emulation/device.h"
#include "tests/cuda_emulation/stream.h"

namespace moe {
namespace {

namespace emulation = moelab::cuda_emulation;

/// An operand as its layout says.
template <class T>
struct Laid {
  T* first;
  FusedLayout layout;

  T* at(std::int64_t sequence, std::int64_t head, std::int64_t token) const {
    return first + sequence * layout.sequence + head * layout.head + token * layout.token;
  }
  void check(const FusedSizes& s) const {
    const T* const last = at(s.sequences - 1, layout.heads - 1, s.length - 1) + layout.columns;
    emulation::check_device_pointer(first, static_cast<std::size_t>(last - first) * sizeof(T),
                                    "fused attention");
  }
};

struct LoopsOfAttention {
  FusedSizes s;
  FusedOperands o;
  Bf16* workspace;  ///< gradients of scores

  Laid<const Bf16> q() const { return {o.q, queries_layout(s)}; }
  Laid<const Bf16> k() const { return {o.k, keys_layout(s)}; }
  Laid<const Bf16> v() const { return {o.v, values_layout(s)}; }
  Laid<Bf16> y() const { return {o.y, outputs_layout(s)}; }
  Laid<const Bf16> dy() const { return {o.dy, outputs_layout(s)}; }
  Laid<Bf16> dq() const { return {o.dq, queries_layout(s)}; }
  Laid<float> log_sum_exp() const { return {o.log_sum_exp, statistics_layout(s)}; }

  static float dot(const Bf16* a, const Bf16* b, std::int64_t count) {
    float sum = 0;
    for (std::int64_t c = 0; c < count; ++c) sum += float(a[c]) * float(b[c]);
    return sum;
  }
  float score(std::int64_t sequence, std::int64_t head, std::int64_t query,
              std::int64_t key) const {
    return dot(q().at(sequence, head, query), k().at(sequence, head / sharing(), key),
               s.head_width) *
           scale_of(s);
  }

  template <class F>
  void for_each_query(F f) const {
    for (std::int64_t sequence = 0; sequence < s.sequences; ++sequence) {
      for (std::int64_t head = 0; head < s.heads; ++head) {
        for (std::int64_t query = 0; query < s.length; ++query) f(sequence, head, query);
      }
    }
  }

  void forward() const {
    std::vector<float> scores(static_cast<std::size_t>(s.length)),
        sums(static_cast<std::size_t>(s.value_width));
    for_each_query([&](std::int64_t sequence, std::int64_t head, std::int64_t query) {
      const auto keys = static_cast<std::size_t>(query + 1);
      float largest = -INFINITY, sum = 0;
      for (std::size_t key = 0; key < keys; ++key) {
        scores[key] = score(sequence, head, query, static_cast<std::int64_t>(key));
        largest = std::max(largest, scores[key]);
      }
      std::fill(sums.begin(), sums.end(), 0.0F);
      for (std::size_t key = 0; key < keys; ++key) {
        const float e = std::exp(scores[key] - largest);
        sum += e;
        const Bf16* const value =
            v().at(sequence, head / sharing(), static_cast<std::int64_t>(key));
        for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += float(Bf16(e)) * float(value[c]);
      }
      Bf16* const out = y().at(sequence, head, query);
      for (std::size_t c = 0; c < sums.size(); ++c) out[c] = sums[c] / sum;
      *log_sum_exp().at(sequence, head, query) = largest + std::log(sum);
    });
  }

  std::int64_t sharing() const { return s.heads / s.key_value_heads; }
  Bf16& score_gradient(std::int64_t sequence, std::int64_t head, std::int64_t query,
                       std::int64_t key) const {
    return workspace[((sequence * s.heads + head) * s.length + query) * s.length + key];
  }
  float probability(std::int64_t sequence, std::int64_t head, std::int64_t query,
                    std::int64_t key) const {
    return std::exp(score(sequence, head, query, key) - *log_sum_exp().at(sequence, head, query));
  }

  void gradient() const {
    std::vector<float> sums(static_cast<std::size_t>(s.head_width));
    for_each_query([&](std::int64_t sequence, std::int64_t head, std::int64_t query) {
      of_query(sums, sequence, head, query);
    });
    for (std::int64_t sequence = 0; sequence < s.sequences; ++sequence) {
      for (std::int64_t head = 0; head < s.key_value_heads; ++head) {
        for (std::int64_t key = 0; key < s.length; ++key) of_key(sequence, head, key);
      }
    }
  }
  void of_query(std::vector<float>& sums, std::int64_t sequence, std::int64_t head,
                std::int64_t query) const {
    const Bf16* const row_dy = dy().at(sequence, head, query);
    const float own = dot(row_dy, y().at(sequence, head, query), s.value_width),
                scale = scale_of(s);
    std::fill(sums.begin(), sums.end(), 0.0F);
    for (std::int64_t key = 0; key <= query; ++key) {
      const float dp = dot(row_dy, v().at(sequence, head / sharing(), key), s.value_width);
      Bf16& ds = score_gradient(sequence, head, query, key);
      ds = scale * probability(sequence, head, query, key) * (dp - own);
      const Bf16* const row = k().at(sequence, head / sharing(), key);
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += float(ds) * float(row[c]);
    }
    std::copy(sums.begin(), sums.end(), dq().at(sequence, head, query));
  }
  void of_key(std::int64_t sequence, std::int64_t of_keys, std::int64_t key) const {
    const Laid<Bf16> dk{o.dk, keys_layout(s)}, dv{o.dv, values_layout(s)};
    std::vector<float> to_key(static_cast<std::size_t>(s.head_width)),
        to_value(static_cast<std::size_t>(s.value_width));
    for (std::int64_t head = of_keys * sharing(); head < (of_keys + 1) * sharing(); ++head) {
      for (std::int64_t query = key; query < s.length; ++query) {
        const float p = Bf16(probability(sequence, head, query, key)),
                    ds = score_gradient(sequence, head, query, key);
        const Bf16 *const row_q = q().at(sequence, head, query), *const row_dy =
                                                                     dy().at(sequence, head, query);
        for (std::size_t c = 0; c < to_key.size(); ++c) to_key[c] += ds * float(row_q[c]);
        for (std::size_t c = 0; c < to_value.size(); ++c) to_value[c] += p * float(row_dy[c]);
      }
    }
    std::copy(to_key.begin(), to_key.end(), dk.at(sequence, of_keys, key));
    std::copy(to_value.begin(), to_value.end(), dv.at(sequence, of_keys, key));
  }
};

class LoopPlan : public FusedPlan {
 public:
  LoopPlan(const FusedSizes& sizes, bool gradient) : sizes_(sizes), gradient_(gradient) {}

  /// As much as cuDNN 9.19 takes on an H200.
  std::int64_t workspace_bytes() const override {
    if (!gradient_) return 256;
    const FusedSizes& s = sizes_;
    const AttentionHeads heads{s.key_value_heads, s.heads / s.key_value_heads, s.head_width,
                               s.value_width};
    return s.sequences * s.key_value_heads * fused_gradient_bytes(heads, s.length);
  }
  void run(const FusedOperands& operands, void* workspace, cudaStream_t stream) override {
    const LoopsOfAttention loops{sizes_, operands, static_cast<Bf16*>(workspace)};
    check(emulation::runtime_call([&] {
            emulation::check_device_pointer(workspace, static_cast<std::size_t>(workspace_bytes()),
                                            "fused attention");
            loops.q().check(sizes_);
            loops.k().check(sizes_);
            loops.v().check(sizes_);
            loops.y().check(sizes_);
            loops.log_sum_exp().check(sizes_);
            if (gradient_) {
              loops.dy().check(sizes_);
              loops.dq().check(sizes_);
            }
            emulation::enqueue(stream, "fused attention", [=, this_gradient = gradient_] {
              this_gradient ? loops.gradient() : loops.forward();
            });
            return cudaSuccess;
          }),
          "fused attention");
  }

 private:
  FusedSizes sizes_;
  bool gradient_;
};

/// Takes what cuDNN takes: heads of whole 16 bytes, up to 256 wide.
class Loops : public FusedLibrary {
 public:
  MadePlan plan(const FusedSizes& sizes, bool gradient) override {
    for (const std::int64_t width : {sizes.head_width, sizes.value_width}) {
      if (width % 8 != 0 || width > 256) {
        return {nullptr, "heads of " + std::to_string(width) + " elements"};
      }
    }
    return {std::make_unique<LoopPlan>(sizes, gradient), ""};
  }
};

}  // namespace

std::string fused_library_name() { return "loops in place of cuDNN"; }
std::unique_ptr<FusedLibrary> open_fused_library(const DescribedDevice*) {
  return std::make_unique<Loops>();
}

}  // namespace moe
