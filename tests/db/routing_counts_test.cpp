#include "db/routing_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "db/export.h"
#include "db/import_routing.h"
#include "db/load.h"
#include "temporary_directory.h"
#include "tests/db/refusal.h"

namespace db {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

RoutingCounts counts_in(const std::string& text, std::optional<int> experts = {}) {
  std::istringstream file(text);
  return read_routing_counts(file, "r", experts);
}

std::string refusal_of_counts(const std::string& text, std::optional<int> experts = {}) {
  return refusal_of([&] { counts_in(text, experts); });
}

std::vector<std::int64_t> tokens_of(const RoutingCounts& counts, int step, int layer, int rank) {
  std::vector<std::int64_t> tokens;
  for (const Load& load : counts.loads) {
    if (load.iteration != step || load.layer != layer || load.rank != rank) continue;
    EXPECT_EQ(load.expert, static_cast<int>(tokens.size()));
    EXPECT_EQ(load.micro_batch, -1);
    tokens.push_back(load.tokens);
  }
  return tokens;
}

const std::string kRecord =
    R"({"step": 0, "stage": "pre_dispatch", "block": "decoder", "layer": 3,)"
    R"( "rank": 0, "num_tokens": 2, "topk": 2,)"
    R"( "top_indices": [[1, 4], [4, 0]]})"
    "\n";

TEST(RoutingCounts, ListsAreOfLayersAndExperts) {
  const RoutingCounts counts = counts_in("\n[[75, 140, 0],\n [25, 99, 110]]\r\n");
  EXPECT_EQ(counts.experts, 3);
  EXPECT_FALSE(counts.choices);
  EXPECT_THAT(counts.remarks, SizeIs(0));
  EXPECT_THAT(tokens_of(counts, 0, 0, 0), ElementsAre(75, 140, 0));
  EXPECT_THAT(tokens_of(counts, 0, 1, 0), ElementsAre(25, 99, 110));
}

TEST(RoutingCounts, CsvHasItsColumnsInAnyOrder) {
  const RoutingCounts counts =
      counts_in("count,expert,layer,rank,step\r\n7,2,1,0,5\r\n1,0,1,1,5\r\n\n", 4);
  EXPECT_EQ(counts.experts, 4);
  EXPECT_THAT(tokens_of(counts, 5, 1, 0), ElementsAre(0, 0, 7, 0));
  EXPECT_THAT(tokens_of(counts, 5, 1, 1), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(counts_in("layer,expert,count\n0,2,1\n0,0,1\n").remarks,
              Contains("experts 0 to 2 are named: --experts says if there are more"));
}

TEST(RoutingCounts, RecordsOfTracesAreAddedUpByStepLayerAndRank) {
  std::string mtp = kRecord;
  mtp.replace(mtp.find("decoder"), 7, "mtp");
  std::string next = kRecord;
  next.replace(next.find("\"step\": 0"), 9, "\"step\": 1");
  const RoutingCounts counts = counts_in(kRecord + mtp + kRecord + next, 6);
  EXPECT_EQ(counts.choices, 2);
  EXPECT_THAT(tokens_of(counts, 0, 3, 0), ElementsAre(2, 2, 0, 0, 4, 0));
  EXPECT_THAT(tokens_of(counts, 1, 3, 0), ElementsAre(1, 1, 0, 0, 2, 0));
  EXPECT_THAT(counts.remarks,
              ElementsAre("1 record of MTP layers left out",
                          "3 records are added up to 2 of a step, layer and rank (micro-batches)"));
  EXPECT_EQ(counts_in(R"({"layer": 0, "top_indices": [[1]]})").loads.size(), 2u)
      << "one step of one rank";
}

TEST(RoutingCounts, RefusesListsThatAreNoCounts) {
  EXPECT_THAT(refusal_of_counts(""), HasSubstr("r: is empty"));
  EXPECT_THAT(refusal_of_counts("[]"), HasSubstr("r: has no counts"));
  EXPECT_THAT(refusal_of_counts("[[1, 2], [3"), HasSubstr("r, line 1: is not JSON (is it cut"));
  EXPECT_THAT(refusal_of_counts("[[1, 2], [3]]"), HasSubstr("layer 1: expected a list of a count"));
  EXPECT_THAT(refusal_of_counts("[1, 2]"), HasSubstr("layer 0: expected a list of a count"));
  EXPECT_THAT(refusal_of_counts("[[1, -2]]"),
              HasSubstr("layer 0, expert 1 is -2: expected an integer from 0"));
  EXPECT_THAT(refusal_of_counts("[[1, 2.5]]"), HasSubstr("expert 1 is 2.5"));
  EXPECT_THAT(refusal_of_counts("[[1, 2], [0, 0]]"),
              HasSubstr("step 0, layer 1: all counts are 0: expected one above 0"));
  EXPECT_THAT(refusal_of_counts("[[1, 2]]", 1), HasSubstr("expert 1: expected one below 1"));
}

TEST(RoutingCounts, RefusesCsvByLine) {
  EXPECT_THAT(refusal_of_counts("layer,expert,tokens\n"), HasSubstr("line 1: \"tokens\" in the"));
  EXPECT_THAT(refusal_of_counts("layer,layer,count\n"), HasSubstr("line 1: \"layer\" in the"));
  EXPECT_THAT(refusal_of_counts("layer,count\n"), HasSubstr("has no column expert"));
  EXPECT_THAT(refusal_of_counts("layer,expert,count\n0,1\n"),
              HasSubstr("line 2: 2 cells, but the heading has 3"));
  EXPECT_THAT(refusal_of_counts("layer,expert,count\n0,1,many\n"), HasSubstr("count is \"many\""));
  EXPECT_THAT(refusal_of_counts("layer,expert,count\n0,1,1\n0,1,2\n"),
              HasSubstr("line 3: line 2 has a count of this expert too"));
  EXPECT_THAT(refusal_of_counts("layer,expert,count,step,rank\n0,0,1,0,0\n0,0,1,0,1\n0,0,1,1,0\n"),
              HasSubstr("step 1, layer 0: counts of ranks 0: expected all from 0 to 1"));
  EXPECT_THAT(refusal_of_counts("layer,expert,count,rank\n0,0,1,0\n0,0,1,2\n"),
              HasSubstr("counts of ranks 0, 2: expected all from 0 to 2"));
}

TEST(RoutingCounts, HalfOfTheExpertsOrMoreAreNamed) {
  EXPECT_THAT(refusal_of_counts("layer,expert,count\n0,0,1\n0,1,1\n0,999999,1\n"),
              HasSubstr("r: names 3 experts up to 999999: expected half of them or more, or "
                        "--experts N"));
  EXPECT_THAT(refusal_of_counts(R"({"layer": 0, "top_indices": [[5, 60]]})"),
              HasSubstr("names 2 experts up to 60"));
  EXPECT_EQ(counts_in(R"({"layer": 0, "top_indices": [[5, 60]]})", 64).experts, 64);
  EXPECT_EQ(counts_in("layer,expert,count\n0,0,1\n1,3,1\n").experts, 4) << "in any layer";
}

TEST(RoutingCounts, RefusesJsonOfManyLevels) {
  const auto nested = [](int levels) {
    const auto count = static_cast<std::size_t>(levels);
    return std::string(count, '[') + std::string(count, ']');
  };
  EXPECT_THAT(refusal_of_counts(nested(100'000)),
              HasSubstr("r, line 1: expected at most 64 levels of lists and objects"));
  EXPECT_THAT(refusal_of_counts(nested(65)), HasSubstr("expected at most 64 levels"));
  EXPECT_THAT(refusal_of_counts(nested(64)), HasSubstr("layer 0, expert 0 is [["));
  EXPECT_THAT(refusal_of_counts(kRecord + "{\"a\": " + nested(64) + "}"),
              HasSubstr("line 2: expected at most 64 levels"));
}

TEST(RoutingCounts, RefusesTracesByLine) {
  const auto with = [](const std::string& record) { return refusal_of_counts(kRecord + record); };
  EXPECT_THAT(with(kRecord.substr(0, 60)), HasSubstr("line 2: is not JSON (is it cut off?)"));
  EXPECT_THAT(with(R"({"layer": 1})"), HasSubstr("line 2: expected {\"layer\": N, "));
  EXPECT_THAT(with(R"({"layers": []})"), HasSubstr("moe-tune --routing reads as it is"));
  EXPECT_THAT(with(R"({"layer": 1, "top_indices": [[1, 2, 3]]})"),
              HasSubstr("token 0 chooses [1,2,3]: expected a list of 2 experts, as before"));
  EXPECT_THAT(with(R"({"layer": 1, "top_indices": [[1, 1]]})"), HasSubstr("an expert twice"));
  EXPECT_THAT(with(R"({"layer": 1, "top_indices": [[1, -1]]})"),
              HasSubstr("an expert of token 0 is -1"));
  EXPECT_THAT(with(R"({"layer": 1, "num_tokens": 2, "top_indices": [[1, 0]]})"),
              HasSubstr("num_tokens is 2, and top_indices has 1"));
  EXPECT_THAT(with(R"({"layer": 1, "topk": 3, "top_indices": [[1, 0]]})"),
              HasSubstr("topk is 3, and token 0 chooses [1,0]"));
}

TEST(ImportRouting, CountsAreStoredOnceAndExportedAsCounts) {
  Connection connection = open_writer(":memory:");
  db::Run run;
  run.name = "trace";
  run.status = "running";
  const RoutingCounts counts = counts_in(kRecord, 6);
  const StoredRouting stored = store_routing(connection, run, counts);
  EXPECT_FALSE(stored.is_known);
  EXPECT_TRUE(store_routing(connection, run, counts).is_known);
  EXPECT_FALSE(store_routing(connection, run, counts_in(kRecord, 7)).is_known);
  EXPECT_EQ(load_run(connection, stored.run_id).kind, kRoutingRun);
  const TemporaryDirectory directory;
  export_routing(connection, stored.run_id, 0, directory.file("r.json"));
  std::ifstream file(directory.file("r.json"));
  std::string text;
  std::getline(file, text);
  EXPECT_EQ(text, R"({"choices":2,"layers":[{"counts":[[1,1,0,0,2,0]],"layer":3}]})");
}

}  // namespace
}  // namespace db
