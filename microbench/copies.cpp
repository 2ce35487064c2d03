#include "microbench/copies.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <utility>

#include "microbench/addition.h"
#include "microbench/table.h"
#include "moe/program/op.h"

namespace microbench {
namespace {

using Words = std::vector<std::uint64_t>;

std::uint64_t word(std::size_t i) { return i * 0x9e3779b97f4a7c15u + 1; }

Words words(std::size_t count) {
  Words result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = word(i);
  return result;
}

std::int64_t count_wrong_words(std::span<const std::uint64_t> got, std::size_t begin = 0) {
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < got.size(); ++i) wrong += got[i] != word(begin + i);
  return wrong;
}

const std::vector<Column>& copy_columns() {
  static const std::vector<Column> columns = {size_column(), time_column(),
                                              algorithm_bandwidth_column(), bus_bandwidth_column()};
  return columns;
}

Result copy_row(const Bench& bench, const std::string& op, const std::string& device,
                std::size_t count) {
  Result row;
  row.columns = &copy_columns();
  row.measurement.op = op;
  row.measurement.device = device;
  row.measurement.dtype = "u64";
  row.measurement.ranks = bench.world.size;
  row.measurement.parameters_json = "{}";
  row.measurement.bytes = static_cast<std::int64_t>(count * sizeof(std::uint64_t));
  row.measurement.count = static_cast<std::int64_t>(count);
  return row;
}

TimedCalls timed_on_host(std::function<void()> call) {
  return [call = std::move(call)](int calls) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) call();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
}

Case host_copy(const Bench& bench, std::size_t count) {
  const auto from = std::make_shared<Words>(words(count)), to = std::make_shared<Words>(count);
  const auto run = [=] {
    std::memcpy(to->data(), from->data(), count * sizeof(std::uint64_t));
    benchmark::ClobberMemory();
  };
  const auto verify = [=] {
    std::fill(to->begin(), to->end(), 0);
    run();
    return count_wrong_words(*to);
  };
  Result row = copy_row(bench, "host_copy", "cpu", count);
  row.bus_factor = 2;
  return {row, [] {}, timed_on_host(run), verify, run, moe::Stream::copy};
}

Case host_read(const Bench& bench, std::size_t count) {
  const auto from = std::make_shared<Words>(words(count));
  const auto sum = [=] { return std::accumulate(from->begin(), from->end(), std::uint64_t{0}); };
  const auto run = [=] {
    benchmark::ClobberMemory();
    std::uint64_t result = sum();
    benchmark::DoNotOptimize(result);
  };
  const auto verify = [=]() -> std::int64_t {
    std::uint64_t expected = 0;
    for (std::size_t i = 0; i < count; ++i) expected += word(i);
    return sum() != expected;
  };
  return {copy_row(bench, "host_read", "cpu", count), [] {}, timed_on_host(run), verify};
}

Case host_write(const Bench& bench, std::size_t count) {
  const auto to = std::make_shared<Words>(count);
  const auto write = [=](std::uint64_t value) {
    std::fill(to->begin(), to->end(), value);
    benchmark::ClobberMemory();
  };
  const auto verify = [=]() -> std::int64_t {
    write(42);
    return static_cast<std::int64_t>(count) - std::count(to->begin(), to->end(), 42u);
  };
  return {copy_row(bench, "host_write", "cpu", count), [] {}, timed_on_host([=] { write(7); }),
          verify};
}

/// The copies of activations that training offloads and fetches: between the arena and pinned
/// memory of the host.
Case device_copy(const Bench& bench, std::size_t count, bool up) {
  const auto rows = static_cast<std::int64_t>(count);
  const std::int64_t bytes = rows * moe::bytes_of(moe::DType::f64);
  const moe::View device{place(bench, {bytes})[0], moe::DType::f64, rows, 1};
  bench.backend.free_host_blocks();
  const moe::View host{bench.backend.host_block(bytes), moe::DType::f64, rows, 1};
  const std::span<std::uint64_t> in_host(static_cast<std::uint64_t*>(host.data), count);
  const auto copy = [&](moe::OpKind kind, const moe::View& from, const moe::View& to) {
    const auto op = std::make_shared<moe::Op>();
    op->kind = std::move(kind);
    op->stream = moe::Stream::copy;
    moe::BoundOp bound;
    bound.op = op.get();
    bound.reads = {from};
    bound.writes = {to};
    bound.ranges = {{0, rows}};
    return [op, bound, &bench] { bench.backend.execute(bound); };
  };
  const std::function<void()> fetch = copy(moe::FetchRows{}, host, device),
                              offload = copy(moe::OffloadRows{}, device, host);
  const auto finish = [&bench] { bench.backend.reach(bench.backend.mark(moe::Stream::copy)); };
  // Each time other words, so that nothing is right from before.
  const auto begin = std::make_shared<std::size_t>(0);
  const auto prepare = [=] {
    *begin += count;
    for (std::size_t i = 0; i < count; ++i) in_host[i] = word(*begin + i);
    fetch();
    finish();
  };
  // What goes up must come down.
  const auto verify = [=] {
    prepare();
    std::ranges::fill(in_host, 0);
    offload();
    finish();
    return count_wrong_words(in_host, *begin);
  };
  const std::function<void()> call = up ? fetch : offload;
  const auto timed = [call, &bench](int calls) {
    return timed_on_device(bench.backend, moe::Stream::copy, calls, call);
  };
  return {copy_row(bench, up ? "host_to_device" : "device_to_host", bench.device, count),
          prepare,
          timed,
          verify,
          call,
          moe::Stream::copy};
}

/// What a kernel that memory limits reaches. In f32, whatever else is measured.
Case device_add(const Bench& bench, std::int64_t bytes) {
  Case added = addition_case(bench, moe::DType::f32, bytes);
  added.row.columns = &copy_columns();
  added.row.measurement.op = "device_add";
  added.row.measurement.parameters_json = "{}";
  added.row.bus_factor = 3;
  return added;
}

}  // namespace

std::vector<Plan> copy_plans(const Bench& bench, const std::vector<std::int64_t>& sizes) {
  std::vector<Plan> plans;
  const auto add = [&](const std::string& name, auto make) {
    for (std::int64_t bytes : sizes) {
      const auto count = static_cast<std::size_t>(std::max<std::int64_t>(bytes / 8, 1));
      plans.push_back({fmt::format("{}/{}", name, bytes), [=] { return make(count); }});
    }
  };
  add("host_copy", [&bench](std::size_t count) { return host_copy(bench, count); });
  add("host_read", [&bench](std::size_t count) { return host_read(bench, count); });
  add("host_write", [&bench](std::size_t count) { return host_write(bench, count); });
  if (bench.device != "cpu") {
    add("host_to_device", [&bench](std::size_t count) { return device_copy(bench, count, true); });
    add("device_to_host", [&bench](std::size_t count) { return device_copy(bench, count, false); });
    add("device_add", [&bench](std::size_t count) {
      return device_add(bench, static_cast<std::int64_t>(count * sizeof(std::uint64_t)));
    });
  }
  return plans;
}

Case offload_case(const Bench& bench, std::int64_t bytes) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(bytes / 8, 1));
  return bench.device == "cpu" ? host_copy(bench, count) : device_copy(bench, count, false);
}

Benchmark copy_benchmark() {
  // From the size of a cache on: copies in training are of what lies in memory.
  return {"copies",
          {},
          require_sizes_fit_twice,
          [](const Bench& bench, const CommonOptions& common) {
            return copy_plans(bench, common.sizes);
          },
          "256K:64M:x2"};
}

}  // namespace microbench
