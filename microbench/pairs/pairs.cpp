#include "microbench/pairs/pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "db/console/statistics.h"
#include "db/slow_pairs.h"
#include "microbench/awake_ranks.h"
#include "microbench/pairs/meetings.h"
#include "microbench/pairs/tournament.h"
#include "microbench/pattern.h"
#include "microbench/table.h"
#include "moe/communicator/awake.h"
#include "moe/errors.h"

namespace microbench {
namespace {

constexpr char kPingPong[] = "ping_pong";
constexpr std::int64_t kAnswerBytes = 8;
constexpr int kMostTrips = 10'000;  ///< of a sample

/// Memory of a player: what it sends, where it receives, and where answers lie.
struct PairBuffers {
  std::byte* from = nullptr;
  std::byte* to = nullptr;
  std::byte* answer = nullptr;
};

/// What comes of one size and direction on one of the two players.
struct Trips {
  std::vector<double> quantiles;  ///< of round trips, on the sender; all where they are few
  std::int64_t wrong = 0;         ///< elements, on the receiver
};

/// Two players as one of them sees it. Both make the same calls.
class Pair {
 public:
  Pair(const Bench& bench, const PairBuffers& buffers, Meetings& meetings, int other)
      : bench_(bench), buffers_(buffers), meetings_(meetings), other_(other) {
    const int self = bench.world.rank;
    const std::array both{std::min(self, other), std::max(self, other)};
    host_ = bench.world.split(both);
    if (&bench.measured != &bench.world) measured_ = bench.measured.split(both);
  }

  /// The lower rank of the two is 0.
  int rank() const { return host_->rank; }

  /// Messages of `bytes` from `sender` (0 or 1), as often as `sampling` says.
  Trips measure(int sender, std::int64_t bytes, const Sampling& sampling) {
    const bool sends = sender == rank();
    const moe::DType dtype = bench_.dtype;
    const moe::Stream stream = bench_.collective_stream;
    const std::int64_t count = bytes / moe::bytes_of(dtype);
    if (!sends) fill(bench_.backend, stream, buffers_.to, count, dtype, [](auto) { return -1; });
    const auto several = [&](int times) { return trips_in_parts(sender, bytes, times); };
    most_trips_ = 1;
    most_trips_ = said_by(sender, trips_within(meetings_.part_s(), several(1)));
    several(std::max(1, sampling.warm_up) - 1);
    Trips found;
    if (!sends) {
      found.wrong = count_wrong(bench_.backend, stream, buffers_.to, count, dtype,
                                [this](auto i) { return pattern(other_, i); });
    }
    const FixedSamples fixed = fixed_samples(sampling.iterations);
    // The sender decides how many trips a sample has and, after each, whether there is another.
    std::int32_t calls = fixed.calls;
    if (fixed.samples == 0) {
      calls = said_by(sender, trips_within(sampling.shortest_sample_s, several(1)));
    }
    std::vector<double> seconds;
    const auto begin = std::chrono::steady_clock::now();
    for (std::int32_t more = 1; more != 0;) {
      seconds.push_back(several(calls) / calls);
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
      const auto taken = static_cast<int>(seconds.size());
      more = fixed.samples > 0
                 ? taken < fixed.samples
                 : taken < kSamplesWithoutBudget ||
                       (taken < db::kMostQuantiles && spent.count() < sampling.budget_s);
      more = said_by(sender, more);
    }
    if (sends) found.quantiles = db::quantiles_of(std::move(seconds));
    return found;
  }

 private:
  moe::CallContext call() const {
    const moe::Stream stream = bench_.collective_stream;
    return {.native_stream = bench_.backend.native_stream(stream),
            .stream = stream,
            .time_limit_s = bench_.sampling.time_limit_s,
            .what = kPingPong};
  }

  static std::int32_t trips_within(double seconds, double trip_s) {
    return static_cast<std::int32_t>(
        std::clamp<double>(std::ceil(seconds / std::max(trip_s, 1e-9)), 1, kMostTrips));
  }

  /// What one of the two says, on both.
  std::int32_t said_by(int player, std::int32_t word) {
    host_->broadcast(&word, 1, moe::DType::i32, player, call());
    return word;
  }

