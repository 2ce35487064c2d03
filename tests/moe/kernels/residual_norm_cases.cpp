#include "tests/moe/kernels/residual_norm_cases.h"

#include <cstring>
#include <utility>

#include "moe/kernels/bf16.h"
#include "moe/kernels/counter_random.h"
#include "moe/kernels/residual_norm.h"
#include "moe/memory/memory_plan.h"

namespace moe::test {
namespace {

/// The two ops; addresses are counted from the begin of the bytes.
struct SumAndNorm {
  Op sum{Add{}, {}, {}, "sum"}, norm;
  BoundOp bound_sum, bound_norm;
  std::vector<std::byte> bytes;

  SumAndNorm(const ResidualNormCase& one, DType dtype) : norm{one.norm, {}, {}, one.name} {
    const bool shifts = std::holds_alternative<LayerNorm>(one.norm);
    const View a = add(one.rows, one.width, dtype);
    View b = add(one.rows + 1, one.width, dtype);  // with room for a row more
    b.rows = one.rows;
    const View made = add(one.rows, one.width, dtype), scale = add(1, one.width, dtype),
               shift = add(1, one.width, dtype);
    View y = add(one.rows, one.width, dtype);
    if (one.place != NormPlace::apart) y.data = b.data;
    if (one.place == NormPlace::a_row_further) {
      y.data = static_cast<std::byte*>(b.data) + one.width * bytes_of(dtype);
    }
    const View statistics = add(one.rows, shifts ? 2 : 1, wide_of(dtype));
    bound_sum = {&sum, {a, b}, {made}, {{0, one.rows}}};
    bound_norm = {&norm, {made, scale}, {y, statistics}, {{0, one.rows}}};
    if (shifts) bound_norm.reads.push_back(shift);
  }
  SumAndNorm(const SumAndNorm&) = delete;
  SumAndNorm& operator=(const SumAndNorm&) = delete;

  /// Counts addresses from `base` on.
  void place_at(std::byte* base) {
    for (auto* views :
         {&bound_sum.reads, &bound_sum.writes, &bound_norm.reads, &bound_norm.writes}) {
      for (View& view : *views) view.data = base + reinterpret_cast<std::intptr_t>(view.data);
    }
  }

 private:
  /// A tensor of numbers in (0, 1].
  View add(std::int64_t rows, std::int64_t columns, DType dtype) {
    const auto begin = static_cast<std::int64_t>(bytes.size());
    const std::int64_t size = rows * columns * bytes_of(dtype);
    bytes.resize(
        static_cast<std::size_t>(begin + (size + kAlignment - 1) / kAlignment * kAlignment));
    for (std::int64_t i = 0; i < rows * columns; ++i) {
      store(begin + i * bytes_of(dtype), unit(mix(++drawn_)), dtype);
    }
    return {reinterpret_cast<void*>(begin), dtype, rows, columns};
  }
  void store(std::int64_t at, double value, DType dtype) {
    const auto as = [&](auto narrow) { std::memcpy(bytes.data() + at, &narrow, sizeof narrow); };
    if (dtype == DType::f64) as(value);
    if (dtype == DType::f32) as(static_cast<float>(value));
    if (dtype == DType::bf16) as(Bf16(static_cast<float>(value)));
  }

  std::uint64_t drawn_ = 0;
};

}  // namespace

std::vector<ResidualNormCase> residual_norm_cases() {
  constexpr std::pair<std::int64_t, std::int64_t> kSizes[] = {{2, 1}, {3, 5}, {70, 40}, {9, 1100}};
  constexpr std::pair<NormPlace, const char*> kPlaces[] = {
      {NormPlace::apart, "apart"},
      {NormPlace::of_operand, "in the place of an operand"},
      {NormPlace::a_row_further, "a row further"}};
  std::vector<ResidualNormCase> cases;
  for (const auto& [name, norm] :
       {std::pair<std::string, OpKind>{"layer_norm", LayerNorm{}}, {"rms_norm", RmsNorm{}}}) {
    for (const auto& [rows, width] : kSizes) {
      for (const auto& [place, where] : kPlaces) {
        cases.push_back(
            {name + " " + std::to_string(rows) + "x" + std::to_string(width) + " " + where, norm,
             rows, width, place});
      }
    }
  }
  return cases;
}

std::vector<std::byte> residual_normed(Backend& backend, const ResidualNormCase& one, DType dtype,
                                       bool together) {
  SumAndNorm both(one, dtype);
  std::byte* const base = backend.arena(static_cast<std::int64_t>(both.bytes.size()));
  both.place_at(base);
  backend.upload(base, both.bytes, Stream::compute);
  if (together) {
    const BoundOp* const ops[] = {&both.bound_sum, &both.bound_norm};
    backend.execute_together(ops);
  } else {
    backend.execute(both.bound_sum);
    backend.execute(both.bound_norm);
  }
  backend.download(both.bytes, base, Stream::compute);
  return std::move(both.bytes);
}

bool is_one_launch(const ResidualNormCase& one, DType dtype) {
  const SumAndNorm both(one, dtype);
  return is_residual_norm(both.bound_sum, both.bound_norm);
}

}  // namespace moe::test
