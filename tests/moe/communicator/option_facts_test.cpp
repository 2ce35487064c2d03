#include "moe/communicator/option_facts.h"

#include <gmock/gmock.h>

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

namespace moe::option_facts_test {
namespace {

std::map<std::string, std::string> facts_of(std::vector<std::string> words) {
  CLI::App app;
  int steps = 100, threads = 0;
  std::vector<std::string> layers;
  std::string database;
  bool check = false, quiet = false;
  app.add_option("--steps", steps);
  app.add_option("--layers", layers);
  app.add_option("--threads", threads);
  app.add_option("--db", database);
  app.add_flag("--check", check);
  app.add_flag("--quiet", quiet);
  std::ranges::reverse(words);
  app.parse(words);
  std::map<std::string, std::string> facts;
  for (const InputFact& fact :
       facts_of_command_line("program", app, {.freely = {"--threads"}, .in_value = {"--db"}})) {
    facts[fact.key] = fact.value;
  }
  return facts;
}

TEST(OptionFacts, SayWhatEveryOptionWasGiven) {
  const auto facts = facts_of({"--steps", "7", "--layers", "a", "b", "--check"});
  EXPECT_EQ(facts.at("--steps"), "7");
  EXPECT_EQ(facts.at("--layers"), "a b");
  EXPECT_EQ(facts.at("--check"), "true");
  EXPECT_THAT(facts.at(kBuildKey), testing::StartsWith("program "));
  EXPECT_EQ(facts_of({}).at("--steps"), "not given");
}

TEST(OptionFacts, LeaveOutWhatRanksMayHaveOtherwise) {
  const auto facts = facts_of({"--threads", "2", "--db", "a.db", "--quiet"});
  EXPECT_FALSE(facts.contains("--threads"));
  EXPECT_FALSE(facts.contains("--quiet"));
  EXPECT_EQ(facts.at("--db"), "given");
  EXPECT_EQ(facts_of({}).at("--db"), "not given");
}

}  // namespace
}  // namespace moe::option_facts_test
