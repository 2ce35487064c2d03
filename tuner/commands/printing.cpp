#include "tuner/commands/printing.h"

#include <spdlog/spdlog.h>

#include "moe/input/setting.h"

namespace tuner {

db::Style style_of(const Arguments& arguments) { return arguments.output.style(stdout); }

db::Cell fits_memory(std::int64_t peak_bytes, const Cluster& cluster) {
  if (cluster.memory_bytes == 0) return {};
  return peak_bytes <= cluster.memory_bytes ? "yes" : "no";
}

db::Cell setting_cell(const std::string& setting) {
  const moe::InputNode node = moe::value_node(moe::parse_setting(setting));
  if (const auto* whole = std::get_if<std::int64_t>(&node.value)) return *whole;
  if (const auto* number = std::get_if<double>(&node.value)) return *number;
  return moe::parse_setting(setting).value;
}

Scenario load_said(const ScenarioOptions& options, std::set<std::string>& said) {
  Scenario scenario = load_scenario(options);
  say_remarks(scenario, said);
  return scenario;
}

void say_remarks(const Scenario& scenario, std::set<std::string>& said) {
  for (const std::string& remark : scenario.remarks) {
    if (said.insert(remark).second) spdlog::info(remark);
  }
  const std::string far = extrapolation(scenario);
  if (!far.empty() && said.insert(far).second) spdlog::warn(far);
}

bool shows_column(const Arguments& arguments, bool one_has_it) {
  return one_has_it || style_of(arguments).format != db::Format::table;
}

void warn_of_other_results(const moe::Schedule& schedule) {
  const std::string names = moe::changes_results(schedule);
  if (!names.empty()) {
    spdlog::warn("{} changes results: losses are not those of other schedules", names);
  }
}

}  // namespace tuner
