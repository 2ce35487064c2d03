#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "moe/errors.h"

namespace moe {

/// The one of `all` with this name. Throws InputError that calls it `what` and names those
/// there are.
template <class Named>
const Named& find_named(const std::vector<Named>& all, std::string_view name,
                        std::string_view what) {
  std::string names;
  for (const Named& one : all) {
    if (one.name == name) return one;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", one.name);
  }
  throw InputError(fmt::format("no {} \"{}\"; there are {}", what, name, names));
}

}  // namespace moe
