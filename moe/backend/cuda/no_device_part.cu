// This build's CUDA has no green contexts.
#include "moe/backend/cuda/device_part.cuh"

namespace moe {

DevicePart::DevicePart(int, DeviceShare) {}
DevicePart::~DevicePart() = default;
cudaStream_t DevicePart::make_stream(int) const { return nullptr; }

}  // namespace moe
