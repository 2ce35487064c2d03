#include "moe/train/initialize.h"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <vector>

#include "moe/kernels/bf16.h"
#include "moe/kernels/counter_random.h"
#include "moe/threads.h"
#include "moe/train/shared_states.h"

namespace moe {
namespace {

std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char c : name) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

/// Calls f(i) for every i below `count`, equal shares on `threads` threads. f must not throw.
template <class F>
void in_shares(std::size_t count, int threads, F f) {
  constexpr std::size_t kWorthAThread = 1 << 14;
  const std::size_t shares =
      std::clamp<std::size_t>(count / kWorthAThread, 1, static_cast<std::size_t>(threads));
  const auto carry_out = [&](std::size_t share) {
    const std::size_t end = count * (share + 1) / shares;
    for (std::size_t i = count * share / shares; i < end; ++i) f(i);
  };
  std::vector<std::thread> others;
  const auto join = [](std::vector<std::thread>* all) {
    for (std::thread& thread : *all) thread.join();
  };
  const std::unique_ptr<std::vector<std::thread>, decltype(join)> at_the_end(&others, join);
  for (std::size_t share = 1; share < shares; ++share) {
    others.push_back(start_thread("initial values", [&carry_out, share] { carry_out(share); }));
  }
  carry_out(0);
}

void set_initial(std::vector<double>& values, const Parameter& parameter, std::int64_t columns,
                 std::int64_t seed, std::uint64_t name_hash, int threads) {
  switch (parameter.initial) {
    case Initial::zero:
      std::fill(values.begin(), values.end(), 0.0);
      return;
    case Initial::one:
      std::fill(values.begin(), values.end(), 1.0);
      return;
    case Initial::normal:
      in_shares(values.size(), threads, [&](std::size_t i) {
        values[i] =
            parameter.standard_deviation *
            initial_normal(seed, name_hash,
                           whole_element(parameter.shard, columns, static_cast<std::int64_t>(i)));
      });
      return;
  }
  throw std::logic_error("set_initial: no such beginning");
}

template <class T>
void write_as(Runner& runner, TensorId tensor, const std::vector<double>& values) {
  std::vector<T> converted(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    converted[i] = static_cast<T>(static_cast<Wide<T>>(values[i]));
  }
  runner.write(tensor, std::as_bytes(std::span(converted)));
}

void write(Runner& runner, TensorId tensor, const std::vector<double>& values) {
  switch (runner.program().tensors[tensor].dtype) {
    case DType::f32:
      return write_as<float>(runner, tensor, values);
    case DType::f64:
      return write_as<double>(runner, tensor, values);
    case DType::bf16:
      return write_as<Bf16>(runner, tensor, values);
    case DType::i32:
      break;
  }
  throw std::logic_error("initialize: a parameter of integers");
}

/// The values that this rank has of a state, out of those of all of it.
std::vector<double> held_of(const Runner& runner, const Parameter& parameter, TensorId state,
                            const std::vector<double>& whole) {
  const Tensor& tensor = runner.program().tensors[state];
  const ElementRange held = held_elements(runner.program(), parameter, state, runner.rank());
  std::vector<double> values(whole.begin() + held.begin, whole.begin() + held.begin + held.count);
  values.resize(static_cast<std::size_t>(tensor.rows * tensor.columns));
  return values;
}

}  // namespace

double initial_normal(std::int64_t seed, std::uint64_t name_hash, std::int64_t element) {
  const std::uint64_t key = mix(mix(static_cast<std::uint64_t>(seed)) ^ name_hash);
  return normal(mix(key ^ mix(static_cast<std::uint64_t>(element))));
}

void initialize_parameters(Runner& runner, std::int64_t seed, int threads) {
  const Program& program = runner.program();
  std::vector<double> values;
  for (const Parameter& parameter : program.parameters) {
    const Tensor& tensor = program.tensors[parameter.value];
    const std::uint64_t name_hash = hash_of(tensor.name);
    values.resize(static_cast<std::size_t>(tensor.rows * tensor.columns));
    set_initial(values, parameter, tensor.columns, seed, name_hash, threads);
    write(runner, parameter.value, values);
    if (parameter.master >= 0) {
      write(runner, parameter.master, held_of(runner, parameter, parameter.master, values));
    }
    std::fill(values.begin(), values.end(), 0.0);
    write(runner, parameter.gradient, values);
    for (const TensorId state : parameter.optimizer_state) {
      if (state == parameter.master) continue;
      write(runner, state, held_of(runner, parameter, state, values));
    }
  }
}

}  // namespace moe
