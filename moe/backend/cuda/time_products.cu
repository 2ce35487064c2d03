// The fastest of cublasLt's algorithms for a product.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "moe/backend/cuda/gemm.cuh"
#include "moe/backend/cuda_exec.cuh"
#include "moe/kernels/fill.h"

namespace moe {
namespace {

constexpr int kRounds = 5;
/// Another algorithm than the library's own is taken where it saves so much, and so much of the
/// time: less is what events and other launches take.
constexpr double kLeastSaved_s = 1e-6, kLeastShare = 0.02;

/// Products of numbers that are easy to multiply take less power, and so less time.
template <class T>
struct DrawBody {
  T* out;
  std::uint64_t key;
  MOE_BODY void operator()(std::int64_t i) const {
    out[i] = T(static_cast<float>(initial_normal(key, i)));
  }
};

/// Memory for operands, which ends with the products that are timed.
class Operands {
 public:
  Operands(DeviceStream& stream, std::int64_t bytes) : exec_(stream) {
    void* memory = nullptr;
    const cudaError_t status = cudaMalloc(&memory, static_cast<std::size_t>(bytes));
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();  // forgets it
      return;
    }
    check(status, "cudaMalloc");
    memory_ = DeviceMemory(memory);
    next_ = static_cast<std::byte*>(memory);
  }
  bool have_room() const { return static_cast<bool>(memory_); }
  static std::int64_t padded(std::int64_t bytes) { return (bytes + 255) / 256 * 256; }

  template <class T>
  T* draw(std::int64_t elements) {
    T* const begin = reinterpret_cast<T*>(next_);
    exec_.elements(elements, DrawBody<T>{begin, ++key_});
    next_ += padded(elements * static_cast<std::int64_t>(sizeof(T)));
    return begin;
  }

