#pragma once

#include <cuda_runtime.h>

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "moe/kernels/bf16.h"
#include "moe/ops/attention.h"

namespace moe {

/// Causal attention in bf16 of some heads of some sequences, which lie among those of other heads as
/// in ops/attention.h: `heads` heads of q over `key_value_heads` of k and v.
struct FusedSizes {
  std::int64_t sequences, length, heads, key_value_heads;
  std::int64_t head_width, value_width;  ///< columns of a head of q and k, and of v
  std::int64_t row, width;               ///< elements from token to token of qkv, and of y
  double scale = 0;                      ///< of scores; 0: 1 / sqrt(head_width)
  auto operator<=>(const FusedSizes&) const = default;
};

inline float scale_of(const FusedSizes& s) { return scale_of_scores<float>(s.scale, s.head_width); }

/// How many elements lie between an element of [sequence, head, token, column] and the next.
struct FusedLayout {
  std::int64_t heads, columns;
  std::int64_t sequence, head, token;
};
inline FusedLayout queries_layout(const FusedSizes& s) {  // also of their gradients
  return {s.heads, s.head_width, s.length * s.row, s.head_width, s.row};
}
inline FusedLayout keys_layout(const FusedSizes& s) {  // also of their gradients
  return {s.key_value_heads, s.head_width, s.length * s.row, s.head_width, s.row};
}
inline FusedLayout values_layout(const FusedSizes& s) {  // also of their gradients
  return {s.key_value_heads, s.value_width, s.length * s.row, s.value_width, s.row};
}
inline FusedLayout outputs_layout(const FusedSizes& s) {  // also of their gradients
  return {s.heads, s.value_width, s.length * s.width, s.value_width, s.width};
}
/// Packed, as cuDNN wants it.
inline FusedLayout statistics_layout(const FusedSizes& s) {
  return {s.heads, 1, s.heads * s.length, s.length, 1};
}

/// The first elements of what a call reads and writes.
struct FusedOperands {
  const Bf16 *q, *k, *v;
  Bf16* y;             ///< read by the gradient, as the next
  float* log_sum_exp;  ///< of the scaled scores, natural
  const Bf16* dy = nullptr;
  Bf16 *dq = nullptr, *dk = nullptr, *dv = nullptr;  ///< written by the gradient
};

/// A kernel, or a few, for one set of sizes.
class FusedPlan {
 public:
  virtual ~FusedPlan() = default;
  virtual std::int64_t workspace_bytes() const = 0;
  /// Enqueues it. The workspace is memory of the device, aligned to 256 bytes. Throws CudaError.
  virtual void run(const FusedOperands& operands, void* workspace, cudaStream_t stream) = 0;
};

/// A plan, or why there is none.
struct MadePlan {
  std::unique_ptr<FusedPlan> plan;
  std::string refusal;
};

/// A library that computes attention without storing scores. In programs it is cuDNN, loaded at run
/// time (cudnn.cpp; no_cudnn.cpp where a build has not its headers), on the device in software plain
/// loops (tests/cuda_emulation).
class FusedLibrary {
 public:
  virtual ~FusedLibrary() = default;
  /// Gradients have the same bits on every run.
  virtual MadePlan plan(const FusedSizes& sizes, bool gradient) = 0;
};

/// "cuDNN 9.19.0"; "" where it is not there.
std::string fused_library_name();
/// A device that need not be there: its properties as cuDNN writes them.
struct DescribedDevice {
  std::string json;
  int compute_capability;  ///< 90 for 9.0
};
/// On the current device, or for a described one, whose plans cannot be run. nullptr where the library
/// is not there. Throws CudaError.
std::unique_ptr<FusedLibrary> open_fused_library(const DescribedDevice* described = nullptr);

/// The calls that compute a whole op, each of some sequences or of some heads of one.
struct FusedCalls {
  struct Call {
    FusedPlan* plan;
    std::int64_t sequence, key_value_head;  ///< its first ones
  };
  std::vector<std::unique_ptr<FusedPlan>> plans;
  std::vector<Call> calls;  ///< none where the library does not compute it
  std::string refusal;      ///< why
};
/// As few calls as there is workspace for: all at once, else whole sequences, else heads of one
/// sequence, by their heads of k and v. Where statistics of a part would begin at no multiple of 16
/// bytes, none.
FusedCalls plan_calls(FusedLibrary& library, const FusedSizes& whole, bool gradient,
                      std::int64_t workspace_bytes);

/// Which kernels compute attention in bf16: those of the library, where there is one, or the tiles
/// of kernels/attention.h.
class FusedAttention {
 public:
  /// On the current device; nullptr for tiles. The variable MOELAB_ATTENTION chooses: "tiles",
  /// "fused", which must be there and begin, or unset for what does. Throws Unavailable or what
  /// open_fused_library() throws, and InputError for another word.
  static std::unique_ptr<FusedAttention> chosen();

  explicit FusedAttention(std::unique_ptr<FusedLibrary> library) : library_(std::move(library)) {}

  /// Planned once for each set of sizes. No calls where the library does not compute it, which is
  /// said once.
  const std::vector<FusedCalls::Call>& calls(const FusedSizes& whole, bool gradient,
                                             std::int64_t workspace_bytes);

 private:
  std::unique_ptr<FusedLibrary> library_;
  std::map<std::tuple<FusedSizes, bool, std::int64_t>, FusedCalls> planned_;
};

}  // namespace moe
