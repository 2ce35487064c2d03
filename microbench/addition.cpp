#include "microbench/addition.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "microbench/random_values.h"
#include "moe/kernels/bf16.h"
#include "moe/kernels/with_type.h"
#include "moe/program/op.h"

namespace microbench {
namespace {

constexpr std::int64_t kAddedColumns = 1024;

std::int64_t added_rows(moe::DType dtype, std::int64_t bytes) {
  return std::max<std::int64_t>(bytes / (kAddedColumns * moe::bytes_of(dtype)), 1);
}

/// Elements that are not exactly the rounded sum.
template <typename T>
std::int64_t count_wrong_sums(moe::Backend& backend, const moe::BoundOp& op) {
  const auto fetched = [&](const moe::View& view) {
    std::vector<T> host(view.rows * view.columns);
    backend.download(std::as_writable_bytes(std::span(host)),
                     static_cast<const std::byte*>(view.data), moe::Stream::compute);
    return host;
  };
  const auto a = fetched(op.reads[0]), b = fetched(op.reads[1]), sum = fetched(op.writes[0]);
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < sum.size(); ++i) {
    wrong += sum[i] != static_cast<T>(static_cast<moe::Wide<T>>(a[i]) + b[i]);
  }
  return wrong;
}

}  // namespace

std::vector<std::int64_t> addition_bytes(moe::DType dtype, std::int64_t bytes) {
  const std::int64_t each = added_rows(dtype, bytes) * kAddedColumns * moe::bytes_of(dtype);
  return {each, each, each};
}

Case addition_case(const Bench& bench, moe::DType dtype, std::int64_t bytes) {
  const std::int64_t rows = added_rows(dtype, bytes), count = rows * kAddedColumns;
  const auto at = place(bench, addition_bytes(dtype, bytes));
  const auto view = [&](std::size_t buffer) {
    return moe::View{at[buffer], dtype, rows, kAddedColumns};
  };
  const auto op = std::make_shared<moe::Op>();
  op->kind = moe::Add{};
  op->name = "add";
  op->stream = moe::Stream::compute;
  moe::BoundOp bound;
  bound.op = op.get();
  bound.reads = {view(0), view(1)};
  bound.writes = {view(2)};
  bound.ranges = {{0, rows}};

  const auto run = [op, bound, &bench] { bench.backend.execute(bound); };
  const auto prepare = [bound, &bench] {
    fill_random(bench.backend, bound.reads[0], 1);
    fill_random(bench.backend, bound.reads[1], 2);
    fill_constant(bench.backend, bound.writes[0], std::numeric_limits<double>::quiet_NaN());
  };
  const auto verify = [=, &bench] {
    prepare();
    run();
    return moe::with_type(
        dtype, [&](auto type) { return count_wrong_sums<decltype(type)>(bench.backend, bound); });
  };
  Result row;
  row.measurement.device = bench.device;
  row.measurement.dtype = moe::name_of(dtype);
  row.measurement.ranks = bench.world.size;
  row.measurement.bytes = count * moe::bytes_of(dtype);
  row.measurement.count = count;
  const auto timed = [run, &bench](int calls) {
    return timed_on_device(bench.backend, moe::Stream::compute, calls, run);
  };
  return {row, prepare, timed, verify, run, moe::Stream::compute};
}

}  // namespace microbench
