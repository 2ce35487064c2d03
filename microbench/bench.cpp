#include "microbench/bench.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "db/console/statistics.h"

namespace microbench {
namespace {

constexpr std::int64_t kArenaAlignment = 4096;

/// Where buffers of these sizes begin, and where the last one ends.
std::vector<std::int64_t> offsets_of(const Bench& bench, const std::vector<std::int64_t>& bytes) {
  std::vector<std::int64_t> offsets{bench.arena_begin};
  for (const std::int64_t size : bytes) {
    offsets.push_back(offsets.back() +
                      (size + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment);
  }
  return offsets;
}

}  // namespace

Result measure(const Bench& bench, Case subject) {
  subject.prepare();
  Sampling sampling = bench.sampling;
  sampling.shortest_sample_s = std::max(sampling.shortest_sample_s, subject.shortest_sample_s);
  const Samples samples = sample(bench.world, subject.timed, sampling);
  Result row = std::move(subject.row);
  db::Measurement& m = row.measurement;
  m.time_s = db::median(samples.seconds);
  m.min_s = *std::min_element(samples.seconds.begin(), samples.seconds.end());
  m.max_s = *std::max_element(samples.seconds.begin(), samples.seconds.end());
  row.cv = coefficient_of_variation(samples.seconds);
  m.samples = static_cast<int>(samples.seconds.size());
  m.algorithm_bandwidth_bytes_per_s = static_cast<double>(m.bytes) / m.time_s;
  m.bus_bandwidth_bytes_per_s = m.algorithm_bandwidth_bytes_per_s * row.bus_factor;

  if (subject.complete) subject.complete(row);

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

std::vector<std::byte*> place(const Bench& bench, const std::vector<std::int64_t>& bytes) {
  std::byte* base = bench.backend.arena(std::max(arena_end(bench, bytes), kArenaAlignment));
  std::vector<std::byte*> places;
  for (const std::int64_t offset : offsets_of(bench, bytes)) places.push_back(base + offset);
  places.pop_back();
  return places;
}

std::int64_t arena_end(const Bench& bench, const std::vector<std::int64_t>& bytes) {
  return offsets_of(bench, bytes).back();
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
