#include "db/console/in_process.h"

#include <gmock/gmock.h>

#include <CLI/CLI.hpp>

namespace db::options::in_process_test {
namespace {

using testing::HasSubstr;

TEST(RanksInProcess, AreReadAsTheyAreHandedOn) {
  const InProcess given{4, 2, 100, 25.5, 8};
  CLI::App app;
  InProcess read;
  add_in_process(app, read, "Machine");
  std::vector<std::string> words = given.words();
  std::ranges::reverse(words);  // as CLI11 takes them
  app.parse(words);
  EXPECT_EQ(read.words(), given.words());
  EXPECT_EQ(read.nodes(), 2);
  EXPECT_TRUE(InProcess{}.words().empty());
}

TEST(RanksInProcess, WhatDoesNotFitIsTold) {
  EXPECT_EQ(InProcess{}.fault("cpu"), "");
  EXPECT_EQ((InProcess{4, 2}.fault("cuda")), "");
  EXPECT_THAT((InProcess{4, 2}.fault("cpu")), HasSubstr("expected --device cuda"));
  EXPECT_THAT((InProcess{3, 2}.fault("cuda")),
              HasSubstr("--ranks-in-process 3 --ranks-per-node 2"));
  CLI::App app;
  InProcess read;
  add_in_process(app, read, "Machine");
  EXPECT_THROW(app.parse("--nic-gbps 4"), CLI::RequiresError) << "nobody reads it";
}

}  // namespace
}  // namespace db::options::in_process_test
