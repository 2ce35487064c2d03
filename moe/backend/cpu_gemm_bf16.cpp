#include <omp.h>

#include <algorithm>
#include <compare>
#include <cstddef>
#include <map>
#include <mutex>
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
  int threads = 1;
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

template <class Out>
void multiply_bf16(const Gemm<Bf16, Out>& gemm, const Bf16* a, const Bf16* b, Out* c) {
  const Form form{gemm.transpose_a,     gemm.transpose_b,           gemm.accumulate,
                  gemm.bias != nullptr, std::is_same_v<Out, float>, omp_get_max_threads()};
  const Product& product = product_of(form);
  thread_local dnnl::stream stream(engine());
  thread_local std::vector<std::byte> scratch;
  if (scratch.size() < product.scratch.get_size()) scratch.resize(product.scratch.get_size());
  const auto at = [](const memory::desc& desc, const void* data) {
    return memory(desc, engine(), const_cast<void*>(data));
  };
  const auto bf16 = memory::data_type::bf16;
  std::unordered_map<int, memory> arguments{
      {DNNL_ARG_SRC, at(matrix(gemm.m, gemm.k, gemm.lda, gemm.transpose_a, bf16), a)},
      {DNNL_ARG_WEIGHTS, at(matrix(gemm.k, gemm.n, gemm.ldb, gemm.transpose_b, bf16), b)},
      {DNNL_ARG_DST, at(matrix(gemm.m, gemm.n, gemm.ldc, false, type_of_c(form)), c)},
      {DNNL_ARG_SCRATCHPAD, at(product.scratch, scratch.data())}};
  if (form.biased) {
    arguments.emplace(DNNL_ARG_BIAS, at(matrix(1, gemm.n, gemm.n, false, bf16), gemm.bias));
  }
  product.primitive.execute(stream, arguments);
  stream.wait();
}

/// A product in float of operands that were converted to it.
class WideProduct {
 public:
  template <class Out>
  void run(const Gemm<Bf16, Out>& gemm, const Bf16* a, const Bf16* b, Out* c) {
    const std::int64_t a_rows = gemm.transpose_a ? gemm.k : gemm.m,
                       a_columns = gemm.transpose_a ? gemm.m : gemm.k,
                       b_rows = gemm.transpose_b ? gemm.n : gemm.k,
                       b_columns = gemm.transpose_b ? gemm.k : gemm.n;
    convert(a, a_rows, a_columns, gemm.lda, a_);
    convert(b, b_rows, b_columns, gemm.ldb, b_);
    if (gemm.bias != nullptr) convert(gemm.bias, 1, gemm.n, gemm.n, bias_);
    c_.resize(static_cast<std::size_t>(gemm.m * gemm.n));
    if (gemm.accumulate) convert(c, gemm.m, gemm.n, gemm.ldc, c_);
    cpu_gemm(Gemm<float>{.m = gemm.m,
                         .n = gemm.n,
                         .k = gemm.k,
                         .a = a_.data(),
                         .lda = a_columns,
                         .transpose_a = gemm.transpose_a,
                         .b = b_.data(),
                         .ldb = b_columns,
                         .transpose_b = gemm.transpose_b,
                         .c = c_.data(),
                         .ldc = gemm.n,
                         .accumulate = gemm.accumulate,
                         .bias = gemm.bias == nullptr ? nullptr : bias_.data()});
    for (std::int64_t row = 0; row < gemm.m; ++row) {
      std::copy_n(c_.data() + row * gemm.n, gemm.n, c + row * gemm.ldc);
    }
  }

 private:
  template <class T>
  static void convert(const T* from, std::int64_t rows, std::int64_t columns, std::int64_t ld,
                      std::vector<float>& to) {
    to.resize(static_cast<std::size_t>(rows * columns));
    for (std::int64_t row = 0; row < rows; ++row) {
      std::copy_n(from + row * ld, columns, to.data() + row * columns);
    }
  }

  std::vector<float> a_, b_, c_, bias_;
};

/// True where the processor, as far as oneDNN may use it, has instructions for products of bf16.
bool multiplies_bf16() {
  switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::avx512_core_bf16:
    case dnnl::cpu_isa::avx512_core_amx:
      return true;
    default:
      return false;
  }
}

template <class Out>
void run_bf16(const Gemm<Bf16, Out>& gemm) {
  if (gemm.m == 0 || gemm.n == 0) return;
  static const bool by_instructions = multiplies_bf16();
  thread_local WideProduct converted;
  for (std::int64_t i = 0; i < gemm.batch; ++i) {
    const Bf16 *a = gemm.a + i * gemm.stride_a, *b = gemm.b + i * gemm.stride_b;
    Out* c = gemm.c + i * gemm.stride_c;
    if (gemm.k == 0 || !by_instructions) {
      converted.run(gemm, a, b, c);  // without terms it leaves C, or writes zeros or the bias
    } else {
      multiply_bf16(gemm, a, b, c);
    }
  }
}

}  // namespace

std::string remark_on_bf16() {
  if (multiplies_bf16()) return "";
  return "bf16: this processor has neither AVX512_BF16 nor AMX, and multiplies in f32 after "
         "conversion: expect less speed than with f32";
}

void cpu_gemm(const Gemm<Bf16>& gemm) { run_bf16(gemm); }
void cpu_gemm(const Gemm<Bf16, float>& gemm) { run_bf16(gemm); }

}  // namespace moe
