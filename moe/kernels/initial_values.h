#pragma once

#include <cstdint>

#include "moe/program/program.h"
#include "moe/rows/element_share.h"

namespace moe {

/// What the elements of a tensor begin with.
struct InitialValues {
  double constant = 0;            ///< each element, where there is no standard deviation
  double standard_deviation = 0;  ///< of normal numbers, drawn by `key` and an element's place
  std::uint64_t key = 0;          ///< parameter_key()
  // Of normal numbers: the rank has the parameter as a matrix of `columns` columns, whose elements
  // have the places whole_element(shard, columns, ...). The tensor holds the elements `held` of
  // that matrix, and after them zeros.
  Shard shard{};
  std::int64_t columns = 1;
  ElementRange held{};
};

}  // namespace moe
