// What a runner asks of a device: marks, waits and downloads, and how it tells a device's errors.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "moe/errors.h"
#include "moe/model/iteration.h"
#include "moe/run/runner.h"
#include "tests/moe/run/layer_program.h"
#include "tests/moe/train/training_case.h"

namespace moe::device_backend_test {
namespace {

using test::LayerProgram;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::ThrowsMessage;

/// A processor that counts what it is asked for. As on a device, the error of an op is thrown by a
/// later call.
class CountingDevice : public Backend {
 public:
  std::atomic<int> timed = 0, untimed = 0, downloads = 0, posts = 0;
  std::vector<std::size_t> updates;  ///< how many came in one call
  int norms = 0;                     ///< that came with the sum that they are of
  std::string failing;               ///< the name of the op that fails
  std::string hanging;               ///< the name of the op that never ends

  std::string name() const override { return "counting device"; }
  std::byte* arena(std::int64_t bytes) override { return processor_->arena(bytes); }
  std::byte* host_block(std::int64_t bytes) override { return processor_->host_block(bytes); }
  void lay_pattern(std::byte* arena, std::int64_t begin, std::int64_t end) override {
    processor_->lay_pattern(arena, begin, end);
  }
  std::int64_t end_of_pattern(const std::byte* arena, std::int64_t begin,
                              std::int64_t end) override {
    return processor_->end_of_pattern(arena, begin, end);
  }
  void post(std::byte* to, std::span<const std::byte> from, Stream stream) override {
    ++posts;
    processor_->post(to, from, stream);
  }
  void download_all(std::span<const HostCopy> copies, Stream stream) override {
    ++downloads;
    processor_->download_all(copies, stream);
  }
  void fill(const View& tensor, const InitialValues& values) override {
    processor_->fill(tensor, values);
  }
  void execute_together(std::span<const BoundOp* const> ops) override {
    if (ops.size() > 1 && std::holds_alternative<Add>(ops.front()->op->kind)) {
      ++norms;
    } else if (ops.size() > 1) {
      updates.push_back(ops.size());
    }
    for (const BoundOp* op : ops) {
      throw_error();
      processor_->execute(*op);
      if (op->op->name == failing) failed_ = true;
      if (op->op->name == hanging) hangs_ = true;
    }
  }
  Mark record(Stream stream, bool has_time) override {
    ++(has_time ? timed : untimed);
    return has_time ? processor_->mark(stream) : kUntimed;
  }
  void wait(Stream, Mark) override {}
  double time_of(Mark mark) override {
    throw_error();
    throw_limit();
    return mark == kUntimed ? 0 : processor_->time_of(mark);
  }
  void forget_marks() override { processor_->forget_marks(); }

 private:
  static constexpr Mark kUntimed = -1;
  void throw_limit() const {
    if (hangs_) throw DeviceTimeLimit("waited 1 s for the end of an op");
  }
  void throw_error() const {
    if (failed_) throw CudaError("cudaEventQuery: cudaErrorIllegalAddress");
  }

