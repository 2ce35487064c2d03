#include "tuner/study/ties.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace tuner::ties_test {
namespace {

/// Repeats of which the logarithms are given.
Repeats repeats(const std::map<int, double>& logarithms) {
  Repeats result;
  for (const auto& [number, value] : logarithms) result[number] = std::exp(value);
  return result;
}

TEST(Ties, TermsOfRepeatsAreTheirDifferencesWithinAGroup) {
  // Repeats 1 to 3 are linked by the second trial; nothing links 4 with them.
  const std::vector<Repeats> trials{
      repeats({{1, 1.0}, {2, 1.1}}), repeats({{2, 2.1}, {3, 2.4}}), repeats({{4, 5.0}}), {}};
  const RepeatTerms terms = repeat_terms(trials);
  ASSERT_EQ(terms.size(), 2u);
  const std::vector<double>& linked = terms[0].size() == 3 ? terms[0] : terms[1];
  ASSERT_EQ(linked.size(), 3u);
  EXPECT_NEAR(linked[1] - linked[0], 0.1, 1e-9);
  EXPECT_NEAR(linked[2] - linked[1], 0.3, 1e-9);
}

}  // namespace
}  // namespace tuner::ties_test
