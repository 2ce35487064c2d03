#include "db/import_sweeps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "db/error.h"
#include "db/load.h"

namespace db {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

/// Four ranks on two hosts. All-reduce: bus bandwidth 1.5 times the other.
const std::string kTableHead =
    "# nThread 1 nGpus 1 minBytes 1024 maxBytes 4194304\n# Using devices\n"
    "#  Rank  0 Group  0 Pid     11 on  alpha device  0 [0x10] NVIDIA X9\r\n"
    "#  Rank  1 Group  0 Pid     12 on  alpha device  1 [0x20] NVIDIA X9\r\n"
    "#  Rank  2 Group  0 Pid     13 on   beta device  0 [0x10] NVIDIA X9\r\n"
    "#  Rank  3 Group  0 Pid     14 on   beta device  1 [0x20] NVIDIA X9\r\n"
    "#       size         count      type   redop    root     time   algbw   busbw #wrong\n";
const std::string kTableRow =
    "  1000000  250000  float  sum  -1  50.00  20.00  30.00  0  51.00  19.61  29.41  0\n";

ImportedSweeps sweeps_of_log(const std::string& text, const SweepFacts& facts = {},
                             const std::string& name = "all_reduce.txt") {
  std::istringstream log(text);
  return read_nccl_tests(log, name, facts);
}

std::string refusal_of_log(const std::string& text, const SweepFacts& facts = {},
                           const std::string& name = "all_reduce.txt") {
  try {
    sweeps_of_log(text, facts, name);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::invalid);
    return error.what();
  }
  return "not refused";
}

TEST(ImportNcclTests, RowsAreThoseOfMoeBench) {
  const ImportedSweeps found = sweeps_of_log(kTableHead + kTableRow);
  ASSERT_THAT(found.sweeps, SizeIs(1));
  const ImportedSweep& sweep = found.sweeps[0];
  EXPECT_THAT(sweep.hosts, ElementsAre("alpha", "alpha", "beta", "beta"));
  EXPECT_EQ(sweep.gpu, "NVIDIA X9");
  ASSERT_THAT(sweep.rows, SizeIs(1));
  const Measurement& row = sweep.rows[0];
  EXPECT_EQ(row.op, "all_reduce");
  EXPECT_EQ(row.device, "cuda");
  EXPECT_EQ(row.ranks, 4);
  EXPECT_EQ(row.bytes, 1000000);
  EXPECT_DOUBLE_EQ(row.time_s, 50e-6) << "out of place";
  EXPECT_DOUBLE_EQ(row.bus_bandwidth_bytes_per_s, 30e9);
  EXPECT_DOUBLE_EQ(row.algorithm_bandwidth_bytes_per_s, 20e9);
}

TEST(ImportNcclTests, TakesSeveralTablesAndOlderColumns) {
  const std::string gathered =  // neither redop nor root, and one time
      "  1000000  250000  float  50.00  20.00  15.00  N/A\n";
  const ImportedSweeps found =
      sweeps_of_log("$ ./all_reduce_perf -b 1M\n" + kTableHead + kTableRow + kTableRow +
                    "$ ./all_gather_perf -b 1M\n" + kTableHead + gathered);
  ASSERT_THAT(found.sweeps, SizeIs(2));
  EXPECT_THAT(found.sweeps[0].rows, SizeIs(2));
  EXPECT_EQ(found.sweeps[1].rows.at(0).op, "all_gather");
  EXPECT_THAT(found.remarks, Contains("2 lines of other programs left out"));
}

TEST(ImportNcclTests, LeavesOutWhatIsNoMeasurementAndSaysSo) {
  std::string wrong = kTableRow;
  wrong.replace(wrong.find("  0  51"), 3, "  7");
  const std::string none = "  2000000  250000  float  sum  -1  N/A  N/A  N/A  N/A\n";
  const ImportedSweeps found = sweeps_of_log(kTableHead + kTableRow + "NCCL WARN a card is slow\n" +
                                             wrong + none + "# Avg bus bandwidth : 3\n");
  EXPECT_THAT(found.sweeps.at(0).rows, SizeIs(1));
  EXPECT_THAT(found.remarks, Contains("1 line of other programs left out"));
  EXPECT_THAT(found.remarks, Contains("1 row with wrong values left out"));
  EXPECT_THAT(found.remarks, Contains("1 row without a time (N/A) left out"));
}