  std::unique_ptr<Backend> processor_ = make_cpu_backend(1);
  std::atomic<bool> failed_ = false, hangs_ = false;
};

/// One iteration of a layer on that device, whose rows travel on a stream of their own.
IterationResult iterate(CountingDevice& device, const RunOptions& options, bool measure = false) {
  LayerProgram layer(Stream::compute);
  for (Op& op : layer.build.program.ops) {
    if (std::holds_alternative<AllToAll>(op.kind)) op.stream = Stream::inter_node;
  }
  const auto world = make_solo_communicator();
  Runner runner(layer.build.program, make_groups(1, 1), device, *world, options);
  layer.write_inputs(runner);
  device.timed = device.untimed = device.downloads = device.posts = 0;
  return runner.iterate(measure);
}

TEST(RunnerOnADevice, TimesEveryOpOnlyWhereSpansAreWanted) {
  CountingDevice device;
  RunOptions options{.memory_limit_bytes = 1 << 20};
  const IterationResult spans = iterate(device, options);
  EXPECT_EQ(spans.spans.size(), 6U);
  EXPECT_EQ(device.timed, 2 * 5) << "begin and end of the ops that the host does not carry out";
  EXPECT_EQ(device.posts, 1);
  EXPECT_EQ(device.untimed, 1) << "what the host has sent up is there; nobody waits for that";

  options.record_spans = false;
  const IterationResult result = iterate(device, options);
  EXPECT_TRUE(result.spans.empty());
  EXPECT_GT(result.end_s, result.begin_s);
  EXPECT_EQ(device.timed, 2) << "the last ops of the two streams";
  EXPECT_EQ(device.untimed, 4) << "permute, dispatch and experts, which the other stream waits "
                                  "for, and what the host has sent up";
}

TEST(RunnerOnADevice, MeasuresMemoryWithoutACopyOfIt) {
  const RunOptions options{.memory_limit_bytes = 1 << 20};
  CountingDevice device, measured;
  iterate(device, options);
  const IterationResult result = iterate(measured, options, true);
  EXPECT_EQ(result.touched_peak_bytes, result.planned_peak_bytes);
  EXPECT_EQ(measured.posts, device.posts);
  EXPECT_EQ(measured.downloads, device.downloads);
}

/// The calls in which a device gets the updates of a training step, by rank.
std::vector<std::vector<std::size_t>> updates_of_step(int ranks, const RunOptions& options) {
  const Model model = test::small_model(DType::f32);
  std::vector<std::vector<std::size_t>> calls(static_cast<std::size_t>(ranks));
  run_local_ranks(ranks, [&](Communicator& world) {
    CountingDevice device;
    test::train_rank(model, {Schedule{}}, make_groups(ranks, ranks), 1, world, device, options);
    calls[static_cast<std::size_t>(world.rank)] = device.updates;
  });
  return calls;
}

TEST(RunnerOnADevice, IssuesTheUpdatesOfAllParametersAtOnceUnlessEachIsTimedOrChecked) {
  const Model model = test::small_model(DType::f32);
  const Program program = build_iteration(model, make_groups(1, 1), 0);
  const RunOptions together{.record_spans = false};
  EXPECT_THAT(updates_of_step(1, together), ElementsAre(ElementsAre(program.parameters.size())));
  EXPECT_THAT(updates_of_step(1, {}), ElementsAre(IsEmpty()));
  EXPECT_THAT(updates_of_step(1, {.record_spans = false, .check_each_op = true}),
              ElementsAre(IsEmpty()));
}

TEST(RunnerOnADevice, IssuesUpdatesTogetherThatWaitForTheSameGradients) {
  for (const auto& calls : updates_of_step(2, {.record_spans = false})) {
    std::size_t updates = 0;
    for (const std::size_t call : calls) updates += call;
    const Program program = build_iteration(test::small_model(DType::f32), make_groups(2, 2), 0);
    EXPECT_GT(updates, 0U);
    EXPECT_LE(updates, program.parameters.size());
  }
}

/// The norms that a device gets together with a sum in a training step of two blocks.
int norms_with_sums(const RunOptions& options, Norm norm) {
  Model model = test::small_model(DType::f32);
  model.norm = norm;
  CountingDevice device;
  const auto world = make_solo_communicator();
  test::train_rank(model, {Schedule{}}, make_groups(1, 1), 1, *world, device, options);
  return device.norms;
}

TEST(RunnerOnADevice, IssuesASumTogetherWithTheNormThatReadsItUnlessEachIsTimedOrChecked) {
  for (const Norm norm : {Norm::layer_norm, Norm::rms_norm}) {
    EXPECT_EQ(norms_with_sums({.record_spans = false}, norm), 4)
        << "before the networks, before the second attention and before the head";
    EXPECT_EQ(norms_with_sums({}, norm), 0);
    EXPECT_EQ(norms_with_sums({.record_spans = false, .check_each_op = true}, norm), 0);
  }
}

TEST(RunnerOnADevice, FetchesTheCountsOfALayerAtOnce) {
  CountingDevice device;
  iterate(device, {.memory_limit_bytes = 1 << 20});
  EXPECT_EQ(device.downloads, 1);
}

/// A device with streams, as far as communicators ask.
class StreamingDevice : public CountingDevice {
 public:
  void* native_stream(Stream) override { return this; }
};

struct GroupCounts {
  int made = 0, called = 0;
};

/// Counts the groups split off it, and those of them that have carried a call out.
class CountingWorld : public Communicator {
 public:
  CountingWorld(std::unique_ptr<Communicator> host, GroupCounts& counts)
      : Communicator(host->rank, host->size), host_(std::move(host)), counts_(counts) {}
  void run(const collective::Call& what, const CallContext& call) override {
    if (!std::exchange(called_, true)) ++counts_.called;
    host_->run(what, call);
  }
  std::unique_ptr<Communicator> split(std::span<const int> ranks) override {
    ++counts_.made;
    return std::make_unique<CountingWorld>(host_->split(ranks), counts_);
  }

