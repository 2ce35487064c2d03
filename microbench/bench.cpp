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

Summary summary_of(const std::vector<double>& seconds) {
  return {.median_s = db::median(seconds),
          .min_s = *std::min_element(seconds.begin(), seconds.end()),
          .max_s = *std::max_element(seconds.begin(), seconds.end()),
          .cv = coefficient_of_variation(seconds),
          .samples = static_cast<int>(seconds.size()),
          .seconds = seconds};
}

Summary summary_of(const Samples& samples) {
  Summary summary = summary_of(samples.seconds);
  summary.by_rank = samples.by_rank;
  return summary;
}

Result result_of(const Bench& bench, const Case& subject, const Summary& summary) {
  Result row = subject.row;
  db::Measurement& m = row.measurement;
  m.time_s = summary.median_s;
  m.min_s = summary.min_s;
  m.max_s = summary.max_s;
  m.samples = summary.samples;
  row.cv = summary.cv;
  row.quantiles = db::quantiles_of(summary.seconds);
  row.p95_s = row.quantiles.empty() ? summary.max_s : db::quantile(row.quantiles, 0.95);
  for (const std::vector<double>& seconds : summary.by_rank) {
    const Summary own = summary_of(seconds);
    row.ranks.push_back(
        {0, static_cast<int>(row.ranks.size()), own.median_s, own.min_s, own.max_s});
  }
  if (summary.samples > 1) m.relative_deviation = summary.cv;
  m.algorithm_bandwidth_bytes_per_s = static_cast<double>(m.bytes) / m.time_s;
  m.bus_bandwidth_bytes_per_s = m.algorithm_bandwidth_bytes_per_s * row.bus_factor;

  if (subject.complete) subject.complete(row);

  double wrong = static_cast<double>(subject.verify());
  bench.world.all_reduce(&wrong, 1, moe::DType::f64,
                         {.time_limit_s = bench.sampling.time_limit_s, .what = "benchmark check"});
  m.wrong = static_cast<std::int64_t>(wrong);
  return row;
}

Result measure(const Bench& bench, const Case& subject, double shortest_sample_s) {
  subject.prepare();
  Sampling sampling = bench.sampling;
  sampling.shortest_sample_s = std::max(sampling.shortest_sample_s, shortest_sample_s);
  return result_of(bench, subject, summary_of(sample(bench.world, subject.timed, sampling)));
}

double timed_on_device(moe::Backend& backend, moe::Stream stream, int calls,
                       const std::function<void()>& call) {
  backend.forget_marks();
  const std::chrono::duration<double> start = std::chrono::steady_clock::now().time_since_epoch();
  for (int i = 0; i < calls; ++i) call();
  // The mark's own time: a thread that waits for a device sleeps, and may learn of the end half a
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

}  // namespace microbench
