#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "moe/model/published/published_class.h"

namespace moe {

inline constexpr const char* kTensorsFile = "model.safetensors";

/// Part of a tensor of transformers, which is taken as a matrix of its last dimension's columns.
struct TheirPart {
  std::int64_t first_row = 0;
  std::int64_t rows = 0, columns = 0;
  std::int64_t first_column = 0, column_step = 1;
  std::vector<std::int64_t> row_order{};  ///< from first_row; empty: one after the other

  /// Where a tensor of so many columns has row r and column c of the part.
  std::int64_t place(std::int64_t r, std::int64_t c, std::int64_t of_columns) const {
    const std::int64_t row = row_order.empty() ? r : row_order[static_cast<std::size_t>(r)];
    return (first_row + row) * of_columns + first_column + c * column_step;
  }
};

/// Part of a tensor of transformers and the part of a matrix here that it is. Linear layers are
/// [outputs, inputs] there and [inputs, outputs] here.
struct Counterpart {
  std::string theirs;
  std::vector<std::int64_t> shape;  ///< of theirs, whole
  std::string ours;                 ///< as a checkpoint names it; "": theirs is all zeros
  bool transposed = false;
  std::int64_t first_column = 0;  ///< of ours, where it begins there
  double factor = 1;              ///< of theirs in terms of ours
  TheirPart part{};               ///< no rows: all of it

  /// All of theirs, or its part.
  TheirPart region() const;
  /// Elements of a row of theirs. A vector with a part is a column.
  std::int64_t of_row() const { return shape.size() == 1 && part.rows > 0 ? 1 : shape.back(); }
  /// Where ours has row r and column c of the region, in a matrix of so many columns.
  std::int64_t place(std::int64_t r, std::int64_t c, std::int64_t columns) const {
    return transposed ? c * columns + first_column + r : r * columns + first_column + c;
  }
};

struct Counterparts {
  std::vector<Counterpart> tensors;  ///< parts of one tensor of theirs follow one another
  /// Of ours, those that have none there: they must be zero.
  std::vector<std::string> zeros;
};

/// All of a model that fits the class. In qwen2_moe shared experts without a gate are written
/// beside one of zeros, whose sigmoid is 1/2, with a `down` of twice their own. Throws Refusal for
/// a class whose tensors nothing here names. `turns_halves`: ConfiguredModel::turns_halves.
Counterparts counterparts(const Model& model, const PublishedClass& of, bool turns_halves = false);

}  // namespace moe
