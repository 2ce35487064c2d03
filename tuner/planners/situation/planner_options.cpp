#include "tuner/planners/situation/planner_options.h"

#include <fmt/format.h>

namespace tuner {

std::optional<double> asked_for(const PlannerOptions& options, const PlannerOption& option) {
  const auto found = options.asked.find(option.key);
  return found == options.asked.end() ? std::nullopt : std::optional(found->second);
}

double value_of(const PlannerOptions& options, const PlannerOption& option, double usual) {
  return asked_for(options, option).value_or(usual);
}

int whole_value_of(const PlannerOptions& options, const PlannerOption& option, int usual) {
  return static_cast<int>(value_of(options, option, usual));
}

int most_chunks(const PlannerOptions& options) {
  return whole_value_of(options, kMostChunks, options.most_chunks);
}

std::string join_parameters(const std::string& first_json, const std::string& second_json) {
  const auto inside = [](const std::string& json) { return json.substr(1, json.size() - 2); };
  const std::string first = inside(first_json), second = inside(second_json);
  return fmt::format("{{{}{}{}}}", first, first.empty() || second.empty() ? "" : ", ", second);
}

std::string to_json(const PlannerOptions& options) {
  std::string text = "{}";
  for (const auto& [key, value] : options.asked) {
    text = join_parameters(text, fmt::format(R"({{"{}": {}}})", key, value));
  }
  return text;
}

}  // namespace tuner
