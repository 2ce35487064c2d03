#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "db/collective_facts.h"
#include "microbench/collectives/collectives.h"
#include "microbench/pattern.h"
#include "microbench/table.h"

namespace microbench {
namespace {

using Named = std::pair<std::string, MeasuredCollective>;

const std::vector<Named>& collectives() {
#define MICROBENCH_CALL_COLLECTIVE(name) Named{#name, measured_##name()},
  static const std::vector<Named> all = {MICROBENCH_COLLECTIVES(MICROBENCH_CALL_COLLECTIVE)};
#undef MICROBENCH_CALL_COLLECTIVE
  return all;
}

const MeasuredCollective& collective_named(std::string_view name) {
  const auto found = std::ranges::find(collectives(), name, &Named::first);
  if (found == collectives().end()) {
    throw std::invalid_argument(fmt::format("collective \"{}\": expected one of {}", name,
                                            fmt::join(collective_names(), ", ")));
  }
  return found->second;
}

/// The call with its buffers, dtype and segments.
moe::collective::Call complete(const CollectivePart& part, std::byte* from, std::byte* to,
                               moe::DType dtype) {
  moe::collective::Call call = part.call;
  std::visit(
      [&](auto& one) {
        if constexpr (requires { one.from; }) one.from = from;
        if constexpr (requires { one.to; }) one.to = to;
        if constexpr (requires { one.dtype; }) one.dtype = dtype;
        if constexpr (requires { one.send; }) one.send = part.send;
        if constexpr (requires { one.receive; }) one.receive = part.receive;
      },
      call);
  return call;
}

Result collective_row(const Bench& bench, const std::string& name, const CollectivePart& part,
                      std::int64_t total_count) {
  const std::optional<double> factor = db::bus_factor(name, bench.world.size);
  if (!factor) {
    throw std::logic_error(fmt::format("{}: db/collective_facts.cpp has no row for it", name));
  }
  Result row;
  row.columns = &collective_columns();
  row.last_columns = &awake_columns();
  row.in_mean_of_bus_bandwidth = true;
  row.bus_factor = *factor;
  row.redop = part.sums ? "sum" : "none";
  row.root = part.root;
  row.measurement.op = name;
  row.measurement.device = bench.device;
  row.measurement.dtype = moe::name_of(bench.dtype);
  row.measurement.ranks = bench.world.size;
  row.measurement.parameters_json = part.parameters_json;
  row.measurement.bytes = total_count * moe::bytes_of(bench.dtype);
  row.measurement.count = part.count;
  return row;
}

}  // namespace

const std::vector<std::string>& collective_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all;
    for (const Named& collective : collectives()) all.push_back(collective.first);
    return all;
  }();
  return names;
}

Case collective_case(const Bench& bench, std::string_view name, std::int64_t bytes) {
  return collective_case(bench, std::string(name), collective_named(name), bytes);
}

Case collective_case(const Bench& bench, const std::string& name,
                     const MeasuredCollective& measured, std::int64_t bytes) {
  const int element = moe::bytes_of(bench.dtype);
  const std::int64_t multiple = measured.multiple ? measured.multiple(bench.world.size) : 1;
  const std::int64_t total = std::max<std::int64_t>(bytes / element / multiple, 1) * multiple;
  const auto part = std::make_shared<const CollectivePart>(measured.part(bench, total));
  const bool in_place = part->received == 0;

  const auto buffers = in_place ? place(bench, {part->sent * element})
                                : place(bench, {part->sent * element, part->received * element});
  std::byte *const from = buffers.front(), *const to = buffers.back();
  const std::int64_t written = in_place ? part->sent : part->received;
  const moe::Stream stream = bench.collective_stream;
  const moe::CallContext context{.native_stream = bench.backend.native_stream(stream),
                                 .stream = stream,
                                 .time_limit_s = bench.sampling.time_limit_s,
                                 .what = name};
  // The call points into the part, which every function below keeps alive.
  const auto run = [part, call = complete(*part, from, to, bench.dtype), context, &bench] {
    bench.measured.run(call, context);
  };
  const auto fill_with = [=, &bench](const Element& sent) {
    fill(bench.backend, stream, from, part->sent, bench.dtype, sent);
    if (in_place) return;
    fill(bench.backend, stream, to, written, bench.dtype, [](auto) { return -1; });
  };
  const auto prepare = [=] {
    fill_with(in_place && part->sums ? Element([](auto) { return 0; }) : part->before);
  };
  const auto verify = [=, &bench] {
    fill_with(part->before);
    run();
    return count_wrong(bench.backend, stream, to, written, bench.dtype, part->after);
  };
  const auto timed = [=, &bench](int calls) {
    return timed_on_device(bench.backend, stream, calls, run);
  };
  return {collective_row(bench, name, *part, total), prepare, timed, verify, run, stream};
}

}  // namespace microbench
