#include "moe/model/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace moe {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string error_of(const Model& model, int ranks) {
  try {
    check(model, make_groups(ranks, ranks));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "no error";
}

TEST(CheckModel, NamesTheKeyAndWhatWouldDivide) {
  Model model;
  model.name = "tiny";
  model.global_batch = 16;
  model.experts = 8;
  EXPECT_EQ(error_of(model, 4), "no error");
  EXPECT_EQ(error_of(model, 3),
            "model tiny: global_batch = 16 does not divide by 3 ranks: expected 1, 2, 4 ranks "
            "(--ranks), or global_batch = 15 or 18");
  EXPECT_THAT(error_of(model, 32), HasSubstr("(--ranks), or global_batch = 32"));
  EXPECT_THAT(
      error_of(model, 16),
      AllOf(HasSubstr("experts = 8 does not divide by 16 ranks that the experts are spread over"),
            HasSubstr("(--layout ep=), or experts = 16")));
}

}  // namespace
}  // namespace moe
