#include "db/machine_class.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "db/load.h"
#include "db/query.h"
#include "tests/db/sample.h"

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

TEST(MachineClass, IsThatOfTheView) {
  auto connection = open_writer(":memory:");
  std::vector<Machine> machines(5, sample_machine());
  machines[1].cores = 1;
  machines[1].memory_bytes = 17'150'123'457;
  machines[2].gpu = "NVIDIA H100";
  machines[2].gpu_count = 4;
  machines[3].memory_bytes = (std::int64_t{3} << 30) + (std::int64_t{1} << 29);  // 3.5 GiB
  machines[4].memory_bytes = 1;
  for (std::size_t i = 0; i < machines.size(); ++i) {
    machines[i].fingerprint = std::to_string(i);
    const std::int64_t run =
        insert(connection, sample_run(find_or_insert(connection, machines[i])));
    Query view(connection, "SELECT machine_class FROM run_view WHERE run = ?1", {Cell(run)});
    const Machine stored = load_machine(connection, load_run(connection, run).machine_id);
    EXPECT_EQ(view.next().value()[0], Cell(machine_class(stored)));
  }
}

}  // namespace
}  // namespace db::machine_class_test
