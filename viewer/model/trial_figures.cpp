#include "viewer/model/trial_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "viewer/model/format.h"

namespace viewer {

namespace {

std::string three_digits(double seconds) { return duration_text(seconds, 3); }

}  // namespace

std::optional<TrialBound> bound_of(const TrialRow& row) {
  const db::Trial& trial = row.trial;
  TrialBound bound;
  bound.seconds = trial.lower_bound_s.value_or(0);
  if (!(bound.seconds > 0)) return std::nullopt;
  const double least_s = std::min(row.figures.min_iteration_s.value_or(bound.seconds),
                                  trial.measured_s.value_or(bound.seconds));
  bound.is_broken = least_s < bound.seconds;
  return bound;
}

std::string bounding_text(const std::string& bounded_by) {
  const auto word_after = [&](std::string_view before) {
    return bounded_by.substr(before.size(), bounded_by.find(' ', before.size()) - before.size());
  };
  for (const std::string_view of : {"rank ", "node "}) {
    if (!bounded_by.starts_with(of)) continue;
    const std::string number = word_after(of);
    const std::size_t at = of.size() + number.size() + 1;
    const std::string what = at < bounded_by.size() ? bounded_by.substr(at) : std::string();
    if (what == "in" || what == "out") {
      return fmt::format("the link {} {}{}", what == "in" ? "into" : "out of", of, number);
    }
    return fmt::format("the stream {} of {}{}", what, of, number);
  }
  constexpr std::string_view kChain = "chain to ";
  if (bounded_by.starts_with(kChain)) {
    return fmt::format("a chain of ops that wait for each other, up to {}",
                       bounded_by.substr(kChain.size()));
  }
  return bounded_by;
}

std::string bound_text(const TrialRow& row) {
  const auto bound = bound_of(row);
  if (!bound || !row.trial.measured_s) return "";
  if (!bound->is_broken) {
    return fmt::format("{:.2f}x its lower bound", *row.trial.measured_s / bound->seconds);
  }
  const double least_s =
      std::min(row.figures.min_iteration_s.value_or(bound->seconds), *row.trial.measured_s);
  return fmt::format("iterations from {} on, below its lower bound of {}", three_digits(least_s),
                     three_digits(bound->seconds));
}

std::string bound_explanation(const TrialRow& row) {
  const auto bound = bound_of(row);
  if (!bound) return "";
  std::string text = "as predicted";
  if (!row.trial.bounded_by.empty()) {
    text += fmt::format(", what bounds is {}", bounding_text(row.trial.bounded_by));
  }
  if (bound->is_broken) text += fmt::format("\n{}: the costs are too slow", bound_text(row));
  return text;
}

std::string speedup_explanation(const TrialRow& row) {
  std::string text;
  const auto add = [&](const std::string& line) {
    if (!line.empty()) text += (text.empty() ? "" : "\n") + line;
  };
  if (row.figures.speedup && !row.figures.speedup_against.empty()) {
    add("over the time of " + row.figures.speedup_against);
  }
  if (const auto [least, most] = std::pair(row.figures.least_speedup, row.figures.most_speedup);
      least && most) {
    add(fmt::format("95% interval: {:.2f}x to {:.2f}x", *least, *most));
  }
  return text;
}

}  // namespace viewer
