#include "moe/train/initialize.h"

#include <algorithm>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "moe/kernels/bf16.h"
#include "moe/kernels/counter_random.h"
#include "moe/train/shared_states.h"

namespace moe {
namespace {

std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char c : name) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

double initial_value(const Parameter& parameter, std::int64_t columns, std::int64_t seed,
                     std::uint64_t name_hash, std::int64_t element) {
  switch (parameter.initial) {
    case Initial::zero:
      return 0;
    case Initial::one:
      return 1;
    case Initial::normal:
      return parameter.standard_deviation *
             initial_normal(seed, name_hash, whole_element(parameter.shard, columns, element));
  }
  throw std::logic_error("initial_value: no such beginning");
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

void initialize_parameters(Runner& runner, std::int64_t seed) {
  const Program& program = runner.program();
  std::vector<double> values;
  for (const Parameter& parameter : program.parameters) {
    const Tensor& tensor = program.tensors[parameter.value];
    const std::uint64_t name_hash = hash_of(tensor.name);
    values.resize(static_cast<std::size_t>(tensor.rows * tensor.columns));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] =
          initial_value(parameter, tensor.columns, seed, name_hash, static_cast<std::int64_t>(i));
    }
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
