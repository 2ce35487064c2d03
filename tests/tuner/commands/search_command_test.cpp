#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "db/check.h"
#include "db/load.h"
#include "db/query.h"
#include "tests/db/temporary_directory.h"
#include "tests/tuner/commands/moe_tune.h"

namespace tuner::search_command_test {
namespace {

using test::moe_tune;
using ::testing::HasSubstr;
using ::testing::Not;

const std::vector<std::string> kOn{"--model", "micro", "--cluster", "box"};

moe::ChildResult search(std::vector<std::string> more) {
  std::vector<std::string> arguments{"search"};
  arguments.insert(arguments.end(), kOn.begin(), kOn.end());
  arguments.insert(arguments.end(), more.begin(), more.end());
  return moe_tune(arguments);
}

TEST(SearchCommand, PrintsTheFastestSetupsAndWritesTheBestSchedule) {
  const db::TemporaryDirectory directory;
  const std::string file = directory.file("best.json");
  const auto found =
      search({"--planners", "tutel:2", "--top", "4", "--format", "json", "-o", file});
  ASSERT_EQ(found.code, 0) << found.errors;
  const auto rows = nlohmann::json::parse(found.output);
  ASSERT_EQ(rows.size(), 4u);
  double before_s = 0;
  std::set<std::string> layouts;
  for (const auto& row : rows) {
    EXPECT_GE(row.at("predicted_s").get<double>(), before_s);
    before_s = row.at("predicted_s");
    EXPECT_GE(before_s, row.at("lower_bound_s").get<double>() * (1 - 1e-9));
    layouts.insert(row.at("layout"));
    std::int64_t parts = 0;
    for (const char* part : {"parameter_bytes", "gradient_bytes", "optimizer_bytes",
                             "activation_bytes", "buffer_bytes"}) {
      parts += row.at(part).get<std::int64_t>();
    }
    EXPECT_EQ(parts, row.at("predicted_peak_bytes"));
  }
  EXPECT_GT(layouts.size(), 1u);
  EXPECT_THAT(found.errors, HasSubstr("cannot be faster"));
  // simulate predicts the same of the best.
  const auto& best = rows.front();
  std::vector<std::string> arguments{
      "simulate",        "--schedule", file,
      "--format",        "json",       "--layout",
      best.at("layout"), "--set",      "training.micro_batches=" + best.at("micro_batches").dump()};
  arguments.insert(arguments.end(), kOn.begin(), kOn.end());
  if (best.at("batch_per") == "tp_group") {
    arguments.insert(arguments.end(), {"--set", "training.batch_per=tp_group"});
  }
  const auto simulated = moe_tune(arguments);
  ASSERT_EQ(simulated.code, 0) << simulated.errors;
  const auto row = nlohmann::json::parse(simulated.output).at(0);
  EXPECT_DOUBLE_EQ(row.at("predicted_s"), best.at("predicted_s"));
  EXPECT_EQ(row.at("predicted_peak_bytes"), best.at("predicted_peak_bytes"));
}

TEST(SearchCommand, TheBestScheduleStandsAloneOnStdout) {
  const auto found = search({"--planners", "none", "--top", "2", "-o", "-"});
  ASSERT_EQ(found.code, 0) << found.errors;
  EXPECT_TRUE(nlohmann::json::parse(found.output).contains("decisions")) << found.output;
  EXPECT_THAT(found.errors, HasSubstr("--schedule FILE"));
}

TEST(SearchCommand, TheCommandOfTheBestHasEachKeyOnceAndAsTheSearchChoseIt) {
  // Both swept values are searched with two micro-batches. Of equal rows the first is the best.
  const auto found = search({"--planners", "none", "--orders", "sequential", "--micro-batches", "2",
                             "--set", "training.micro_batches=4,2", "--format", "json"});
  ASSERT_EQ(found.code, 0) << found.errors;
  EXPECT_THAT(found.errors, HasSubstr("training.micro_batches=2"));
  EXPECT_THAT(found.errors, ::testing::Not(HasSubstr("training.micro_batches=4")));
}

TEST(SearchCommand, HasTheBestRowOfEachNumberOfRanksAndValueOfAKey) {
  const auto found = search({"--planners", "none", "--ranks", "2,4", "--set",
                             "training.precision=f32,f64", "--format", "json"});
  ASSERT_EQ(found.code, 0) << found.errors;
  const auto rows = nlohmann::json::parse(found.output);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows.at(0).at("ranks"), 2);
  EXPECT_DOUBLE_EQ(rows.at(0).at("scaling_share"), 1);
  EXPECT_EQ(rows.at(3).at("training.precision"), "f64");
}

TEST(SearchCommand, RefusesWhatIsNoSpace) {
  for (const auto& [option, value] :
       std::vector<std::pair<std::string, std::string>>{{"--layouts", "xp=2"},
                                                        {"--micro-batches", "0"},
                                                        {"--orders", "backwards"},
                                                        {"--orders", "gpipe,gpipe"},
                                                        {"--ranks", "0"},
                                                        {"--ranks", "4,2,4"},
                                                        {"--ranks", "4,x"},
                                                        {"--micro-batches", "2,2"},
                                                        {"--planners", "nobody"},
                                                        {"--memory-limit", "1K"},
                                                        {"--layouts", "tp=3"}}) {
    const auto refused = search({option, value});
    EXPECT_EQ(refused.code, 2) << option << " " << value << refused.output;
    EXPECT_THAT(refused.errors, HasSubstr("moe-tune: ")) << option;
  }
}

TEST(SearchCommand, RefusesWhatNoSetupCanHaveInItsOwnWords) {
  for (const auto& [option, value, words] : std::vector<std::array<std::string, 3>>{
           {"--routing", "zipf:21", "\"zipf:21\": expected zipf: and an exponent from 0 to 20"},
           {"--routing", "drift:1.2:0.5:0", "drift:1.2:0.5:0"},
           {"--routing", "nobody.json", "nobody.json"},
           {"--memory-limit", "1K", " needs the least, at least "},
           {"--ranks", "8",
            "8 ranks asked for, it has 4 nodes of 1: expected at most --ranks 4"}}) {
    const auto refused = search({"--planners", "none", option, value});
    EXPECT_EQ(refused.code, 2) << value;
    EXPECT_THAT(refused.errors, HasSubstr(words));
  }
}

TEST(SearchCommand, SaysWhereNoPlanIsFaster) {
  const auto found = search({"--planners", "lplb,feplb", "--layouts", "ep=1"});
  ASSERT_EQ(found.code, 0) << found.errors;
  EXPECT_THAT(found.errors, HasSubstr("no plan of lplb, feplb is faster"));
  const auto none = search({"--planners", "none"});
  EXPECT_THAT(none.errors, Not(HasSubstr("no plan of")));
  EXPECT_THAT(none.errors, Not(HasSubstr("planners were not asked")));
}

TEST(SearchCommand, TriesTheNumberOfMicroBatchesThatIsSet) {
  const auto found =
      search({"--planners", "none", "--set", "training.micro_batches=1,2", "--format", "json"});
  ASSERT_EQ(found.code, 0) << found.errors;
  const auto rows = nlohmann::json::parse(found.output);
  ASSERT_EQ(rows.size(), 2u);
  for (const auto& row : rows) {
    EXPECT_EQ(row.at("micro_batches"), row.at("training.micro_batches"));
  }
}

/// What follows "the best: moe-train", as a shell takes it.
std::vector<std::string> best_command(const std::string& errors) {
  const std::string label = "the best: moe-train ";
  const auto at = errors.find(label);
  if (at == std::string::npos) return {};
  std::string line = errors.substr(at + label.size());
  line.erase(line.find('\n'));
  std::vector<std::string> words{""};
  bool is_quoted = false;
  for (const char c : line) {
    if (c == '\'') {
      is_quoted = !is_quoted;
    } else if (c == ' ' && !is_quoted) {
      words.emplace_back();
    } else {
      words.back() += c;
    }
  }
  return words;
}

TEST(SearchCommand, TheCommandThatItGivesIsTaken) {
  const db::TemporaryDirectory directory;
  const std::string file = directory.file("best of all.json");
  for (const std::vector<std::string>& settings :
       {std::vector<std::string>{"training.batch_per=rank,tp_group"},
        {"training.micro_batches=1,2", "model.head=tied"},
        {"moe.block_pattern=\"de\""},
        {"moe.experts=4,8", "training.precision=f32"}}) {
    std::vector<std::string> arguments{"--planners", "none", "--format", "csv", "-o", file};
    for (const std::string& setting : settings) {
      arguments.insert(arguments.end(), {"--set", setting});
    }
    const auto found = search(arguments);
    ASSERT_EQ(found.code, 0) << found.errors;
    std::vector<std::string> words = best_command(found.errors);
    ASSERT_FALSE(words.empty()) << found.errors;
    words.insert(words.begin(), {"simulate", "--cluster", "box"});
    const auto simulated = moe_tune(words);
    EXPECT_EQ(simulated.code, 0) << simulated.errors;
  }
}

TEST(SearchCommand, GivesCompareALayoutWhereNoneIsAskedFor) {
  std::vector<std::string> arguments{"compare", "--planners", "sequential,tutel", "--format",
                                     "json"};
  arguments.insert(arguments.end(), kOn.begin(), kOn.end());
  const auto compared = moe_tune(arguments);
  ASSERT_EQ(compared.code, 0) << compared.errors;
  const auto best =
      nlohmann::json::parse(search({"--planners", "none", "--orders", "sequential",
                                    "--micro-batches", "1", "--top", "1", "--format", "json"})
                                .output);
  const std::string layout = best.at(0).at("layout");
  EXPECT_THAT(compared.errors, HasSubstr("--layout " + layout + ": of 19 layouts the fastest"));
  EXPECT_EQ(best.at(0).at("predicted_s"),
            nlohmann::json::parse(compared.output).at(0).at("predicted_s"));
}

TEST(SearchCommand, StoresWhatItFoundOfEveryNumberOfRanks) {
  const db::TemporaryDirectory directory;
  const std::string file = directory.file("found.db");
  const auto found =
      search({"--planners", "none", "--ranks", "2,4", "--top", "6", "--memory-limit", "1G", "--set",
              "training.precision=f32,f64", "--db", file, "--format", "json"});
  ASSERT_EQ(found.code, 0) << found.errors;
  EXPECT_THAT(found.errors, HasSubstr("are stored: moe-db setups --db " + file + " --run 1"));
  const auto connection = db::open_reader(file);
  EXPECT_EQ(db::load_runs(connection, {.kind = "search"}).at(0).ranks, 4);
  const auto rows = nlohmann::json::parse(found.output);
  for (const auto& row : rows) {
    db::Query best(connection,
                   "SELECT predicted_s, predicted_peak_bytes, layout, tokens_per_s, "
                   "memory_limit_bytes, parameter_bytes + gradient_bytes + optimizer_bytes + "
                   "activation_bytes + buffer_bytes FROM setup_view WHERE place = 1 AND ranks = ?1 "
                   "AND settings = ?2",
                   {row.at("ranks").get<std::int64_t>(),
                    "training.precision=" + row.at("training.precision").get<std::string>()});
    const auto stored = best.next();
    ASSERT_TRUE(stored);
    EXPECT_EQ((*stored)[0], db::Cell(row.at("predicted_s").get<double>()));
    EXPECT_EQ((*stored)[1], db::Cell(row.at("predicted_peak_bytes").get<std::int64_t>()));
    EXPECT_EQ((*stored)[2], db::Cell(row.at("layout").get<std::string>()));
    EXPECT_EQ((*stored)[3], db::Cell(row.at("tokens_per_s").get<double>()));
    EXPECT_EQ((*stored)[4], db::Cell(std::int64_t{1} << 30));
    EXPECT_EQ((*stored)[5], (*stored)[1]);
  }
  // The fastest is on the front, and of two on it the faster one needs more memory.
  db::Query front(connection,
                  "SELECT predicted_peak_bytes FROM setup_view WHERE ranks = 4 AND settings = "
                  "'training.precision=f32' AND on_front ORDER BY predicted_s");
  std::int64_t before = std::numeric_limits<std::int64_t>::max();
  int on_front = 0;
  while (const auto row = front.next()) {
    const auto bytes = std::get<std::int64_t>((*row)[0]);
    EXPECT_LE(bytes, before);
    before = bytes;
    ++on_front;
  }
  EXPECT_GE(on_front, 1);
  EXPECT_TRUE(db::find_problems(db::open_reader(file), 1e9).empty());
}

TEST(SearchCommand, SaysHowManyBlocksAreRestoredWhole) {
  const db::TemporaryDirectory directory;
  const std::string file = directory.file("found.db"), best = directory.file("best.json");
  const auto found = moe_tune({"search", "--model", "box-small", "--cluster", "box", "--planners",
                               "none", "--layouts", "ep=4", "--memory-limit", "220M", "--db", file,
                               "-o", best, "--format", "json"});
  ASSERT_EQ(found.code, 0) << found.errors;
  const auto row = nlohmann::json::parse(found.output).at(0);
  int restored = 0, whole = 0;
  const auto schedule = nlohmann::json::parse(std::ifstream(best));
  for (const auto& decision : schedule.at("decisions")) {
    if (decision.at("decision") != "restore_block") continue;
    ++restored;
    whole += decision.value("communication", "") == "repeat";
  }
  EXPECT_GT(whole, 0) << "as 220 MiB ask for";
  EXPECT_LT(whole, restored);
  EXPECT_EQ(row.at("restored_blocks"), restored);
  EXPECT_EQ(row.at("whole_blocks"), whole);
  const db::Connection connection = db::open_reader(file);
  db::Query stored(connection,
                   "SELECT restored_blocks, whole_blocks FROM setup_view WHERE place = 1");
  const auto cells = stored.next();
  ASSERT_TRUE(cells);
  EXPECT_EQ((*cells)[0], db::Cell(std::int64_t{restored}));
  EXPECT_EQ((*cells)[1], db::Cell(std::int64_t{whole}));
}

TEST(SearchCommand, ScalingIsOfTokensOfARankOverThoseOfTheFirstRow) {
  const auto found = search({"--planners", "none", "--ranks", "1,2,4", "--format", "json"});
  ASSERT_EQ(found.code, 0) << found.errors;
  const auto rows = nlohmann::json::parse(found.output);
  ASSERT_EQ(rows.size(), 3u);
  const auto of_rank = [](const nlohmann::json& row) {
    return row.at("tokens_per_s").get<double>() / row.at("ranks").get<double>();
  };
  for (const auto& row : rows) {
    EXPECT_DOUBLE_EQ(row.at("scaling_share"), of_rank(row) / of_rank(rows.at(0)));
    EXPECT_LE(row.at("scaling_share").get<double>(), 1.05) << "ranks are not faster together";
  }
  EXPECT_EQ(rows.at(2).at("ranks"), 4);
}

}  // namespace
}  // namespace tuner::search_command_test
