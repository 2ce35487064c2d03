// The table of layout_cases.h on the ranks of an MPI job.
#include <gtest/gtest.h>

#include "tests/moe/communicator/mpi_test_main.h"
#include "tests/moe/train/layout_cases.h"

namespace moe::test {
namespace {

TEST(MpiLayouts, GiveLossesGradientsAndPeaks) {
  for (const LayoutCase& one : layout_cases(world->size)) check_layout(one, *world);
}

}  // namespace
}  // namespace moe::test
