#include "db/machine_class.h"

#include <gtest/gtest.h>

namespace db::machine_class_test {
namespace {

TEST(MachineClass, IsTheSameForComputersThatDifferInNameAndALittleMemory) {
  Machine one;
  one.hostname = "n0";
  one.cpu = "AMD EPYC 7B13";
  one.cores = 2;
  one.memory_bytes = 17'150'000'000;
  Machine other = one;
  other.hostname = "n1";
  other.memory_bytes -= 40'000'000;
  EXPECT_EQ(machine_class(one), "2 cores of AMD EPYC 7B13, 16 GiB");
  EXPECT_EQ(machine_class(other), machine_class(one));
  other.gpu = "NVIDIA H100";
  other.gpu_count = 4;
  EXPECT_EQ(machine_class(other), "2 cores of AMD EPYC 7B13, 16 GiB, 4 x NVIDIA H100");
  other.cores = 1;
  EXPECT_NE(machine_class(other), machine_class(one));
}

}  // namespace
}  // namespace db::machine_class_test