TEST(ImportNcclTests, RefusesFiguresThatContradictEachOther) {
  EXPECT_THAT(
      refusal_of_log(kTableHead + kTableRow, {}, "alltoall.txt"),
      HasSubstr("alltoall.txt, line 8: busbw is 30.00, and that of all_to_all among 4 ranks "
                "15.00"));
  std::string slow = kTableRow;
  slow.replace(slow.find("50.00"), 5, "90.00");
  EXPECT_THAT(refusal_of_log(kTableHead + slow),
              HasSubstr("line 8: 1000000 bytes in 90.00 us are 11.11 GB/s"));
  EXPECT_THAT(refusal_of_log(kTableHead + kTableRow.substr(0, 40) + "\n"),
              HasSubstr("is the line cut off?"));
  EXPECT_THAT(refusal_of_log(kTableHead), HasSubstr("has no table"));
  EXPECT_THAT(refusal_of_log(kTableHead + kTableRow, {}, "a.txt"),
              HasSubstr("expected --collective NAME"));
  EXPECT_EQ(
      sweeps_of_log(kTableHead + kTableRow, {.collective = "all_reduce"}, "a.txt").sweeps.size(),
      1u);
  EXPECT_THAT(refusal_of_log(kTableHead + kTableRow, {.ranks = 8}),
              HasSubstr("--ranks 8, but the log has 4"));
  EXPECT_THAT(refusal_of_log(kTableRow), HasSubstr("expected --ranks and --nodes"));
  EXPECT_EQ(sweeps_of_log(kTableRow, {.ranks = 4, .nodes = 2}).sweeps.at(0).hosts.at(3), "host-1");
}

TEST(ImportNcclTests, RefusesWhatIsNoneOfItsCollectives) {
  EXPECT_THAT(refusal_of_log("$ ./sendrecv_perf -b 1M\n" + kTableHead + kTableRow),
              HasSubstr("line 1: sendrecv_perf: expected one of all_reduce_perf, "));
  std::string gap = kTableHead;
  gap.replace(gap.find("Rank  3"), 7, "Rank  9");
  EXPECT_THAT(refusal_of_log(gap + kTableRow), HasSubstr("line 6: rank 9, expected rank 3"));
  EXPECT_THAT(refusal_of_log(kTableHead + kTableRow, {.collective = "alltoall"}),
              HasSubstr("--collective alltoall: expected one of all_reduce, "));
  EXPECT_THAT(refusal_of_log(kTableHead + kTableRow, {.collective = "reduce"}),
              HasSubstr("that of reduce among 4 ranks 20.00"));
}

TEST(ImportOsu, SizesAreThoseOfTheWholeArray) {
  const auto bytes = [](const std::string& title) {
    std::istringstream log("# OSU MPI " + title + " Latency Test v7.0\n# Size   Avg Latency(us)\n" +
                           "1024      10.00\n");
    const ImportedSweeps found =
        read_osu(log, "osu.txt", {.device = "cpu", .ranks = 4, .nodes = 2});
    return found.sweeps.at(0).rows.at(0).bytes;
  };
  EXPECT_EQ(bytes("All-to-All Personalized Exchange"), 4096) << "1024 to each rank";
  EXPECT_EQ(bytes("Allgather"), 4096);
  EXPECT_EQ(bytes("Allreduce"), 1024);
  EXPECT_EQ(bytes("Broadcast"), 1024);
  std::istringstream log("# OSU MPI Allreduce Latency Test\n1024 10\n");
  EXPECT_THROW(read_osu(log, "osu.txt", {}), Error) << "of how many ranks?";
}

TEST(ImportOsu, RefusesOtherTablesAndLeavesOutWhatFailed) {
  const SweepFacts facts{.device = "cpu", .ranks = 4, .nodes = 2};
  for (const char* title : {"Non-blocking Allreduce Latency", "Gather Latency", "Latency",
                            "All-to-Allv Personalized Exchange Latency", "Bandwidth"}) {
    std::istringstream log("# OSU MPI Allreduce Latency Test\n8 1.0\n# OSU MPI " +
                           std::string(title) + " Test v7.0\n8 5.0\n");
    EXPECT_THROW(read_osu(log, "osu.txt", facts), Error) << title;
  }
  std::istringstream log("# OSU MPI-CUDA Allreduce Latency Test\n8 1.0 Pass\n16 2.0 Fail\n");
  const ImportedSweeps found = read_osu(log, "osu.txt", facts);
  EXPECT_THAT(found.sweeps.at(0).rows, SizeIs(1));
  EXPECT_THAT(found.remarks, Contains("1 row with wrong values left out"));
}

TEST(ImportSweeps, AreRunsOnMachinesOfTheirOwn) {
  Connection connection = open_writer(":memory:");
  db::Run run;
  run.kind = "bench";
  run.name = "all_reduce.txt";
  run.status = "running";
  const auto ids = store_sweeps(connection, run, sweeps_of_log(kTableHead + kTableRow));
  ASSERT_THAT(ids, SizeIs(1));
  const db::Run stored = load_run(connection, ids[0]);
  EXPECT_EQ(stored.status, "done");
  EXPECT_EQ(stored.ranks, 4);
  const Machine machine = load_machine(connection, stored.machine_id);
  EXPECT_EQ(machine.hostname, "alpha");
  EXPECT_EQ(machine.gpu, "NVIDIA X9");
  EXPECT_EQ(machine.gpu_count, 2);
  const std::vector<RunRank> ranks = load_run_ranks(connection, ids[0]);
  ASSERT_THAT(ranks, SizeIs(4));
  EXPECT_EQ(ranks[1].node, 0);
  EXPECT_EQ(ranks[2].node, 1);
  EXPECT_THAT(load_measurements(connection, {.op = "all_reduce"}), SizeIs(1));
}

}  // namespace
}  // namespace db
