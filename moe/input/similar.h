#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace moe {

/// True where one begins with the other, or few letters differ.
bool looks_like(std::string_view a, std::string_view b);

/// The one of the known names that is most like `name`; none where none looks like it.
std::optional<std::string_view> most_similar(std::string_view name,
                                             const std::vector<std::string_view>& known);

}  // namespace moe
