#include "tests/moe/kernels/fill_cases.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "moe/kernels/bf16.h"
#include "moe/kernels/fill.h"

namespace moe::test {
namespace {

constexpr std::byte kAround{42};
constexpr std::int64_t kAroundBytes = 256;

InitialValues normal_values(Shard shard, std::int64_t columns, ElementRange held) {
  InitialValues values;
  values.standard_deviation = 0.02;
  values.key = parameter_key(7, 99);
  values.shard = std::move(shard);
  values.columns = columns;
  values.held = held;
  return values;
}

template <class T>
std::vector<double> as_doubles(const std::vector<std::byte>& bytes) {
  std::vector<double> values(bytes.size() / sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<double>(value);
  }
  return values;
}

/// What a tensor of this type has of the value.
double rounded(double value, DType dtype) {
  if (dtype == DType::f64) return value;
  const auto narrow = static_cast<float>(value);
  if (dtype == DType::remainder) return Bf16Remainder(narrow).bits;
  return dtype == DType::f32 ? narrow : static_cast<float>(Bf16(narrow));
}

}  // namespace

std::vector<FillCase> fill_cases() {
  InitialValues ones;
  ones.constant = 1;
  std::vector<FillCase> cases{{"zeros", 3, 7, {}}, {"ones", 1, 5000, ones}};
  const auto add = [&](const std::string& name, std::int64_t rows, std::int64_t columns,
                       Shard shard) {
    const ElementRange all{0, rows * columns};
    cases.push_back({name, rows, columns, normal_values(std::move(shard), columns, all)});
  };
  Shard whole;
  whole.block_rows = whole.of_rows = 33;
  whole.of_columns = 65;
  add("a matrix", 33, 65, whole);
  whole.block_rows = whole.of_rows = 50;
  whole.of_columns = 3000;
  add("a matrix for several threads, in wide rows", 50, 3000, whole);
  Shard groups;
  groups.block_rows = groups.of_rows = 5;
  groups.first_column = 8;
  groups.of_columns = 16;
  groups.column_groups = {8, 4, 4};
  add("half of q, k and v", 5, 8, groups);
  Shard cut;
  cut.first_block = 2;
  cut.block_rows = 3;
  cut.first_row = 3;
  cut.of_rows = 6;
  cut.of_columns = 1100;
  add("the lower half of four experts", 12, 1100, cut);
  Shard moved;
  moved.block_rows = moved.of_rows = 2;
  moved.of_columns = 9;
  moved.blocks = {5, 6, 2, 3, 9};
  add("experts that were moved", 10, 9, moved);

  // Of 10 x 9 elements; the share begins within an expert's row and the tensor has room for more.
  FillCase share{"a share of moved experts", 40, 1, cases.back().values};
  share.values.held = {31, 37};
  cases.push_back(share);
  share.name = "a share within one row";
  share.values.held = {3, 4};
  cases.push_back(share);
  return cases;
}

std::vector<double> filled(Backend& backend, const FillCase& fill, DType dtype) {
  const std::int64_t bytes = fill.rows * fill.columns * bytes_of(dtype);
  const std::vector<std::byte> before(static_cast<std::size_t>(bytes + 2 * kAroundBytes), kAround);
  std::byte* const base = backend.arena(static_cast<std::int64_t>(before.size()));
  backend.upload(base, before, Stream::compute);
  backend.fill({base + kAroundBytes, dtype, fill.rows, fill.columns}, fill.values);
  std::vector<std::byte> after(before.size());
  backend.download(after, base, Stream::host);
  const auto begin = after.begin() + kAroundBytes, end = begin + bytes;
  const auto untouched = [](std::byte value) { return value == kAround; };
  if (!std::all_of(after.begin(), begin, untouched) || !std::all_of(end, after.end(), untouched)) {
    throw std::logic_error(fill.name + ": what is around the tensor was written");
  }
  const std::vector<std::byte> own(begin, end);
  if (dtype == DType::f64) return as_doubles<double>(own);
  if (dtype == DType::remainder) return as_doubles<std::int16_t>(own);
  return dtype == DType::f32 ? as_doubles<float>(own) : as_doubles<Bf16>(own);
}

std::vector<double> expected_values(const FillCase& fill, DType dtype) {
  const InitialValues& values = fill.values;
  std::vector<double> expected;
  for (std::int64_t i = 0; i < fill.rows * fill.columns; ++i) {
    double value = values.constant;
    if (values.standard_deviation != 0) {
      const std::int64_t place =
          i < values.held.count ? whole_element(values.shard, values.columns, values.held.begin + i)
                                : 0;
      value =
          i < values.held.count ? values.standard_deviation * initial_normal(values.key, place) : 0;
    }
    expected.push_back(rounded(value, dtype));
  }
  return expected;
}

}  // namespace moe::test
