#pragma once

namespace db {

/// Lists and objects within each other that a file of JSON may have: code that walks them calls
/// itself for each.
inline constexpr int kMostJsonLevels = 64;

}  // namespace db
