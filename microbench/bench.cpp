#include "microbench/bench.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "db/statistics.h"

namespace microbench {

Result measure(const Bench& bench, Case subject) {
  subject.prepare();
  const Samples samples = sample(bench.world, subject.timed, bench.sampling);
  Result row = std::move(subject.row);
  db::Measurement& m = row.measurement;
  m.time_s = db::median(samples.seconds);
  m.min_s = *std::min_element(samples.seconds.begin(), samples.seconds.end());
  m.max_s = *std::max_element(samples.seconds.begin(), samples.seconds.end());
  row.cv = coefficient_of_variation(samples.seconds);
  m.samples = static_cast<int>(samples.seconds.size());
  m.algorithm_bandwidth_bytes_per_s = static_cast<double>(m.bytes) / m.time_s;
  m.bus_bandwidth_bytes_per_s = m.algorithm_bandwidth_bytes_per_s * row.bus_factor;

  double wrong = static_cast<double>(subject.verify());
  bench.world.all_reduce(&wrong, 1, moe::DType::f64,
                         {.time_limit_s = bench.sampling.time_limit_s, .what = "benchmark check"});
  m.wrong = static_cast<std::int64_t>(wrong);
  return row;
}

double timed_on_device(moe::Backend& backend, moe::Stream stream, int calls,
                       const std::function<void()>& call) {
  backend.forget_marks();
  const std::chrono::duration<double> start = std::chrono::steady_clock::now().time_since_epoch();
  for (int i = 0; i < calls; ++i) call();
  // The mark's own time: who waits for a device sleeps, and learns of its end up to half a
  // millisecond late.
  return backend.time_of(backend.mark(stream)) - start.count();
}

std::vector<std::byte*> place(moe::Backend& backend, const std::vector<std::int64_t>& bytes) {
  constexpr std::int64_t alignment = 4096;
  std::int64_t total = 0;
  std::vector<std::int64_t> offsets;
  for (std::int64_t size : bytes) {
    offsets.push_back(total);
    total += (size + alignment - 1) / alignment * alignment;
  }
  std::byte* base = backend.arena(std::max(total, alignment));
  std::vector<std::byte*> places;
  for (std::int64_t offset : offsets) places.push_back(base + offset);
  return places;
}

std::string_view dtype_name(moe::DType dtype) {
  switch (dtype) {
    case moe::DType::f32:
      return "f32";
    case moe::DType::f64:
      return "f64";
    case moe::DType::i32:
      return "i32";
  }
  throw std::invalid_argument("dtype_name: no such dtype");
}

}  // namespace microbench
