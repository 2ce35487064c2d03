#include "microbench/compare/compare_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "db/load.h"
#include "db/machine_class.h"
#include "microbench/table.h"
#include "moe/errors.h"

namespace microbench {
namespace {

MeasuredPlace place_of(const db::Connection& connection, std::int64_t run_id) {
  const db::Run run = db::load_run(connection, run_id);
  return {db::load_machine(connection, run.machine_id), run.network,
          db::load_run_ranks(connection, run_id)};
}

/// What figures depend on besides the code, in words.
std::vector<std::pair<std::string, std::string>> in_words(const MeasuredPlace& place) {
  std::set<int> nodes, threads;
  for (const db::RunRank& rank : place.ranks) {
    nodes.insert(rank.node);
    threads.insert(rank.threads.value_or(0));
  }
  return {{"machine", db::machine_class(place.machine)},
          {"network", place.network.empty() ? "not known" : place.network},
          {"nodes", fmt::format("{}", nodes.size())},
          {"threads of a rank", threads.size() == 1 && *threads.begin() == 0
                                    ? "not known"
                                    : fmt::format("{}", fmt::join(threads, " "))}};
}

db::Cell finite(double value) { return std::isfinite(value) ? db::Cell(value) : db::Cell(); }

/// "1.07", "<0.001"
std::string short_p(double p) { return p < 0.001 ? "<0.001" : fmt::format("{:.3f}", p); }

std::string interval_text(const RatioInterval& interval) {
  return fmt::format("{:.3f} ({:.3f} to {:.3f})", interval.ratio, interval.low, interval.high);
}

}  // namespace

void expect_same_place(const db::Connection& connection, std::int64_t before,
                       const MeasuredPlace& place, const std::string& name, bool across) {
  const auto of_before = in_words(place_of(connection, before)), of_after = in_words(place);
  std::string difference;
  for (std::size_t i = 0; i < of_before.size(); ++i) {
    if (of_before[i].second == of_after[i].second) continue;
    difference +=
        fmt::format("{}{}: {} in run {}, {} in {}", difference.empty() ? "" : "; ",
                    of_before[i].first, of_before[i].second, before, of_after[i].second, name);
  }
  if (difference.empty()) return;
  if (!across) {
    throw moe::InputError(
        fmt::format("{}: expected runs of one kind of machine and network, or "
                    "--across",
                    difference));
  }
  spdlog::warn("not measured on the same: {}", difference);
}

Comparison compare_runs(const db::Connection& connection, const CompareSettings& settings) {
  expect_same_place(connection, settings.before, place_of(connection, settings.after),
                    fmt::format("run {}", settings.after), settings.across);
  Comparison comparison =
      compare(db::load_sampled_measurements(connection, settings.before),
              db::load_sampled_measurements(connection, settings.after), settings.least);
  if (!comparison.cases.empty()) return comparison;
  if (comparison.without_samples > 0) {
    throw moe::InputError(fmt::format(
        "{}: runs {} and {}: samples are stored of none of the {} cases that both "
        "have, since an earlier version or another program measured them: expected runs of this "
        "version",
        connection.path(), settings.before, settings.after, comparison.without_samples));
  }
  throw moe::InputError(fmt::format(
      "{}: run {} has {} cases and run {} has {}, none in common: expected the same op, device, "
      "dtype, ranks, size and parameters",
      connection.path(), settings.before, comparison.only_before, settings.after,
      comparison.only_after));
}

std::string summary_line(const CompareSettings& settings, const Comparison& comparison) {
  std::string line = fmt::format(
      "run {} against run {}: {} cases: {} slower, {} faster, {} within noise", settings.after,
      settings.before, comparison.cases.size(), comparison.count(Verdict::slower),
      comparison.count(Verdict::faster), comparison.count(Verdict::within_noise));
  if (const int few = comparison.count(Verdict::too_few_samples); few > 0) {
    line +=
        fmt::format(", {} with too few samples to tell (a larger --budget or -n gives more)", few);
  }
  if (std::isfinite(comparison.all.high)) {
    line += fmt::format("; together {} times as long: {}", interval_text(comparison.all),
                        name_of(comparison.verdict));
  }
  return line;
}

std::vector<std::string> limit_lines(const CompareSettings& settings,
                                     const Comparison& comparison) {
  const auto percent = [](double share) { return fmt::format("{:.3g}%", 100 * share); };
  const auto [least, most] = std::ranges::minmax(comparison.cases, {}, &ComparedCase::limit);
  const std::string limits =
      least.limit == most.limit
          ? percent(least.limit)
          : fmt::format("{} to {}", percent(least.limit), percent(most.limit));
  std::vector<std::string> lines{fmt::format(
      "a case is slower or faster where chance makes such samples in less than {} of comparisons, "
      "and its times differ by more than its limit: {} (--least {}, or its noise where that is "
      "more)",
      percent(kSignificant), limits, percent(settings.least))};
  if (std::isfinite(comparison.all.high)) {
    lines.push_back(fmt::format(
        "all together are slower or faster where the ratio differs from 1 by more than {} and the "
        "whole interval lies on that side of 1",
        percent(settings.least)));
  }
  return lines;
}

void print_comparison(std::FILE* file, const db::Style& style, const CompareSettings& settings,
                      const Comparison& comparison) {
  const bool table = style.format == db::Format::table;
  db::RowWriter writer(
      file, style,
      {"op", "device", "dtype", "ranks", "bytes", "parameters", "before_s", "after_s", "ratio",
       "low", "high", "limit", "p", "samples_before", "samples_after", "verdict"});
  const auto shown = [&](double value) {
    return table ? db::Cell(fmt::format("{:.3f}", value)) : finite(value);
  };
  for (const ComparedCase& of : comparison.cases) {
    const db::Measurement& m = of.before;
    writer.row({m.op, m.device, m.dtype, std::int64_t{m.ranks}, m.bytes, m.parameters_json,
                m.time_s, of.after.time_s, shown(of.ratio.ratio), shown(of.ratio.low),
                shown(of.ratio.high), shown(1 + of.limit),
                table ? db::Cell(short_p(of.p)) : db::Cell(of.p), std::int64_t{m.samples},
                std::int64_t{of.after.samples}, name_of(of.verdict)});
  }
  writer.finish();
  if (!table) return;
  ResultWriter remarks(file, style);
  remarks.metadata(summary_line(settings, comparison));
  for (const std::string& line : limit_lines(settings, comparison)) remarks.metadata(line);
  for (const auto& [count, run] : {std::pair{comparison.only_before, settings.before},
                                   std::pair{comparison.only_after, settings.after}}) {
    if (count > 0) remarks.metadata(fmt::format("{} cases are in run {} alone", count, run));
  }
  if (comparison.without_samples > 0) {
    remarks.metadata(
        fmt::format("of {} more cases a run has no stored samples", comparison.without_samples));
  }
}

}  // namespace microbench
