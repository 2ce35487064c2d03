#pragma once

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>

namespace tuner {

/// A study ends in order before all was trained: what was measured counts, and --resume goes on.
struct EndedEarly : std::runtime_error {
  EndedEarly(const std::string& what, bool is_failure)
      : std::runtime_error(what), is_failure(is_failure) {}
  bool is_failure;  ///< else it was asked to
};

/// The time that a study may take.
class Budget {
 public:
  /// From now on; 0: any.
  explicit Budget(double limit_s) : limit_s_(limit_s) {}

  /// Call it before each training. Throws EndedEarly where less is left than it takes: `expected_s`,
  /// or as long as the one before where that is not known.
  void expect_training(std::optional<double> expected_s);

 private:
  double limit_s_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::optional<std::chrono::steady_clock::time_point> last_;
};

}  // namespace tuner
