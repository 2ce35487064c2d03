#pragma once

#include <optional>
#include <string>
#include <vector>

#include "moe/communicator/communicator.h"
#include "moe/errors.h"

namespace moe {

/// Something that all ranks of a job must have alike, as this rank has it.
struct InputFact {
  std::string key;    ///< "training.learning_rate", "--steps"
  std::string value;  ///< for a person
  /// The value that all ranks work with, where one process has read it for them; none: rank 0's.
  std::optional<std::string> expected{};
  std::string remark{};  ///< what to do where it differs
};

/// Ranks of one job have been given different inputs. All ranks throw it together. The message says
/// the key, both values, and whose they are.
struct Disagreement : InputError {
  using InputError::InputError;
};

/// "rank 1 (n1)": a rank and the node that it runs on.
std::string rank_and_node(int rank);

/// Throws Disagreement on every rank where a rank has another value than `reader`, who has read
/// what facts expect, or than rank 0. A fact that only one of two ranks has is "none" to the other.
/// Collective.
void expect_same_inputs(Communicator& world, const std::vector<InputFact>& mine,
                        const std::string& reader, double time_limit_s);

}  // namespace moe
