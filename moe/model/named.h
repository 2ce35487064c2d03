#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace moe {

/// The one of `all` with this name. Throws std::invalid_argument that calls it `what` and names those
/// there are.
template <class Named>
const Named& find_named(const std::vector<Named>& all, std::string_view name,
                        std::string_view what) {
  std::string names;
  for (const Named& one : all) {
    if (one.name == name) return one;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
  }
  throw std::invalid_argument(fmt::format("no {} \"{}\"; there are {}", what, name, names));
}

}  // namespace moe
