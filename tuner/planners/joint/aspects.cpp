#include "tuner/planners/joint/aspects.h"

#include <algorithm>

namespace tuner {
namespace {

Aspect about(const moe::CompressExchange&) { return Aspect::wire_format; }
Aspect about(const moe::PlaceBlocks&) { return Aspect::micro_batches; }
Aspect about(const moe::PlaceExperts&) { return Aspect::placement; }
Aspect about(const moe::ReplicateExperts&) { return Aspect::placement; }
Aspect about(const moe::HoistTransfer&) { return Aspect::placement; }
Aspect about(const moe::Exchange&) { return Aspect::routes; }
Aspect about(const moe::PartitionRange&) { return Aspect::cuts; }
Aspect about(const moe::PipelineSplit&) { return Aspect::cuts; }
Aspect about(const moe::RestoreActivation&) { return Aspect::memory; }
Aspect about(const moe::RestoreBlock&) { return Aspect::memory; }
Aspect about(const moe::ShardOptimizer&) { return Aspect::memory; }
Aspect about(const moe::SliceAllReduce&) { return Aspect::gradients; }
Aspect about(const moe::PlaceAllReduce&) { return Aspect::gradients; }
Aspect about(const moe::PlaceWeightGradient&) { return Aspect::weight_gradients; }
Aspect about(const moe::OrderMicroBatches&) { return Aspect::micro_batches; }
Aspect about(const moe::StreamAssignment& assignment) {
  if (assignment.kind == moe::AllReduce::facts.name) return Aspect::gradients;
  if (assignment.kind == moe::SendExperts::facts.name ||
      assignment.kind == moe::ReturnGradients::facts.name) {
    return Aspect::placement;
  }
  if (assignment.kind == moe::OffloadRows::facts.name ||
      assignment.kind == moe::FetchRows::facts.name ||
      assignment.kind == moe::ReduceShares::facts.name ||
      assignment.kind == moe::GatherShares::facts.name) {
    return Aspect::memory;
  }
  if (assignment.kind == moe::PassOn::facts.name) return Aspect::micro_batches;
  return Aspect::streams;
}

bool among(const Aspects& aspects, const moe::Decision& decision) {
  return std::find(aspects.begin(), aspects.end(), aspect_of(decision)) != aspects.end();
}

}  // namespace

Aspect aspect_of(const moe::Decision& decision) {
  return std::visit([](const auto& one) { return about(one); }, decision);
}

Aspects aspects_of(const moe::Schedule& schedule) {
  Aspects aspects;
  for (const moe::Decision& decision : schedule.decisions) aspects.push_back(aspect_of(decision));
  std::sort(aspects.begin(), aspects.end());
  aspects.erase(std::unique(aspects.begin(), aspects.end()), aspects.end());
  return aspects;
}

moe::Schedule without(moe::Schedule schedule, const Aspects& aspects) {
  std::erase_if(schedule.decisions,
                [&](const moe::Decision& decision) { return among(aspects, decision); });
  return schedule;
}

moe::Schedule with(const moe::Schedule& schedule, const Aspects& aspects,
                   const moe::Schedule& from) {
  moe::Schedule result = without(schedule, aspects);
  for (const moe::Decision& decision : from.decisions) {
    if (among(aspects, decision)) result.decisions.push_back(decision);
  }
  return result;
}

}  // namespace tuner
