#pragma once

#include <gtest/gtest.h>

#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "moe/rows/groups.h"

namespace tuner::test {

/// Four blocks, two of them with experts, on two ranks.
struct TwoRankProgram : ::testing::Test {
  moe::Model model = [] {
    moe::Model m;
    m.blocks = 4;
    m.moe_every = 2;
    m.choices = 2;
    return m;
  }();
  moe::Groups groups = moe::make_groups(2, 2);
  moe::Program program = moe::build_iteration(model, groups, 0);
};

}  // namespace tuner::test
