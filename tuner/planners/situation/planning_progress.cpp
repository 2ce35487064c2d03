#include "tuner/planners/situation/planning_progress.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <optional>
#include <string>
#include <utility>

#include "db/console/format_rows.h"

namespace tuner {
namespace {

/// {"forward_chunks": 2, "backward_chunks": 1} as forward_chunks: 2, backward_chunks: 1.
std::string plain(std::string json) {
  std::erase_if(json, [](char c) { return c == '{' || c == '}' || c == '"'; });
  return json.empty() ? "its schedule" : json;
}

}  // namespace

PlanningProgress::PlanningProgress(std::string planner, Parameters parameters, double silent_s)
    : planner_(std::move(planner)),
      parameters_(std::move(parameters)),
      own_turns_(silent_s),
      turns_(own_turns_) {}

PlanningProgress::PlanningProgress(PlanningProgress& outer, std::string_view planner,
                                   Parameters parameters)
    : planner_(fmt::format("{}: {}", outer.planner_, planner)),
      parameters_(std::move(parameters)),
      own_turns_(0),
      turns_(outer.turns_) {}

void PlanningProgress::tries(std::string_view what, const moe::Schedule& schedule) {
  ++tried_;
  const std::optional<double> passed_s = turns_.now();
  if (!passed_s) return;
  std::string text = fmt::format("{}: {}", planner_, tried_);
  if (tried_ <= expected_) text += fmt::format(" of at most {}", expected_);
  text += fmt::format(", {:.0f} s so far: {} {}", *passed_s, what,
                      plain(parameters_ ? parameters_(schedule) : ""));
  if (fastest_s_ > 0) {
    text += "; the fastest so far takes " + db::format_cell("seconds_s", fastest_s_);
  }
  spdlog::info(text);
}

void PlanningProgress::found(double seconds) {
  if (fastest_s_ == 0 || seconds < fastest_s_) fastest_s_ = seconds;
}

}  // namespace tuner