  /// Seconds of round trips; where these take long, all ranks meet between them.
  double trips_in_parts(int sender, std::int64_t bytes, int times) {
    double seconds = 0;
    for (int part = 0; times > 0; times -= part) {
      part = std::min(times, most_trips_);
      seconds += trips(sender == rank(), bytes, part);
      if (said_by(sender, meetings_.is_due()) != 0) meetings_.meet(true);
    }
    return seconds;
  }

  double trips(bool sends, std::int64_t bytes, int times) {
    moe::Communicator& pair = measured_ ? *measured_ : *host_;
    const moe::Segment segment{.peer = 1 - pair.rank, .rows = 1};
    const std::span<const moe::Segment> one(&segment, 1), none;
    const moe::CallContext context = call();
    return timed_on_device(bench_.backend, bench_.collective_stream, times, [&] {
      if (sends) {
        pair.all_to_all_v(buffers_.from, one, nullptr, none, bytes, context);
        pair.all_to_all_v(nullptr, none, buffers_.answer, one, kAnswerBytes, context);
      } else {
        pair.all_to_all_v(nullptr, none, buffers_.to, one, bytes, context);
        pair.all_to_all_v(buffers_.answer, one, nullptr, none, kAnswerBytes, context);
      }
    });
  }

  const Bench& bench_;
  const PairBuffers& buffers_;
  Meetings& meetings_;
  int other_;
  int most_trips_ = 1;  ///< between two looks at the clock
  std::unique_ptr<moe::Communicator> host_, measured_;
};

/// What the ranks of a round tell each other of each size: how many elements were wrong that they
/// received, how many quantiles of what they sent, and these.
constexpr std::size_t kPlaces = 2 + db::kMostQuantiles;

std::vector<double> told_by(const std::vector<Trips>& by_size) {
  std::vector<double> told;
  for (const Trips& trips : by_size) {
    const std::size_t begin = told.size();
    told.push_back(static_cast<double>(trips.wrong));
    told.push_back(static_cast<double>(trips.quantiles.size()));
    told.insert(told.end(), trips.quantiles.begin(), trips.quantiles.end());
    told.resize(begin + kPlaces);
  }
  return told;
}

constexpr double kNever_s = std::numeric_limits<double>::infinity();

/// Seconds one way of a message whose round trips took these: less `latency_s`, which 8 bytes take
/// back, but at least the half.
std::vector<double> one_way(std::vector<double> trips, double latency_s) {
  for (double& trip_s : trips) trip_s = std::max(trip_s - latency_s, trip_s / 2);
  std::ranges::sort(trips);
  return trips;
}

Result pair_row(const Bench& bench, const PairPlayers& players, int from, int to,
                std::int64_t bytes, const std::vector<double>& quantiles) {
  const Summary summary = summary_of(quantiles);
  Result row;
  row.quantiles = quantiles;
  row.p95_s = db::quantile(quantiles, 0.95);
  row.cv = summary.cv;
  db::Measurement& m = row.measurement;
  m.op = kPingPong;
  m.device = bench.device;
  m.dtype = moe::name_of(bench.dtype);
  m.ranks = 2;
  nlohmann::json parameters{{"from", players.ranks[from]}, {"to", players.ranks[to]}};
  if (!bench.ranks.empty()) {
    parameters["from_host"] = bench.ranks[players.ranks[from]].hostname;
    parameters["to_host"] = bench.ranks[players.ranks[to]].hostname;
  }
  m.parameters_json = parameters.dump();
  m.bytes = bytes;
  m.count = bytes / moe::bytes_of(bench.dtype);
  m.time_s = summary.median_s;
  m.min_s = summary.min_s;
  m.max_s = summary.max_s;
  m.samples = summary.samples;
  if (summary.samples > 1) m.relative_deviation = summary.cv;
  m.algorithm_bandwidth_bytes_per_s = static_cast<double>(bytes) / m.time_s;
  m.bus_bandwidth_bytes_per_s = m.algorithm_bandwidth_bytes_per_s;
  return row;
}

/// The medians of one size, [from][to], and how exact they are.
struct PairMatrix {
  std::int64_t bytes = 0;
  std::vector<std::vector<double>> seconds;
  std::vector<double> errors;

