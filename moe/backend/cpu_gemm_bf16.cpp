#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "moe/backend/backend.h"
#include "moe/backend/cpu_gemm.h"

/// Matrix products of bf16 by oneDNN's matmul. Its primitives take sizes when they are executed:
/// the rows of experts are another number in every iteration, and a primitive for one size takes
/// milliseconds to make. On an EPYC with AVX512_BF16, products of 31 to 2048 rows ran between 0.8
/// and 1.2 times as fast as those made for their size, weight gradients always faster.
namespace moe {
namespace {

using dnnl::memory;

/// All that a primitive is made for.
struct Form {
  bool transpose_a = false, transpose_b = false, accumulate = false, biased = false, wide = false;
  friend auto operator<=>(const Form&, const Form&) = default;
};

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

/// A matrix that may be stored by columns. Sizes may be DNNL_RUNTIME_DIM_VAL.
memory::desc matrix(std::int64_t rows, std::int64_t columns, std::int64_t ld, bool by_columns,
                    memory::data_type type) {
  return {{rows, columns}, type, by_columns ? memory::dims{1, ld} : memory::dims{ld, 1}};
}

memory::data_type type_of_c(const Form& form) {
  return form.wide ? memory::data_type::f32 : memory::data_type::bf16;
}

dnnl::matmul::primitive_desc describe(const Form& form) {
  constexpr std::int64_t any = DNNL_RUNTIME_DIM_VAL;
  const auto bf16 = memory::data_type::bf16;
  const memory::desc a = matrix(any, any, any, form.transpose_a, bf16),
                     b = matrix(any, any, any, form.transpose_b, bf16),
                     c = matrix(any, any, any, false, type_of_c(form)),
                     bias = matrix(1, any, any, false, bf16);
  dnnl::primitive_attr attributes;
  // Of the caller's: primitives run on several threads at a time.
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (form.accumulate) {
    dnnl::post_ops add;
    add.append_sum(1.0f);
    attributes.set_post_ops(add);
  }
  const auto product =
      form.biased ? dnnl::matmul::desc(a, b, bias, c) : dnnl::matmul::desc(a, b, c);
  return {product, attributes, engine()};
}

struct Product {
  explicit Product(const dnnl::matmul::primitive_desc& description)
      : primitive(description), scratch(description.scratchpad_desc()) {}
  dnnl::matmul primitive;
  memory::desc scratch;
};

/// Made at the first use of a form.
const Product& product_of(const Form& form) {
  static std::mutex mutex;
  static std::map<Form, Product> made;
  const std::lock_guard lock(mutex);
  const auto found = made.find(form);
  return found != made.end() ? found->second
                             : made.emplace(form, Product(describe(form))).first->second;
}

/// The first of a batch, on this thread.
template <class Out>
void multiply_bf16(const Gemm<Bf16, Out>& gemm) {
  omp_set_num_threads(1);  // of oneDNN, for this thread
  const Form form{gemm.transpose_a, gemm.transpose_b, gemm.accumulate, gemm.bias != nullptr,
                  std::is_same_v<Out, float>};
  const Product& product = product_of(form);
  thread_local dnnl::stream stream(engine());
  thread_local std::vector<std::byte> scratch;
  if (scratch.size() < product.scratch.get_size()) scratch.resize(product.scratch.get_size());
  const auto at = [](const memory::desc& desc, const void* data) {
    return memory(desc, engine(), const_cast<void*>(data));
  };
  const auto bf16 = memory::data_type::bf16;
  std::unordered_map<int, memory> arguments{
      {DNNL_ARG_SRC, at(matrix(gemm.m, gemm.k, gemm.lda, gemm.transpose_a, bf16), gemm.a)},
      {DNNL_ARG_WEIGHTS, at(matrix(gemm.k, gemm.n, gemm.ldb, gemm.transpose_b, bf16), gemm.b)},
      {DNNL_ARG_DST, at(matrix(gemm.m, gemm.n, gemm.ldc, false, type_of_c(form)), gemm.c)},
      {DNNL_ARG_SCRATCHPAD, at(product.scratch, scratch.data())}};
  if (form.biased) {
    arguments.emplace(DNNL_ARG_BIAS, at(matrix(1, gemm.n, gemm.n, false, bf16), gemm.bias));
  }
  product.primitive.execute(stream, arguments);
  stream.wait();
}

/// Rows of one type to rows of another.
template <class From, class To>
void convert(const From* from, std::int64_t from_ld, std::int64_t rows, std::int64_t columns,
             To* to, std::int64_t to_ld, const SharedLoop& share) {
  constexpr std::int64_t kLeastConverted = 4096;  // takes as long as a loop takes to be shared
  const std::int64_t least = kLeastConverted / std::max<std::int64_t>(columns, 1) + 1;
  share(rows, least, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      std::copy_n(from + row * from_ld, columns, to + row * to_ld);
    }
  });
}

/// Memory that grows and does not keep its contents. It asks for large pages, as that of tensors
/// does: products go down columns, and rows of small pages are each looked up anew.
class Floats {
 public:
  Floats() = default;
  Floats(const Floats&) = delete;
  Floats& operator=(const Floats&) = delete;
  ~Floats() { std::free(data_); }

  float* at_least(std::int64_t count) {
    if (count <= count_) return data_;
    constexpr std::size_t kLargePage = 2 << 20, kLine = 64;
    const std::size_t wanted = static_cast<std::size_t>(count) * sizeof(float),
                      unit = wanted < kLargePage ? kLine : kLargePage,
                      bytes = (wanted + unit - 1) / unit * unit;
    std::free(data_);
    count_ = 0;
    data_ = static_cast<float*>(std::aligned_alloc(unit, bytes));
    if (data_ == nullptr) throw std::bad_alloc();
    if (unit == kLargePage) madvise(data_, bytes, MADV_HUGEPAGE);
    count_ = count;
    return data_;
  }

