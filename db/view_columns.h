#pragma once

#include <string>
#include <vector>

namespace db {

/// A column of a view, as db/columns.md has it.
struct ViewColumn {
  std::string view, name;
  std::string unit;  ///< empty where it has none
  std::string meaning;
};

/// All columns of all views, in their order there.
const std::vector<ViewColumn>& view_columns();

}  // namespace db
