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
  const std::string none =
      "  2000000  250000  float  sum  -1  N/A  N/A  N/A  N/A  N/A  N/A  N/A  N/A\n";
  const ImportedSweeps found = sweeps_of_log(kTableHead + kTableRow + "NCCL WARN a card is slow\n" +
                                             wrong + none + "# Avg bus bandwidth : 3\n");
  EXPECT_THAT(found.sweeps.at(0).rows, SizeIs(1));
  EXPECT_THAT(found.remarks, Contains("1 line of other programs left out"));
  EXPECT_THAT(found.remarks, Contains("1 row with wrong values left out"));
  EXPECT_THAT(found.remarks, Contains("1 row without a size or a time (N/A) left out"));
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
  EXPECT_THAT(refusal_of_log(kTableRow, {.ranks = 4, .nodes = 2}),
              HasSubstr("expected --machine NAME"));
  EXPECT_THAT(refusal_of_log(kTableRow, {.machine = "c1", .ranks = 4, .nodes = 3}),
              HasSubstr("--nodes 3: expected a divisor of 4 ranks"));
  EXPECT_EQ(
      sweeps_of_log(kTableRow, {.machine = "c1", .ranks = 4, .nodes = 2}).sweeps.at(0).hosts.at(3),
      "c1-1");
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
        read_osu(log, "osu.txt", {.machine = "c1", .device = "cpu", .ranks = 4, .nodes = 2});
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
  const SweepFacts facts{.machine = "c1", .device = "cpu", .ranks = 4, .nodes = 2};
  for (const char* title : {"Non-blocking Allreduce Latency", "Gather Latency", "Latency",
                            "All-to-Allv Personalized Exchange Latency", "Bandwidth"}) {
    std::istringstream log("# OSU MPI Allreduce Latency Test\n8 1.0\n# OSU MPI " +
                           std::string(title) + " Test v7.0\n8 5.0\n");
    EXPECT_THROW(read_osu(log, "osu.txt", facts), Error) << title;
  }
  std::istringstream gpus("    # OSU MPI-CUDA Allreduce Latency Test\n    8 1.0\n");
  EXPECT_THROW(read_osu(gpus, "osu.txt", facts), Error) << "the device is cpu";
  std::istringstream log("# OSU MPI Allreduce Latency Test\n8 1.0 Pass\n16 2.0 Fail\n");
  const ImportedSweeps found = read_osu(log, "osu.txt", facts);
  EXPECT_THAT(found.sweeps.at(0).rows, SizeIs(1));
  EXPECT_THAT(found.remarks, Contains("1 row with wrong values left out"));
}

TEST(ImportNcclTests, SweepsWithoutACheckOfValuesAreTaken) {
  std::string row = kTableRow;
  for (std::size_t at = 0; (at = row.find("  0  51")) != std::string::npos;) {
    row.replace(at, 3, "  N/A");
  }
  EXPECT_THAT(sweeps_of_log(kTableHead + row).sweeps.at(0).rows, SizeIs(1));
}

TEST(ImportNcclTests, TypesAreThoseOfTheHouse) {
  const auto type = [](const std::string& printed) {
    std::string row = kTableRow;
    row.replace(row.find("float"), 5, printed);
    return sweeps_of_log(kTableHead + row).sweeps.at(0).rows.at(0).dtype;
  };
  EXPECT_EQ(type("float"), "f32");
  EXPECT_EQ(type("half"), "f16");
  EXPECT_EQ(type("bfloat16"), "bf16");
  EXPECT_EQ(type("double"), "f64");
  EXPECT_EQ(type("int8"), "i8");
  EXPECT_EQ(type("uint64"), "u64");
  std::string row = kTableRow;
  row.replace(row.find("float"), 5, "quad");
  EXPECT_THAT(refusal_of_log(kTableHead + row),
              HasSubstr("line 8: type is \"quad\": expected one of float, half, "));
}

TEST(ImportNcclTests, TakesTimesInPlaceWhereThereIsNoOther) {
  const std::string none =
      "  1000000  250000  float  sum  -1  N/A  N/A  N/A  N/A  51.00  19.61  "
      "29.41  N/A\n";
  const ImportedSweeps found = sweeps_of_log(kTableHead + kTableRow + none);
  ASSERT_THAT(found.sweeps.at(0).rows, SizeIs(2));
  EXPECT_DOUBLE_EQ(found.sweeps[0].rows[1].time_s, 51e-6);
  EXPECT_THAT(found.remarks, Contains("1 row in place, since nothing else was timed"));
  const ImportedSweeps inside =
      sweeps_of_log(kTableHead +
                    "#                in-place\n  1000000  250000  float  sum  -1  50.00  20.00  "
                    "30.00  0\n");
  EXPECT_THAT(inside.remarks, Contains("1 row in place, since nothing else was timed"));
}

