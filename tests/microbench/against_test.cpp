#include "microbench/against.h"

#include <gmock/gmock.h>

#include "db/load.h"
#include "db/store.h"
#include "microbench/collectives/collectives.h"
#include "microbench/pairs/pairs.h"
#include "moe/errors.h"
#include "tests/db/sample.h"
#include "tests/microbench/sampled_row.h"

namespace microbench::against_test {
namespace {

using testing::HasSubstr;

/// A run of one all-reduce of `bytes` on two ranks of a node.
std::int64_t stored_run(db::Connection& connection, const std::string& kind,
                        const std::string& name, std::int64_t bytes) {
  db::Run run = db::sample_run(db::find_or_insert(connection, db::sample_machine()));
  run.kind = kind;
  run.name = name;
  const std::int64_t id = db::insert(connection, run);
  db::RunRank rank;
  rank.run_id = id;
  db::insert(connection, std::vector{rank});
  db::SampledMeasurement row = all_reduce_row(bytes);
  row.measurement.run_id = id;
  row.quantiles = {1, 2, 3};
  db::insert(connection, std::vector{row});
  return id;
}

MeasuredPlace place_of_sample() {
  const db::Run run = db::sample_run(1);
  return {db::sample_machine(), run.network, {db::RunRank{}}};
}

template <typename Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const moe::InputError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(Against, ARunOfSomethingElseIsRefused) {
  auto connection = db::open_writer(":memory:");
  const auto training = stored_run(connection, "train", "tiny", 1024),
             gemm = stored_run(connection, "bench", "gemm", 1024),
             all = stored_run(connection, "bench", "all", 1024);
  const auto refusal = [&](std::int64_t run, const std::string& what) {
    return refusal_of([&] { expect_benchmark_run(connection, run, what); });
  };
  EXPECT_THAT(refusal(training, "gemm"),
              HasSubstr("is train tiny: expected one of moe-bench gemm"));
  EXPECT_THAT(refusal(gemm, "copies"), HasSubstr("is bench gemm: expected one of"));
  EXPECT_EQ(refusal(gemm, "gemm"), "not refused");
  EXPECT_EQ(refusal(gemm, "all"), "not refused");
  EXPECT_EQ(refusal(all, "copies"), "not refused");
  EXPECT_THROW(expect_benchmark_run(connection, 99, "gemm"), db::Error);
}

TEST(Against, ARunIsRefusedBeforeMeasuringWhereNothingWouldBeComparable) {
  auto connection = db::open_writer(":memory:");
  Arguments arguments;
  arguments.what = "collectives";
  arguments.against = stored_run(connection, "bench", "collectives", 1024);
  moe::run_local_ranks(2, [&](moe::Communicator& world) {
    if (world.rank > 0) return;
    const auto backend = moe::make_cpu_backend(1);
    const Bench bench{world, world, *backend, moe::DType::f32, "cpu", {}};
    const Benchmark collectives = collective_benchmark(), pairs = pair_benchmark();
    const auto refusal = [&](const MeasuredPlace& place, std::vector<std::int64_t> sizes) {
      const std::vector<ToMeasure> measured{{&pairs, {}},
                                            {&collectives, collective_plans(bench, {}, sizes)}};
      return refusal_of([&] { expect_comparable(connection, arguments, place, bench, measured); });
    };
    MeasuredPlace place = place_of_sample();
    EXPECT_EQ(refusal(place, {512, 1024}), "not refused");
    EXPECT_THAT(refusal(place, {512, 2048}),
                HasSubstr("has 1 cases with samples, and none of them is measured now"));
    place.network = "another";
    EXPECT_THAT(refusal(place, {1024}), HasSubstr("another in this one: expected"));
    arguments.across = true;
    EXPECT_EQ(refusal(place, {1024}), "not refused");
  });
}

}  // namespace
}  // namespace microbench::against_test
