#include "db/import_figures.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "db/error.h"
#include "db/identity.h"
#include "db/load.h"
#include "db/query.h"
#include "tests/db/refusal.h"
#include "tests/db/sample.h"
#include "tests/db/temporary_directory.h"

namespace db::import_figures_test {
namespace {

const std::string kHeading =
    "paper,table,setting,system,quantity,paper_figure,ours,difference,basis\n";

std::vector<Figure> read(const std::string& text) {
  std::istringstream file(text);
  return read_figures(file, "all.csv");
}

std::string refusal(const std::string& text) {
  return refusal_of([&] { read(text); });
}

TEST(ReadFigures, ReadsCellsByTheirHeadingAndLeavesOutOthers) {
  const auto figures = read(
      "basis,ours,paper_figure,quantity,system,setting,table,paper,difference\n"
      "simulated,1.5,1.25,\"\"\"\",Tutel,\"4 nodes, \"\"A\"\"\",Table 5,FSMoE,0.2\n");
  ASSERT_EQ(figures.size(), 1U);
  EXPECT_EQ(figures[0].paper, "FSMoE");
  EXPECT_EQ(figures[0].place, "Table 5");
  EXPECT_EQ(figures[0].setting, "4 nodes, \"A\"");
  EXPECT_EQ(figures[0].system, "Tutel");
  EXPECT_EQ(figures[0].quantity, "\"");
  EXPECT_EQ(figures[0].paper_value, 1.25);
  EXPECT_EQ(figures[0].value, 1.5);
  EXPECT_EQ(figures[0].basis, "simulated");
}

TEST(ReadFigures, AFigureThatThePaperOrMoelabLacksIsNone) {
  const auto figures = read(kHeading +
                            "A,Fig. 1,x,s,time,-,2,,simulated\n"
                            "A,Fig. 1,y,s,time,2,,,measured\n");
  ASSERT_EQ(figures.size(), 2U);
  EXPECT_FALSE(figures[0].paper_value.has_value());
  EXPECT_FALSE(figures[1].value.has_value());
}

TEST(ReadFigures, WhatCannotBeStoredIsRefusedWithItsLine) {
  const std::string good = "A,Fig. 1,x,s,time,1,2,,simulated\n";
  EXPECT_EQ(refusal(kHeading + good + good), "all.csv, line 3: line 2 has this figure too");
  EXPECT_EQ(refusal(kHeading + "A,Fig. 1,x\n"), "all.csv, line 2: 3 cells, but the heading has 9");
  EXPECT_EQ(refusal(kHeading + "A,Fig. 1,x,s,time,one,2,,simulated\n"),
            "all.csv, line 2: paper_figure is \"one\": expected a number, or - for none");
  EXPECT_EQ(refusal(kHeading + "A,Fig. 1,x,s,time,1,inf,,simulated\n"),
            "all.csv, line 2: ours is \"inf\": expected a number, or - for none");
  EXPECT_EQ(refusal(kHeading + "A,Fig. 1,x,s,time,1,2,,guessed\n"),
            "all.csv, line 2: basis is \"guessed\": expected simulated or measured");
  EXPECT_EQ(refusal("paper,table\n"),
            "all.csv, line 1: the heading has no column setting; experiments/reproduce --format "
            "csv writes such a file");
  EXPECT_NE(refusal("").find("no column paper"), std::string::npos);
}

class ImportedFigures : public testing::Test {
 protected:
  std::int64_t import_text(const std::string& text) {
    std::ofstream(path) << text;
    return import_figures(connection, this_run("figures", "reproduce", 0, nullptr), path);
  }

  TemporaryDirectory directory;
  std::string path = directory.file("all.csv");
  Connection connection = open_writer(directory.file("a.db"));
};

TEST_F(ImportedFigures, AreARunWithTheDifferenceToThePaper) {
  const auto run = import_text(kHeading +
                               "A,Fig. 1,x,s,time,2,2.5,,simulated\n"
                               "A,Fig. 2,x,s,time,0,2.5,,simulated\n");
  const auto runs = load_runs(connection);
  ASSERT_EQ(runs.size(), 1U);
  EXPECT_EQ(runs[0].id, run);
  EXPECT_EQ(runs[0].status, "done");
  Query query(connection, "SELECT difference FROM figure_view ORDER BY place");
  const auto next = [&query] {
    const auto row = query.next();
    return row ? row->at(0) : Cell("no row");
  };
  EXPECT_EQ(next(), Cell(0.25));
  EXPECT_EQ(next(), Cell()) << "no difference to a figure of 0";
}

TEST_F(ImportedFigures, ComeFromAFileThatHasSome) {
  EXPECT_THROW(import_text(kHeading), Error);
  for (const std::string& wrong : {std::string("/dev/zero"), directory.path()}) {
    try {
      import_figures(connection, this_run("figures", "reproduce", 0, nullptr), wrong);
      ADD_FAILURE() << wrong;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind, ErrorKind::invalid);
      EXPECT_NE(std::string(error.what()).find(": expected a file"), std::string::npos);
    }
  }
  EXPECT_TRUE(load_runs(connection).empty());
}

TEST_F(ImportedFigures, AreAllStoredOrNone) {
  EXPECT_THROW(import_text(kHeading + "A,Fig. 1,x,s,time,2,2,,simulated\nA\n"), Error);
  EXPECT_TRUE(load_runs(connection).empty());
  EXPECT_THROW(import_figures(connection, this_run("figures", "reproduce", 0, nullptr),
                              directory.file("none.csv")),
               Error);
}

}  // namespace
}  // namespace db::import_figures_test
