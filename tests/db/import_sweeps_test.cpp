#include "db/import_sweeps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/load.h"
#include "tests/db/nccl_log.h"

namespace db {
namespace {

using ::testing::ElementsAre;
using ::testing::SizeIs;

db::Run bench_of(const std::string& name) {
  db::Run run;
  run.kind = "bench";
  run.name = name;
  run.status = "running";
  return run;
}

TEST(ImportSweeps, TheSameFiguresAreStoredOnce) {
  Connection connection = open_writer(":memory:");
  const ImportedSweeps log = sweeps_of_log(kTableHead + kTableRow);
  const std::int64_t first = store_sweeps(connection, bench_of("a"), log).sweeps.at(0).run_id;
  const StoredSweeps again = store_sweeps(connection, bench_of("copy"), log);
  EXPECT_TRUE(again.sweeps.at(0).is_known);
  EXPECT_EQ(again.sweeps[0].run_id, first);
  EXPECT_THAT(load_measurements(connection), SizeIs(1));

  std::string row = kTableRow;
  row.replace(row.find("50.00"), 5, "50.10");
  const StoredSweeps other =
      store_sweeps(connection, bench_of("b"), sweeps_of_log(kTableHead + row));
  EXPECT_FALSE(other.sweeps.at(0).is_known);
  EXPECT_THAT(other.sweeps[0].beside, ElementsAre(first)) << "a fit takes both";
}

TEST(ImportSweeps, MachinesAndNetworksOfOtherNamesAreOthers) {
  Connection connection = open_writer(":memory:");
  for (const SweepFacts& facts :
       {SweepFacts{}, {.machine = "c1"}, {.machine = "c1", .network = "400 Gbit/s"}}) {
    const StoredSweeps stored =
        store_sweeps(connection, bench_of("a"), sweeps_of_log(kTableHead + kTableRow, facts));
    EXPECT_FALSE(stored.sweeps.at(0).is_known);
    EXPECT_THAT(stored.sweeps[0].beside, SizeIs(0));
  }
  const std::vector<db::Run> runs = load_runs(connection);  // newest first
  EXPECT_EQ(runs.at(0).network, "400 Gbit/s");
  EXPECT_EQ(runs.at(0).machine_id, runs.at(1).machine_id);
  EXPECT_NE(load_machine(connection, runs.at(1).machine_id).cpu,
            load_machine(connection, runs.at(2).machine_id).cpu)
      << "hosts of one cluster differ in their names; the processor tells machines apart";
}

TEST(ImportSweeps, AreRunsOnMachinesOfTheirOwn) {
  Connection connection = open_writer(":memory:");
  const StoredSweeps sweeps =
      store_sweeps(connection, bench_of("a"), sweeps_of_log(kTableHead + kTableRow));
  ASSERT_THAT(sweeps.sweeps, SizeIs(1));
  const std::int64_t id = sweeps.sweeps[0].run_id;
  const db::Run stored = load_run(connection, id);
  EXPECT_EQ(stored.status, "done");
  EXPECT_EQ(stored.ranks, 4);
  const Machine machine = load_machine(connection, stored.machine_id);
  EXPECT_EQ(machine.hostname, "alpha");
  EXPECT_EQ(machine.gpu, "NVIDIA X9");
  EXPECT_EQ(machine.gpu_count, 2);
  const std::vector<RunRank> ranks = load_run_ranks(connection, id);
  ASSERT_THAT(ranks, SizeIs(4));
  EXPECT_EQ(ranks[1].node, 0);
  EXPECT_EQ(ranks[2].node, 1);
  EXPECT_THAT(load_measurements(connection, {.op = "all_reduce"}), SizeIs(1));
}

}  // namespace
}  // namespace db
