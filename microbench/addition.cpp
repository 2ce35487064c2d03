#include "microbench/addition.h"

#include <algorithm>
#include <memory>
#include <string>

#include "microbench/pattern.h"
#include "moe/program/op.h"

namespace microbench {
namespace {

constexpr std::int64_t kAddedColumns = 1024;

std::int64_t added_rows(moe::DType dtype, std::int64_t bytes) {
  return std::max<std::int64_t>(bytes / (kAddedColumns * moe::bytes_of(dtype)), 1);
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
  const auto set = [at, count, dtype, &bench](std::size_t buffer, auto element) {
    fill(bench.backend, moe::Stream::compute, at[buffer], count, dtype, element);
  };
  const auto prepare = [set] {
    set(0, [](auto i) { return pattern(0, i); });
    set(1, [](auto i) { return pattern(1, i); });
    set(2, [](auto) { return -1; });
  };
  const auto verify = [=, &bench] {
    prepare();
    run();
    return count_wrong(bench.backend, moe::Stream::compute, at[2], count, dtype,
                       [](auto i) { return pattern(0, i) + pattern(1, i); });
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