TEST(ImportNcclTests, ReadsWhatMpirunTagsAndRefusesRowsOfFewerColumns) {
  const std::string text = kTableHead + kTableRow;
  std::string tagged;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) tagged += "[1,0]<stdout>:" + line + "\r\n";
  EXPECT_THAT(sweeps_of_log(tagged).sweeps.at(0).rows, SizeIs(1));
  std::string indented;
  std::istringstream again(text + text);
  for (std::string line; std::getline(again, line);) indented += "    " + line + "\n";
  EXPECT_THAT(sweeps_of_log(indented).sweeps, SizeIs(sweeps_of_log(text + text).sweeps.size()))
      << "of a page in Markdown";
  for (std::size_t columns = 1; columns < 13; ++columns) {
    std::istringstream words(kTableRow);
    std::string cut;
    for (std::size_t i = 0; i < columns; ++i) {
      std::string word;
      words >> word;
      cut += " " + word;
    }
    EXPECT_THAT(refusal_of_log(text + cut), HasSubstr("line 9")) << columns;
  }
}

TEST(ImportNcclTests, RefusesOtherGpusThanSaid) {
  EXPECT_THAT(refusal_of_log(kTableHead + kTableRow, {.gpu = "NVIDIA Y1"}),
              HasSubstr("GPUs \"NVIDIA Y1\" and \"NVIDIA X9\" (--gpu)"));
  std::string mixed = kTableHead;
  mixed.replace(mixed.rfind("X9"), 2, "X8");
  EXPECT_THAT(refusal_of_log(mixed + kTableRow), HasSubstr("expected one kind"));
}

const std::string kVtrainHead = "size(B),count,type,time(ns),busbw(GB/s),time(ns),busbw(GB/s)\n";
const std::string kVtrainRow = "1048576,262144,float,92790,19.78,92150,19.91\n";

std::string refusal_of_vtrain(const std::string& text, const SweepFacts& facts = {.machine = "m"},
                              const std::string& name = "a100/AR_GPU8_1M_1024M_LUT") {
  std::istringstream table(text);
  try {
    read_vtrain(table, name, facts);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind, ErrorKind::invalid);
    return error.what();
  }
  return "not refused";
}

TEST(ImportVtrain, RanksAreThoseOfTheName) {
  std::istringstream table(kVtrainHead + kVtrainRow + "\r\n");
  const ImportedSweeps found =
      read_vtrain(table, "a100/AR_GPU8_1M_1024M_LUT", {.machine = "dgx", .gpu = "NVIDIA A100"});
  ASSERT_THAT(found.sweeps, SizeIs(1));
  EXPECT_THAT(found.sweeps[0].hosts, SizeIs(8));
  EXPECT_EQ(found.sweeps[0].hosts[7], "dgx");
  EXPECT_EQ(found.sweeps[0].gpu, "NVIDIA A100");
  ASSERT_THAT(found.sweeps[0].rows, SizeIs(1));
  const Measurement& row = found.sweeps[0].rows[0];
  EXPECT_EQ(row.op, "all_reduce");
  EXPECT_EQ(row.dtype, "f32");
  EXPECT_EQ(row.bytes, 1048576);
  EXPECT_DOUBLE_EQ(row.time_s, 92790e-9);
}

TEST(ImportVtrain, RefusesByLine) {
  EXPECT_THAT(refusal_of_vtrain(kVtrainRow),
              HasSubstr("LUT, line 1: expected the heading size(B)"));
  EXPECT_THAT(refusal_of_vtrain(kVtrainHead), HasSubstr("has a heading and no rows"));
  EXPECT_THAT(refusal_of_vtrain(kVtrainHead + kVtrainRow + "2097152,524288,float,93250"),
              HasSubstr("line 3: 4 cells, expected 7 (is the line cut off?)"));
  EXPECT_THAT(refusal_of_vtrain(kVtrainHead + "1048576,262144,float,N/A,19.78,92150,19.91\n"),
              HasSubstr("line 2: time(ns) is \"N/A\""));
  EXPECT_THAT(refusal_of_vtrain(kVtrainHead + kVtrainRow, {.machine = "m"}, "AR_GPU4_1M_LUT"),
              HasSubstr("among 4 ranks are 16.95 GB/s: is it another number of ranks?"));
  EXPECT_THAT(refusal_of_vtrain(kVtrainHead + kVtrainRow, {.machine = "m", .ranks = 4}),
              HasSubstr("--ranks 4, but the name has GPU8"));
  EXPECT_THAT(refusal_of_vtrain(kVtrainHead + kVtrainRow, {.machine = "m"}, "table.csv"),
              HasSubstr("expected --ranks N"));
  EXPECT_THAT(refusal_of_vtrain(kVtrainHead + kVtrainRow, {}),
              HasSubstr("expected --machine NAME"));
}

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
