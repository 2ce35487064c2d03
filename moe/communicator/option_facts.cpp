#include "moe/communicator/option_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <utility>

#include "db/console/version.h"

namespace moe {
namespace {

/// What only says how much and where is told.
constexpr std::array<std::string_view, 4> kOptionsOfOutput{"--quiet", "--log-level", "--color",
                                                           "--format"};

bool has_option(const std::vector<std::string_view>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

std::vector<InputFact> facts_of_command_line(const std::string& program, const CLI::App& app,
                                             const OptionsThatDiffer& may_differ) {
  std::vector<InputFact> facts{{kBuildKey, db::version_line(program)}};
  for (const CLI::Option* option : app.get_options()) {
    const auto& names = option->get_lnames();
    const std::string name = names.empty() ? option->get_name(true) : "--" + names.front();
    if (has_option(may_differ.freely, name)) continue;
    if (std::ranges::find(kOptionsOfOutput, name) != kOptionsOfOutput.end()) continue;
    std::string value = fmt::format("{}", fmt::join(option->results(), " "));
    if (option->results().empty()) value = "not given";
    if (has_option(may_differ.in_value, name) && !option->results().empty()) value = "given";
    facts.push_back({name, std::move(value)});
  }
  return facts;
}

}  // namespace moe
