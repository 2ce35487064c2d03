#include "tuner/search/fewer_micro_batches.h"

#include <algorithm>

namespace tuner {
namespace {

/// As many as are under way in the order, two more where a stage receives the rows of one before it has
/// done another, and then one for each stage: times and memory of further ones repeat.
FewerMicroBatches in_steady_state(const Planner& order, const TrainingSetup& setup) {
  const int stages = setup.layout.pipeline;
  switch (order.passes) {
    case Passes::one_after_other:
      return {1, 2};
    case Passes::exchanges_hidden:
      return {2, 4};
    case Passes::filled_and_drained:
      return {stages + 2, 2 * stages + 2, order.keeps_all};
    case Passes::bubbles_filled:
    case Passes::undecided:
      break;
  }
  const int more = setup.micro_batches % stages;  // interleaved stages take multiples of the stages
  return {4 * stages + more, 5 * stages + more};
}

}  // namespace

std::optional<FewerMicroBatches> fewer_micro_batches(const TrainingSetup& setup,
                                                     const Planner& order, std::size_t ops_of_one,
                                                     std::size_t most_whole_ops) {
  const auto all = static_cast<std::size_t>(setup.micro_batches);
  const FewerMicroBatches fewer = in_steady_state(order, setup);
  if (ops_of_one * all <= most_whole_ops || fewer.more >= setup.micro_batches) return std::nullopt;
  return fewer;
}

double seconds_of_all(const TrainingSetup& setup, const FewerMicroBatches& fewer, double few_s,
                      double more_s) {
  const double of_one_s = (more_s - few_s) / (fewer.more - fewer.few);
  return more_s + (setup.micro_batches - fewer.more) * of_one_s;
}

std::int64_t bytes_of_all(const TrainingSetup& setup, const FewerMicroBatches& fewer,
                          std::int64_t few_bytes, std::int64_t more_bytes) {
  const std::int64_t further = setup.micro_batches - fewer.more, between = fewer.more - fewer.few;
  const std::int64_t added = std::max<std::int64_t>(more_bytes - few_bytes, 0);
  return more_bytes + (added * further + between - 1) / between;
}

PeakParts peak_of_all(const TrainingSetup& setup, const FewerMicroBatches& fewer,
                      const PeakParts& few, PeakParts more) {
  more.activations = bytes_of_all(setup, fewer, few.activations, more.activations);
  more.buffers = bytes_of_all(setup, fewer, few.buffers, more.buffers);
  return more;
}

LowerBound bound_of_all(const TrainingSetup& setup, const FewerMicroBatches& fewer,
                        const LowerBound& few, LowerBound more) {
  more.stream_s = seconds_of_all(setup, fewer, few.stream_s, more.stream_s);
  more.link_s = seconds_of_all(setup, fewer, few.link_s, more.link_s);
  if (more.stream_s >= std::max(more.link_s, more.chain_s)) {
    more.where = more.stream;
  } else if (more.link_s >= more.chain_s) {
    more.where = more.link;
  }
  return more;
}

}  // namespace tuner
