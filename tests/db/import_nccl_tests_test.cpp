#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "db/import_sweeps.h"
#include "tests/db/nccl_log.h"
#include "tests/db/refusal.h"

namespace db {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

std::string refusal_of_log(const std::string& text, const SweepFacts& facts = {},
                           const std::string& name = "all_reduce.txt") {
  return refusal_of([&] { sweeps_of_log(text, facts, name); });
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
  EXPECT_THAT(inside.remarks, ElementsAre("1 row in place, since nothing else was timed"));
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

std::string in_file(const std::string& row, std::string what, const std::string& with) {
  std::string text = row;
  text.replace(text.find(what), what.size(), with);
  return text;
}

TEST(ImportNcclTests, OnlyProgramsOfNcclTestsNameTheCollective) {
  const std::string log = "$ ./all_reduce_perf -b 1M\n" + kTableHead + kTableRow;
  EXPECT_THAT(refusal_of_log(log, {.collective = "all_gather"}),
              HasSubstr("is of all_reduce_perf, and --collective is all_gather"));
  EXPECT_THAT(sweeps_of_log(log, {.collective = "all_reduce"}).sweeps, SizeIs(1));
  const ImportedSweeps found = sweeps_of_log("srun: /opt/site/check_perf passed\n" + log);
  EXPECT_EQ(found.sweeps.at(0).rows.at(0).op, "all_reduce");
  EXPECT_THAT(found.remarks, Contains("2 lines of other programs left out"));
  for (const char* foreign : {"gather_perf", "scatter_perf", "hypercube_perf", "alltoallv_perf"}) {
    EXPECT_THAT(refusal_of_log("$ ./" + std::string(foreign) + "\n" + log), HasSubstr(foreign));
  }
}

TEST(ImportNcclTests, SizesAreWholeBytesThatARowHolds) {
  EXPECT_THAT(
      refusal_of_log(kTableHead + in_file(kTableRow, "1000000", "1000000.5")),
      HasSubstr(
          "line 8: size is \"1000000.5\": expected a whole number of bytes up to 1000000000"));
  EXPECT_THAT(refusal_of_log(kTableHead + in_file(kTableRow, "1000000", "1e18")),
              HasSubstr("line 8: size is \"1e18\""));
}

TEST(ImportNcclTests, RanksAreAsManyOnEachHost) {
  std::string uneven = kTableHead;
  uneven.replace(uneven.find(" beta"), 5, "alpha");
  EXPECT_THAT(refusal_of_log(uneven + kTableRow),
              HasSubstr("3 ranks on alpha and 1 on beta: expected as many on each host"));
}

TEST(ImportNcclTests, SaysThatASizeIsThereTwice) {
  const char* said = "1 row of a size that its table had before: all are taken";
  const ImportedSweeps twice = sweeps_of_log(kTableHead + kTableRow + kTableRow);
  EXPECT_THAT(twice.sweeps.at(0).rows, SizeIs(2));
  EXPECT_THAT(twice.remarks, Contains(said));
  const std::string half = in_file(kTableRow, "float", "half");
  EXPECT_THAT(sweeps_of_log(kTableHead + kTableRow + half).remarks, Not(Contains(said)))
      << "of another type";
}

}  // namespace
}  // namespace db