 private:
  CudaExec exec_;
  DeviceMemory memory_;
  std::byte* next_ = nullptr;
  std::uint64_t key_ = 0;
};

double median(std::array<double, kRounds> seconds) {
  std::ranges::nth_element(seconds, seconds.begin() + kRounds / 2);
  return seconds[kRounds / 2];
}

/// Times of every way, in rounds of all of them, after one that loads their kernels.
template <class Way>
std::vector<double> time_ways(DeviceStream& stream, DeviceWaits& waits, int ways, const Way& way) {
  const OwnedEvent begin = make_event(cudaEventDefault), end = make_event(cudaEventDefault);
  std::vector<std::array<double, kRounds>> seconds(static_cast<std::size_t>(ways));
  for (int round = -1; round < kRounds; ++round) {
    for (int i = 0; i < ways; ++i) {
      check(cudaEventRecord(begin.get(), stream.get()), "cudaEventRecord");
      way(i);
      check(cudaEventRecord(end.get(), stream.get()), "cudaEventRecord");
      waits.until(end.get(), "a product that is timed");
      float milliseconds = 0;
      check(cudaEventElapsedTime(&milliseconds, begin.get(), end.get()), "cudaEventElapsedTime");
      if (round >= 0) {
        seconds[static_cast<std::size_t>(i)][static_cast<std::size_t>(round)] = milliseconds / 1e3;
      }
    }
  }
  std::vector<double> medians;
  for (const auto& of_way : seconds) medians.push_back(median(of_way));
  return medians;
}

/// The fastest way, whose text is text(its place), where it saves enough; else the first.
template <class Text>
ProductWay fastest(const Product& product, const std::vector<double>& seconds, const Text& text) {
  ProductWay way{product, "", seconds.front(), seconds.front()};
  const auto least = std::ranges::min_element(seconds);
  const double saved_s = way.unasked_s - *least;
  if (saved_s < kLeastSaved_s || saved_s < kLeastShare * way.unasked_s) return way;
  way.duration_s = *least;
  way.algorithm = text(static_cast<std::size_t>(least - seconds.begin()));
  return way;
}

/// The product with operands that were drawn; A, B and C as often as it is carried out.
template <class In, class Out>
Gemm<In, Out> drawn(Operands& operands, const Product& product) {
  const std::int64_t a = product.m * product.k, b = product.k * product.n,
                     c = product.m * product.n, batch = product.batch;
  Gemm<In, Out> gemm{.m = product.m,
                     .n = product.n,
                     .k = product.k,
                     .a = operands.draw<In>(a * batch),
                     .lda = product.transpose_a ? product.m : product.k,
                     .transpose_a = product.transpose_a,
                     .b = operands.draw<In>(b * batch),
                     .ldb = product.transpose_b ? product.k : product.n,
                     .transpose_b = product.transpose_b,
                     .c = operands.draw<Out>(c * batch),
                     .ldc = product.n,
                     .accumulate = product.accumulate,
                     .batch = batch,
                     .stride_a = a,
                     .stride_b = b,
                     .stride_c = c,
                     .stride_bias = product.n};
  if (product.biased) gemm.bias = operands.draw<In>(product.n * batch);
  return gemm;
}

template <class In, class Out>
void time_group(DeviceStream& stream, DeviceWaits& waits, const Gemm<In, Out>& all,
                const Product& product, std::vector<ProductWay>& ways) {
  std::vector<Gemm<In, Out>> gemms(
      static_cast<std::size_t>(std::min(all.batch, static_cast<std::int64_t>(kMostGrouped))));
  for (std::size_t i = 0; i < gemms.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    gemms[i] = all;
    gemms[i].a += place * all.stride_a;
    gemms[i].b += place * all.stride_b;
    gemms[i].c += place * all.stride_c;
    if (all.bias != nullptr) gemms[i].bias += place * all.stride_bias;
    gemms[i].batch = 1;
  }
  static_assert(kGroupWayNames[std::size(kGroupWayNames) - 1] == DeviceStream::kSideBySide);
  const std::size_t count = std::size(kGroupWayNames) - (stream.make_sides() ? 0 : 1);
  const std::vector<double> seconds = time_ways(stream, waits, static_cast<int>(count), [&](int i) {
    std::vector<Gemm<In, Out>> some = gemms;
    small_gemms(stream, std::span<Gemm<In, Out>>(some), static_cast<GroupWay>(i));
  });
  ways.push_back(
      fastest(product, seconds, [](std::size_t i) { return std::string(kGroupWayNames[i]); }));
}

template <class In, class Out>
void time_product(DeviceStream& stream, DeviceWaits& waits, const Product& product,
                  std::vector<ProductWay>& ways) {
  if (product.grouped && occupies(stream, product.m, product.n)) return;
  const auto bytes = [&](std::int64_t elements, std::size_t each) {
    return Operands::padded(elements * product.batch * static_cast<std::int64_t>(each));
  };
  Operands operands(
      stream, bytes(product.m * product.k, sizeof(In)) + bytes(product.k * product.n, sizeof(In)) +
                  bytes(product.m * product.n, sizeof(Out)) + bytes(product.n, sizeof(In)));
  if (!operands.have_room()) return;
  const Gemm<In, Out> gemm = drawn<In, Out>(operands, product);
  if (product.grouped) return time_group(stream, waits, gemm, product, ways);
  const std::vector<Algorithm> algorithms = algorithms_of_lt(stream, gemm, kMostAlgorithms);
  if (algorithms.empty()) return;
  CudaExec exec(stream);
  const auto count = static_cast<int>(algorithms.size());
  const std::vector<double> seconds = time_ways(stream, waits, count + 1, [&](int i) {
    if (i == 0) {
      exec.gemm(gemm);
    } else {
      gemm_by_lt(stream, gemm, algorithms[static_cast<std::size_t>(i - 1)]);
    }
  });
  ways.push_back(
      fastest(product, seconds, [&](std::size_t i) { return algorithm_text(algorithms[i - 1]); }));
}

}  // namespace

std::vector<ProductWay> time_products(DeviceStream& stream, DeviceWaits& waits,
                                      std::span<const Product> products) {
  std::vector<ProductWay> before = stream.ways().all();
  stream.take_ways({});
  std::vector<ProductWay> ways;
  for (const Product& product : products) {
    if (product.in == DType::f32 && product.out == DType::f32) {
      time_product<float, float>(stream, waits, product, ways);
    } else if (product.in == DType::bf16 && product.out == DType::bf16) {
      time_product<Bf16, Bf16>(stream, waits, product, ways);
    } else if (product.in == DType::bf16 && product.out == DType::f32) {
      time_product<Bf16, float>(stream, waits, product, ways);
    }
  }
  stream.take_ways(std::move(before));
  return ways;
}

}  // namespace moe
