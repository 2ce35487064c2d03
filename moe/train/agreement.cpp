#include "moe/train/agreement.h"

#include <array>
#include <cmath>
#include <csignal>

#include "moe/stop.h"

namespace moe {

double read_scalar(const Runner& runner, TensorId tensor) {
  if (runner.program().tensors[tensor].dtype == DType::f64) {
    double value = 0;
    runner.read(tensor, std::as_writable_bytes(std::span(&value, 1)));
    return value;
  }
  float value = 0;
  runner.read(tensor, std::as_writable_bytes(std::span(&value, 1)));
  return value;
}

bool Agreement::is_finite() const {
  return std::isfinite(cross_entropy) && std::isfinite(auxiliary) && std::isfinite(z_loss);
}

Agreement agree(const Runner& runner, Communicator& world, double time_limit_s,
                bool output_is_lost) {
  constexpr std::array signals{SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGUSR1};
  // Then how many ranks were asked to end by each signal, and how many have lost an output.
  constexpr std::size_t losses = 3;
  const Program& program = runner.program();
  std::array<double, losses + signals.size() + 1> sums{};
  for (const TensorId loss : program.losses) sums[0] += read_scalar(runner, loss);
  for (const TensorId loss : program.auxiliary_losses) sums[1] += read_scalar(runner, loss);
  for (const TensorId loss : program.z_losses) sums[2] += read_scalar(runner, loss);
  sums[1] /= program.micro_batches;
  const int mine = stop_signal();
  for (std::size_t i = 0; i < signals.size(); ++i) sums[losses + i] = mine == signals[i] ? 1 : 0;
  sums.back() = output_is_lost ? 1 : 0;
  CallContext call;
  call.time_limit_s = time_limit_s;
  call.what = "sum of the losses";
  world.all_reduce(sums.data(), sums.size(), DType::f64, call);
  Agreement agreement{sums[0], sums[1], sums[2]};
  for (std::size_t i = 0; i < signals.size() && agreement.stop_signal == 0; ++i) {
    if (sums[losses + i] > 0) agreement.stop_signal = signals[i];
  }
  agreement.output_is_lost = sums.back() > 0;
  return agreement;
}

}  // namespace moe
