#include "moe/command/lists.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>
#include <string>
#include <utility>

#include "moe/passes/schedule.h"

namespace moe {
namespace {

/// What is printed by name alone.
constexpr std::string_view kKeys = "keys", kModels = "models";

Listing decisions() {
  Listing listing{"decisions", {}};
  for (const DecisionKind& kind : decision_kinds()) {
    const std::string_view effect = kind.changes_results ? "; changes results" : "";
    listing.entries.push_back(
        {std::string(kind.name), fmt::format("{}{}", kind.description, effect)});
  }
  return listing;
}

}  // namespace

void declare_lists(CLI::App& app, std::vector<Listing> more, std::function<Listing()> models) {
  std::vector<Listing> lists = listings_of_model();
  lists.push_back(decisions());
  std::move(more.begin(), more.end(), std::back_inserter(lists));
  std::vector<std::string> names;
  for (const Listing& list : lists) names.push_back(list.title);
  names.emplace_back(kKeys);
  names.emplace_back(kModels);

  const auto asked = [lists, models = std::move(models)](const std::string& name) {
    if (name == kKeys) return listings_of_keys();
    if (name == kModels) return std::vector<Listing>{models()};
    std::vector<Listing> found = lists;
    std::erase_if(found, [&](const Listing& list) { return !name.empty() && name != list.title; });
    return found;
  };
  const auto print = [asked](const std::string& name) {
    for (const Listing& list : asked(name)) std::cout << to_text(list);
    throw CLI::Success();
  };
  app.add_option_function<std::string>(
         "--list", print,
         fmt::format("print all names with a line about each, and end; or print one list: {}",
                     fmt::join(names, ", ")))
      ->expected(0, 1)
      ->type_name("LIST")
      ->check([names](const std::string& name) {
        const bool known = name.empty() || std::count(names.begin(), names.end(), name) > 0;
        return known ? "" : fmt::format("expected one of {}", fmt::join(names, ", "));
      })
      ->group("Help");
}

}  // namespace moe
