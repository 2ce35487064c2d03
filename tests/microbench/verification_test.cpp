#include <gmock/gmock.h>

#include <array>
#include <functional>
#include <utility>
#include <vector>

#include "microbench/collectives/collectives.h"
#include "microbench/copies.h"
#include "microbench/gemm.h"
#include "microbench/table.h"
#include "moe/kernels/bf16.h"

namespace microbench::verification_test {
namespace {

/// Passes everything on, and then spoils one element that rank `bad_rank` received.
class Spoiling : public moe::Communicator {
 public:
  Spoiling(moe::Communicator& good, int bad_rank)
      : Communicator(good.rank, good.size), good_(good), bad_(good.rank == bad_rank) {}

  void run(const moe::collective::Call& what, const moe::CallContext& call) override {
    good_.run(what, call);
    std::visit([&](const auto& one) { spoil(one); }, what);
  }
  std::unique_ptr<moe::Communicator> split(std::span<const int>) override { return nullptr; }

 private:
  template <typename OneCall>
  void spoil(const OneCall& one) const {
    if constexpr (requires { one.to; }) {
      if (bad_) static_cast<std::byte*>(static_cast<void*>(one.to))[3] ^= std::byte{0x40};
    }
  }
  moe::Communicator& good_;
  const bool bad_;
};

const Sampling quick{.shortest_sample_s = 0, .fewest_samples = 3, .budget_s = 0.001};

class EveryCollective : public testing::TestWithParam<std::tuple<std::string, int>> {};
INSTANTIATE_TEST_SUITE_P(Verification, EveryCollective,
                         testing::Combine(testing::ValuesIn(collective_names()),
                                          testing::Values(1, 2, 4, 7)),
                         [](const auto& info) {
                           return std::get<0>(info.param) + "_" +
                                  std::to_string(std::get<1>(info.param));
                         });

TEST_P(EveryCollective, FindsNoWrongValueWhereThereIsNone) {
  const auto [name, ranks] = GetParam();
  for (moe::DType dtype : {moe::DType::f32, moe::DType::f64, moe::DType::i32, moe::DType::bf16}) {
    moe::run_local_ranks(ranks, [&, name = name](moe::Communicator& world) {
      const auto backend = moe::make_cpu_backend(1);
      const Bench bench{world, world, *backend, dtype, "cpu", quick};
      for (const Plan& plan : collective_plans(bench, {name}, {1, 100, 40'000})) {
        const Result result = measure(bench, plan.make());
        EXPECT_EQ(result.measurement.wrong, 0) << plan.name;
        EXPECT_GT(result.measurement.bytes, 0);
        EXPECT_GT(result.measurement.time_s, 0);
      }
    });
  }
}

TEST_P(EveryCollective, NoticesOneWrongValueOnOneRank) {
  const auto [name, ranks] = GetParam();
  moe::run_local_ranks(ranks, [&, name = name, ranks = ranks](moe::Communicator& world) {
    const auto backend = moe::make_cpu_backend(1);
    Spoiling spoiling(world, ranks - 1);
    const Bench bench{world, spoiling, *backend, moe::DType::f32, "cpu", quick};
    const auto plans = collective_plans(bench, {name}, {40'000});
    EXPECT_EQ(measure(bench, plans.at(0).make()).measurement.wrong, 1) << "rank " << world.rank;
  });
}

TEST(Collectives, CountAndSizeAreThoseOfNcclTests) {
  moe::run_local_ranks(4, [](moe::Communicator& world) {
    const auto backend = moe::make_cpu_backend(1);
    const Bench bench{world, world, *backend, moe::DType::f32, "cpu", quick};
    const auto row = [&](const std::string& name) {
      return collective_plans(bench, {name}, {64'000}).at(0).make().row;
    };
    EXPECT_EQ(row("all_reduce").measurement.count, 16'000);
    EXPECT_EQ(row("broadcast").measurement.count, 16'000);
    EXPECT_EQ(row("reduce").measurement.count, 16'000);
    EXPECT_EQ(row("all_gather").measurement.count, 4'000);
    EXPECT_EQ(row("reduce_scatter").measurement.count, 4'000);
    EXPECT_EQ(row("all_to_all").measurement.count, 4'000);
    for (const std::string& name : collective_names()) {
      EXPECT_EQ(row(name).measurement.bytes, 64'000) << name;
    }
    EXPECT_THAT(row("all_to_all_v").measurement.parameters_json, testing::HasSubstr("1.6"));
    EXPECT_EQ(row("all_reduce").redop, "sum");
    EXPECT_EQ(row("broadcast").root, 0);
    EXPECT_EQ(row("reduce").root, 0);
    EXPECT_EQ(row("reduce").redop, "sum");
  });
}

TEST(Copies, AreVerified) {
  moe::run_local_ranks(1, [](moe::Communicator& world) {
    const auto backend = moe::make_cpu_backend(1);
    // The device's copies too: any backend has them.
    const Bench bench{world, world, *backend, moe::DType::f32, "other", quick};
    const auto plans = copy_plans(bench, {8, 100'000});
    EXPECT_EQ(plans.size(), 12u);
    for (const Plan& plan : plans) {
      EXPECT_EQ(measure(bench, plan.make()).measurement.wrong, 0) << plan.name;
    }
  });
}

/// A backend whose kernels write one wrong element into their first result.
class SpoilingBackend : public moe::Backend {
 public:
  explicit SpoilingBackend(bool spoil) : spoil_(spoil) {}
  std::string name() const override { return good_->name(); }
  std::byte* arena(std::int64_t bytes) override { return good_->arena(bytes); }
  std::byte* host_block(std::int64_t bytes) override { return good_->host_block(bytes); }
  void lay_pattern(std::byte* arena, std::int64_t begin, std::int64_t end) override {
    good_->lay_pattern(arena, begin, end);
  }
  std::int64_t end_of_pattern(const std::byte* arena, std::int64_t begin,
                              std::int64_t end) override {
    return good_->end_of_pattern(arena, begin, end);
  }
  void post(std::byte* device, std::span<const std::byte> host, moe::Stream s) override {
    good_->post(device, host, s);
  }
  void download_all(std::span<const moe::HostCopy> copies, moe::Stream s) override {
    good_->download_all(copies, s);
  }
  void fill(const moe::View& tensor, const moe::InitialValues& values) override {
    good_->fill(tensor, values);
  }
  void execute_together(std::span<const moe::BoundOp* const> ops) override {
    good_->execute_together(ops);
    if (!spoil_) return;
    const moe::BoundOp& op = *ops.front();
    if (op.writes[0].dtype == moe::DType::bf16) {
      moe::Bf16& element = static_cast<moe::Bf16*>(op.writes[0].data)[77];
      element = element + 16.0f;
    } else {
      static_cast<float*>(op.writes[0].data)[77] += 1;
    }
  }
  moe::Mark record(moe::Stream stream, bool timed) override { return good_->record(stream, timed); }
  void wait(moe::Stream stream, moe::Mark mark) override { good_->wait(stream, mark); }
  double time_of(moe::Mark mark) override { return good_->time_of(mark); }
  void forget_marks() override { good_->forget_marks(); }

 private:
  const bool spoil_;
  std::unique_ptr<moe::Backend> good_ = moe::make_cpu_backend(1);
};

/// Streams like those of a device: work on a stream happens when somebody waits for the stream.
class DeferringBackend : public SpoilingBackend {
 public:
  DeferringBackend() : SpoilingBackend(false) {}
  void issue(moe::Stream stream, std::function<void()> work) {
    issued_[static_cast<std::size_t>(stream)].push_back(std::move(work));
  }
  void download_all(std::span<const moe::HostCopy> copies, moe::Stream s) override {
    finish(s);
    SpoilingBackend::download_all(copies, s);
  }
  moe::Mark record(moe::Stream stream, bool timed) override {
    finish(stream);
    return SpoilingBackend::record(stream, timed);
  }

 private:
  void finish(moe::Stream stream) {
    for (const auto& work : std::exchange(issued_[static_cast<std::size_t>(stream)], {})) work();
  }
  std::array<std::vector<std::function<void()>>, moe::kStreamCount> issued_;
};

/// Enqueues on the stream of the call and returns, as NCCL does.
class Deferring : public moe::Communicator {
 public:
  Deferring(moe::Communicator& good, DeferringBackend& backend)
      : Communicator(good.rank, good.size), good_(good), backend_(backend) {}
  void run(const moe::collective::Call& what, const moe::CallContext& call) override {
    if (std::holds_alternative<moe::collective::Barrier>(what)) return good_.run(what, call);
    backend_.issue(call.stream, [=, this, call = call] { good_.run(what, call); });
  }
  std::unique_ptr<moe::Communicator> split(std::span<const int>) override { return nullptr; }
  bool on_host() const override { return false; }

 private:
  moe::Communicator& good_;
  DeferringBackend& backend_;
};

TEST_P(EveryCollective, IsVerifiedAfterItsStreamHasDoneIt) {
  const auto [name, ranks] = GetParam();
  moe::run_local_ranks(ranks, [&, name = name](moe::Communicator& world) {
    DeferringBackend backend;
    Deferring deferring(world, backend);
    const Bench bench{world, deferring, backend, moe::DType::f32, "cuda", quick};
    const auto plans = collective_plans(bench, {name}, {40'000});
    EXPECT_EQ(measure(bench, plans.at(0).make()).measurement.wrong, 0) << "rank " << world.rank;
  });
}

TEST(Gemm, EveryOpIsVerified) {
  for (const auto& [spoil, dtype] : {std::pair{false, moe::DType::f32},
                                     {false, moe::DType::f64},
                                     {false, moe::DType::bf16},
                                     {true, moe::DType::f32},
                                     {true, moe::DType::bf16}}) {
    moe::run_local_ranks(1, [&, spoil = spoil, dtype = dtype](moe::Communicator& world) {
      SpoilingBackend backend(spoil);
      const Bench bench{world, world, backend, dtype, "cpu", quick};
      // Rows that experts cannot share evenly.
      const auto plans =
          gemm_plans(bench, {.rows = {37, 130}, .inputs = 24, .outputs = 56, .experts = 3});
      EXPECT_EQ(plans.size(), 12u);
      for (const Plan& plan : plans) {
        EXPECT_EQ(measure(bench, plan.make()).measurement.wrong, spoil ? 1 : 0) << plan.name;
      }
    });
  }
}

TEST(Gemm, FlopsAndShapesAreThoseOfTheProduct) {
  moe::run_local_ranks(1, [](moe::Communicator& world) {
    const auto backend = moe::make_cpu_backend(1);
    const Bench bench{world, world, *backend, moe::DType::f32, "cpu", quick};
    const auto plans = gemm_plans(bench, {.rows = {64}, .inputs = 8, .outputs = 16, .experts = 4});
    for (const Plan& plan : plans) EXPECT_EQ(plan.make().row.measurement.flops, 2 * 64 * 8 * 16);
    EXPECT_EQ(plans[0].make().row.measurement.parameters_json,
              R"({"experts":0,"k":8,"m":64,"n":16})");
    EXPECT_EQ(plans[2].make().row.measurement.parameters_json,
              R"({"experts":0,"k":64,"m":8,"n":16})");
    EXPECT_EQ(plans[4].make().row.measurement.parameters_json,
              R"({"experts":4,"k":16,"m":16,"n":8})");
  });
}

TEST(ResultWriter, CountsWrongValuesAndSaysSo) {
  std::FILE* file = std::tmpfile();
  ResultWriter writer(file, {db::Format::table});
  Result result;
  result.columns = &collective_columns();
  result.cv = 0.25;
  result.measurement.op = "all_reduce";
  result.measurement.dtype = "f32";
  result.measurement.bytes = 1024;
  result.measurement.count = 256;
  result.measurement.time_s = 1e-3;
  result.measurement.wrong = 3;
  result.redop = "sum";
  writer.row(result);
  writer.finish();
  EXPECT_EQ(writer.wrong(), 3);
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  EXPECT_THAT(text, testing::ContainsRegex("size +count +type +redop +root +time +algbw +busbw "
                                           "+#wrong"));
  EXPECT_THAT(text, testing::ContainsRegex("1024 +256 +f32 +sum +-1 +1000 +0.000 +0.000 +3 "));
  EXPECT_THAT(text, testing::ContainsRegex("min +p50 +p95 +max +cv samples"));
  EXPECT_THAT(text, testing::HasSubstr("Largest cv           : 25.0% (all_reduce of 1024 bytes)"));
  EXPECT_THAT(text, testing::HasSubstr("Out of bounds values : 3 FAILED"));
}

TEST(ResultWriter, TheLargestSpreadOfAGemmNamesItsShape) {
  std::FILE* file = std::tmpfile();
  ResultWriter writer(file, {db::Format::table});
  Result result;
  result.columns = &collective_columns();
  result.cv = 0.279;
  result.measurement.op = "linear";
  result.measurement.parameters_json = R"({"m":64})";
  writer.row(result);
  writer.finish();
  std::rewind(file);
  std::string text(4096, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  EXPECT_THAT(text, testing::HasSubstr("27.9% (linear {\"m\":64})"));
}

}  // namespace
}  // namespace microbench::verification_test
