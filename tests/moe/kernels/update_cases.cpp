#include "tests/moe/kernels/update_cases.h"

#include <cstring>
#include <deque>
#include <utility>

#include "moe/kernels/bf16.h"
#include "moe/kernels/counter_random.h"
#include "moe/kernels/updates.h"
#include "moe/memory/memory_plan.h"

namespace moe::test {
namespace {

constexpr int kStep = 3;

/// Adds tensors to the memory of a host, to be copied to a backend at once.
class TensorsOfUpdate {
 public:
  explicit TensorsOfUpdate(DType wide) : wide_(wide) {}

  /// A tensor of numbers in (0, 1].
  View add(std::int64_t count, DType dtype) {
    const std::int64_t begin = place_for(count * bytes_of(dtype));
    for (std::int64_t i = 0; i < count; ++i) {
      store(begin + i * bytes_of(dtype), unit(mix(++drawn_)), dtype);
    }
    return {reinterpret_cast<void*>(begin), dtype, count, 1};
  }
  View add_scalar(double value) {
    const View view = add(1, wide_);
    store(reinterpret_cast<std::intptr_t>(view.data), value, wide_);
    return view;
  }
  View add_step() {
    const std::int64_t begin = place_for(sizeof(std::int32_t));
    const std::int32_t step = kStep;
    std::memcpy(bytes.data() + begin, &step, sizeof step);
    return {reinterpret_cast<void*>(begin), DType::i32, 1, 1};
  }

  std::vector<std::byte> bytes;

 private:
  std::int64_t place_for(std::int64_t size) {
    const auto begin = static_cast<std::int64_t>(bytes.size());
    bytes.resize(
        static_cast<std::size_t>(begin + (size + kAlignment - 1) / kAlignment * kAlignment));
    return begin;
  }
  void store(std::int64_t at, double value, DType dtype) {
    const auto as = [&](auto narrow) { std::memcpy(bytes.data() + at, &narrow, sizeof narrow); };
    if (dtype == DType::f64) as(value);
    if (dtype == DType::f32) as(static_cast<float>(value));
    if (dtype == DType::bf16) as(Bf16(static_cast<float>(value)));
    if (dtype == DType::remainder) as(Bf16Remainder(static_cast<float>(value)));
  }

  DType wide_;
  std::uint64_t drawn_ = 0;
};

/// The ops of an update; addresses are counted from the begin of the tensors.
struct OpsOfUpdate {
  std::deque<Op> ops;
  std::vector<BoundOp> bound;
  std::vector<std::byte> bytes;
};

OpKind without_decay(const OpKind& kind) {
  OpKind other = kind;
  if (auto* adam = std::get_if<AdamStep>(&other)) adam->weight_decay = 0;
  if (auto* sgd = std::get_if<SgdStep>(&other)) sgd->weight_decay = 0;
  return other;
}

OpsOfUpdate ops_of(const UpdateCase& update, DType dtype) {
  const DType wide = wide_of(dtype);
  TensorsOfUpdate tensors(wide);
  OpsOfUpdate all;
  const View step = tensors.add_step(), factor = tensors.add_scalar(update.clip_factor);
  const int states = std::holds_alternative<AdamStep>(update.kind) ? 2 : 1;
  for (const std::int64_t size : update.sizes) {
    const bool decays = all.ops.size() % 2 == 0;
    all.ops.push_back({decays ? update.kind : without_decay(update.kind), {}, {}, update.name});
    const View gradient = tensors.add(size, wide), parameter = tensors.add(size, dtype);
    BoundOp bound{&all.ops.back(), {gradient, step, parameter}, {parameter}, {{0, size}}};
    for (int state = 0; state < states; ++state) {
      bound.reads.push_back(tensors.add(size, wide));
      bound.writes.push_back(bound.reads.back());
    }
    if (dtype == DType::bf16) {
      bound.reads.push_back(tensors.add(size, DType::remainder));
      bound.writes.push_back(bound.reads.back());
    }
    if (update.clip_factor != 0) bound.reads.push_back(factor);
    all.bound.push_back(std::move(bound));
  }
  all.bytes = std::move(tensors.bytes);
  return all;
}

/// Takes what a launch is made of, and counts.
struct CountingExec {
  int launches = 0;
  template <class F>
  void rows(std::int64_t, std::int64_t, const F&) {
    ++launches;
  }
};

std::vector<const BoundOp*> pointers_to(const std::vector<BoundOp>& bound) {
  std::vector<const BoundOp*> pointers;
  for (const BoundOp& one : bound) pointers.push_back(&one);
  return pointers;
}

}  // namespace

std::vector<UpdateCase> update_cases() {
  std::vector<std::int64_t> few{1, 4096, 4097, 0, 5, 12'300}, some, many;
  for (std::int64_t i = 0; i < 70; ++i) some.push_back(1 + i * 37 % 211);
  for (std::int64_t i = 0; i < 600; ++i) many.push_back(1 + i % 7);
  const AdamStep adam{.rate = {.peak = 0.01}, .weight_decay = 0.1};
  const SgdStep sgd{.weight_decay = 0.1};
  const SgdStep nesterov{.weight_decay = 0.1, .nesterov = true};
  std::vector<UpdateCase> cases;
  for (const auto& [name, kind, factor] :
       {std::tuple<std::string, OpKind, double>{"adam", AdamStep{}, 0},
        {"adamw, clipped", adam, 0.5},
        {"sgd", sgd, 0},
        {"sgd with Nesterov's momentum, clipped", nesterov, 0.25}}) {
    for (const auto& sizes : {few, some, many}) {
      cases.push_back(
          {name + ", " + std::to_string(sizes.size()) + " parameters", kind, sizes, factor});
    }
  }
  cases.push_back({"adam, no step", AdamStep{}, few, -1});
  return cases;
}

std::vector<std::byte> updated(Backend& backend, const UpdateCase& update, DType dtype,
                               bool together) {
  OpsOfUpdate all = ops_of(update, dtype);
  std::byte* const base = backend.arena(static_cast<std::int64_t>(all.bytes.size()));
  for (BoundOp& bound : all.bound) {
    for (auto* views : {&bound.reads, &bound.writes}) {
      for (View& view : *views) view.data = base + reinterpret_cast<std::intptr_t>(view.data);
    }
  }
  backend.upload(base, all.bytes, Stream::compute);
  if (together) {
    backend.execute_together(pointers_to(all.bound));
  } else {
    for (const BoundOp& bound : all.bound) backend.execute(bound);
  }
  backend.download(all.bytes, base, Stream::compute);
  return all.bytes;
}

int launches_of(const UpdateCase& update, DType dtype) {
  CountingExec exec;
  const OpsOfUpdate all = ops_of(update, dtype);
  execute_updates(exec, pointers_to(all.bound));
  return exec.launches;
}

}  // namespace moe::test
