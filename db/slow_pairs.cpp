#include "db/slow_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "db/console/statistics.h"

namespace db {
namespace {

constexpr double kDeviations = 5;
constexpr double kDeviationOfMedian = 1.4826;  ///< standard deviation over the median deviation

double upper_median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

/// Whether a speed that is `ratio` of the usual is slow, where ln(ratio) deviates by `deviation`.
bool is_slow(const PairSpeeds& pairs, double ratio, double deviation) {
  return ratio < (pairs.latency ? kSlowLatency : pairs.slow) &&
         std::log(ratio) < -kDeviations * deviation;
}

std::string share_of_median(const PairSpeeds& pairs, double ratio) {
  if (pairs.latency) return fmt::format("{:.1f} times the median", 1 / ratio);
  return fmt::format("{:.2f} of the median", ratio);
}

/// Sentences and how slow what they are about is.
using Findings = std::vector<std::pair<double, std::string>>;

Findings slow_players(const PairSpeeds& pairs, const JudgedPairs& judged) {
  std::vector<double> deviations;
  for (const std::vector<double>* speeds : {&judged.out, &judged.in}) {
    for (const double speed : *speeds) {
      if (speed > 0) deviations.push_back(std::abs(std::log(speed / judged.median)));
    }
  }
  const double deviation = std::max(kDeviationOfMedian * median(deviations), pairs.relative_error);
  Findings findings;
  for (std::size_t player = 0; player < pairs.names.size(); ++player) {
    const double out = judged.out[player] / judged.median, in = judged.in[player] / judged.median;
    const bool out_is_slow = out > 0 && is_slow(pairs, out, deviation);
    const bool in_is_slow = in > 0 && is_slow(pairs, in, deviation);
    if (!out_is_slow && !in_is_slow) continue;
    std::string text = pairs.names[player] + ": ";
    if (out_is_slow && in_is_slow && std::abs(std::log(out / in)) < 0.1) {
      text += share_of_median(pairs, std::sqrt(out * in)) + ", out and in";
    } else if (out_is_slow && in_is_slow) {
      text += share_of_median(pairs, out) + ", out, and " + share_of_median(pairs, in) + ", in";
    } else {
      text += share_of_median(pairs, out_is_slow ? out : in) + (out_is_slow ? ", out" : ", in");
    }
    findings.emplace_back(out_is_slow && in_is_slow ? std::min(out, in)
                          : out_is_slow             ? out
                                                    : in,
                          std::move(text));
  }
  return findings;
}

Findings slow_cells(const PairSpeeds& pairs, const JudgedPairs& judged) {
  const std::size_t players = pairs.names.size();
  const auto expected = [&](std::size_t from, std::size_t to) {
    return std::min(judged.out[from], judged.in[to]);
  };
  std::vector<double> deviations;
  const auto visit = [&](const auto& each) {
    for (std::size_t from = 0; from < players; ++from) {
      for (std::size_t to = 0; to < players; ++to) {
        const double speed = pairs.speed[from][to];
        if (from != to && speed > 0) each(from, to, speed / expected(from, to));
      }
    }
  };
  visit([&](auto, auto, double ratio) { deviations.push_back(std::abs(std::log(ratio))); });
  if (deviations.empty()) return {};
  const double deviation = std::max(kDeviationOfMedian * median(deviations), pairs.relative_error);
  Findings findings;
  visit([&](std::size_t from, std::size_t to, double ratio) {
    if (!is_slow(pairs, ratio, deviation)) return;
    const double of_median = pairs.speed[from][to] / judged.median;
    findings.emplace_back(of_median, fmt::format("{} to {}: {}", pairs.names[from], pairs.names[to],
                                                 share_of_median(pairs, of_median)));
  });
  return findings;
}

/// Of two players: the slower direction against the other.
Findings slow_direction(const PairSpeeds& pairs) {
  const double there = pairs.speed[0][1], back = pairs.speed[1][0];
  if (there <= 0 || back <= 0) return {};
  const double ratio = std::min(there, back) / std::max(there, back);
  if (!is_slow(pairs, ratio, pairs.relative_error)) return {};
  const std::size_t from = there < back ? 0 : 1;
  return {{ratio, fmt::format("{} to {}: {} of the other direction", pairs.names[from],
                              pairs.names[1 - from],
                              pairs.latency ? fmt::format("{:.1f} times the latency", 1 / ratio)
                                            : fmt::format("{:.2f}", ratio))}};
}

void append_findings(Findings findings, std::vector<std::string>& sentences) {
  std::ranges::stable_sort(findings, {}, &Findings::value_type::first);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (i == kMostSlowPairs) {
      sentences.push_back(fmt::format("and {} more", findings.size() - i));
      return;
    }
    sentences.push_back(std::move(findings[i].second));
  }
}

}  // namespace

std::vector<std::string> JudgedPairs::findings() const {
  std::vector<std::string> all = slow_players;
  all.insert(all.end(), slow_pairs.begin(), slow_pairs.end());
  return all;
}

JudgedPairs judge_pairs(const PairSpeeds& pairs) {
  const std::size_t players = pairs.names.size();
  if (players < 2) {
    throw std::invalid_argument(fmt::format("judge_pairs: {} players: expected 2", players));
  }
  JudgedPairs judged;
  std::vector<double> middles;
  for (std::size_t player = 0; player < players; ++player) {
    std::vector<double> row, column;
    for (std::size_t other = 0; other < players; ++other) {
      if (other == player) continue;
      const double there = pairs.speed[player][other], back = pairs.speed[other][player];
      if (there > 0) row.push_back(there);
      if (back > 0) column.push_back(back);
    }
    judged.out.push_back(upper_median(row));
    judged.in.push_back(upper_median(column));
    for (const double middle : {judged.out.back(), judged.in.back()}) {
      if (middle > 0) middles.push_back(middle);
    }
  }
  if (middles.empty()) return judged;
  judged.median = median(middles);
  if (players == 2) {
    append_findings(slow_direction(pairs), judged.slow_pairs);
    return judged;
  }
  append_findings(slow_players(pairs, judged), judged.slow_players);
  append_findings(slow_cells(pairs, judged), judged.slow_pairs);
  return judged;
}

}  // namespace db