 private:
  float* data_ = nullptr;
  std::int64_t count_ = 0;
};

/// A product in float, the first of a batch, of operands that were converted to it.
class WideProduct {
 public:
  template <class Out>
  void run(const Gemm<Bf16, Out>& gemm, const SharedLoop& share) {
    constexpr bool kConverts = !std::is_same_v<Out, float>;
    const std::int64_t a_rows = gemm.transpose_a ? gemm.k : gemm.m,
                       a_columns = gemm.transpose_a ? gemm.m : gemm.k,
                       b_rows = gemm.transpose_b ? gemm.n : gemm.k,
                       b_columns = gemm.transpose_b ? gemm.k : gemm.n;
    Gemm<float> wide{.m = gemm.m,
                     .n = gemm.n,
                     .k = gemm.k,
                     .a = widened(gemm.a, gemm.lda, a_rows, a_columns, a_, share),
                     .lda = a_columns,
                     .transpose_a = gemm.transpose_a,
                     .b = widened(gemm.b, gemm.ldb, b_rows, b_columns, b_, share),
                     .ldb = b_columns,
                     .transpose_b = gemm.transpose_b,
                     .accumulate = gemm.accumulate};
    if (gemm.bias != nullptr) wide.bias = widened(gemm.bias, gemm.n, 1, gemm.n, bias_, share);
    if constexpr (kConverts) {
      wide.ldc = gemm.n;
      wide.c = gemm.accumulate ? widened(gemm.c, gemm.ldc, gemm.m, gemm.n, c_, share)
                               : c_.at_least(gemm.m * gemm.n);
      cpu_gemm(wide, share);
      convert(wide.c, gemm.n, gemm.m, gemm.n, gemm.c, gemm.ldc, share);
    } else {
      wide.ldc = gemm.ldc;
      wide.c = gemm.c;
      cpu_gemm(wide, share);
    }
  }

 private:
  static float* widened(const Bf16* from, std::int64_t ld, std::int64_t rows, std::int64_t columns,
                        Floats& storage, const SharedLoop& share) {
    float* to = storage.at_least(rows * columns);
    convert(from, ld, rows, columns, to, columns, share);
    return to;
  }

  Floats a_, b_, c_, bias_;
};

/// True where the processor, as far as oneDNN may use it, has instructions for products of bf16.
bool has_instructions() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::avx512_core_bf16:
    case dnnl::cpu_isa::avx512_core_amx:
      return true;
    default:
      return false;
  }
}

/// Whether these instructions take less time than the product in float does. On an EPYC they took
/// half as long, on a Xeon without AMX twice as long.
bool measured_faster() {
  constexpr std::int64_t kRows = 128, kWidth = 512;
  constexpr int kRounds = 6;
  const std::vector<Bf16> a(kRows * kWidth, 1.0f), b(kWidth * kWidth, 1.0f);
  std::vector<Bf16> c(kRows * kWidth);
  const Gemm<Bf16> gemm{.m = kRows,
                        .n = kWidth,
                        .k = kWidth,
                        .a = a.data(),
                        .lda = kWidth,
                        .b = b.data(),
                        .ldb = kWidth,
                        .c = c.data(),
                        .ldc = kWidth};
  WideProduct converted;
  const auto took = [](const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::steady_clock::now() - start;
  };
  auto by_instructions = std::chrono::steady_clock::duration::max(), in_float = by_instructions;
  for (int round = 0; round < kRounds; ++round) {  // the first ones fill caches
    by_instructions = std::min(by_instructions, took([&] { multiply_bf16(gemm); }));
    in_float = std::min(in_float, took([&] { converted.run(gemm, on_this_thread); }));
  }
  return by_instructions < in_float;
}

template <class Out>
void run_bf16(const Gemm<Bf16, Out>& gemm, Bf16Way way, const SharedLoop& share) {
  if (gemm.m == 0 || gemm.n == 0) return;
  thread_local WideProduct converted;
  for (std::int64_t i = 0; i < gemm.batch; ++i) {
    Gemm<Bf16, Out> one = gemm;
    one.a += i * gemm.stride_a;
    one.b += i * gemm.stride_b;
    one.c += i * gemm.stride_c;
    if (gemm.k == 0 || way == Bf16Way::in_float) {
      converted.run(one, share);  // without terms it leaves C, or writes zeros or the bias
    } else {
      share(gemm.m, kLeastGemmRows, [&](std::int64_t begin, std::int64_t end) {
        multiply_bf16(product_of_rows(one, begin, end));
      });
    }
  }
}

}  // namespace

std::vector<Bf16Way> bf16_ways() {
  if (has_instructions()) return {Bf16Way::by_instructions, Bf16Way::in_float};
  return {Bf16Way::in_float};
}

Bf16Way faster_bf16_way() {
  static const Bf16Way way =
      has_instructions() && measured_faster() ? Bf16Way::by_instructions : Bf16Way::in_float;
  return way;
}

std::string remark_on_bf16() {
  if (faster_bf16_way() == Bf16Way::by_instructions) return "";
  const std::string why = has_instructions() ? "multiplies bf16 more slowly than f32"
                                             : "has neither AVX512_BF16 nor AMX";
  return "bf16: this processor " + why +
         ", so products are made in f32 after conversion: expect less speed than with f32";
}

void cpu_gemm(const Gemm<Bf16>& gemm, Bf16Way way, const SharedLoop& share) {
  run_bf16(gemm, way, share);
}
void cpu_gemm(const Gemm<Bf16, float>& gemm, Bf16Way way, const SharedLoop& share) {
  run_bf16(gemm, way, share);
}

}  // namespace moe