 private:
  std::unique_ptr<Communicator> host_;
  GroupCounts& counts_;
  bool called_ = false;
};

/// A communicator of NCCL takes memory when it is made, and at its first call.
TEST(RunnerOnADevice, AsksWhatMemoryIsLeftWhenEachCommunicatorHasCarriedACallOut) {
  LayerProgram layer(Stream::compute);
  for (Op& op : layer.build.program.ops) {
    if (op.name == "return") op.stream = Stream::inter_node;
  }
  StreamingDevice device;
  GroupCounts counts, when_asked;
  const auto world = make_solo_communicator();
  CountingWorld device_world(make_solo_communicator(), counts);
  const RunOptions options{.bytes_left = [&] { return when_asked = counts, 1 << 20; },
                           .device_world = &device_world};
  const Runner runner(layer.build.program, make_groups(1, 1), device, *world, options);
  EXPECT_EQ(when_asked.made, 2) << "of two streams";
  EXPECT_EQ(when_asked.called, when_asked.made);
}

TEST(RunnerOnADevice, SaysThatAnErrorMayBeOfAnEarlierOp) {
  CountingDevice device;
  device.failing = "permute";
  EXPECT_THAT([&] { iterate(device, {.memory_limit_bytes = 1 << 20}); },
              ThrowsMessage<CudaError>(
                  AllOf(HasSubstr("rank 0: experts (layer 0), or an op before"),
                        HasSubstr("--check-each-op"), HasSubstr("cudaErrorIllegalAddress"))));
}

TEST(RunnerOnADevice, NamesTheOpOfAnErrorWhereEachIsChecked) {
  CountingDevice device;
  device.failing = "permute";
  EXPECT_THAT([&] { iterate(device, {.memory_limit_bytes = 1 << 20, .check_each_op = true}); },
              ThrowsMessage<CudaError>(AllOf(HasSubstr("rank 0: permute (layer 0): cudaEventQuery"),
                                             Not(HasSubstr("experts")))));
}

TEST(RunnerOnADevice, NamesAnOpWhereAWaitForTheDeviceExceedsItsLimit) {
  CountingDevice device;
  device.hanging = "permute";
  EXPECT_THAT(
      [&] { iterate(device, {.memory_limit_bytes = 1 << 20, .record_spans = false}); },
      ThrowsMessage<TimeLimit>(AllOf(HasSubstr("rank 0: "), HasSubstr(", or an op before it"),
                                     HasSubstr("waited 1 s for the end of an op"))));
  CountingDevice checked;
  checked.hanging = "permute";
  EXPECT_THAT([&] { iterate(checked, {.memory_limit_bytes = 1 << 20, .check_each_op = true}); },
              ThrowsMessage<TimeLimit>(HasSubstr("rank 0: permute (layer 0): waited 1 s")));
}

}  // namespace
}  // namespace moe::device_backend_test