  void add(int from, int to, const Result& row) {
    seconds[from][to] = row.measurement.time_s;
    const double error = db::relative_error_of_median(row.quantiles);
    errors.push_back(std::isfinite(error) ? error : 0);
  }
};

db::PairSpeeds speeds_of(const PairMatrix& matrix, const PairPlayers& players) {
  db::PairSpeeds speeds{players.names, matrix.seconds, db::median(matrix.errors),
                        matrix.bytes < db::kLatencyBytes};
  for (std::vector<double>& row : speeds.speed) {
    for (double& cell : row) cell = cell > 0 ? 1 / cell : 0;
  }
  return speeds;
}

void print_matrix(const PairMatrix& matrix, const PairPlayers& players,
                  const db::JudgedPairs& judged, const Reports& reports) {
  const bool latency = matrix.bytes < db::kLatencyBytes;
  const auto shown = [&](double per_s) {
    return four_digits(latency ? 1e6 / per_s : static_cast<double>(matrix.bytes) * per_s / 1e9);
  };
  std::size_t width = 8;
  for (const std::string& name : players.names) width = std::max(width, name.size() + 1);
  reports.line("#");
  reports.line(
      fmt::format("# {} of {} bytes, {}, one way from the row to the column; out and in: "
                  "middle of the row and of the column",
                  kPingPong, matrix.bytes, latency ? "us" : "GB/s"));
  std::string heading = fmt::format("#{:>{}}{:>9}{:>9}  ", "", width - 1, "out", "in");
  for (const std::string& name : players.names) heading += fmt::format("{:>{}}", name, width);
  reports.line(heading);
  for (std::size_t from = 0; from < players.names.size(); ++from) {
    std::string line = fmt::format("{:>{}}{:>9}{:>9}  ", players.names[from], width,
                                   shown(judged.out[from]), shown(judged.in[from]));
    for (std::size_t to = 0; to < players.names.size(); ++to) {
      const double seconds = matrix.seconds[from][to];
      line += fmt::format("{:>{}}", from == to ? "-" : shown(1 / seconds), width);
    }
    reports.line(line);
  }
}

}  // namespace

PairPlayers pair_players(const std::vector<moe::RankInfo>& ranks, const std::string& over) {
  const std::vector<int> node = moe::nodes_of(ranks);
  const bool several_nodes = std::ranges::any_of(node, [&](int of) { return of != node.front(); });
  if (ranks.size() < 2) {
    throw moe::InputError("pairs: 1 rank: expected --ranks of at least 2, or a job of several");
  }
  if (over == "nodes" && !several_nodes) {
    throw moe::InputError(fmt::format("--over nodes: all {} ranks are on {}: expected --over ranks",
                                      ranks.size(), ranks.front().hostname));
  }
  PairPlayers players;
  players.nodes = over == "nodes" || (over.empty() && several_nodes);
  for (int rank = 0; rank < static_cast<int>(ranks.size()); ++rank) {
    if (!players.nodes) {
      players.ranks.push_back(rank);
      players.names.push_back(several_nodes ? fmt::format("{}:{}", ranks[rank].hostname, rank)
                                            : fmt::format("rank {}", rank));
      continue;
    }
    const bool first =
        std::find(node.begin(), node.begin() + rank, node[rank]) == node.begin() + rank;
    if (!first) continue;
    players.ranks.push_back(rank);
    players.names.push_back(ranks[rank].hostname);
  }
  return players;
}

void measure_pairs(const Bench& bench, const PairPlayers& players,
                   const std::vector<std::int64_t>& asked, const Reports& reports) {
  std::vector<std::int64_t> sizes{kAnswerBytes};  // the latency that others are measured against
  for (const std::int64_t bytes : asked) {
    if (std::ranges::find(sizes, bytes) == sizes.end()) sizes.push_back(bytes);
  }
  const std::int64_t largest = std::ranges::max(sizes);
  const auto places = place(bench, {largest, largest, kAnswerBytes});
  const PairBuffers buffers{places[0], places[1], places[2]};
  fill(bench.backend, bench.collective_stream, buffers.from, largest / moe::bytes_of(bench.dtype),
       bench.dtype, [&](auto i) { return pattern(bench.world.rank, i); });
  const int count = static_cast<int>(players.ranks.size());
  std::vector<PairMatrix> matrices;
  for (const std::int64_t bytes : sizes) {
    matrices.push_back({bytes, std::vector(count, std::vector<double>(count)), {}});
  }
  Sampling sampling = bench.sampling;
  sampling.budget_s /= 2.0 * static_cast<double>(sizes.size());
  std::optional<moe::WaitsAwake> awake;
  if (!bench.ranks.empty() && may_wait_awake(bench.ranks, players.ranks)) awake.emplace();
  const moe::CallContext between{.time_limit_s = bench.sampling.time_limit_s, .what = kPingPong};
  Meetings meetings(bench);

  for (const auto& round : tournament(count)) {
    meetings.meet(false);
    int other = -1;
    for (const auto& [a, b] : round) {
      if (players.ranks[a] == bench.world.rank) other = players.ranks[b];
      if (players.ranks[b] == bench.world.rank) other = players.ranks[a];
    }
    std::vector<Trips> own(sizes.size());
    std::optional<Pair> pair;
    if (other < 0) {  // splits with the others, and rests
      const std::array alone{bench.world.rank};
      bench.world.split(alone);
      if (&bench.measured != &bench.world) bench.measured.split(alone);
    } else {
      pair.emplace(bench, buffers, meetings, other);
    }
    for (std::size_t size = 0; size < sizes.size(); ++size) {
      for (const int sender : {0, 1}) {
        if (pair) {
          Trips trips = pair->measure(sender, sizes[size], sampling);
          own[size].wrong += trips.wrong;
          if (sender == pair->rank()) own[size].quantiles = std::move(trips.quantiles);
        }
        while (meetings.meet(false)) continue;
      }
    }
    const std::vector<double> told = told_by(own);
    std::vector<double> all(told.size() * bench.world.size);
    bench.world.all_gather(told.data(), all.data(), static_cast<std::int64_t>(told.size()),
                           moe::DType::f64, between);
    const auto told_of = [&](int rank, std::size_t size) {
      return all.begin() + static_cast<std::ptrdiff_t>(rank * told.size() + size * kPlaces);
    };
    const auto trips_of = [&](int rank, std::size_t size) {
      const auto begin = told_of(rank, size) + 1;
      return std::vector<double>(begin + 1, begin + 1 + static_cast<std::ptrdiff_t>(*begin));
    };
    const auto report_pair = [&](int from, int to) {
      const int rank = players.ranks[from];
      const double latency_s = db::median(trips_of(rank, 0)) / 2;
      for (std::size_t size = 0; size < sizes.size(); ++size) {
        Result row = pair_row(bench, players, from, to, sizes[size],
                              one_way(trips_of(rank, size), size == 0 ? kNever_s : latency_s));
        row.measurement.wrong = static_cast<std::int64_t>(*told_of(players.ranks[to], size));
        matrices[size].add(from, to, row);
        reports.result(row);
      }
    };
    for (const auto& [a, b] : round) {
      report_pair(a, b);
      report_pair(b, a);
    }
  }
  for (const PairMatrix& matrix : matrices) {
    const db::PairSpeeds speeds = speeds_of(matrix, players);
    const db::JudgedPairs judged = db::judge_pairs(speeds);
    print_matrix(matrix, players, judged, reports);
    const std::vector<std::string> findings = judged.findings();
    for (const std::string& finding : findings) {
      reports.finding(fmt::format("{} bytes: {}", matrix.bytes, finding));
    }
    if (findings.empty()) {
      reports.finding(fmt::format(
          "{} bytes: no {} is slower than the others (slow: {}, and beyond their spread)",
          matrix.bytes, players.nodes ? "node" : "rank",
          speeds.latency ? fmt::format("{:.3g} times their latency", 1 / db::kSlowLatency)
                         : fmt::format("below {:.3g} of their speed", speeds.slow)));
    }
  }
}

Benchmark pair_benchmark() {
  const auto over = std::make_shared<std::string>();
  Benchmark benchmark{
      "pairs",
      {{"--over",
        "send between nodes (one rank of each, its first) or ranks [default: nodes where there are "
        "several]",
        over.get()}},
      [over](const CommonOptions& common) {
        require_sizes_fit_twice(common);
        if (over->empty() || *over == "nodes" || *over == "ranks") return;
        throw moe::InputError(fmt::format("--over {}: expected nodes or ranks", *over));
      },
      {},
      "4M"};
  benchmark.op = kPingPong;
  benchmark.check_ranks = [over](const std::vector<moe::RankInfo>& ranks) {
    pair_players(ranks, *over);
  };
  benchmark.run = [over](const Bench& bench, const CommonOptions& common, const Reports& reports) {
    measure_pairs(bench, pair_players(bench.ranks, *over), common.sizes, reports);
  };
  return benchmark;
}

}  // namespace microbench
