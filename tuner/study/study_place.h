#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "db/connection.h"
#include "db/records.h"
#include "tuner/scenario/measured_place.h"

/// All that a study compares is measured on one kind of machine, network and number of nodes.
namespace tuner {

/// Checks, before anything is trained, that a study goes on where it was begun. Returns a line for
/// a person where its runs are of another build; else "". Throws moe::InputError where machine or
/// network differ.
std::string check_begun_here(const db::Connection& connection, const db::Study& study,
                             const MeasuredPlace& here);

/// Holds the trainings of a study to the place of its first one.
class StudyPlace {
 public:
  /// `study` lives as long.
  StudyPlace(const db::Connection& connection, const db::Study& study)
      : connection_(connection), study_(study) {}

  /// Call it with each training run before it counts. Returns a line for a person where that was on
  /// other hosts of the same kind, once; else "". Throws moe::InputError where machine, network or
  /// number of nodes differ.
  std::string check(std::int64_t run);

 private:
  const db::Connection& connection_;
  const db::Study& study_;
  std::optional<std::int64_t> first_;
  bool told_of_hosts_ = false;
};

}  // namespace tuner
