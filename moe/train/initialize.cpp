#include "moe/train/initialize.h"

#include <stdexcept>
#include <string_view>
#include <vector>

#include "moe/kernels/counter_random.h"

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
void initialize_as(Runner& runner, std::int64_t seed) {
  const Program& program = runner.program();
  std::vector<T> values;
  for (const Parameter& parameter : program.parameters) {
    const Tensor& tensor = program.tensors[parameter.value];
    const std::uint64_t name_hash = hash_of(tensor.name);
    values.resize(static_cast<std::size_t>(tensor.rows * tensor.columns));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<T>(
          initial_value(parameter, tensor.columns, seed, name_hash, static_cast<std::int64_t>(i)));
    }
    runner.write(parameter.value, std::as_bytes(std::span(values)));
    std::fill(values.begin(), values.end(), T{0});
    runner.write(parameter.gradient, std::as_bytes(std::span(values)));
    for (const TensorId state : parameter.optimizer_state) {
      runner.write(state, std::as_bytes(std::span(values)));
    }
  }
}

}  // namespace

double initial_normal(std::int64_t seed, std::uint64_t name_hash, std::int64_t element) {
  const std::uint64_t key = mix(mix(static_cast<std::uint64_t>(seed)) ^ name_hash);
  return normal(mix(key ^ mix(static_cast<std::uint64_t>(element))));
}

void initialize_parameters(Runner& runner, std::int64_t seed) {
  const Program& program = runner.program();
  if (program.tensors[program.parameters.front().value].dtype == DType::f64) {
    initialize_as<double>(runner, seed);
  } else {
    initialize_as<float>(runner, seed);
  }
}

}  // namespace moe
