#pragma once

#include <string>
#include <vector>

#include "viewer/report/study_facts.h"

/// What a study found, in whole sentences of plain text.
namespace viewer {

/// A heading and its paragraphs.
struct Finding {
  std::string heading;
  std::vector<std::string> paragraphs;
};

/// The one sentence above all others: the best schedule and its speed-up.
std::string headline(const StudyFacts& facts);

/// What is known of each of these, in this order: the speed-up and its spread, the bound, the
/// predictions, what was exposed, the memory, the balance, and the trials that were not measured.
/// What nothing is known of is left out.
std::vector<Finding> findings(const StudyFacts& facts);

}  // namespace viewer
