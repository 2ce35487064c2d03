#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace moelab::cuda_emulation {

/// What a call of the runtime ends with where its arguments are wrong.
class Refusal : public std::runtime_error {
 public:
  Refusal(cudaError_t in_code, const std::string& why) : std::runtime_error(why), code(in_code) {}
  const cudaError_t code;
};

/// The device that the calling thread has chosen.
int current_device();

/// Gives the device an error that stays, unless it has one. `why` names kernel and line.
void break_device(int device, cudaError_t code, const std::string& why);
cudaError_t error_of(int device);

/// Keeps `code` as the last error of this thread, unless it is success. Returns it.
cudaError_t keep(cudaError_t code);
/// The same, and `why` becomes the text of that error on this thread.
cudaError_t keep(cudaError_t code, const std::string& why);

/// The body of every call of the runtime: nothing is done on a device that has failed.
template <class Body>
cudaError_t runtime_call(const Body& body) {
  if (const cudaError_t broken = error_of(current_device())) return keep(broken);
  try {
    return keep(body());
  } catch (const Refusal& refusal) {
    return keep(refusal.code, refusal.what());
  } catch (const std::invalid_argument& error) {
    return keep(cudaErrorInvalidValue, error.what());
  }
}

}  // namespace moelab::cuda_emulation
