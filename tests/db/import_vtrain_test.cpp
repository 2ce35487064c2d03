#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "db/import_sweeps.h"
#include "tests/db/refusal.h"

namespace db {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::string kVtrainHead = "size(B),count,type,time(ns),busbw(GB/s),time(ns),busbw(GB/s)\n";
const std::string kVtrainRow = "1048576,262144,float,92790,19.78,92150,19.91\n";

std::string refusal_of_vtrain(const std::string& text, const SweepFacts& facts = {.machine = "m"},
                              const std::string& name = "a100/AR_GPU8_1M_1024M_LUT") {
  std::istringstream table(text);
  return refusal_of([&] { read_vtrain(table, name, facts); });
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
  EXPECT_THAT(refusal_of_vtrain(kVtrainHead + "0,0,float,92790,0.01,92150,0.01\n"),
              HasSubstr("line 2: size(B) is 0"));
  EXPECT_THAT(refusal_of_vtrain(kVtrainHead + "1e18,262144,float,92790,19.78,92150,19.91\n"),
              HasSubstr("line 2: size is \"1e18\""));
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

}  // namespace
}  // namespace db
